"""Advice: what fits a profile, and that it takes nothing away from it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.shipped import EXAMPLES, PROFILES, ROOT
from tuner.errors import Refused
from tuner.lint.advice import Advice, advise
from tuner.lint.candidate import candidate
from tuner.lint.lint import lint
from tuner.lint.load import LoadedProfile, load_profile, parse_profile
from tuner.profile.edit import edit
from tuner.profile.placement import measured_path
from tuner.schema.path import Path as KeyName
from tuner.schema.units import seconds
from tuner.space.guarantees import GUARANTEES, concessions
from tuner.space.knobs import knobs

STOCK = ROOT / "examples" / "published" / "stock.yaml"
DEFAULT = ROOT / "profiles" / "default.yaml"
_QUEUE = "outputs[logs].queue"
_GIB = 1024**3


def of(path: Path, changes: Mapping[str, object] | None = None) -> LoadedProfile:
    return parse_profile(edit(path.read_text("utf-8"), changes or {}), str(path))


def advised(
    path: Path,
    changes: Mapping[str, object] | None = None,
    cores: float = 4,
    memory: int = 8 * _GIB,
) -> dict[str, object]:
    """What is changed for speed, by path."""
    advice = advise(of(path, changes), cores, memory)
    return {one.path: one.after for one in advice.changes}


def left(advice: Advice) -> dict[str, str]:
    return {one.path: " ".join(one.price) for one in advice.left}


@pytest.mark.parametrize("path", [*PROFILES, *EXAMPLES], ids=lambda path: path.stem)
@pytest.mark.parametrize("cores", [1, 16])
def test_advice_makes_no_profile_weaker(path: Path, cores: float) -> None:
    written = load_profile(path)
    advice = advise(written, cores, _GIB)
    before, after = written.profile, candidate(written, advice.settings).profile
    tuned = tuple((one.path, one.after) for one in advice.changes)

    names = [KeyName(one) for one, _ in tuned]
    assert not [one for one in names if any(one.ends_with(name) for name in GUARANTEES)]
    every = {str(knob.path): knob for knob in knobs(before)}
    given_up = [one.text for one in concessions(before, after, tuned, every)]
    assert not [one for one in given_up if "crash" in one or "outage" in one]
    if all(queue.workers <= 1 for queue in measured_path(before)):
        assert all(queue.workers <= 1 for queue in measured_path(after))
    known = {(one.code, one.path) for one in lint(before)}
    assert {(one.code, one.path) for one in lint(after)} <= known
    sizes = [[(one.path, one.size) for one in measured_path(each)] for each in (before, after)]
    assert sizes[0] == sizes[1]
    refresh_s = seconds(after.measured.index.settings.refresh_interval) or 0
    assert refresh_s < before.guardrails.freshness_p99_s
    for name in ("guardrails", "inputs", "streams", "steps", "node", "global_", "snippets"):
        assert getattr(after, name) == getattr(before, name), name


@pytest.mark.parametrize("path", [*PROFILES, *EXAMPLES], ids=lambda path: path.stem)
def test_advice_that_was_taken_is_not_given_again(path: Path) -> None:
    written = load_profile(path)
    first = advise(written, 4, 8 * _GIB)
    again = advise(candidate(written, first.settings), 4, 8 * _GIB)
    assert again.settings == ()


@pytest.mark.parametrize("path", [*PROFILES, *EXAMPLES], ids=lambda path: path.stem)
def test_each_change_says_what_it_gives_and_what_it_takes(path: Path) -> None:
    for one in advise(load_profile(path), 4, 8 * _GIB).changes:
        assert one.why, one.path
        assert one.takes, one.path


def test_the_default_profile_gets_the_recipe_set_by_hand() -> None:
    assert advised(DEFAULT) == {
        "outputs[logs].filter_path": ("errors", "items.*.status", "items.*.error"),
        f"{_QUEUE}.dequeueBatchSize": 5000,
        f"{_QUEUE}.workerThreads": 4,
        f"{_QUEUE}.workerThreadMinimumMessages": 5000,
        "outputs[logs].index.settings.refresh_interval": "30s",
    }


def test_one_core_shared_with_the_engine_gets_two_workers() -> None:
    elsewhere: dict[str, object] = {
        "outputs[logs].servers": ["https://es.example.org:9200"],
        "outputs[logs].tls": {"cacert": "/etc/ssl/ca.pem"},
    }
    assert f"{_QUEUE}.workerThreads" not in advised(DEFAULT, cores=1)
    assert advised(DEFAULT, elsewhere, cores=1)[f"{_QUEUE}.workerThreads"] == 4
    assert advise(of(DEFAULT), 1, _GIB).is_local
    assert not advise(of(DEFAULT, elsewhere), 1, _GIB).is_local


def test_order_that_the_profile_keeps_stays() -> None:
    one_worker = {f"{_QUEUE}.workerThreads": 1, f"{_QUEUE}.workerThreadMinimumMessages": None}
    advice = advise(of(DEFAULT, one_worker), 4, 8 * _GIB)
    assert f"{_QUEUE}.workerThreads" in left(advice)
    assert "another order" in left(advice)[f"{_QUEUE}.workerThreads"]
    assert not [one for one in advice.changes if "worker" in one.path]


def test_workers_that_rsyslog_starts_at_a_backlog_alone_do_not_start_sooner() -> None:
    """The implicit main queue has two, the second above 40,000 events: what is in order stays so,
    and a Direct action, behind which a crash loses nothing more, stays Direct."""
    advice = advise(of(STOCK), 4, 8 * _GIB)
    assert not [one for one in advice.changes if "worker" in one.path]
    assert {one.path: one.after for one in advice.changes}["main_queue.dequeueBatchSize"] == 4096
    assert "crash" in left(advice)[f"{_QUEUE}.type"]


def test_workers_that_start_later_have_no_price() -> None:
    """They overtake one another less."""
    changes = {f"{_QUEUE}.workerThreadMinimumMessages": 2000, f"{_QUEUE}.workerThreads": 4}
    prices = {one.path: one.price for one in advise(of(DEFAULT, changes), 4, 8 * _GIB).changes}
    assert prices[f"{_QUEUE}.workerThreadMinimumMessages"] == ()


def test_queries_keep_what_the_profile_does_not_say_they_need_not() -> None:
    """The uses of a preset are ours; freshness has a default, which is nobody's word either."""
    mapping, refresh = (
        "outputs[logs].index.mapping",
        "outputs[logs].index.settings.refresh_interval",
    )
    prices = left(advise(of(STOCK), 4, 8 * _GIB))
    assert "no .keyword fields" in prices[mapping]
    assert "searchable after 30s at most (was 1s)" in prices[refresh]
    said = {"property": "msg", "name": "message", "uses": ["full_text"]}
    stated = {"outputs[logs].document": [said], "guardrails.freshness_p99_s": 20}
    found = advised(STOCK, stated)
    assert (found[mapping], found[refresh]) == ("explicit", "10s")


