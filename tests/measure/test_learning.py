"""What of a base its traffic does not test."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.lab.test_base_script import ES, fitted
from tests.profile.test_base import loaded
from tuner.errors import Refused
from tuner.lab.lab import Lab
from tuner.measure.learning import Seen, learnt, no_json, seldom, unreached
from tuner.profile.model import Profile
from tuner.rainerscript.script import ScriptObject, every

CONF = f"""\
input(type="imtcp" port="514")
if $programname == "billing" then {{
  action(type="omfile" file="/var/log/billing.log")
}}
*.* {ES})
"""


def said(folder: Path, counted: dict[str, int]) -> list[str]:
    base = loaded(folder, conf=CONF).profile.base
    assert base is not None
    block = every(fitted(folder, CONF).block)
    actions = [one for one in block if isinstance(one, ScriptObject) and one.kind == "action"]
    return list(unreached(base.kept, actions, counted))


def test_actions_that_got_no_event_are_told_with_their_places(tmp_path: Path) -> None:
    (line,) = said(tmp_path, {"rsyslog-tune-1": 0, "rsyslog-tune-2": 2000})
    place = f"{tmp_path}/rsyslog.conf:3:3 action[1]"
    assert line == f"1 of 2 actions, which got no event: {place}"


def test_where_all_got_events_nothing_is_told(tmp_path: Path) -> None:
    assert said(tmp_path, {"rsyslog-tune-1": 1, "rsyslog-tune-2": 2000}) == []


def test_where_nobody_counted_nothing_is_told(tmp_path: Path) -> None:
    assert said(tmp_path, {}) == []


def test_actions_that_few_messages_reach_are_told_with_their_places(tmp_path: Path) -> None:
    base = loaded(tmp_path, conf=CONF).profile.base
    assert base is not None
    engine = [base.kept.changed.objects["action[es]"]]
    (line,) = seldom([[1] * 9 + [0] * 991], engine)
    place = f"{tmp_path}/rsyslog.conf:5:5"
    assert line == f"load on actions that less than 1% of the messages reach: {place}"
    assert list(seldom([[1] * 10 + [0] * 990], engine)) == []
    assert list(seldom([[0] * 1000], engine)) == []


def test_documents_that_are_no_json_are_told_with_their_action(tmp_path: Path) -> None:
    number = b'"rsyslog_tune_seq":1017641044'
    good, bad, other = (
        b'{"m":"a",%b00000001}' % number, b'{"m":"a "b",%b00000002}' % number, b"[]"
    )  # fmt: skip
    lines = b"".join(b"{}\n%b\n" % one for one in (good, bad, other))
    base = loaded(tmp_path, conf=CONF).profile.base
    assert base is not None
    engine = [base.kept.changed.objects["action[es]"]]
    (line,) = no_json(lines, engine)
    assert line == f"1 of 2 documents of {tmp_path}/rsyslog.conf:5:5 are no JSON"


def base(text: str) -> Profile:
    """As much of a profile with a base as learning it looks at."""
    written = SimpleNamespace(text=(("rsyslog.conf", text),))
    kept = SimpleNamespace(written=written, template=None)
    return cast(Profile, SimpleNamespace(base=SimpleNamespace(kept=kept)))


def lab() -> Lab:
    """As much of a lab on the sink."""
    return cast(Lab, SimpleNamespace(learnt={}, engine=SimpleNamespace(stand_in="sink")))


def test_what_a_base_makes_of_each_message_is_learnt_once_from_two_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of what differs between them nothing is expected."""
    rounds = [[1, 0, 2, 1, 0, 2], [0, 1, 0, 1, 1, 0]]
    asked: list[object] = []

    def seen(_lab: object, profile: object, _base: object) -> Seen:
        asked.append(profile)
        return Seen(rounds, ("it",), ())

    monkeypatch.setattr("tuner.measure.learning._seen", seen)
    here = lab()
    found = learnt(here, base("one"))
    assert found.expectation.outputs == ((1, 0, 2), (-1, 1, 0))
    assert found.untested == (
        "it", "the documents of 1 of 3 messages, which differ from time to time"
    )  # fmt: skip
    assert learnt(here, base("one")) is found
    assert len(asked) == 1
    learnt(here, base("another"))
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("rounds", "why"),
    [
        ([[0, 0, 0, 0]], "none of 2 messages reaches an engine action"),
        ([[0, 1, 1, 0]], "of 2 of 2 messages differs from time to time"),
        ([[0, 1, 0, 0]], "of 1 of 2 messages differs .* and no other reaches an engine action"),
    ],
)
def test_a_base_of_which_nothing_can_be_expected_is_not_measured(
    rounds: list[list[int]], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuner.measure.learning._seen", lambda *_: Seen(rounds, (), ()))
    with pytest.raises(Refused, match=why):
        learnt(lab(), base("one"))
