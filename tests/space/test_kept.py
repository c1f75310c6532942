"""What the order of events and a crash of rsyslogd cost is named, and is kept where asked for."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.profile.examples import SMALL, small
from tuner.lint.candidate import candidate
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.profile.model import Keep
from tuner.space.guarantees import concessions, given_up_at
from tuner.space.knob import Knob, Level
from tuner.space.knobs import knobs

MAIN, ACTION = "main_queue", "outputs[logs].queue"
DISK: dict[str, object] = {
    "lanes": {
        "count": 2,
        "spread": "random",
        "queue": {
            "type": "Disk", "filename": "lane", "spoolDirectory": "/var/spool/rsyslog",
            "maxDiskSpace": "1g",
        },
    },
    ACTION: {"type": "Direct"},
}  # fmt: skip


def levels_with(changes: Mapping[str, object]) -> dict[str, tuple[Level, ...]]:
    """The levels of each setting of the small profile with these changes."""
    return {knob.path: knob.levels for knob in knobs(small(changes))}


def lines(base: Mapping[str, object], *changes: tuple[str, Level]) -> tuple[str, ...]:
    """What these changes of the small profile give up."""
    written = parse_profile(edit(SMALL, base), "p.yaml")
    changed = candidate(written, changes).profile
    every: dict[str, Knob] = {knob.path: knob for knob in knobs(written.profile)}
    return tuple(one.text for one in concessions(written.profile, changed, changes, every, 1e4))


def test_a_larger_queue_says_what_a_crash_loses() -> None:
    assert lines({}, (f"{MAIN}.size", 500_000)) == (
        "main_queue.size 100,000 -> 500,000: a crash of rsyslogd loses up to 500,000 events that "
        "stand in memory there, before up to 100,000",
    )


def test_a_smaller_queue_says_how_long_it_holds_out() -> None:
    assert lines({}, (f"{MAIN}.size", 50_000)) == (
        "main_queue.size 100,000 -> 50,000: a queue of 50,000 events for an outage (was 100,000, "
        "5.0 s at the rate measured)",
    )


def test_an_action_without_a_queue_says_what_an_outage_stops() -> None:
    assert lines({}, (f"{ACTION}.type", "Direct"))[0].endswith(
        "LinkedList -> Direct: an outage of the engine stops the other outputs too"
    )


def test_what_queries_and_dashboards_lose_is_said_first() -> None:
    settings = "outputs[logs].index.settings.refresh_interval"
    dynamic = {"outputs[logs].index.mapping": "dynamic"}
    said = lines(dynamic, (settings, "30s"), ("outputs[logs].index.mapping", "explicit"))
    assert said[0].endswith("events are searchable after 30s at most (was 1s)")
    assert "no .keyword fields" in said[1]
    assert lines({}, (settings, "1s")) == ()
    (never,) = lines({}, (settings, "-1"))
    assert "events are searchable after -1 at most" in never


def test_more_workers_say_that_events_may_change_places() -> None:
    assert lines({}, (f"{MAIN}.workerThreads", 2)) == (
        "main_queue.workerThreads 1 -> 2: events may be stored in another order",
    )


def test_what_has_lost_the_order_already_gives_up_none() -> None:
    assert lines({}, (f"{ACTION}.workerThreads", 4)) == ()


def test_a_direct_action_that_gets_a_queue_holds_events_in_memory() -> None:
    direct: dict[str, object] = {ACTION: None}
    assert lines(direct, (f"{ACTION}.size", 20_000), (f"{ACTION}.type", "LinkedList")) == (
        "outputs[logs].queue.type Direct -> LinkedList: a crash of rsyslogd loses up to 20,000 "
        "events that stand in memory there, before none",
    )


def test_lanes_count_for_each_of_their_queues() -> None:
    lanes = {
        "lanes": {"count": 1, "spread": "random", "queue": {"size": 50_000}},
        ACTION: {"type": "Direct"},
    }
    assert lines(lanes, ("lanes.count", 4)) == (
        "lanes.count 1 -> 4: a crash of rsyslogd loses up to 200,000 events that stand in memory "
        "there, before up to 50,000",
        "lanes.count 1 -> 4: events may be stored in another order",
    )


def test_what_is_on_disk_outlives_a_crash() -> None:
    (in_flight,) = lines(DISK, ("lanes.count", 4), ("lanes.queue.size", 500_000))
    assert "events in flight are lost when rsyslogd ends while the engine is down" in in_flight
    kept = levels_with({**DISK, "search.keep": ["loss"]})
    assert kept["lanes.count"] == (1, 2, 4)
    assert 500_000 in kept["lanes.queue.size"]
    # But for what its workers hold when rsyslogd ends.
    assert 4096 in levels_with(DISK)["lanes.queue.dequeueBatchSize"]
    assert kept["lanes.queue.dequeueBatchSize"] == (256, 512, 1024)


def test_to_keep_losses_shuts_larger_queues_in_memory() -> None:
    kept = levels_with({"search.keep": ["loss"]})
    assert kept[f"{MAIN}.size"] == (20_000, 50_000, 100_000)
    assert kept[f"{ACTION}.size"] == (10_000, 20_000, 50_000)
    assert f"{MAIN}.workerThreads" in kept
    direct = levels_with({"search.keep": ["loss"], ACTION: None})
    assert not [path for path in direct if path.startswith(ACTION)]


def test_to_keep_the_order_shuts_several_workers() -> None:
    one = {f"{ACTION}.workerThreads": 1}
    kept = levels_with({"search.keep": ["order"], **one})
    assert not [path for path in kept if "workerThread" in path]
    assert kept[f"{MAIN}.size"][-1] == 500_000
    assert f"{ACTION}.workerThreads" in levels_with({"search.keep": ["order"]})


def test_readers_of_udp_change_the_order_and_those_of_tcp_do_not() -> None:
    order: dict[str, object] = {"search.keep": ["order"]}
    udp = {"inputs": [{"type": "imudp", "port": 10514}], "guardrails.tier": "relaxed"}
    assert "inputs[0].threads" in levels_with(udp)
    assert "inputs[0].threads" not in levels_with({**udp, **order})
    assert "inputs[0].threads" in levels_with(order)


def test_levels_of_the_profile_itself_are_kept_out_too() -> None:
    wide = {"search": {"keep": ["loss"], "levels": {f"{MAIN}.size": [50_000, 1_000_000]}}}
    assert levels_with(wide)[f"{MAIN}.size"] == (50_000, 100_000)


@pytest.mark.parametrize("keep", list(Keep))
def test_with_keep_no_level_gives_it_up(keep: Keep) -> None:
    every = knobs(small({"search.keep": [keep.value], ACTION: None}))
    assert not [one for one in every for level in one.levels if keep in given_up_at(one, level)]
