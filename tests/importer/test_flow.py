"""The order of statements: what may change places in a profile, where steps come before outputs,
and what keeps its whole ruleset as it is because it may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.importer.test_import import DOCUMENT, imported, listed
from tuner.importer.flow import Walk
from tuner.importer.reached import (
    KEPT,
    OUTPUT,
    PARSED,
    Guards,
    Reached,
    name_of_statement,
    why_bound,
)
from tuner.importer.steps import step_of
from tuner.rainerscript.conditions import Precondition
from tuner.rainerscript.configuration import Parts
from tuner.rainerscript.gaps import Gap, Gaps, Inexpressible
from tuner.rainerscript.parser import parse
from tuner.rainerscript.printing import printed
from tuner.rainerscript.script import If, ScriptObject, ScriptPosition
from tuner.rainerscript.template import template_of

_TEMPLATES = (
    'template(name="all" type="list") { property(name="$!all-json") }\n'
    'template(name="a" type="string" string="{\\"a\\":\\"%$!a:::json%\\"}")\n'
)
_WHOLE, _A, _MESSAGE = (
    f'action(type="omelasticsearch" template="{name}")\n' for name in ("all", "a", "d")
)
_OVER = 'action(type="omfile" file="/b" action.execOnlyWhenPreviousIsSuspended="on")\n'
_LOOP = "foreach ($.one in $!list) do {{ set $!{name} = $.one!name; }}\n"


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param('action(type="mmjsonparse")\n' + _WHOLE, id="parsed, then written"),
        pytest.param('set $!a = "1";\n' + _A, id="set, then written"),
        pytest.param(_MESSAGE + 'set $!a = "1";\n', id="set after an output that has no JSON"),
        pytest.param(_A + 'set $!ab = "1";\n', id="set after an output that has another member"),
        pytest.param(_A + 'set $.a = "1";\n', id="set after an output that has a member so called"),
        pytest.param('set $!a = "1";\nset $!b = $!a & "2";\n' + _WHOLE, id="set from what is set"),
        pytest.param(_LOOP.format(name="b") + 'set $!a = "1";\n' + _A, id="set after a loop"),
        pytest.param(
            'foreach ($.one in $!list) do { if $.one == "x" then stop }\n' + _A,
            id="a loop may stop",
        ),
    ],
)
def test_what_may_change_places_is_a_step_or_an_output(rules: str, tmp_path: Path) -> None:
    made = imported(f"{DOCUMENT}{_TEMPLATES}{rules}", tmp_path)
    assert len(listed(made, "outputs")) == 1
    assert not [one.message for one in made.kept if "whole ruleset" in one.message]


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        pytest.param(_WHOLE + 'action(type="mmjsonparse")\n', 6, id="written, then parsed"),
        pytest.param(_A + 'set $!a = "1";\n', 6, id="written, then set"),
        pytest.param(_A + 'set $!a!b = "1";\n', 6, id="written, then a part of it set"),
        pytest.param(_A + "unset $!a;\n", 6, id="written, then taken away"),
        pytest.param(_A + _LOOP.format(name="a"), 6, id="written, then set by a loop"),
        pytest.param(
            _LOOP.format(name="a") + 'set $!b = $!a & "2";\n' + _A,
            6,
            id="set from what a loop sets",
        ),
        pytest.param(
            _LOOP.format(name="a") + 'set $!a = "1";\n' + _A, 6, id="set where a loop sets before"
        ),
        pytest.param(
            'if $!a == "1" then set $!b = "1";\n'
            'if $!a == "1" then {\nset $!a = "2";\n' + _A + "}\n",
            8,
            id="set between a condition and what it guards",
        ),
        pytest.param(
            'if $programname == "a" then {\naction(type="mmjsonparse")\n}\n' + _WHOLE,
            6,
            id="parsed for some, written for all",
        ),
        pytest.param(
            'set $.o = exec_template("a");\nset $!a = "masked";\n' + _A,
            6,
            id="set after a template that is written into a variable",
        ),
        pytest.param(
            _WHOLE + 'if parse_json($msg, "\\$!in") == 0 then action(type="omfile" file="/j")\n',
            6,
            id="written, then set by a condition",
        ),
        pytest.param(
            _A
            + 'foreach ($.one in $!list) do { if parse_json($.one, "\\$!a") == 0 then continue }\n',
            6,
            id="written, then set by a condition in a loop",
        ),
        pytest.param(
            _MESSAGE + 'foreach ($.one in $!list) do { if $.one == "x" then stop }\n' + _MESSAGE,
            6,
            id="written, then stopped by a loop",
        ),
        pytest.param(
            _MESSAGE + "foreach ($.one in $!list) do { call r }\n" + _MESSAGE,
            6,
            id="written, then handed to a ruleset by a loop",
        ),
        pytest.param(
            'action(type="omprog" binary="/bin/x" confirmMessages="on")\naction(type="omlibdbi")\n'
            + _OVER,
            7,
            id="takes over from what is kept",
        ),
        pytest.param(_MESSAGE + _OVER.replace("omfile", "omlibdbi"), 6, id="kept, and takes over"),
    ],
)
def test_what_may_not_keeps_its_whole_ruleset(rules: str, line: int, tmp_path: Path) -> None:
    made = imported(f"{DOCUMENT}{_TEMPLATES}{rules}", tmp_path)
    assert made.data["outputs"] == []
    (kept,) = [one for one in made.kept if "whole ruleset" in one.message]
    assert kept.origin.line == line
    assert [one for one in made.snippets["site-outputs.conf"].splitlines() if one]


def test_an_action_that_takes_over_stays_behind_the_one_before(tmp_path: Path) -> None:
    """omfwd without a port sends to 514."""
    files = [f'action(type="omfile" file="/var/log/{name}")\n' for name in "ab"]
    over = files[1].replace(")", ' action.execOnlyWhenPreviousIsSuspended="on")')
    text = f'{DOCUMENT}{files[0]}action(type="omfwd" target="h" protocol="tcp")\n{over}'
    made = imported(text, tmp_path)
    assert (made.missing, made.kept) == ((), ())
    assert [one["type"] for one in listed(made, "outputs")] == ["omfile", "omfwd", "omfile"]
    assert listed(made, "outputs")[1]["port"] == 514


def test_a_message_that_is_changed_after_an_output_is_not_changed_before_it(tmp_path: Path) -> None:
    """Formats of rsyslog's own write the message too."""
    files = [f'action(type="omfile" file="/var/log/{name}")\n' for name in "ab"]
    between = f'{files[0]}module(load="mmanon")\naction(type="mmanon")\n{files[1]}'
    before = f'module(load="mmanon")\naction(type="mmanon")\n{files[0]}{files[1]}'
    assert imported(f"{DOCUMENT}{between}", tmp_path).data["outputs"] == []
    assert len(listed(imported(f"{DOCUMENT}{before}", tmp_path), "outputs")) == 2


