"""The form before version 6 as the objects that stand for it today.

`$` directives change what follows: some wait for the next action or input, some hold from there
on.  rsyslog's source knows which (the `cfsysline` handlers of each module), and
old_form.py says it here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

from tuner.rainerscript.old_form import (
    DEFAULT_RULESET,
    GLOBALS,
    LASTING,
    OLD_ACTION_QUEUE,
    OLD_MAIN_QUEUE,
    RUNS,
    SHUTDOWN,
    action_of,
    condition_of,
)
from tuner.rainerscript.parser import unescaped
from tuner.rainerscript.script import (
    ON,
    Block,
    Directive,
    If,
    Include,
    LegacyAction,
    Parameter,
    PropertyFilter,
    ScriptObject,
    ScriptPosition,
    SelectorFilter,
    Statement,
    loading,
    with_inner,
)


def modern(block: Block) -> Block:
    """The same configuration without the old form; directives that have no object stay, and so
    does what rsyslog 8 itself refuses."""
    return _Modernised().whole(block)


_NOWHERE = ScriptPosition("", 1, 1)


@dataclass
class _Modernised:
    """What the directives so far have set."""

    once: dict[str, Parameter] = field(default_factory=dict)
    lasting: dict[str, dict[str, Parameter]] = field(default_factory=dict)
    main: dict[str, Parameter] = field(default_factory=dict)
    rulesets: dict[str, list[Statement]] = field(default_factory=dict)
    given: dict[str, dict[str, Parameter]] = field(default_factory=dict)
    current: str = DEFAULT_RULESET
    first_main: ScriptPosition | None = None

    def whole(self, block: Block) -> Block:
        """Everything, with the queues and rulesets that directives described along the way."""
        done = self.block(block)
        for name, body in self.rulesets.items():
            given = self.given.get(name, {})
            origin = next((one.origin for one in (*body, *given.values())), _NOWHERE)
            named = Parameter.of("name", name, origin)
            done += (ScriptObject("ruleset", (named, *given.values()), origin, body=tuple(body)),)
        if self.first_main is not None:
            defaults = {f"queue.{key}": value for key, value in OLD_MAIN_QUEUE.items()}
            parameters = _completed(self.main, defaults, self.first_main)
            done += (ScriptObject("main_queue", parameters, self.first_main),)
        return done

    def block(self, block: Block) -> Block:
        """One block; at the outermost level what belongs to a `$RuleSet` goes there."""
        kept: list[Statement] = []
        for statement in block:
            for made in self.statement(statement):
                is_rule = not isinstance(made, ScriptObject) or made.kind == "action"
                inside = self.current != DEFAULT_RULESET and is_rule
                (self.rulesets[self.current] if inside else kept).append(made)
        return tuple(kept)

    def inner(self, block: Block) -> Block:
        """A block inside of a statement, which stays whole."""
        return tuple(made for one in block for made in self.statement(one))

    def statement(self, statement: Statement) -> Iterator[Statement]:
        """What stands for a statement today: nothing for most directives."""
        match statement:
            case Directive():
                yield from self.directive(statement)
            case LegacyAction():
                yield self.action(statement)
            case SelectorFilter() | PropertyFilter():
                body = self.inner(statement.body)
                yield If(condition_of(statement), body, (), statement.origin)
            case Include():
                for one in chain(*statement.files):
                    yield from self.statement(one)
            case _:
                yield with_inner(statement, self.inner)

    def directive(self, one: Directive) -> Iterator[Statement]:
        """Note what a directive sets; an object where it makes one."""
        key, text = one.key, _word(one.text)
        if key.startswith("actionqueue"):
            _set(self.once, _queue_name(key[11:]), text, one)
        elif key.startswith("mainmsgqueue"):
            self.first_main = self.first_main or one.origin
            _set(self.main, _queue_name(key[12:]), text, one)
        elif key == "actionname":
            _set(self.once, "name", text, one)
        elif key in LASTING:
            kind, name = LASTING[key]
            _set(self.lasting.setdefault(kind, {}), name, text, one)
        elif key in RUNS:
            yield self.input(one, text)
        elif key in GLOBALS:
            name = GLOBALS[key]
            if name:
                yield ScriptObject("global", (Parameter.of(name, text, one.origin),), one.origin)
        else:
            yield from self.other(one, text)

    def other(self, one: Directive, text: str) -> Iterator[Statement]:
        """Modules, templates and rulesets."""
        match one.key:
            case "modload":
                yield loading(text.rpartition("/")[2].removesuffix(".so"), one.origin)
            case "template":
                yield _template(one)
            case "ruleset":
                self.current = text
                if text != DEFAULT_RULESET:
                    self.rulesets.setdefault(text, [])
            case "rulesetparser":
                _set(self.given.setdefault(self.current, {}), "parser", text, one)
            case "rulesetcreatemainqueue":
                if text.lower() in ON:
                    self.given.setdefault(self.current, {}).update(self.main)
            case "repeatedmsgreduction" if text.lower() == "off":
                return
            case _:
                yield one

    def input(self, one: Directive, text: str) -> ScriptObject:
        """The input that a directive starts, with all that waited for it."""
        kind, name, used = RUNS[one.key]
        parameters = {"type": Parameter.of("type", kind, one.origin)}
        if name:
            parameters[name] = Parameter.of(name, text, one.origin)
        waiting = self.lasting.get(kind, {})
        parameters |= waiting
        for key in used:
            waiting.pop(key, None)
        return ScriptObject("input", tuple(parameters.values()), one.origin)

    def action(self, one: LegacyAction) -> Statement:
        """The action of an old line, with all that waited for it."""
        made = action_of(one)
        if not isinstance(made, ScriptObject):
            return made
        kind = made.text("type") or ""
        lasting = self.lasting.get("", {}) | self.lasting.get(kind, {})
        waiting, self.once = self.once, {}
        queue_type = waiting.get("queue.type")
        if queue_type is not None and (queue_type.text or "").lower() != "direct":
            defaults = {f"queue.{key}": value for key, value in OLD_ACTION_QUEUE.items()}
            waiting = {key.key: key for key in _completed(waiting, defaults, one.origin)}
        own = {parameter.name: parameter for parameter in made.parameters}
        return replace(made, parameters=tuple((lasting | waiting | own).values()))


def _set(given: dict[str, Parameter], name: str, text: str, one: Directive) -> None:
    given[name] = Parameter.of(name, text, one.origin)


def _completed(
    given: dict[str, Parameter], defaults: dict[str, str], origin: ScriptPosition
) -> tuple[Parameter, ...]:
    written = {one.key for one in given.values()}
    missing = (key for key in defaults if key.lower() not in written)
    return (*given.values(), *(Parameter.of(key, defaults[key], origin) for key in missing))


def _queue_name(suffix: str) -> str:
    return f"queue.{'timeoutworkerthreadshutdown' if suffix == SHUTDOWN else suffix}"


def _word(text: str) -> str:
    """The first word, which may stand in quotes."""
    if text.startswith('"') and '"' in text[1:]:
        return text[1 : text.index('"', 1)]
    return text.split()[0] if text.split() else ""


def _template(one: Directive) -> ScriptObject:
    """`$template NAME,"TEXT",OPTION`, the text with its escapes as in an object."""
    name, _, rest = one.text.partition(",")
    rest = rest.lstrip()
    end = 1
    while end < len(rest) and rest[end] != '"':
        end += 2 if rest[end] == "\\" else 1
    after = rest[end + 1 :].partition("#")[0]
    options = [word.strip().lower() for word in after.split(",") if word.strip()]
    parameters = [("name", name.strip())]
    if rest.startswith('"'):
        parameters += [("type", "string"), ("string", unescaped(rest[1:end]))]
    else:
        parameters += [("type", "plugin"), ("plugin", rest.removeprefix("="))]
    parameters += [(f"option.{option}", "on") for option in options]
    made = tuple(Parameter.of(key, value, one.origin) for key, value in parameters)
    return ScriptObject("template", made, one.origin)
