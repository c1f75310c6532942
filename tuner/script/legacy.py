"""The form before version 6 as the objects that stand for it today: directives and actions.

`$` directives change what follows: some wait for the next action or input, some hold from there
on.  rsyslog's source knows which (the `cfsysline` handlers of each module), and directives.toml
says it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

from tuner.script.directives import OldInput, directives, queue_parameter
from tuner.script.script import (
    HERE,
    ON,
    QUEUE,
    Array,
    Block,
    Call,
    Directive,
    Include,
    LegacyAction,
    Parameter,
    Quoted,
    ScriptObject,
    ScriptPosition,
    Statement,
    Word,
    loading,
    module_name,
    objects_in,
    with_inner,
)
from tuner.script.template import template_object

DEFAULT_RULESET = "RSYSLOG_DefaultRuleset"
_NOT_USED = f"{DEFAULT_RULESET}, not used"
# A name waits for an action of the old form, its queue for any.
_NAME, _ACTION_QUEUE, _MAIN_QUEUE = "actionname", "actionqueue", "mainmsgqueue"
# What each such directive adds to, and the next action takes away.
_PEERS = "streamDriverPermittedPeers"
# Of the directives of imtcp, which module() excludes, those that it takes all the same.
_WITH_OBJECTS = frozenset({"inputtcpserverbindruleset", "inputtcpserverinputname"})


def modernised(block: Block) -> tuple[Block, tuple[WithoutEffect, ...]]:
    """The same configuration without the old form, and the directives for the next action that
    apply to none.  Directives that have no object stay, and so does what rsyslog 8 itself
    refuses."""
    made = _Modernised()
    return made.whole(block), (*made.without_effect, *made.unused(None))


class WithoutEffect(NamedTuple):
    """A directive for the next action that applies to nothing: the next one is an `action`, which
    takes none of them and uses it up, or there is no other (None)."""

    directive: Directive
    action: ScriptObject | None

    @property
    def instead(self) -> str:
        """The parameter that says the same in an action."""
        return f'{_once(self.directive.key)}="{_word(self.directive.text)}"'


@dataclass
class _Modernised:
    """What the directives so far have set."""

    once: dict[str, Parameter] = field(default_factory=dict)
    waiting: list[Directive] = field(default_factory=list)
    without_effect: list[WithoutEffect] = field(default_factory=list)
    lasting: dict[str, dict[str, Parameter]] = field(default_factory=dict)
    main: dict[str, Parameter] = field(default_factory=dict)
    rulesets: dict[str, list[Statement]] = field(default_factory=dict)
    given: dict[str, dict[str, Parameter]] = field(default_factory=dict)
    current: str = DEFAULT_RULESET
    channels: dict[str, dict[str, str]] = field(default_factory=dict)
    of_modules: dict[str, dict[str, Parameter]] = field(default_factory=dict)
    by_object: dict[str, bool] = field(default_factory=dict)
    default: Call | None = None
    first_main: ScriptPosition | None = None

    def whole(self, block: Block) -> Block:
        """Everything, with the queues and rulesets that directives described along the way."""
        written = tuple(map(self.with_directives, self.block(block)))
        whole = _with_rulesets(written, self.of_directives())
        if self.default is not None:
            whole = self.with_default(whole, self.default)
        if self.first_main is not None and not any(objects_in(whole, "main_queue")):
            whole += (
                ScriptObject("main_queue", self.main_queue(self.first_main), self.first_main),
            )
        return whole

    def main_queue(self, origin: ScriptPosition) -> tuple[Parameter, ...]:
        """A queue as the directives so far have set the main one."""
        return _completed(self.main, directives().main_queue, origin)

    def of_directives(self) -> Iterator[ScriptObject]:
        """The rulesets that directives began, as objects."""
        for name, body in self.rulesets.items():
            parameters = self.given.get(name, {})
            origin = next((part.origin for part in (*body, *parameters.values())), HERE)
            ruleset = ScriptObject.of("ruleset", {"name": name}, origin)
            given = (*ruleset.parameters, *parameters.values())
            yield replace(ruleset, parameters=given, body=tuple(body))

    def with_directives(self, statement: Statement) -> Statement:
        """A module with what directives say of it."""
        if not isinstance(statement, ScriptObject) or statement.kind != "module":
            return statement
        given = self.of_modules.get(module_name(statement), {})
        return replace(statement, parameters=(*statement.parameters, *given.values()))

    def with_default(self, block: Block, default: Call) -> Block:
        """With another default ruleset: events of inputs that name none go there, and the rules
        outside of rulesets are those of one that no event comes to."""
        rules, statements = list[Statement](), list[Statement]()
        for statement in block:
            is_outside = _is_rule(statement) and not isinstance(statement, Directive)
            (rules if is_outside else statements).append(statement)
        unused = ScriptObject.of("ruleset", {"name": _NOT_USED}, default.origin)
        outside = (replace(unused, body=tuple(rules)),) if rules else ()
        return (*statements, *outside, default)

    def block(self, block: Block) -> Block:
        """One block; at the outermost level what belongs to a `$RuleSet` goes there."""
        statements: list[Statement] = []
        for statement in block:
            for made in self.statement(statement):
                inside = self.current != DEFAULT_RULESET and _is_rule(made)
                (self.rulesets[self.current] if inside else statements).append(made)
        return tuple(statements)

    def inner(self, block: Block) -> Block:
        """A block inside of a statement, which stays whole."""
        return tuple(chain.from_iterable(map(self.statement, block)))

    def statement(self, statement: Statement) -> Iterator[Statement]:
        """What stands for a statement today: nothing for most directives."""
        match statement:
            case Directive():
                yield from self.directive(statement)
            case LegacyAction():
                yield self.action(statement)
            case ScriptObject(kind="action"):
                yield self.new_action(statement)
            case ScriptObject(kind="module"):
                self.by_object.setdefault(module_name(statement), True)
                yield statement
            case ScriptObject(kind="ruleset") if self.is_ruleset(statement.name):
                return  # rsyslogd refuses a second one of that name
            case Include():
                for included in chain(*statement.files):
                    yield from self.statement(included)
            case _:
                yield with_inner(statement, self.inner)

    def directive(self, directive: Directive) -> Iterator[Statement]:
        """Note what a directive sets; an object where it makes one."""
        table, key, text = directives(), directive.key, _word(directive.text)
        if self.is_refused(key):
            yield directive
        elif key in table.next_action or key.startswith(_ACTION_QUEUE):
            self.waiting += [] if key == _NAME else [directive]
            _set(self.once, _once(key), text, directive)
        elif key.startswith(_MAIN_QUEUE):
            self.first_main = self.first_main or directive.origin
            _set(self.main, queue_parameter(key.removeprefix(_MAIN_QUEUE)), text, directive)
        elif key in table.later or key in table.modules:
            self.hold(directive, text)
        elif key == "outchannel":
            name, _, file = directive.text.partition(",")
            self.channels.setdefault(name.strip(), channel_of(file))
        elif key in table.inputs:
            yield self.input(table.inputs[key], directive, text)
        elif key in table.shared:
            name = table.shared[key]
            if name:
                yield ScriptObject.of("global", {name: text}, directive.origin)
        else:
            yield from self.scope(directive, text)

    def is_refused(self, key: str) -> bool:
        """Whether rsyslogd refuses a directive for the module that module() has loaded."""
        table = directives()
        kind, _ = table.modules.get(key) or table.later.get(key, ("", ""))
        is_its = key in table.modules or (kind == "imtcp" and key not in _WITH_OBJECTS)
        return is_its and kind != "imjournal" and self.by_object.get(kind, False)

    def hold(self, directive: Directive, text: str) -> None:
        """Note what holds for later actions or inputs, or for a module; permitted peers are added
        to the others."""
        table = directives()
        if directive.key in table.later:
            kind, name = table.later[directive.key]
            given = self.lasting.setdefault(kind, {})
            before = given[name].texts if name == _PEERS and name in given else ()
            _set(given, name, ",".join((*before, text)), directive)
        if directive.key not in table.modules:
            return
        kind, name = table.modules[directive.key]
        given = self.of_modules.setdefault(kind, {})
        if name == "permittedPeer":
            before = given[name].texts if name in given else ()
            peers = tuple(Quoted(peer, directive.origin) for peer in (*before, text))
            given[name] = Parameter(name, Array(peers, directive.origin), directive.origin)
        elif directive.key == "omitlocallogging":
            _set(given, name, "off" if text.lower() in ON else "on", directive)
        else:
            _set(given, name, text, directive)

    def scope(self, directive: Directive, text: str) -> Iterator[Statement]:
        """Modules, templates and rulesets."""
        match directive.key:
            case "modload":
                kind = text.rpartition("/")[2].removesuffix(".so")
                self.by_object.setdefault(kind, False)
                yield loading(kind, directive.origin).with_values(
                    directives().module_defaults.get(kind, {})
                )
            case "template":
                yield template_object(directive)
            case "ruleset":
                names = (DEFAULT_RULESET, *self.rulesets)
                self.current = next((name for name in names if name.lower() == text.lower()), text)
                if self.current != DEFAULT_RULESET:
                    self.rulesets.setdefault(self.current, [])
            case "defaultruleset":
                is_usual = text == DEFAULT_RULESET
                self.default = None if is_usual else Call(text, directive.origin)
            case "rulesetparser":
                _set(self.given.setdefault(self.current, {}), "parser", text, directive)
            case "rulesetcreatemainqueue":
                if text.lower() in ON:
                    queue = {
                        parameter.name: parameter for parameter in self.main_queue(directive.origin)
                    }
                    self.given.setdefault(self.current, {}).update(queue)
            case "repeatedmsgreduction" if text.lower() == "off":
                return
            case _:
                yield directive

    def is_ruleset(self, name: str) -> bool:
        """Whether a directive has begun a ruleset of that name."""
        return name.lower() in map(str.lower, self.rulesets)

    def input(self, old: OldInput, directive: Directive, text: str) -> ScriptObject:
        """The input that a directive starts, with all that waited for it."""
        kind, name, used = old
        values = {"type": kind, **directives().input_defaults.get(kind, {})}
        values |= {name: text} if name else {}
        started = ScriptObject.of("input", values, directive.origin)
        waiting = self.lasting.get(kind, {})
        parameters = {given.name: given for given in started.parameters} | waiting
        for key in used:
            waiting.pop(key, None)
        return replace(started, parameters=tuple(parameters.values()))

    def new_action(self, action: ScriptObject) -> ScriptObject:
        """An action of the new form with the template that a directive before it names: of all that
        directives say only this holds for it (getDfltTpl() of omfile.c and omfwd.c).  What waits
        for the next action is gone, but for a name."""
        self.without_effect += self.unused(action)
        self.once = {
            key: value for key, value in self.once.items() if key == directives().next_action[_NAME]
        }
        named = self.lasting.get(action.type.removeprefix("builtin:"), {}).get("template")
        if named is None or action.get("template") is not None:
            return action
        return replace(action, parameters=(*action.parameters, named))

    def unused(self, action: ScriptObject | None) -> list[WithoutEffect]:
        """The directives that waited for an action of the old form, which this is not."""
        waited, self.waiting = self.waiting, []
        return [WithoutEffect(directive, action) for directive in waited]

    def held_for(self, action: ScriptObject) -> dict[str, Parameter]:
        """What holds for an action of the old form until it is set otherwise."""
        kind = f"{action.type}/{action.text('protocol')}"
        held = {
            name: parameter
            for key in ("", action.type, kind)
            for name, parameter in self.lasting.get(key, {}).items()
        }
        self.lasting.get(kind, {}).pop(_PEERS, None)
        return held

    def action(self, line: LegacyAction) -> Statement:
        """The action of an old line, with all that waited for it."""
        action = action_of(line)
        if not isinstance(action, ScriptObject):
            return action
        channel = action.text(CHANNEL)
        if channel is not None and channel not in self.channels:
            return line
        if channel is not None:
            action = action.without({CHANNEL}).with_values(self.channels[channel])
        lasting = self.held_for(action)
        if line.text.startswith(("-", ":omfile:-")):
            lasting.pop("sync", None)
        waiting, self.once, self.waiting = self.once, {}, []
        queue_type = waiting.get("queue.type")
        if queue_type is not None and (queue_type.text or "").lower() != "direct":
            completed = _completed(waiting, directives().action_queue, line.origin)
            waiting = {added.key: added for added in completed}
        written = {parameter.name: parameter for parameter in action.parameters}
        return replace(action, parameters=tuple((lasting | waiting | written).values()))


def _with_rulesets(block: Block, rulesets: Iterable[ScriptObject]) -> Block:
    """With the rulesets of directives, or with their rules in the objects of the same names."""
    statements = list(block)
    places: dict[str, int] = {}
    for number, statement in enumerate(statements):
        if isinstance(statement, ScriptObject) and statement.kind == "ruleset":
            places.setdefault(statement.key, number)
    for ruleset in rulesets:
        place = places.get(ruleset.key)
        written = None if place is None else statements[place]
        if place is None or not isinstance(written, ScriptObject):
            statements.append(ruleset)
        else:
            statements[place] = _joined(written, ruleset)
    return tuple(statements)


def _joined(written: ScriptObject, added: ScriptObject) -> ScriptObject:
    """The object of a ruleset with what directives add to it."""
    has_queue, keys = bool(written.queue), {parameter.key for parameter in written.parameters}
    missing = (
        parameter
        for parameter in added.parameters
        if parameter.key not in keys and not (has_queue and parameter.key.startswith(QUEUE))
    )
    body = (*(written.body or ()), *(added.body or ()))
    return replace(written, parameters=(*written.parameters, *missing), body=body)


def _is_rule(statement: Statement) -> bool:
    return not isinstance(statement, ScriptObject) or statement.kind == "action"


def _set(parameters: dict[str, Parameter], name: str, text: str, directive: Directive) -> None:
    parameters[name] = Parameter.of(name, text, directive.origin)


def _completed(
    parameters: dict[str, Parameter], defaults: Mapping[str, str], origin: ScriptPosition
) -> tuple[Parameter, ...]:
    written = {parameter.key for parameter in parameters.values()}
    missing = (key for key in defaults if key.lower() not in written)
    return (*parameters.values(), *(Parameter.of(key, defaults[key], origin) for key in missing))


def _once(key: str) -> str:
    """The parameter that a directive for the next action says."""
    return directives().next_action.get(key) or queue_parameter(key.removeprefix(_ACTION_QUEUE))


def _word(text: str) -> str:
    """The first word, which may stand in quotes."""
    if text.startswith('"') and '"' in text[1:]:
        return text[1 : text.index('"', 1)]
    return text.split()[0] if text.split() else ""


CHANNEL = "outchannel"
"""What no action of the new form has: the `$outchannel` that says its file."""
_PORT = "514"
# What the first character of an action means: the module, and its parameter for the rest.
_BY_SIGN = {
    "/": ("omfile", "file"), ".": ("omfile", "file"), "?": ("omfile", "dynaFile"),
    "|": ("ompipe", "pipe"), "^": ("omshell", "program"), ">": ("ommysql", "legacy"),
}  # fmt: skip
# Where it goes, and a template; what stands behind is a comment (cflineParseFileName() and
# cflineParseTemplateName() of conf.c).
_PARTS = re.compile(r"(-?\s*+[^\s;]*+)\s*+(?:;\s*+([^\s#]*+))?")


def action_of(line: LegacyAction) -> ScriptObject | Word:
    """`/file`, `@host`, `:module:text` and the like as `action(...)`; `~` as `stop`."""
    text = line.text
    if text[:1] == "~":
        return Word("stop", line.origin)
    parts = _PARTS.match(text)
    target, template = parts.groups() if parts is not None else (text, None)
    # A password may have blanks (getSubString() of ommysql.c).
    parameters = _parameters(text.partition(";")[0].strip() if text[:1] == ">" else target)
    # `:omusrmsg:*` and user names need none.
    if template and parameters["type"] != "omusrmsg":
        parameters["template"] = template
    return ScriptObject.of("action", parameters, line.origin)


def _parameters(target: str) -> dict[str, str]:
    first = target.split()[0] if target.split() else ""
    if first[:1] == "@":
        return _forwarding(first)
    if first[:1] == ":":
        return _named(first)
    if first[:1] == "-":
        # The minus says not to synchronise, which rsyslog does only where a directive asks it to.
        return _parameters(target[1:].strip())
    kind, key = _BY_SIGN.get(first[:1], ("omusrmsg", "users"))
    if first[:1] in {"/", "."}:
        return {"type": kind, key: first}
    return {"type": kind, key: target[1:].strip() if first[:1] in _BY_SIGN else target}


def _named(text: str) -> dict[str, str]:
    """`:omrelp:host:port` and other actions that name their module."""
    _, module, argument = [*text.split(":", 2), "", ""][:3]
    if module == "omrelp":
        host, port = _host_and_port(argument)
        return {"type": module, "target": host, "port": port}
    if module == "omfile" and argument.removeprefix("-")[:1] == "$":
        return {"type": module, CHANNEL: argument.partition("$")[2]}
    if module == "omfile":
        return _parameters(argument)
    made = {"type": module}
    return made | ({"users" if module == "omusrmsg" else "legacy": argument} if argument else {})


def _forwarding(text: str) -> dict[str, str]:
    """`@host`, `@@host:port`, `@@(o,z9)[::1]:port`."""
    protocol = "tcp" if text.startswith("@@") else "udp"
    text = text.lstrip("@")
    made = {"type": "omfwd", "protocol": protocol}
    if text.startswith("("):
        options, _, text = text[1:].partition(")")
        for option in options.split(","):
            if option[:1] == "z":
                made |= {"compression.mode": "single", "zipLevel": option[1:] or "9"}
            elif option == "o":
                made["tcp_framing"] = "octet-counted"
    host, port = _host_and_port(text)
    return made | {"target": host, "port": port}


def _host_and_port(text: str) -> tuple[str, str]:
    if text.startswith("["):
        host, _, behind = text[1:].partition("]")
        return host, behind.removeprefix(":") or _PORT
    host, _, port = text.partition(":")
    return host, port or _PORT


def channel_of(text: str) -> dict[str, str]:
    """What `$outchannel NAME,FILE,SIZE,COMMAND` says of a file (outchannel.c)."""
    file, size, command = [*(part.strip() for part in text.split(",", 2)), "", ""][:3]
    settings = {"file": file, "rotation.sizeLimit": size, "rotation.sizeLimitCommand": command}
    return {name: value for name, value in settings.items() if value and value != "0"}