def way_of(text: str) -> tuple[Walk, list[str], list[str] | None]:
    """The walk through a configuration, each action and other statement that events reach with
    what must hold for it, and what holds for an event that goes on after all; None if none does."""
    block, refused = parse(text, "rsyslog.conf")
    assert not refused
    objects = [one for one in block if isinstance(one, ScriptObject) and one.kind == "ruleset"]
    walk = Walk({str(one.text("name")): one for one in objects}, Gaps())
    after = walk.block(tuple(one for one in block if one not in objects), ())
    met = [" if ".join([_name(one), *_conditions(one.guards)]) for one in walk.reached]
    return walk, met, None if after is None else _conditions(after)


def _name(one: Reached) -> str:
    statement = one.statement
    return statement.name if isinstance(statement, ScriptObject) else name_of_statement(statement)


def _conditions(guards: Guards) -> list[str]:
    said = [f"{'' if one.holds else 'not '}({_text(one)})" for one in guards]
    return [" and ".join(said)] if said else []


def _text(guard: Precondition) -> str:
    condition = guard.condition
    (line, *_) = printed((If(condition, (), (), ScriptPosition("", 1, 1)),)).splitlines()
    return line.removeprefix("if ").removesuffix(" then {")


def act(*names: str) -> str:
    return "".join(f'action(type="omfile" file="/x" name="{name}")\n' for name in names)


A, B, C = (f'$programname == "{name}"' for name in "abc")
NOT_BOTH = f"not (({A}) and ({B}))"


