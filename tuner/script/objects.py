"""The objects of a configuration by address, with their positions in the user's files, and the
rulesets that events pass through.

An address is `main_queue`, `global`, or a kind with the object's name, such as `action[es]` or
`module[imudp]`.  An object without a unique name has its number among those of its kind instead,
from 1 in rsyslogd's order.
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
    distinct_names,
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
_SINGLETONS = (MAIN_QUEUE, GLOBAL)
_KINDS = ("input", "ruleset", "action", "ratelimit")


@dataclass(frozen=True)
class SourceFile:
    """A file of a configuration, decoded as UTF-8, with surrogates for other bytes."""

    path: str
    text: str

    @property
    def line_end(self) -> str:
        """The line end of its first line."""
        head, line_end, _ = self.text.partition("\n")
        return "\r\n" if line_end and head.endswith("\r") else "\n"

    def offset(self, position: ScriptPosition) -> int:
        """The offset of a position in the text."""
        start = 0
        for _ in range(position.line - 1):
            start = self.text.index("\n", start) + 1
        return start + position.column - 1


@dataclass(frozen=True)
class Base:
    """A configuration: its files, its enabled statements without the legacy format, and its
    addressed objects in rsyslogd's order.

    `counted` has the counter names of each action, by position; `without_effect` are directives for
    actions that apply to none.
    """

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
        """The environment variables that the configuration uses."""
        return variables_in("\n".join(text for _, text in self.text))

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of changeable objects, always with the main queue."""
        return tuple(dict.fromkeys((MAIN_QUEUE, *self.objects)))

    @cached_property
    def shared(self) -> tuple[Parameter, ...]:
        """The parameters of all global() objects, of which there can be several."""
        globals_ = objects_in(self.block, GLOBAL)
        return tuple(parameter for part in globals_ for parameter in part.parameters)

    @cached_property
    def module_parameters(self) -> Mapping[str, tuple[Parameter, ...]]:
        """The parameters of each module() by module; the first one counts if there are several."""
        parameters: dict[str, tuple[Parameter, ...]] = {}
        for module in objects_in(self.block, "module"):
            parameters.setdefault(module_name(module), module.parameters)
        return parameters

    @cached_property
    def distinct_names(self) -> Mapping[ScriptPosition, str]:
        """The name that a lab gives each action, by position, so that its counters and threads are
        distinct."""
        actions = {origin: self.counted[origin].before for origin in self.address_by_origin}
        rulesets = (ruleset.name for _, ruleset in self.of_kind("ruleset"))
        return distinct_names(actions, (MAIN, *rulesets))

    def counter_names(self, action: ScriptObject, release: int | None) -> tuple[str, ...]:
        """The possible names of an action in the counters of this rsyslogd release or a newer one,
        without those that another action may have."""
        names = self.counted[action.origin]
        if release is not None and release >= UNCOUNTED_SINCE:
            return (names.since,)
        return tuple(name for name in dict.fromkeys(names) if self._uses[name] == 1)

    @cached_property
    def _uses(self) -> Counter[str]:
        """How many actions may have each counter name."""
        return Counter(
            name for origin in self.address_by_origin for name in set(self.counted[origin])
        )

    @cached_property
    def address_by_origin(self) -> Mapping[ScriptPosition, str]:
        """The address of each action, by position."""
        return {action.origin: address for address, action in self.of_kind("action")}

    def of_kind(self, kind: str) -> tuple[tuple[str, ScriptObject], ...]:
        """The objects of a kind, each with its address."""
        return tuple(pair for pair in self.objects.items() if pair[1].kind == kind)

    def place_of(self, key: str) -> tuple[str, str] | None:
        """The address and the parameter in a key such as `action[es].queue.size`; None if no object
        has that address.  Keys of the main queue leave out `queue.`."""
        for address in self.addresses:
            name = key.removeprefix(f"{address}.")
            if name != key and name:
                return address, f"queue.{name}" if address == MAIN_QUEUE else name
        return None

    def address_of(self, searched: ScriptObject) -> str | None:
        """The address of an object, None if it has none."""
        key = (searched.kind, searched.origin)
        addresses = (at for at, item in self.objects.items() if (item.kind, item.origin) == key)
        return next(addresses, None)

    def template(self, name: str) -> ScriptObject | None:
        """The template of that name, the first one if there are several, as in rsyslogd."""
        return self._templates.get(name.strip().lower())

    @cached_property
    def _templates(self) -> Mapping[str, ScriptObject]:
        templates = [*objects_in(self.block, "template")]
        return {template.key: template for template in reversed(templates)}

    def key_of(self, address: str, name: str) -> str:
        """The key of a parameter, see `place_of`."""
        return f"{address}.{name.removeprefix('queue.') if address == MAIN_QUEUE else name}"

    @property
    def engine_actions(self) -> tuple[tuple[str, ScriptObject], ...]:
        """The omelasticsearch actions, each with its address."""
        return tuple(pair for pair in self.of_kind("action") if pair[1].type == "omelasticsearch")

    def parameter(self, address: str, name: str) -> Parameter | None:
        """A parameter of an object, the last one of its name; None if it is not set."""
        if address == GLOBAL:
            shared = reversed(self.shared)
            return next((parameter for parameter in shared if parameter.key == name.lower()), None)
        owner = self.objects.get(address)
        return None if owner is None else owner.get(name)

    @cached_property
    def bodies(self) -> Mapping[str, Block]:
        """The statements of each ruleset, by its name in lower case; DEFAULT has all others."""
        outside = tuple(
            statement
            for statement in self.block
            if not (isinstance(statement, ScriptObject) and statement.kind == "ruleset")
        )
        rulesets = self.of_kind("ruleset")
        return {DEFAULT: outside, **{ruleset.key: ruleset.body or () for _, ruleset in rulesets}}

    @cached_property
    def queued(self) -> frozenset[str]:
        """The rulesets with a queue of their own, and so with worker threads of their own."""
        rulesets = (ruleset for _, ruleset in self.of_kind("ruleset") if ruleset.queue)
        return frozenset(
            ruleset.key
            for ruleset in rulesets
            if (ruleset.text("queue.type") or "").lower() != "direct"
        )

    @cached_property
    def actions(self) -> Mapping[str, tuple[ScriptObject, ...]]:
        """The actions in each ruleset, without those of rulesets that it calls."""
        return {key: tuple(objects_in(body, "action")) for key, body in self.bodies.items()}

    @cached_property
    def calls(self) -> Mapping[str, tuple[str, ...]]:
        """The rulesets that each ruleset calls directly."""
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
        """The rulesets that a call can lead to: all if the target is an expression."""
        if isinstance(call.target, str):
            return (call.target.lower(),)
        return tuple(key for key in self.bodies if key != DEFAULT)

    def reached(self, rulesets: Iterable[str], *, through_queues: bool) -> tuple[str, ...]:
        """These rulesets and all that they call, directly or not; without `through_queues` only
        those that the same thread runs."""
        waiting, reached = list(rulesets), dict[str, None]()
        while waiting:
            key = waiting.pop()
            if key in self.bodies and key not in reached:
                reached[key] = None
                calls = self.calls[key]
                waiting += (name for name in calls if through_queues or name not in self.queued)
        return tuple(reached)

    def ruleset_of(self, source: ScriptObject) -> str:
        """The ruleset that the events of an input go to; the default one if it names none that
        exists.  Only imrelp also has a module parameter for it (imrelp.c, checkCnf)."""
        shared = self.module_parameters.get(source.type, ()) if source.type == "imrelp" else ()
        names = (parameter.text for parameter in shared if parameter.key == "ruleset")
        key = (source.text("ruleset") or next(names, None) or DEFAULT).lower()
        return key if key in self.bodies else DEFAULT


