"""Converts rsyslog's legacy format (before version 6), directives and actions, into objects.

`$` directives change what follows: some apply to the next action or input only, others to all later
ones.  Which do is in directives.toml, from the `cfsysline` handlers in rsyslog's source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

from tuner.script.directives import LegacyInput, directives, queue_parameter
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
# A name applies to the next action of the legacy format, queue parameters to the next of any.
_NAME, _ACTION_QUEUE, _MAIN_QUEUE = "actionname", "actionqueue", "mainmsgqueue"
# Each directive for this parameter adds a peer to the list, which the next action uses up.
_PEERS = "streamDriverPermittedPeers"
# The only directives of imtcp that rsyslogd accepts after module(load="imtcp").
_WITH_OBJECTS = frozenset({"inputtcpserverbindruleset", "inputtcpserverinputname"})


def modernised(block: Block) -> tuple[Block, tuple[WithoutEffect, ...]]:
    """The same configuration without the legacy format, and the directives for the next action that
    apply to none.  Directives without an equivalent object stay, and so do those that rsyslog 8
    refuses."""
    converter = _Converter()
    return converter.convert(block), (*converter.without_effect, *converter.unused(None))


class WithoutEffect(NamedTuple):
    """A directive for the next action that has no effect: the next action is an `action()` object,
    which ignores the directive and uses it up, or there is none (`action` is None)."""

    directive: Directive
    action: ScriptObject | None

    @property
    def instead(self) -> str:
        """The parameter of action() that does the same."""
        return f'{_next_action_parameter(self.directive.key)}="{_word(self.directive.text)}"'


@dataclass
class _Converter:
    """The state that directives have set so far.

    `next_action` are parameters of the next action, `waiting` its directives, and `lasting` the
    parameters of later actions and inputs by type.  `rulesets` are the rules of each `$RuleSet`.
    """

    next_action: dict[str, Parameter] = field(default_factory=dict)
    waiting: list[Directive] = field(default_factory=list)
    without_effect: list[WithoutEffect] = field(default_factory=list)
    lasting: dict[str, dict[str, Parameter]] = field(default_factory=dict)
    main: dict[str, Parameter] = field(default_factory=dict)
    rulesets: dict[str, list[Statement]] = field(default_factory=dict)
    ruleset_parameters: dict[str, dict[str, Parameter]] = field(default_factory=dict)
    current: str = DEFAULT_RULESET
    channels: dict[str, dict[str, str]] = field(default_factory=dict)
    module_parameters: dict[str, dict[str, Parameter]] = field(default_factory=dict)
    loaded_by_object: dict[str, bool] = field(default_factory=dict)
    default: Call | None = None
    first_main: ScriptPosition | None = None

    def convert(self, block: Block) -> Block:
        """Convert a whole configuration, and add the queues and rulesets that directives define."""
        statements = tuple(map(self.with_module_parameters, self.block(block)))
        whole = _with_rulesets(statements, self.ruleset_objects())
        if self.default is not None:
            whole = self.with_default(whole, self.default)
        if self.first_main is not None and not any(objects_in(whole, "main_queue")):
            whole += (
                ScriptObject("main_queue", self.main_queue(self.first_main), self.first_main),
            )
        return whole

    def main_queue(self, origin: ScriptPosition) -> tuple[Parameter, ...]:
        """The parameters of a queue by the `$MainMsgQueue` directives so far, with defaults."""
        return _completed(self.main, directives().main_queue, origin)

    def ruleset_objects(self) -> Iterator[ScriptObject]:
        """The rulesets that directives began, as objects."""
        for name, body in self.rulesets.items():
            parameters = self.ruleset_parameters.get(name, {})
            origin = next((part.origin for part in (*body, *parameters.values())), HERE)
            ruleset = ScriptObject.of("ruleset", {"name": name}, origin)
            all_parameters = (*ruleset.parameters, *parameters.values())
            yield replace(ruleset, parameters=all_parameters, body=tuple(body))

    def with_module_parameters(self, statement: Statement) -> Statement:
        """A module() with the parameters that directives set; any other statement unchanged."""
        if not isinstance(statement, ScriptObject) or statement.kind != "module":
            return statement
        added = self.module_parameters.get(module_name(statement), {})
        return replace(statement, parameters=(*statement.parameters, *added.values()))

    def with_default(self, block: Block, default: Call) -> Block:
        """The block with another default ruleset, which gets the events of inputs that name none.
        The rules outside of rulesets become a ruleset that gets no events."""
        rules, statements = list[Statement](), list[Statement]()
        for statement in block:
            is_outside = _is_rule(statement) and not isinstance(statement, Directive)
            (rules if is_outside else statements).append(statement)
        unused = ScriptObject.of("ruleset", {"name": _NOT_USED}, default.origin)
        outside = (replace(unused, body=tuple(rules)),) if rules else ()
        return (*statements, *outside, default)

    def block(self, block: Block) -> Block:
        """The outermost block; rules after a `$RuleSet` are collected for that ruleset instead."""
        statements: list[Statement] = []
        for statement in block:
            for converted in self.statement(statement):
                in_ruleset = self.current != DEFAULT_RULESET and _is_rule(converted)
                (self.rulesets[self.current] if in_ruleset else statements).append(converted)
        return tuple(statements)

    def inner(self, block: Block) -> Block:
        """A block inside of a statement, in which all rules stay."""
        return tuple(chain.from_iterable(map(self.statement, block)))

    def statement(self, statement: Statement) -> Iterator[Statement]:
        """The statements that replace a statement: none for most directives."""
        match statement:
            case Directive():
                yield from self.directive(statement)
            case LegacyAction():
                yield self.action(statement)
            case ScriptObject(kind="action"):
                yield self.new_action(statement)
            case ScriptObject(kind="module"):
                self.loaded_by_object.setdefault(module_name(statement), True)
                yield statement
            case ScriptObject(kind="ruleset") if self.is_ruleset(statement.name):
                return  # rsyslogd refuses a second ruleset of that name
            case Include():
                for included in chain(*statement.files):
                    yield from self.statement(included)
            case _:
                yield with_inner(statement, self.inner)

    def directive(self, directive: Directive) -> Iterator[Statement]:
        """Record what a directive sets; yields an object if the directive makes one."""
        table, key, text = directives(), directive.key, _word(directive.text)
        if self.is_refused(key):
            yield directive
        elif key in table.next_action or key.startswith(_ACTION_QUEUE):
            self.waiting += [] if key == _NAME else [directive]
            _set(self.next_action, _next_action_parameter(key), text, directive)
        elif key.startswith(_MAIN_QUEUE):
            self.first_main = self.first_main or directive.origin
            _set(self.main, queue_parameter(key.removeprefix(_MAIN_QUEUE)), text, directive)
        elif key in table.later or key in table.modules:
            self.set_lasting(directive, text)
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
            yield from self.object_directive(directive, text)

    def is_refused(self, key: str) -> bool:
        """Whether rsyslogd refuses a directive because module() has loaded its module."""
        table = directives()
        kind, _ = table.modules.get(key) or table.later.get(key, ("", ""))
        is_for_module = key in table.modules or (kind == "imtcp" and key not in _WITH_OBJECTS)
        return is_for_module and kind != "imjournal" and self.loaded_by_object.get(kind, False)

    def set_lasting(self, directive: Directive, text: str) -> None:
        """Record a directive for later actions or inputs, or for a module.  A permitted peer is
        added to the earlier ones."""
        table = directives()
        if directive.key in table.later:
            kind, name = table.later[directive.key]
            parameters = self.lasting.setdefault(kind, {})
            before = parameters[name].texts if name == _PEERS and name in parameters else ()
            _set(parameters, name, ",".join((*before, text)), directive)
        if directive.key not in table.modules:
            return
        kind, name = table.modules[directive.key]
        parameters = self.module_parameters.setdefault(kind, {})
        if name == "permittedPeer":
            before = parameters[name].texts if name in parameters else ()
            peers = tuple(Quoted(peer, directive.origin) for peer in (*before, text))
            parameters[name] = Parameter(name, Array(peers, directive.origin), directive.origin)
        elif directive.key == "omitlocallogging":
            _set(parameters, name, "off" if text.lower() in ON else "on", directive)
        else:
            _set(parameters, name, text, directive)

    def object_directive(self, directive: Directive, text: str) -> Iterator[Statement]:
        """Carry out a directive for a module, a template or a ruleset; unknown ones stay."""
        match directive.key:
            case "modload":
                kind = text.rpartition("/")[2].removesuffix(".so")
                self.loaded_by_object.setdefault(kind, False)
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
                parameters = self.ruleset_parameters.setdefault(self.current, {})
                _set(parameters, "parser", text, directive)
            case "rulesetcreatemainqueue":
                if text.lower() in ON:
                    parameters = self.ruleset_parameters.setdefault(self.current, {})
                    queue = self.main_queue(directive.origin)
                    parameters.update({parameter.name: parameter for parameter in queue})
            case "repeatedmsgreduction" if text.lower() == "off":
                return
            case _:
                yield directive

    def is_ruleset(self, name: str) -> bool:
        """Whether a directive has begun a ruleset of that name."""
        return name.lower() in map(str.lower, self.rulesets)

    def input(self, legacy: LegacyInput, directive: Directive, text: str) -> ScriptObject:
        """The input that a directive starts, with the parameters that earlier directives set."""
        kind, name, used_up = legacy
        values = {"type": kind, **directives().input_defaults.get(kind, {})}
        values |= {name: text} if name else {}
        item = ScriptObject.of("input", values, directive.origin)
        lasting = self.lasting.get(kind, {})
        parameters = {parameter.name: parameter for parameter in item.parameters} | lasting
        for key in used_up:
            lasting.pop(key, None)
        return replace(item, parameters=tuple(parameters.values()))

    def new_action(self, action: ScriptObject) -> ScriptObject:
        """An action() object with the default template that a directive sets, the only directive
        that applies to it (getDfltTpl() of omfile.c and omfwd.c).  It uses up the parameters for
        the next action, except a name."""
        self.without_effect += self.unused(action)
        name = directives().next_action[_NAME]
        self.next_action = {key: self.next_action[key] for key in self.next_action if key == name}
        template = self.lasting.get(action.type.removeprefix("builtin:"), {}).get("template")
        if template is None or action.get("template") is not None:
            return action
        return replace(action, parameters=(*action.parameters, template))

    def unused(self, action: ScriptObject | None) -> list[WithoutEffect]:
        """The directives that waited for an action of the legacy format and met `action` instead,
        or the end."""
        waited, self.waiting = self.waiting, []
        return [WithoutEffect(directive, action) for directive in waited]

    def lasting_for(self, action: ScriptObject) -> dict[str, Parameter]:
        """The lasting parameters that apply to an action of the legacy format."""
        kind = f"{action.type}/{action.text('protocol')}"
        lasting = {
            name: parameter
            for key in ("", action.type, kind)
            for name, parameter in self.lasting.get(key, {}).items()
        }
        self.lasting.get(kind, {}).pop(_PEERS, None)
        return lasting

    def action(self, line: LegacyAction) -> Statement:
        """A legacy action line as an object, with the parameters that directives set."""
        action = action_of(line)
        if not isinstance(action, ScriptObject):
            return action
        channel = action.text(CHANNEL)
        if channel is not None and channel not in self.channels:
            return line
        if channel is not None:
            action = action.without({CHANNEL}).with_values(self.channels[channel])
        lasting = self.lasting_for(action)
        if line.text.startswith(("-", ":omfile:-")):
            lasting.pop("sync", None)
        once, self.next_action, self.waiting = self.next_action, {}, []
        queue_type = once.get("queue.type")
        if queue_type is not None and (queue_type.text or "").lower() != "direct":
            completed = _completed(once, directives().action_queue, line.origin)
            once = {parameter.key: parameter for parameter in completed}
        own = {parameter.name: parameter for parameter in action.parameters}
        return replace(action, parameters=tuple((lasting | once | own).values()))


def _with_rulesets(block: Block, rulesets: Iterable[ScriptObject]) -> Block:
    """The block with the rulesets of directives, merged into those of the same names."""
    statements = list(block)
    numbers: dict[str, int] = {}
    for number, statement in enumerate(statements):
        if isinstance(statement, ScriptObject) and statement.kind == "ruleset":
            numbers.setdefault(statement.key, number)
    for ruleset in rulesets:
        place = numbers.get(ruleset.key)
        existing = None if place is None else statements[place]
        if place is None or not isinstance(existing, ScriptObject):
            statements.append(ruleset)
        else:
            statements[place] = _merged(existing, ruleset)
    return tuple(statements)


def _merged(existing: ScriptObject, added: ScriptObject) -> ScriptObject:
    """A ruleset() object with the rules and the missing parameters that directives add."""
    has_queue, keys = bool(existing.queue), {parameter.key for parameter in existing.parameters}
    missing = (
        parameter
        for parameter in added.parameters
        if parameter.key not in keys and not (has_queue and parameter.key.startswith(QUEUE))
    )
    body = (*(existing.body or ()), *(added.body or ()))
    return replace(existing, parameters=(*existing.parameters, *missing), body=body)


def _is_rule(statement: Statement) -> bool:
    return not isinstance(statement, ScriptObject) or statement.kind == "action"


def _set(parameters: dict[str, Parameter], name: str, text: str, directive: Directive) -> None:
    parameters[name] = Parameter.of(name, text, directive.origin)


def _completed(
    parameters: dict[str, Parameter], defaults: Mapping[str, str], origin: ScriptPosition
) -> tuple[Parameter, ...]:
    """The parameters, and `defaults` for those that are missing."""
    keys = {parameter.key for parameter in parameters.values()}
    missing = (key for key in defaults if key.lower() not in keys)
    return (*parameters.values(), *(Parameter.of(key, defaults[key], origin) for key in missing))


def _next_action_parameter(key: str) -> str:
    """The parameter that a directive for the next action sets."""
    return directives().next_action.get(key) or queue_parameter(key.removeprefix(_ACTION_QUEUE))


def _word(text: str) -> str:
    """The first word of a text, or the text in quotes at its start."""
    if text.startswith('"') and '"' in text[1:]:
        return text[1 : text.index('"', 1)]
    return text.split()[0] if text.split() else ""


CHANNEL = "outchannel"
"""A parameter that only exists here: the `$outchannel` that describes the file of an action."""
_PORT = "514"
# The first character of an action determines its module, and the parameter for the rest.
_BY_SIGN = {
    "/": ("omfile", "file"), ".": ("omfile", "file"), "?": ("omfile", "dynaFile"),
    "|": ("ompipe", "pipe"), "^": ("omshell", "program"), ">": ("ommysql", "legacy"),
}  # fmt: skip
# The target and the template of an action; the rest is a comment (cflineParseFileName() and
# cflineParseTemplateName() of conf.c).
_PARTS = re.compile(r"(-?\s*+[^\s;]*+)\s*+(?:;\s*+([^\s#]*+))?")


def action_of(line: LegacyAction) -> ScriptObject | Word:
    """`/file`, `@host`, `:module:text` and the like as `action(...)`; `~` as `stop`."""
    text = line.text
    if text[:1] == "~":
        return Word("stop", line.origin)
    parts = _PARTS.match(text)
    target, template = parts.groups() if parts is not None else (text, None)
    # A password can contain blanks (getSubString() of ommysql.c).
    parameters = _parameters(text.partition(";")[0].strip() if text[:1] == ">" else target)
    # omusrmsg, for `:omusrmsg:*` and user names, gets no template.
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
        # The minus turns sync off, which is off anyway unless a directive turns it on.
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
    key = "users" if module == "omusrmsg" else "legacy"
    return {"type": module, **({key: argument} if argument else {})}


def _forwarding(text: str) -> dict[str, str]:
    """`@host`, `@@host:port`, `@@(o,z9)[::1]:port`."""
    protocol = "tcp" if text.startswith("@@") else "udp"
    text = text.lstrip("@")
    parameters = {"type": "omfwd", "protocol": protocol}
    if text.startswith("("):
        options, _, text = text[1:].partition(")")
        for option in options.split(","):
            if option[:1] == "z":
                parameters |= {"compression.mode": "single", "zipLevel": option[1:] or "9"}
            elif option == "o":
                parameters["tcp_framing"] = "octet-counted"
    host, port = _host_and_port(text)
    return parameters | {"target": host, "port": port}


def _host_and_port(text: str) -> tuple[str, str]:
    if text.startswith("["):
        host, _, port = text[1:].partition("]")
        return host, port.removeprefix(":") or _PORT
    host, _, port = text.partition(":")
    return host, port or _PORT


def channel_of(text: str) -> dict[str, str]:
    """The omfile parameters for FILE,SIZE,COMMAND of an `$outchannel` (outchannel.c)."""
    file, size, command = [*(part.strip() for part in text.split(",", 2)), "", ""][:3]
    settings = {"file": file, "rotation.sizeLimit": size, "rotation.sizeLimitCommand": command}
    return {name: value for name, value in settings.items() if value and value != "0"}
