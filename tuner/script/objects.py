"""The objects of a configuration by their addresses, each where it stands in the user's files, and
the rulesets that events take.

An address is `main_queue`, `global`, or a kind with the object's name, such as `action[es]` or
`module[imudp]`; an object without a name of its own has its number among those of its kind, from 1
in rsyslogd's order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tuner.script.configuration import Configuration, variables_in
from tuner.script.counted import (
    MAIN,
    UNCOUNTED_SINCE,
    CountedAction,
    counted_actions,
    told_apart,
)
from tuner.script.legacy import WithoutEffect, modernised
from tuner.script.script import (
    DEFAULT,
    Block,
    Call,
    Parameter,
    ScriptObject,
    ScriptPosition,
    Statement,
    enabled,
    module_name,
    objects_in,
    walk,
)
from tuner.script.tokens import SURROGATES

MAIN_QUEUE, GLOBAL = "main_queue", "global"
_ALONE = (MAIN_QUEUE, GLOBAL)
_KINDS = ("input", "ruleset", "action", "ratelimit")


@dataclass(frozen=True)
class SourceFile:
    """A file as it is: its bytes as UTF-8, with surrogates for those that are not."""

    path: str
    text: str

    @property
    def line_end(self) -> str:
        """What ends its first line."""
        head, line_end, _ = self.text.partition("\n")
        return "\r\n" if line_end and head.endswith("\r") else "\n"

    def offset(self, position: ScriptPosition) -> int:
        """Where a place is in the text."""
        start = 0
        for _ in range(position.line - 1):
            start = self.text.index("\n", start) + 1
        return start + position.column - 1


@dataclass(frozen=True)
class Base:
    """A configuration: its files, its statements without the old form and without what is switched
    off, and those objects by address that have one, in rsyslogd's order; `counted` is what its
    counters call each action, by its place, and `without_effect` the directives that apply to
    none."""

    files: Mapping[str, SourceFile]
    block: Block
    objects: Mapping[str, ScriptObject]
    counted: Mapping[ScriptPosition, CountedAction] = field(default_factory=dict)
    without_effect: tuple[WithoutEffect, ...] = ()

    @property
    def text(self) -> tuple[tuple[str, str], ...]:
        """The path and the text of each file."""
        return tuple((file.path, file.text) for file in self.files.values())

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of our environment that rsyslogd reads for it."""
        return variables_in("\n".join(text for _, text in self.text))

    @property
    def addresses(self) -> tuple[str, ...]:
        """What may be changed; every configuration has a main queue."""
        return tuple(dict.fromkeys((MAIN_QUEUE, *self.objects)))

    @cached_property
    def shared(self) -> tuple[Parameter, ...]:
        """The parameters of global(), which may stand several times."""
        globals_ = objects_in(self.block, GLOBAL)
        return tuple(parameter for part in globals_ for parameter in part.parameters)

    @cached_property
    def module_parameters(self) -> Mapping[str, tuple[Parameter, ...]]:
        """What each module says for all of its inputs; rsyslogd takes the first of a name."""
        parameters: dict[str, tuple[Parameter, ...]] = {}
        for module in objects_in(self.block, "module"):
            parameters.setdefault(module_name(module), module.parameters)
        return parameters

    @cached_property
    def told_apart(self) -> Mapping[ScriptPosition, str]:
        """What a lab calls each action, by its place; counters and threads tell it apart."""
        actions = {origin: self.counted[origin].before for origin in self.address_by_origin}
        rulesets = (ruleset.name for _, ruleset in self.of_kind("ruleset"))
        return told_apart(actions, (MAIN, *rulesets))

    def counter_names(self, action: ScriptObject, release: int | None) -> tuple[str, ...]:
        """What counters may call an action where rsyslogd is of this release or newer, without
        names that may be another's."""
        names = self.counted[action.origin]
        if release is not None and release >= UNCOUNTED_SINCE:
            return (names.since,)
        return tuple(name for name in dict.fromkeys(names) if self._uses[name] == 1)

    @cached_property
    def _uses(self) -> Counter[str]:
        """How many actions may be called so."""
        return Counter(
            name for origin in self.address_by_origin for name in set(self.counted[origin])
        )

    @cached_property
    def address_by_origin(self) -> Mapping[ScriptPosition, str]:
        """The address of each action by its place."""
        return {action.origin: address for address, action in self.of_kind("action")}

    def of_kind(self, kind: str) -> tuple[tuple[str, ScriptObject], ...]:
        """The objects of a kind, each with its address."""
        return tuple(pair for pair in self.objects.items() if pair[1].kind == kind)

    def place_of(self, key: str) -> tuple[str, str] | None:
        """The address and the parameter that a key such as `action[es].queue.size` names; None
        where no object has that address.  Those of the main queue go without `queue.`."""
        for address in self.addresses:
            name = key.removeprefix(f"{address}.")
            if name != key and name:
                return address, f"queue.{name}" if address == MAIN_QUEUE else name
        return None

    def address_of(self, searched: ScriptObject) -> str | None:
        """The address of an object."""
        place = (searched.kind, searched.origin)
        addresses = (at for at, item in self.objects.items() if (item.kind, item.origin) == place)
        return next(addresses, None)

    def template(self, name: str) -> ScriptObject | None:
        """The template of that name; rsyslogd takes the first where it is written twice."""
        return self._templates.get(name.strip().lower())

    @cached_property
    def _templates(self) -> Mapping[str, ScriptObject]:
        templates = [*objects_in(self.block, "template")]
        return {template.key: template for template in reversed(templates)}

    def key_of(self, address: str, name: str) -> str:
        """The key that names a parameter."""
        return f"{address}.{name.removeprefix('queue.') if address == MAIN_QUEUE else name}"

    @property
    def engine_actions(self) -> tuple[tuple[str, ScriptObject], ...]:
        """The actions into an engine, each with its address."""
        return tuple(pair for pair in self.of_kind("action") if pair[1].type == "omelasticsearch")

    def parameter(self, address: str, name: str) -> Parameter | None:
        """A parameter of an object as it is written, of global() the last; None where rsyslog's
        default applies."""
        if address == GLOBAL:
            shared = reversed(self.shared)
            return next((one for one in shared if one.key == name.lower()), None)
        owner = self.objects.get(address)
        return None if owner is None else owner.get(name)

    @cached_property
    def bodies(self) -> Mapping[str, Block]:
        """The statements of each ruleset by its name in lower case."""
        outside = tuple(
            statement
            for statement in self.block
            if not (isinstance(statement, ScriptObject) and statement.kind == "ruleset")
        )
        rulesets = self.of_kind("ruleset")
        return {DEFAULT: outside, **{ruleset.key: ruleset.body or () for _, ruleset in rulesets}}

    @cached_property
    def queued(self) -> frozenset[str]:
        """The rulesets with a queue, and so a thread, of their own."""
        rulesets = (ruleset for _, ruleset in self.of_kind("ruleset") if ruleset.queue)
        return frozenset(
            ruleset.key
            for ruleset in rulesets
            if (ruleset.text("queue.type") or "").lower() != "direct"
        )

    @cached_property
    def actions(self) -> Mapping[str, tuple[ScriptObject, ...]]:
        """The actions that stand in each ruleset itself."""
        return {key: tuple(objects_in(body, "action")) for key, body in self.bodies.items()}

    @cached_property
    def calls(self) -> Mapping[str, tuple[str, ...]]:
        """The rulesets that each ruleset itself calls."""
        return {
            key: tuple(
                target
                for statement in walk(body)
                if isinstance(statement, Call)
                for target in self.targets(statement)
            )
            for key, body in self.bodies.items()
        }

    def targets(self, call: Call) -> tuple[str, ...]:
        """The rulesets that a call may lead to: any, where an expression names it."""
        if isinstance(call.target, str):
            return (call.target.lower(),)
        return tuple(key for key in self.bodies if key != DEFAULT)

    def reached(self, rulesets: Iterable[str], *, through_queues: bool) -> tuple[str, ...]:
        """These rulesets and all that they call, or those of them that the same thread runs."""
        waiting, reached = list(rulesets), dict[str, None]()
        while waiting:
            key = waiting.pop()
            if key in self.bodies and key not in reached:
                reached[key] = None
                calls = self.calls[key]
                waiting += (name for name in calls if through_queues or name not in self.queued)
        return tuple(reached)

    def ruleset_of(self, source: ScriptObject) -> str:
        """The ruleset that the events of an input go to, the default one where there is none of the
        name; the module of imrelp alone may say it for all of its inputs (imrelp.c, checkCnf)."""
        shared = self.module_parameters.get(source.type, ()) if source.type == "imrelp" else ()
        names = (parameter.text for parameter in shared if parameter.key == "ruleset")
        key = (source.text("ruleset") or next(names, None) or DEFAULT).lower()
        return key if key in self.bodies else DEFAULT