@pytest.mark.parametrize(
    ("text", "reached", "after"),
    [
        (act("1", "2"), ["1", "2"], []),
        (act("1") + "stop\n" + act("2"), ["1"], None),
        (act("1") + "continue\n" + act("2"), ["1", "2"], []),
        (f"if {A} then {{ {act('1')} }}\n" + act("2"), [f"1 if ({A})", "2"], []),
        (f"if {A} then {{ {act('1')} }} else {{ {act('2')} }}\n",
         [f"1 if ({A})", f"2 if not ({A})"], []),
        (f"if {A} then stop\n" + act("1", "2"), [f"1 if not ({A})", f"2 if not ({A})"],
         [f"not ({A})"]),
        (f"if {A} then continue else stop\n" + act("1"), [f"1 if ({A})"], [f"({A})"]),
        (f"if {A} then {{ if {B} then stop }}\n" + act("1"), [f"1 if {NOT_BOTH}"], [NOT_BOTH]),
        (f"if {A} then {{ if {B} then stop {act('1')} }}\n", [f"1 if ({A}) and not ({B})"],
         [NOT_BOTH]),
        (f"if {A} then continue else {{ if {B} then stop }}\n",
         [], [f"not ((not ({A})) and ({B}))"]),
        (f"if {A} then {{ if {B} then continue else stop }}\n",
         [], [f"not (({A}) and (not ({B})))"]),
        (f"if {A} then stop else {{ if {B} then stop }}\n" + act("1"),
         [f"1 if not ({A}) and not ({B})"], [f"not ({A}) and not ({B})"]),
        (f"if {A} then {{ if {B} then stop }} else stop\n" + act("1"),
         [f"1 if ({A}) and not ({B})"], [f"({A}) and not ({B})"]),
        (f"if {A} then stop else stop\n" + act("1"), [], None),
        (f"if {A} then {{ if {B} then {{ {act('1')} stop }} {act('2')} }}\n{act('3')}",
         [f"1 if ({A}) and ({B})", f"2 if ({A}) and not ({B})", f"3 if {NOT_BOTH}"], [NOT_BOTH]),
    ],
)  # fmt: skip
def test_an_event_reaches_what_its_conditions_lead_it_to(
    text: str, reached: list[str], after: list[str] | None
) -> None:
    _, met, left = way_of(text)
    assert (met, left) == (reached, after)


RULESET = 'ruleset(name="r") {{ {body} }}\n'


@pytest.mark.parametrize(
    ("body", "reached"),
    [
        (act("1"), [f"1 if ({A})", "2"]),
        (f"if {B} then stop", [f"2 if {NOT_BOTH}"]),
        ("stop", [f"2 if not ({A})"]),
    ],
)
def test_a_ruleset_that_is_called_is_gone_through(body: str, reached: list[str]) -> None:
    """What stops there stops for good."""
    text = RULESET.format(body=body) + f"if {A} then call R\n" + act("2")
    walk, met, _ = way_of(text)
    assert (met, walk.visited, walk.bound) == (reached, {"r"}, None)


def test_a_queue_before_the_only_action_of_a_called_ruleset_is_that_actions() -> None:
    """With the defaults that a ruleset's queue has; and what stops there goes on here."""
    queued = 'ruleset(name="r" queue.type="LinkedList" queue.size="7") {{ {body} stop }}\n'
    walk, met, _ = way_of(queued.format(body=act("1")) + "call r\n" + act("2"))
    assert met == ["1", "2"]
    (action, _) = (one.statement for one in walk.reached)
    assert isinstance(action, ScriptObject)
    assert {one.key: one.text for one in action.queue} == {
        "queue.type": "LinkedList", "queue.size": "7", "queue.dequeuebatchsize": "1024",
    }  # fmt: skip
    own = act("1").replace("name=", 'queue.type="Direct" name=')
    for body in (act("1", "2"), own, "set $!a = 1;", ""):
        walk, _, _ = way_of(queued.format(body=body) + "call r\n")
        assert walk.bound is not None
        assert walk.bound.message == "ruleset r is called and has a queue of its own"


@pytest.mark.parametrize(
    ("text", "why", "line"),
    [
        ('ruleset(name="r") { call r }\ncall r\n', "ruleset r calls itself", 1),
        ('ruleset(name="r") { call s }\nruleset(name="s") { call r }\ncall r\n',
         "ruleset r calls itself", 2),
        (act("1") + "call_indirect $!to;\n", "the ruleset of call_indirect depends on the event",
         2),
        (act(*map(str, range(201))), "more than 200 actions", 201),
    ],
)  # fmt: skip
def test_actions_that_cannot_be_told_apart_are_said(text: str, why: str, line: int) -> None:
    walk, met, _ = way_of(text)
    assert walk.bound is not None
    assert (walk.bound.message, walk.bound.origin.line) == (why, line)
    assert len(met) in {0, 1, 200}
    assert way_of(act(*map(str, range(200))))[0].bound is None


