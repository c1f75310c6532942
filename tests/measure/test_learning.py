"""What of a base its traffic does not test."""

from __future__ import annotations

from pathlib import Path

from tests.lab.test_base_script import ES, fitted
from tests.profile.test_base import loaded
from tuner.measure.learning import no_json, unreached
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
