"""What of a base its traffic does not test."""

from __future__ import annotations

from pathlib import Path

from tests.lab.test_base_script import ES, fitted
from tests.profile.test_base import loaded
from tuner.measure.learning import unreached
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