def test_rulesets_may_call_each_other_twenty_deep() -> None:
    def chain(depth: int) -> Walk:
        rulesets = (f'ruleset(name="r{n}") {{ call r{n + 1} }}\n' for n in range(depth))
        return way_of("".join(rulesets) + f'ruleset(name="r{depth}") {{ {act("1")} }}\ncall r0\n')[
            0
        ]

    assert chain(19).bound is None
    assert chain(20).bound is not None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("call other\n", "there is no ruleset other"),
        ("$ActionQueueSize 7\n", "the directive $ActionQueueSize"),
        ("!sshd\n", "rsyslog 8 refuses !program and +host blocks"),
        ('include(file="/x")\n', "a statement of this kind"),
    ],
)
def test_what_is_not_followed_is_said_and_what_comes_after_it_is(text: str, said: str) -> None:
    walk, met, _ = way_of(text + act("1"))
    assert [(one.message, one.origin.line) for one in walk.gaps.missing] == [(said, 1)]
    assert met == ["1"]


def test_what_was_refused_by_the_engine_does_not_come_for_the_first_time() -> None:
    retry = f"if $.omes!status == 429 then {{ {act('1')} }} else {{ {act('2')} }}\n"
    assert way_of(retry)[1:] == (["2"], [])
    mixed = f"if $.omes!status == 429 or {A} then {{ {act('1')} }}\n"
    assert len(way_of(mixed)[1]) == 1


def test_a_variable_that_holds_an_id_of_the_event_is_known() -> None:
    walk, met, _ = way_of("set $!id = $uuid;\nset $!other = $msg;\nunset $!x;\n" + act("1"))
    assert walk.identities == {"$!id"}
    assert met == ["set $!id", "set $!other", "unset $!x", "1"]
    assert not way_of("set $!id = $uuid;\nset $!ID = $msg;\n" + act("1"))[0].identities


_OWN_ID = (
    'template(name="id" type="string" string="%$!id%")\nset $!id = $uuid;\n'
    'action(type="omelasticsearch" template="{}" bulkmode="on" dynbulkid="on" bulkid="id")\n'
)


@pytest.mark.parametrize(
    ("rules", "kept"),
    [
        pytest.param(_OWN_ID.format("d"), [], id="nothing but bulkid reads it"),
        pytest.param(_OWN_ID.format("all"), ["set $!id"], id="a whole document has it"),
        pytest.param(
            _OWN_ID.format("d") + 'action(type="omfile" file="/var/log/a" template="all")\n',
            ["set $!id"],
            id="another action has it",
        ),
        pytest.param(
            _OWN_ID.format("d") + 'if $!id contains "a" then {\n' + _MESSAGE + "}\n",
            ["set $!id"],
            id="a condition asks it",
        ),
        pytest.param(
            _OWN_ID.format("id"), ["set $!id", "action omelasticsearch"], id="the action is kept"
        ),
    ],
)
def test_an_id_of_the_event_stays_where_more_than_bulkid_reads_it(
    rules: str, kept: list[str], tmp_path: Path
) -> None:
    made = imported(f"{DOCUMENT}{_TEMPLATES}{rules}", tmp_path)
    assert [one.message.partition(":")[0] for one in made.kept] == kept
    text = "".join(made.snippets.values())
    assert text.count("set $!id = $uuid;") == min(1, len(kept))
    if len(kept) > 1:
        assert text.index("set $!id") < text.index("action(")


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ('action(type="OMHttp" server="x")', "action omhttp"),
        ('action(name="x")', "action without a type"),
        ("reset $!a = 1;", "reset $!a"),
        ("foreach ($.a in $!b) do { set $!c = $.a; }", "foreach"),
        ('reload_lookup_table("t")', "reload_lookup_table"),
    ],
)
def test_what_no_key_says_has_a_name(statement: str, name: str) -> None:
    block, _ = parse(statement, "rsyslog.conf")
    assert name_of_statement(block[0]) == name


