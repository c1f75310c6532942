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


def test_a_property_filter_asks_for_the_name_of_a_priority_alone() -> None:
    """In an expression rsyslogd takes other names for it too, and refuses those that are none."""
    lines = today(
        ':syslogseverity-text, isequal, "err" /var/log/a\n'
        ':syslogseverity-text, isequal, "error" /var/log/b\n'
        ':syslogfacility-text, !isequal, "app" /var/log/c\n'
        ':syslogpriority, isequal, "info" /var/log/d\n:syslogseverity, isequal, "6" /var/log/e\n'
        ':syslogseverity-text, isempty, "" /var/log/f\n:msg, isempty, "" /var/log/g\n'
    )
    assert [one.removesuffix(" then {") for one in lines if one.startswith("if ")] == [
        'if $syslogseverity-text == "err"', 'if prifilt("*.none")', 'if not prifilt("*.none")',
        'if prifilt("*.none")', 'if $syslogseverity == "6"', 'if prifilt("*.none")',
        'if $msg == ""',
    ]  # fmt: skip


def test_what_waits_for_the_next_action_is_gone_after_it() -> None:
    waiting = "$ActionResumeRetryCount -1\n$ActionQueueType LinkedList\n$ActionName far\n"
    new = 'action(type="omfwd" target="c")'
    lines = today(f"{waiting}*.* @@a\n*.* @@b\n{waiting}{new}\n*.* @@d\n")
    first, *others = (one for one in lines if "action(" in one)
    assert 'action.resumeRetryCount="-1"' in first
    assert 'queue.type="LinkedList"' in first
    assert len(others) == 3
    assert not [one for one in others if "resumeRetryCount" in one or "queue." in one]
    assert ['name="far"' in one for one in others] == [False, False, True]
