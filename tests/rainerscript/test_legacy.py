"""The old form as the objects that stand for it today."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize("first", ["$RuleSet r", 'ruleset(name="r") {}'])
def test_rules_go_to_the_first_ruleset_of_a_name_as_in_rsyslogd(first: str) -> None:
    lines = today(
        f"{first}\n$RuleSet R\n*.* /a\n$RuleSet RSYSLOG_DefaultRuleset\n*.* /c\n$RuleSet r\n"
        '*.* /b\nruleset(name="R") { stop }\n'
    )
    text = "".join(lines)
    begin = text.index('ruleset(name="r") {')
    inside = text[begin : text.index("}", text.index("/b"))]
    assert ("/a" in inside, "/c" in inside, "stop" in text) == (True, False, False)


def test_main_queue_beats_the_directives_of_it() -> None:
    assert today('$MainMsgQueueSize 10\nmain_queue(queue.size="20")\n') == [
        'main_queue(queue.size="20")'
    ]


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