_READS = {
    "all": 'template(name="t" type="list") { property(name="$!all-json") }',
    "tree": 'template(name="t" type="subtree" subtree="$!tree")',
    "a": 'template(name="t" type="string" string="%$!a%")',
    "msg": 'template(name="t" type="string" string="%msg%")',
    "local": 'template(name="t" type="string" string="%$.a%")',
    "shared": 'template(name="t" type="string" string="%$/a%")',
    "nothing": 'template(name="t" type="string" string="x")',
}
_OUT = 'action(type="omelasticsearch" template="T")\n'


@pytest.mark.parametrize(
    ("reads", "before", "moves"),
    [
        ("a", 'action(type="mmcount")', False), ("all", 'action(type="mmcount")', False),
        ("tree", 'set $!tree!b = "1";', False), ("tree", 'set $!trees = "1";', True),
        ("msg", 'action(type="mmcount")', True), ("msg", 'action(type="mmutf8fix")', False),
        ("msg", 'action(type="mmanon")', False), ("a", 'action(type="mmanon")', True),
        ("a", 'action(type="mmnew")', False), ("msg", 'action(type="mmnew")', False),
        ("nothing", 'action(type="mmnew")', True), ("nothing", "unset $!;", True),
        ("a", "unset $!;", False), ("local", "unset $.;", False), ("shared", "unset $/;", False),
        ("local", 'set $.a = "1";', False), ("local", 'set $!a = "1";', True),
        ("a", 'set $.r = parse_json("{}", "\\$!a");', False),
        ("a", 'set $.r = 1 + parse_json("{}", "\\$!a");', False),
        ("a", 'set $.r = parse_json("{}", "\\$!b");', True),
        ("a", "foreach ($.one in $!b) do { set $!a = $.one; }", False),
        ("local", "foreach ($.a in $!b) do { set $!c = $.a; }", False),
        ("a", f"if {A} then {{ set $!a = 1; }}", False),
    ],
)  # fmt: skip
def test_what_comes_before_an_output_must_not_write_what_that_read(
    reads: str, before: str, moves: bool
) -> None:
    """Once it stood after it."""
    template, _ = parse(_READS[reads], "rsyslog.conf")
    (one,) = template
    assert isinstance(one, ScriptObject)
    walk, *_ = way_of(_OUT + before + "\n")
    places = [OUTPUT, KEPT]
    found = why_bound(walk.reached, places, {"t": template_of(one)})
    assert bound_at(found) == (None if moves else walk.reached[1].statement.origin)
    assert why_bound(walk.reached, [OUTPUT, OUTPUT], {"t": template_of(one)}) is None


def bound_at(found: Gap | None) -> ScriptPosition | None:
    """Where the statement is that may not move."""
    return None if found is None else found.origin


@pytest.mark.parametrize(
    ("text", "places", "said"),
    [
        ('if $!a == "1" then {\nset $!a = "2";\nOUT }', [KEPT, OUTPUT],
         "set $!a (f:2) changes $!a, which its condition asks"),
        ('OUT\nset $!b = "1";', [OUTPUT, KEPT],
         "action omelasticsearch (f:1) uses $!b, which it changes, and would come after it"),
        ('set $!a = "1";\naction(type="mmjsonparse")', [KEPT, PARSED],
         "set $!a (f:1) changes $!a, which it uses, and would come after it"),
        ('action(type="mmnew")\naction(type="mmjsonparse")', [KEPT, PARSED],
         "action mmnew (f:1) changes the event, which it uses, and would come after it"),
        (f'if {A} then {{ action(type="mmnormalize") }}\nset $.x = $!found;', [PARSED, PARSED],
         "set $.x (f:2) uses what it finds, of events that it does not parse"),
    ],
)  # fmt: skip
def test_what_a_statement_has_to_do_with_one_that_may_not_move_is_said(
    text: str, places: list[int], said: str
) -> None:
    one = 'action(type="omelasticsearch" template="t")'
    template, _ = parse('template(name="t" type="string" string="%$!b%")', "t")
    (named,) = template
    assert isinstance(named, ScriptObject)
    block, _ = parse(text.replace("OUT", one) + "\n", "f")
    walk = Walk({}, Gaps())
    walk.block(block, ())
    found = why_bound(walk.reached, places, {"t": template_of(named)})
    assert found is not None
    assert found.message == said


