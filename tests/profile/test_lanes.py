"""Lint of lanes, and what they mean for queues and knobs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.profile.examples import small
from tuner.errors import BadProfile
from tuner.lint.lint import lint
from tuner.profile.placement import backlog_marks
from tuner.space.knobs import knobs

QUEUE = {"size": 50_000, "dequeueBatchSize": 1000}


def codes(changes: dict[str, Any]) -> list[str]:
    """The codes of what lint says of a small profile with Direct outputs and these changes."""
    try:
        profile = small({"outputs[logs].queue": None, **changes})
    except BadProfile as bad:
        return [problem.code for problem in bad.problems]
    return [finding.code for finding in lint(profile)]


def test_lanes_with_ports_are_fine() -> None:
    assert codes({"lanes": {"count": 4, "queue": QUEUE}}) == []


def test_an_input_without_a_port_needs_another_spread() -> None:
    file = [{"type": "imfile", "file": "/var/log/app.log", "tag": "app:"}]
    folder = {"global": {"workDirectory": "/var/spool/rsyslog"}}
    lanes = {"count": 2, "queue": QUEUE}
    assert "RT130" in codes({"inputs": file, **folder, "lanes": lanes})
    assert "RT130" not in codes({"inputs": file, **folder, "lanes": {**lanes, "spread": "random"}})


def test_an_input_with_a_parser_of_its_own_cannot_enter_lanes() -> None:
    parser = {"inputs[0].parser": ["rsyslog.rfc5424"]}
    assert "RT130" in codes({**parser, "lanes": {"count": 2, "queue": QUEUE}})
    both = {**parser, "parser": ["rsyslog.rfc5424"]}
    assert codes({**both, "lanes": {"count": 2, "queue": QUEUE}}) == []


def test_the_last_port_is_65535() -> None:
    assert codes({"inputs[0].port": 65533, "lanes": {"count": 4, "queue": QUEUE}}) == ["RT131"]
    assert codes({"inputs[0].port": 65532, "lanes": {"count": 4, "queue": QUEUE}}) == []


def test_lanes_may_not_take_each_others_ports() -> None:
    inputs = [{"type": "imptcp", "port": 10514}, {"type": "imptcp", "port": 10516}]
    assert "RT202" in codes({"inputs": inputs, "lanes": {"count": 3, "queue": QUEUE}})
    assert codes({"inputs": inputs, "lanes": {"count": 2, "queue": QUEUE}}) == []


def test_a_lane_without_a_queue_is_none() -> None:
    assert "RT132" in codes({"lanes": {"count": 2, "queue": {"type": "Direct"}}})


def test_a_queue_behind_the_lanes_brings_them_together_again() -> None:
    queue = {"type": "LinkedList", "size": 50_000, "dequeueBatchSize": 1000,
             "timeoutEnqueue": 86_400_000, "timeoutShutdown": 10_000}  # fmt: skip
    changes = {"outputs[logs].queue": queue, "lanes": {"count": 2, "queue": QUEUE}}
    assert codes(changes) == ["RT133"]


def test_a_hash_needs_its_property() -> None:
    with pytest.raises(BadProfile, match="belong together"):
        small({"lanes": {"count": 2, "spread": "hash"}})


def test_a_backlog_keeps_the_workers_of_every_lane_busy() -> None:
    alone = small({"outputs[logs].queue": None, "main_queue": QUEUE})
    split = small({"outputs[logs].queue": None, "lanes": {"count": 4, "queue": QUEUE}})
    assert backlog_marks(split).low == 4 * backlog_marks(alone).low
    assert backlog_marks(split).high == 4 * backlog_marks(alone).high


def test_a_search_turns_the_queues_that_events_pass() -> None:
    def paths(lanes: dict[str, Any]) -> set[str]:
        profile = small({"outputs[logs].queue": None, "lanes": {**lanes, "queue": QUEUE}})
        return {knob.path for knob in knobs(profile)}

    by_ports, by_hash = paths({"count": 2}), paths({"count": 2, "spread": "random"})
    assert "lanes.queue.dequeueBatchSize" in by_ports
    assert "main_queue.dequeueBatchSize" not in by_ports
    assert {"lanes.queue.dequeueBatchSize", "main_queue.dequeueBatchSize"} <= by_hash