def base_of(read: Configuration) -> Base:
    """The objects of a configuration, and the files that they stand in."""
    written, without_effect = modernised(read.block)
    block = tuple(_taken(enabled(written)))
    files = {
        path: SourceFile(path, raw.decode("utf-8", SURROGATES))
        for path, raw in read.sources.items()
    }
    counted = counted_actions(read.block, written)
    return Base(files, block, dict(_addressed(block)), counted, without_effect)


def _addressed(block: Block) -> Iterator[tuple[str, ScriptObject]]:
    # A file that is included twice says the same twice.
    objects = list({(item.kind, item.origin): item for item in objects_in(block)}.values())
    for kind in _ALONE:
        yield from ((kind, item) for item in objects if item.kind == kind)
    for kind in _KINDS:
        of_kind = [item for item in objects if item.kind == kind]
        names = Counter(item.key for item in of_kind)
        for number, item in enumerate(of_kind, 1):
            is_unique = item.name and names[item.key] == 1
            yield f"{kind}[{item.name if is_unique else number}]", item
    modules = [item for item in objects if item.kind == "module" and not is_directive(item)]
    yield from {module_address(module_name(item)): item for item in reversed(modules)}.items()


def _taken(block: Block) -> Iterator[Statement]:
    """Without what rsyslogd refuses: it keeps the first main_queue(), and the first ruleset() of a
    name with what is inside of it."""
    seen = set[tuple[str, str]]()
    for statement in block:
        named = ("", "")
        if isinstance(statement, ScriptObject):
            named = (statement.kind, statement.key)
        if named not in seen:
            yield statement
        if named[0] in {MAIN_QUEUE, "ruleset"}:
            seen.add(named)


def module_address(name: str) -> str:
    """The address of the statement that loads a module."""
    return f"module[{name}]"


def is_directive(module: ScriptObject) -> bool:
    """Whether a module is loaded by a directive of the old form, which takes no parameters."""
    load = module.get("load")
    return load is not None and load.origin == module.origin