def test_what_is_larger_already_becomes_no_smaller() -> None:
    larger = {
        f"{_QUEUE}.size": 200_000,
        f"{_QUEUE}.dequeueBatchSize": 8000,
        f"{_QUEUE}.workerThreads": 6,
        f"{_QUEUE}.workerThreadMinimumMessages": 8000,
        "outputs[logs].index.settings.refresh_interval": "40s",
        "main_queue.dequeueBatchSize": 2048,
        "node.heap": "8g",
    }
    assert set(advised(DEFAULT, larger)) == {"outputs[logs].filter_path"}


@pytest.mark.parametrize(
    ("changes", "memory", "batch", "workers"),
    [
        ({"workload.message_bytes": {"mean": 3000}, "node.heap": "512m"}, 8 * _GIB, 3000, None),
        ({}, _GIB // 8, 5000, 3),
        ({}, _GIB // 16, 3000, None),
        ({f"{_QUEUE}.size": 12_000}, 8 * _GIB, 3000, None),
    ],
    ids=["heap", "memory", "less memory", "queue"],
)
def test_bulks_take_no_more_room_than_there_is(
    changes: Mapping[str, object], memory: int, batch: int, workers: int | None
) -> None:
    found = advised(DEFAULT, changes, memory=memory)
    assert found[f"{_QUEUE}.dequeueBatchSize"] == batch
    assert found.get(f"{_QUEUE}.workerThreads") == workers


def test_a_proxy_gets_no_request_above_its_limit() -> None:
    behind: dict[str, object] = {
        "outputs[logs].servers": ["https://es.example.org:443"],
        "outputs[logs].tls": {"cacert": "/etc/ssl/ca.pem"},
    }
    assert f"{_QUEUE}.dequeueBatchSize" not in advised(DEFAULT, behind)


def test_what_a_search_may_not_touch_is_not_advised_either() -> None:
    frozen = {"search": {"freeze": ["outputs[logs].index", "outputs[logs].filter_path"]}}
    assert all("queue" in path for path in advised(DEFAULT, frozen))


def test_repairs_are_those_of_a_search() -> None:
    lossy = {f"{_QUEUE}.timeoutEnqueue": None}
    advice = advise(of(DEFAULT, lossy), 4, 8 * _GIB)
    assert [one.code for one in advice.repairs] == ["RT113"]
    assert (f"{_QUEUE}.timeoutEnqueue", 86_400_000) in advice.settings


def test_without_an_output_into_an_engine_there_is_no_advice() -> None:
    text = (
        "name: none\ninputs: [{type: imptcp, port: 514}]\n"
        "outputs: [{name: all, type: omfile, file: /srv/all.log}]\n"
    )
    with pytest.raises(Refused, match="none of the outputs goes into the engine"):
        advise(parse_profile(text, "none.yaml"), 4, 8 * _GIB)