@pytest.mark.parametrize(
    ("first", "second", "moves"),
    [
        ('set $!a = "1";', 'action(type="mmjsonparse")', False),
        ('set $!a = $!b;', 'action(type="mmjsonparse")', False),
        ('set $.a = "1";', 'action(type="mmjsonparse")', True),
        ('set $.a = $msg;', 'action(type="mmjsonparse")', True),
        ('set $.a = $parsesuccess;', 'action(type="mmjsonparse")', False),
        ('action(type="mmutf8fix")', 'action(type="mmjsonparse")', False),
        ('action(type="mmnew")', 'action(type="mmjsonparse")', False),
        ("foreach ($.b in $!list) do { set $.c = $.b; }", 'action(type="mmnormalize")', False),
        (f"foreach ($.b in $!list) do {{ if {A} then set $.c = 1; }}",
         'action(type="mmnormalize")', False),
        ("foreach ($.b in $.list) do { if $!a == 1 then set $.c = 1; }",
         'action(type="mmnormalize")', False),
        (f"if {A} then set $.a = 1;", 'action(type="mmnormalize")', True),
        ('if $!b == "1" then set $.a = 1;', 'action(type="mmnormalize")', False),
    ],
)  # fmt: skip
def test_what_is_parsed_first_must_not_depend_on_what_stood_before_it(
    first: str, second: str, moves: bool
) -> None:
    walk, *_ = way_of(f"{first}\n{second}\n")
    found = why_bound(walk.reached, [KEPT, PARSED], {})
    assert bound_at(found) == (None if moves else walk.reached[1].statement.origin)


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        # What was set before a condition was asked is asked as it is now.
        ('set $!b = "1";\nif $!b == "1" then { OUT }', True),
        (f'set $!b = "1";\nif {A} then {{ if $!b == "1" then stop }} OUT', True),
        ('if $!b == "1" then { set $!b = "2"; OUT }', False),
        (f'if {A} then {{ if $!b == "1" then stop }} set $!b = "2";\nOUT', False),
        (f'if $!b == "1" then {{ if {A} then stop }} set $!b = "2";\nOUT', False),
        ('if $!b == "1" then { set $!c = "2"; OUT }', True),
        ('if $!b == "1" then { set $!b!c = "2"; OUT }', False),
    ],
)
def test_a_condition_is_asked_before_what_it_guards_changes_it(text: str, moves: bool) -> None:
    walk, *_ = way_of(text.replace("OUT", act("1")) + "\n")
    places = [KEPT] * (len(walk.reached) - 1) + [OUTPUT]
    found = why_bound(walk.reached, places, {})
    assert bound_at(found) == (None if moves else walk.reached[-1].statement.origin)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("unset $!a!b;", {"type": "unset", "json": "a.b"}),
        ('set $!a = "b";', {"type": "set", "json": "a", "value": [{"constant": "b"}]}),
        ("set $!a = $msg;", {"type": "set", "json": "a", "value": [{"property": "msg"}]}),
        ('set $.a = $!b & "c" & $hostname;',
         {"type": "set", "variable": "a",
          "value": [{"json": "b"}, {"constant": "c"}, {"property": "hostname"}]}),
        ('action(type="mmanon" name="x" queue.type="Direct" ipv4.bits="8")',
         {"type": "mmanon", "ipv4.bits": 8}),
        (f'if {A} then set $!a = "b";',
         {"type": "set", "json": "a", "value": [{"constant": "b"}],
          "filter": {"programname": ["a"]}}),
    ],
)  # fmt: skip
def test_what_changes_events_is_a_step(statement: str, said: dict[str, object]) -> None:
    walk, *_ = way_of(f"{statement}\n")
    found = step_of(walk.reached[0], Parts(), Gaps())
    assert {key: str(one) for key, one in found.items()} == {
        key: str(one) for key, one in said.items()
    }


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("set $/a = 1;", "a step does not set $/a"),
        ("set $!a = $!b;", "a copy of $!b, which may be no text"),
        ("set $!a = 1 + 2;", "a value that is worked out"),
        ('set $!a = lookup("gone", $msg);', "a table that is not there"),
    ],
)
def test_what_a_step_does_not_say_is_told_with_its_place(statement: str, why: str) -> None:
    walk, *_ = way_of(f"\n{statement}\n")
    with pytest.raises(Inexpressible) as refused:
        step_of(walk.reached[0], Parts(), Gaps())
    gap = refused.value.gap
    assert (gap.message, gap.origin.line) == (why, 2)
