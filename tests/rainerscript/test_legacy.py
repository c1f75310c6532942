"""The old form as the objects that stand for it today."""

from __future__ import annotations

from tuner.rainerscript.legacy import modern
from tuner.rainerscript.parser import parse
from tuner.rainerscript.script import printed


def today(text: str) -> list[str]:
    block, refused = parse(text, "x.conf")
    assert not refused
    return printed(modern(block)).splitlines()


def test_another_default_ruleset_takes_the_events_of_the_rules_outside() -> None:
    lines = today(
        '$DefaultRuleset local\n*.* /var/log/never\nmodule(load="imudp")\n'
        'ruleset(name="local") { action(type="omfile" file="/var/log/all") }\n'
    )
    unused = lines.index('ruleset(name="RSYSLOG_DefaultRuleset, not used") {')
    assert "/var/log/never" in "".join(lines[unused:])
    assert lines[0] == 'module(load="imudp")'
    assert lines[-1] == "call local"


def test_the_default_ruleset_may_be_rsyslogs_own_again() -> None:
    lines = today("$DefaultRuleset local\n$DefaultRuleset RSYSLOG_DefaultRuleset\n*.* /var/log/x\n")
    assert "call local" not in lines
    assert any("/var/log/x" in one for one in lines)
