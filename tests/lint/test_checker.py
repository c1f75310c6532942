"""The cheap check of points says what the whole way through the text says, for the points that a
search can propose: changes of the profile, of settings that are active."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from tests.profile.examples import SMALL
from tuner.errors import BadProfile
from tuner.lint.candidate import Checker, candidate
from tuner.lint.load import LoadedProfile, load_profile, parse_profile
from tuner.profile.edit import edit
from tuner.search.climb import Knobs
from tuner.search.study import Changes
from tuner.space.knob import Level
from tuner.space.knobs import knobs

ROOT = Path(__file__).parents[2]
BATCH = "outputs[logs].queue.dequeueBatchSize"
DIRECT = "outputs[logs].queue.type"


def whole_way(written: LoadedProfile, point: Changes) -> LoadedProfile | None:
    """The candidate through its text, if it is a valid profile."""
    try:
        return candidate(written, point)
    except BadProfile:
        return None


@pytest.mark.parametrize(
    "path",
    [
        "profiles/lanes.yaml",
        "examples/published/p1-production.yaml",
        pytest.param("profiles/default.yaml", marks=pytest.mark.full),
        pytest.param("examples/published/stock.yaml", marks=pytest.mark.full),
    ],
)
def test_it_agrees_with_the_text_at_random_points(path: str) -> None:
    written = load_profile(ROOT / path)
    checker, turned = Checker(written), Knobs(knobs(written.profile))
    space = turned.space(checker.is_valid, 1.0, {})
    tolerated = {(problem.code, problem.message) for problem in written.warnings}
    rng = random.Random(4)
    verdicts = set()
    for _ in range(40):
        levels = list(space.start)
        for at in rng.sample(range(len(levels)), 4):
            levels[at] = rng.randrange(space.sizes[at])
        (active,) = space.canonical(np.array([levels]))
        point = turned.changes(tuple(active))
        whole = whole_way(written, point)
        if whole is None:
            assert not checker.is_valid(point), point
            verdicts.add(False)
            continue
        assert checker.profile(point) == whole.profile
        new = {(problem.code, problem.message) for problem in whole.warnings} - tolerated
        assert checker.is_valid(point) is (not new), (point, new)
        verdicts.add(not new)
    assert verdicts == {True, False}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ([(BATCH, 8000), ("outputs[logs].queue.size", 20_000)], "RT111"),
        ([("outputs[logs].queue.minDequeueBatchSize", 5000)], "RT104"),
        ([("outputs[logs].queue.size", 200_000)], "RT116"),
        ([(BATCH, 8000), ("outputs[logs].queue.workerThreads", 6),
          ("outputs[logs].queue.size", 100_000), ("node.heap", "256m")], "RT215"),
    ],
)  # fmt: skip
def test_memory_and_pressure_bounds_hold_although_they_are_warnings(
    changes: list[tuple[str, Level]], code: str
) -> None:
    text = edit(SMALL, {"guardrails.rss_bytes": "200m", "node.heap": "512m"})
    checker = Checker(parse_profile(text, "p.yaml"))
    said = checker.refusal(changes)
    assert said is not None
    assert code in said


def test_a_warning_that_the_profile_has_anyway_refuses_nothing() -> None:
    split = edit(SMALL, {"outputs[logs].maxbytes": "200k"})
    written = parse_profile(split, "p.yaml")
    assert [problem.code for problem in written.warnings] == ["RT207"]
    assert Checker(written).is_valid([("main_queue.workerThreads", 2)])


def test_a_value_that_is_none_is_refused_in_words() -> None:
    said = Checker(parse_profile(SMALL, "p.yaml")).refusal([(BATCH, "many")])
    assert said is not None
    assert "dequeueBatchSize" in said


def test_a_direct_action_that_gets_a_queue_loses_nothing_by_it() -> None:
    """rsyslog's defaults would drop an event after two seconds, and idle a second worker."""
    stock = load_profile(ROOT / "examples" / "published" / "stock.yaml")
    for kind in ("LinkedList", "FixedArray"):
        assert Checker(stock).is_valid([(DIRECT, kind)])
    queue = candidate(stock, [(DIRECT, "LinkedList")]).profile.measured.queue
    assert queue is not None
    assert queue.timeout_enqueue == 86_400_000
    assert (queue.dequeue_batch_size, queue.worker_threads) == (256, 2)


def test_a_second_worker_starts_in_time() -> None:
    written = parse_profile(SMALL, "p.yaml")
    turned = candidate(written, [("main_queue.workerThreads", 4)]).profile
    assert turned.main_queue is not None
    assert turned.main_queue.worker_thread_minimum_messages == 1024
    as_asked = [("main_queue.workerThreads", 4), ("main_queue.workerThreadMinimumMessages", 4096)]
    asked = candidate(written, as_asked).profile
    assert asked.main_queue is not None
    assert asked.main_queue.worker_thread_minimum_messages == 4096


def test_a_point_that_undoes_a_repair_is_not_valid() -> None:
    retries = "outputs[logs].action.resumeRetryCount"
    written = parse_profile(edit(SMALL, {retries: 0}), "small.yaml")
    repaired = Checker(written, (), ((retries, -1),))
    assert repaired.is_valid([(BATCH, 500)])
    refusal = repaired.refusal([(BATCH, 500), (retries, 0)])
    assert refusal is not None
    assert "[RT208]" in refusal
