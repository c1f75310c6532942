"""Points of a search become profiles through the text, and only the changed values change."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from tests.shipped import EXAMPLES
from tuner.errors import BadProfile
from tuner.lint.candidate import candidate, with_main_queue
from tuner.lint.load import load_profile, parse_profile
from tuner.profile.placement import main_queue
from tuner.space.knobs import knobs
from tuner.space.table import REPLY_FILTER

ROOT = Path(__file__).parents[2]

DIRECT = """\
name: direct
release: {rsyslog: "8.2302", elasticsearch: "8.19"}
inputs: [{type: imptcp, port: 10514}]  # one input
outputs:
  - name: logs
    type: omelasticsearch
    servers: ["http://127.0.0.1:9200"]   # local
    index: {name: syslog, settings: {number_of_replicas: 0}}
"""


def test_only_the_changed_lines_differ() -> None:
    written = load_profile(ROOT / "profiles" / "default.yaml")
    changes = (
        ("main_queue.dequeueBatchSize", 2048),
        ("outputs[logs].queue.workerThreads", 4),
        ("outputs[logs].filter_path", REPLY_FILTER),
    )
    best = candidate(written, changes)
    diff = difflib.ndiff(written.text.splitlines(), best.text.splitlines())
    removed = [line for line in diff if line.startswith("- ")]
    assert len(removed) == 2
    assert all(f"#{line.split('#', 1)[1]}" in best.text for line in removed if "#" in line)
    assert best.profile.measured.filter_path == REPLY_FILTER


def test_one_change_to_an_implicit_main_queue_keeps_its_other_values() -> None:
    """An empty main_queue() has other defaults than none at all (rsyslog.md F10)."""
    written = parse_profile(DIRECT, "direct.yaml")
    before = main_queue(written.profile).resolved
    turned = candidate(written, [("main_queue.dequeueBatchSize", 1024)])
    after = main_queue(turned.profile).resolved
    assert after == before.model_copy(update={"dequeue_batch_size": 1024})
    said = with_main_queue(written.profile, {"main_queue.dequeueBatchSize": 1024})
    assert said.startswith("main_queue() has other defaults than a configuration without one")
    assert "size 100000" in said
    assert "dequeueBatchSize" not in said
    assert with_main_queue(turned.profile, {"main_queue.dequeueBatchSize": 4096}) == ""


def test_an_action_that_becomes_direct_loses_its_other_queue_parameters() -> None:
    written = load_profile(ROOT / "profiles" / "default.yaml")
    direct = candidate(written, [("outputs[logs].queue.type", "Direct")])
    queue = direct.profile.measured.queue
    assert queue is not None
    assert queue.model_dump(exclude_none=True, mode="json") == {"type": "Direct"}


def test_a_point_that_the_linter_refuses_is_a_bad_profile() -> None:
    written = load_profile(ROOT / "profiles" / "default.yaml")
    with pytest.raises(BadProfile):
        candidate(written, [("outputs[logs].queue.dequeueBatchSize", 8000),
                            ("outputs[logs].queue.size", 5000)])  # fmt: skip


@pytest.mark.parametrize(
    "path",
    [
        "profiles/default.yaml",
        "examples/published/p1-production.yaml",
        pytest.param("examples/by-hand.yaml", marks=pytest.mark.full),
        pytest.param("examples/published/stock.yaml", marks=pytest.mark.full),
    ],
)
def test_every_level_of_every_knob_can_be_written_into_every_profile(path: str) -> None:
    written = load_profile(ROOT / path)
    dimensions = knobs(written.profile)
    assert len(dimensions) >= 10
    for knob in dimensions:
        assert knob.current in knob.levels
        for level in knob.levels:
            try:
                found = candidate(written, [(knob.path, level)]).profile
            except BadProfile:
                continue
            now = {other.path: other.current for other in knobs(found)}
            assert now.get(knob.path, level) == level


def test_no_knob_touches_a_guarantee() -> None:
    forbidden = ("durability", "replicas", "resumeRetryCount", "filename", "sync", "auth", "tls")
    for path in EXAMPLES:
        for knob in knobs(load_profile(path).profile):
            assert not any(word in knob.path for word in forbidden)


def test_refresh_intervals_stay_within_the_freshness_guardrail() -> None:
    text = DIRECT + "guardrails: {freshness_p99_s: 8}\n"
    found = {str(knob.path): knob for knob in knobs(parse_profile(text, "p.yaml").profile)}
    levels = found["outputs[logs].index.settings.refresh_interval"].levels
    assert "10s" not in levels
    assert "5s" in levels


def test_frozen_knobs_are_left_out() -> None:
    text = DIRECT + "search: {freeze: [main_queue.workerThreads]}\n"
    assert "main_queue.workerThreads" not in {
        k.path for k in knobs(parse_profile(text, "p").profile)
    }
