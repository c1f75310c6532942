"""Where the number of an event stands in its message, as rsyslogd takes that apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.engine.test_owned import META, OURS, Engine, Objects
from tests.profile.examples import small
from tuner.engine.delivery import FIELD, MAPPING
from tuner.errors import Refused
from tuner.flood.messages import Messages
from tuner.flood.workload import flood_spec
from tuner.lab.lab import Lab
from tuner.measure.pipeline import expected, identity_of, install_for_base
from tuner.profile.model import Profile

# What rsyslogd takes off before $msg: of RFC 3164 all up to the colon of the tag, of RFC 5424 all
# up to the blank after the structured data.
_BEFORE = {
    "rfc3164": r"<\d+>.{15} \S+ \S+:",
    "local": r"<\d+>.{15} \S+:",
    "rfc5424": r"<\d+>1 \S+ \S+ \S+ \S+ \S+ (-|\[[^]]*\]) ",
    "bare": "",
}
UNIX: Mapping[str, object] = {"inputs": [{"type": "imuxsock", "socket": "/run/app.sock"}]}
FILE: Mapping[str, object] = {
    "inputs": [{"type": "imfile", "file": "/var/log/app.log", "tag": "app:"}],
    "global": {"workDirectory": "/var/spool/rsyslog"},
}


@pytest.mark.parametrize(
    ("changes", "written"),
    [
        ({}, "rfc3164"),
        ({"workload.format": "rfc5424"}, "rfc5424"),
        (UNIX, "local"),
        (FILE, "bare"),
    ],
)
def test_the_number_is_where_documents_take_it_from(
    changes: Mapping[str, object], written: str
) -> None:
    profile = small(changes)
    spec = flood_spec(profile, "0a1b2c3d")
    assert spec.format == written
    block = Messages(spec).take(2500, 1_790_000_000)
    lines = bytes(block.data).decode().splitlines()
    identity = identity_of(profile)
    for number, line in enumerate(lines):
        text = re.sub(f"^{_BEFORE[written]}", "", line)
        assert text[identity.first - 1 : identity.last] == f"{number:012d}", line


def base(text: str) -> Profile:
    """As much of a profile with a base as learning it looks at."""
    written = SimpleNamespace(text=(("rsyslog.conf", text),))
    return cast(
        Profile, SimpleNamespace(base=SimpleNamespace(kept=SimpleNamespace(written=written)))
    )


def test_what_a_base_makes_of_each_message_is_learnt_once_from_two_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of what differs between them nothing is expected."""
    rounds = [[1, 0, 2, 1, 0, 2], [0, 1, 0, 1, 1, 0]]
    learnt: list[object] = []

    def arrived(_lab: object, profile: object, _base: object) -> list[list[int]]:
        learnt.append(profile)
        return rounds

    monkeypatch.setattr("tuner.measure.pipeline._arrived", arrived)
    lab = cast(Lab, SimpleNamespace(learnt={}))
    found = expected(lab, base("one"))
    assert found.outputs == ((1, 0, 2), (-1, 1, 0))
    assert expected(lab, base("one")) is found
    assert len(learnt) == 1
    expected(lab, base("another"))
    assert len(learnt) == 2


@pytest.mark.parametrize("rounds", [[[0, 0, 0, 0]], [[0, 1, 1, 0]]])
def test_a_base_that_lets_no_message_through_is_not_measured(
    rounds: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuner.measure.pipeline._arrived", lambda *_: rounds)
    with pytest.raises(Refused, match="none of 2 messages reaches an engine action"):
        expected(cast(Lab, SimpleNamespace(learnt={})), base("one"))


def test_indices_of_a_base_are_ours_and_count_the_number_of_an_event() -> None:
    """What says so can be removed again, and nothing else."""
    engine = Engine(Objects())
    prefix = f"{OURS.prefix}t1-"
    install_for_base(cast(Lab, SimpleNamespace(client=engine, owner=OURS)), prefix)
    assert engine.asked == [f"PUT /_index_template/{prefix[:-1]}?create=true"]
    body = cast(dict[str, Any], engine.put[0])
    assert body["index_patterns"] == [f"{prefix}*"]
    assert body["_meta"] == body["template"]["mappings"]["_meta"] == META
    assert body["template"]["mappings"]["properties"] == {FIELD: MAPPING}
    # Above what people give theirs (the engine takes the highest).
    assert body["priority"] >= 500