def base_of(read: Configuration) -> Base:
    """The objects and files of a configuration."""
    modern, without_effect = modernised(read.block)
    block = tuple(_accepted(enabled(modern)))
    files = {
        path: SourceFile(path, raw.decode("utf-8", SURROGATES))
        for path, raw in read.sources.items()
    }
    counted = counted_actions(read.block, modern)
    return Base(files, block, dict(_addressed(block)), counted, without_effect)


def _addressed(block: Block) -> Iterator[tuple[str, ScriptObject]]:
    # The objects of a file that is included twice have one address each.
    objects = list({(item.kind, item.origin): item for item in objects_in(block)}.values())
    for kind in _SINGLETONS:
        yield from ((kind, item) for item in objects if item.kind == kind)
    for kind in _KINDS:
        of_kind = [item for item in objects if item.kind == kind]
        names = Counter(item.key for item in of_kind)
        for number, item in enumerate(of_kind, 1):
            is_unique = item.name and names[item.key] == 1
            yield f"{kind}[{item.name if is_unique else number}]", item
    modules = [item for item in objects if item.kind == "module" and not is_directive(item)]
    yield from {module_address(module_name(item)): item for item in reversed(modules)}.items()


def _accepted(block: Block) -> Iterator[Statement]:
    """The statements that rsyslogd accepts: the first main_queue(), and the first ruleset() of each
    name; and all others."""
    seen = set[tuple[str, str]]()
    for statement in block:
        kind_and_name = ("", "")
        if isinstance(statement, ScriptObject):
            kind_and_name = (statement.kind, statement.key)
        if kind_and_name not in seen:
            yield statement
        if kind_and_name[0] in {MAIN_QUEUE, "ruleset"}:
            seen.add(kind_and_name)


def module_address(name: str) -> str:
    """The address of the statement that loads a module."""
    return f"module[{name}]"


def is_directive(module: ScriptObject) -> bool:
    """Whether a module is loaded by `$ModLoad`, which takes no parameters."""
    load = module.get("load")
    return load is not None and load.origin == module.origin
