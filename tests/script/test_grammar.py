"""RainerScript as rsyslog 8.2302 reads it: statements with places, and refusals with theirs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tuner.script.parser import parse
from tuner.script.printing import printed
from tuner.script.script import (
    Array,
    Block,
    BsdBlock,
    Call,
    Directive,
    Expression,
    Foreach,
    FunctionCall,
    If,
    Include,
    LegacyAction,
    LegacyFilter,
    Operation,
    Quoted,
    ScriptNumber,
    ScriptObject,
    SetVariable,
    Statement,
    Variable,
    Word,
    rewritten,
    walk,
)


def read(text: str) -> tuple[Statement, ...]:
    block, refused = parse(text, "test.conf")
    assert not refused, refused
    return block


def refusals(text: str) -> list[str]:
    return [f"{one.origin.line}:{one.origin.column}: {one.message}" for one in parse(text, "f")[1]]


def only(text: str) -> Statement:
    (statement,) = read(text)
    return statement


def condition(text: str) -> Expression:
    statement = only(f"if {text} then stop")
    assert isinstance(statement, If)
    return statement.condition


def shown(expression: Expression) -> str:
    """An expression with all its parentheses."""
    match expression:
        case Operation(operator=operator, operands=(one,)):
            text = f"({operator} {shown(one)})"
        case Operation(operator=operator, operands=operands):
            text = f"({f' {operator} '.join(map(shown, operands))})"
        case FunctionCall(name=name, operands=operands):
            text = f"{name}({', '.join(map(shown, operands))})"
        case Quoted(text=quoted):
            text = repr(quoted)
        case Array(items=items):
            text = f"[{', '.join(one.text for one in items)}]"
        case ScriptNumber(number=number):
            text = str(number)
        case Variable(name=name):
            text = name
    return text


def test_objects_hold_parameters_arrays_escapes_and_comments() -> None:
    thing = only(
        'Action( # a comment\n  Type="omfile" File="/a\\"b\\101\\n" /* two\nlines */\n'
        '  server = [ "a" , "b" ] pwd=`cat /etc/secret`)'
    )
    assert isinstance(thing, ScriptObject)
    assert (thing.kind, thing.text("TYPE"), thing.text("file")) == ("action", "omfile", '/a"bA\n')
    servers, secret = thing.get("Server"), thing.get("pwd")
    assert servers is not None
    assert servers.texts == ("a", "b")
    assert secret is not None
    assert secret.value == Quoted("cat /etc/secret", secret.origin, True)
    assert (secret.origin.line, secret.origin.column) == (4, 26)


def test_an_escape_that_stands_for_nul_ends_a_text_as_in_rsyslogd() -> None:
    thing = only('action(type="omfile" file="/a\\000b")')
    assert isinstance(thing, ScriptObject)
    assert thing.text("file") == "/a"


def test_templates_have_parts_and_rulesets_a_body() -> None:
    template, ruleset = read(
        'template(name="t" type="list") { constant(value="{") property(name="msg") }\n'
        'ruleset(name="r" queue.size="10") { stop }'
    )
    assert isinstance(template, ScriptObject)
    assert isinstance(ruleset, ScriptObject)
    assert [part.kind for part in template.parts] == ["constant", "property"]
    assert ruleset.body == (Word("stop", ruleset.origin),)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        # grammar.y: `and` and `or` bind alike, from the left; `not` tighter than a comparison.
        ("$a == 1 or $b == 2 and $c", "((($a == 1) or ($b == 2)) and $c)"),
        ("not $a == 'x'", "((not $a) == 'x')"),
        ("not ($a == 'x')", "(not ($a == 'x'))"),
        ("1 + 2 * 3 - -4", "((1 + (2 * 3)) - (- 4))"),
        ("$a & 'b' & 'c' == 'abc'", "(($a & 'b' & 'c') == 'abc')"),
        ("$msg contains_i ['a', 'b']", "($msg contains_i [a, b])"),
        ("re_match($msg, 'a$') and exists($!x)", "(re_match($msg, 'a$') and exists($!x))"),
        ("$!a!b-c <> 0x1f", "($!a!b-c <> 31)"),
        ('$.x startswith "q\\$" or 010 > 7', "(($.x startswith 'q$') or (8 > 7))"),
    ],
)
def test_expressions_bind_as_in_rsyslog(text: str, meaning: str) -> None:
    assert shown(condition(text)) == meaning


def test_statements() -> None:
    text = """
        if $a then { set $.x = 1; reset $!y = "b"; unset $!y; } else if $b then call r.1
        foreach ($.i in $!list) do { call_indirect $.i; continue }
        reload_lookup_table("t", "stub")
    """
    found = [type(one) for one in walk(read(text))]
    assert found.count(SetVariable) == 3
    assert found.count(Call) == 2
    assert found.count(Foreach) == 1
    assert found[0] is If


def test_lines_of_the_old_form() -> None:
    text = (
        "*.info;mail.none  -/var/log/messages;fmt\n"
        "& @@(z9)host:10514\n"
        '\t:msg, !contains, "a \\"b\\"" ~\n'
        "local7.=debug :omusrmsg:*\n"
        "*.emerg root,admin\n"
        "cron.* |/dev/xconsole\n"
    )
    selector, test, *others = read(text)
    assert selector == LegacyFilter(
        "*.info;mail.none",
        (
            LegacyAction("-/var/log/messages;fmt", selector.origin),
            LegacyAction("@@(z9)host:10514", selector.origin),
        ),
        selector.origin,
    )
    assert isinstance(test, LegacyFilter)
    assert test.text == ':msg, !contains, "a \\"b\\""'
    assert (test.origin.line, test.origin.column) == (3, 2)
    assert all(isinstance(one, LegacyFilter) for one in others)


def test_directives_and_blocks_of_bsd() -> None:
    text = '$ModLoad imtcp\n$template a,"%msg%\\n"\n$IncludeConfig /x/*.conf\n!sshd\n+host\n'
    load, template, include, program, host = read(text)
    assert load == Directive("ModLoad", "imtcp", load.origin)
    assert template == Directive("template", 'a,"%msg%\\n"', template.origin)
    assert isinstance(include, Include)
    assert [one.text for one in (program, host) if isinstance(one, BsdBlock)] == ["!sshd", "+host"]


def test_a_directive_may_stand_before_and_also() -> None:
    text = "*.* @@first\n$ActionExecOnlyWhenPreviousIsSuspended on\n& @@second\n"
    selector = only(text)
    assert isinstance(selector, LegacyFilter)
    assert [type(one) for one in selector.body] == [LegacyAction, Directive, LegacyAction]


def test_lines_that_go_on_keep_their_places() -> None:
    (action,) = read('action(type="omfile" \\\n       file="/a\\\n   b" \\\n\n  template="t")')
    assert isinstance(action, ScriptObject)
    assert action.text("file") == "/ab"
    template = action.get("template")
    assert template is not None
    assert (template.origin.line, template.origin.column) == (5, 3)


def test_the_longest_word_wins() -> None:
    assert isinstance(only("stopper\n"), LegacyAction)
    assert isinstance(only("stop\n"), Word)


REFUSED: Sequence[tuple[str, list[str]]] = [
    ('if $msg == "a$b" then stop\n', [
        "1:1: the statement that begins in line 1 never ends",
        "1:12: a $ between double quotes must be written \\$ here, or use single quotes",
    ]),
    ("if $a then {\nmodule(load=\"x\")\n}\n", ["2:1: module() cannot stand here"]),
    ("action(type='x')\n", [
        "1:1: the statement that begins in line 1 never ends",
        "1:13: a value stands in double quotes, not in single ones",
    ]),
    ("}\n*.* /x\n", ["1:1: } does not fit here"]),
    ("/* x", ["1:1: this comment never ends: close it with */"]),
    ("if $a # why\n then stop\n", [
        "1:7: a comment cannot stand inside of a condition: use /* */",
        "1:9: why does not fit here",
    ]),
    ("if " + "(" * 80, [
        "1:1: the statement that begins in line 1 never ends",
        "1:64: nested more than 60 levels deep",
    ]),
    ("if " + "not " * 80 + "$a then stop", ["1:80: an expression nested more than 60 levels deep"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), REFUSED)
def test_what_cannot_be_read_is_named_with_its_place(text: str, said: list[str]) -> None:
    assert refusals(text) == said


def test_what_follows_an_error_is_read_and_all_errors_come_at_once() -> None:
    text = (
        'module(load="imtcp")\nif $a then } stop\n*.* /a\n'
        'ruleset(name="r") {\n  if ) then stop\n  *.* /b\n}\ninput(type="imtcp" port="1")\n'
    )
    block, refused = parse(text, "f")
    assert [one.origin.line for one in refused] == [2, 5]
    assert [one.origin.line for one in block] == [1, 3, 8]


def test_a_refusal_never_shows_what_stands_in_quotes() -> None:
    said = refusals('action(uid="a" "geheim")\n')
    assert said == ["1:16: this text does not fit here: expected ) or the name of a parameter"]


@pytest.mark.parametrize(
    "text", ['action(uid="bob\n  pwd="Tr0ub4dor-horse"\n)\n', 'action(pwd="a"Tr0ub4dor horse")\n']
)
def test_a_refusal_never_shows_a_password_whose_quotes_are_wrong(text: str) -> None:
    said = refusals(text)
    assert any("this text does not fit here" in one for one in said)
    assert not any(part in one for one in said for part in ("Tr0ub4dor", "horse"))


@pytest.mark.parametrize("text", ["if $a == 1 then { DO } else stop\n", "*.emerg { DO }\n"])
def test_a_block_of_which_nothing_is_left_is_printed_with_what_does_nothing(text: str) -> None:
    """Not `continue`: of an `if` with nothing else 8.2302 frees the memory."""
    block, _ = parse(text.replace("DO", "continue"), "f")

    def emptied(one: Statement) -> Block:
        return () if isinstance(one, Word) and one.word == "continue" else (one,)

    text = printed(rewritten(block, emptied))
    assert "unset $.rsyslogtunenothing;" in text
    assert "continue" not in text
