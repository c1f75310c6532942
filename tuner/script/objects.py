"""The objects of a configuration by their addresses, each where it stands in the user's files.

An address is `main_queue`, `global`, or a kind with the object's name, such as `action[es]` or
`module[imudp]`; an object without a name of its own has its number among those of its kind, from 1
in rsyslogd's order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tuner.script.configuration import Configuration
from tuner.script.counted import (
    MAIN,
    UNCOUNTED_SINCE,
    CountedAction,
    counted_actions,
    told_apart,
)
from tuner.script.enabled import enabled
from tuner.script.legacy import WithoutEffect, modernised
from tuner.script.script import (
    Block,
    Parameter,
    ScriptObject,
    ScriptPosition,
    Statement,
    every,
    module_name,
)
from tuner.script.tokens import SURROGATES

MAIN_QUEUE, GLOBAL = "main_queue", "global"
_ALONE = (MAIN_QUEUE, GLOBAL)
_KINDS = ("input", "ruleset", "action")


@dataclass(frozen=True)
class SourceFile:
    """A file as it is: its bytes as UTF-8, with surrogates for those that are not."""

    path: str
    text: str

    @property
    def line_end(self) -> str:
        """What ends its first line."""
        head, found, _ = self.text.partition("\n")
        return "\r\n" if found and head.endswith("\r") else "\n"

    def offset(self, at: ScriptPosition) -> int:
        """Where a place is in the text."""
        start = 0
        for _ in range(at.line - 1):
            start = self.text.index("\n", start) + 1
        return start + at.column - 1


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
        """Everything that is written, by file."""
        return tuple((one.path, one.text) for one in self.files.values())

    @property
    def addresses(self) -> tuple[str, ...]:
        """What may be changed; every configuration has a main queue."""
        return tuple(dict.fromkeys((MAIN_QUEUE, *self.objects)))

    @cached_property
    def shared(self) -> tuple[Parameter, ...]:
        """The parameters of global(), which may stand several times."""
        found = [one for one in every(self.block) if isinstance(one, ScriptObject)]
        return tuple(each for one in found if one.kind == GLOBAL for each in one.parameters)

    @cached_property
    def told_apart(self) -> Mapping[ScriptPosition, str]:
        """What a lab calls each action, by its place; counters and threads tell it apart."""
        actions = {one.origin: self.counted[one.origin].before for one in self._live}
        return told_apart(actions, (MAIN, *(one.name for _, one in self.of_kind("ruleset"))))

    def counter_names(self, action: ScriptObject, release: int | None) -> tuple[str, ...]:
        """What counters may call an action where rsyslogd is of this release or newer, without
        names that may be another's."""
        mine = self.counted[action.origin]
        if release is not None and release >= UNCOUNTED_SINCE:
            return (mine.since,)
        return tuple(name for name in dict.fromkeys(mine) if self._uses[name] == 1)

    @cached_property
    def _uses(self) -> Counter[str]:
        """How many actions may be called so."""
        return Counter(name for one in self._live for name in set(self.counted[one.origin]))

    @cached_property
    def _live(self) -> tuple[ScriptObject, ...]:
        return tuple(one for _, one in self.of_kind("action"))

    def of_kind(self, kind: str) -> tuple[tuple[str, ScriptObject], ...]:
        """The objects of a kind, each with its address."""
        return tuple((at, one) for at, one in self.objects.items() if one.kind == kind)

    def place_of(self, key: str) -> tuple[str, str] | None:
        """The address and the parameter that a key such as `action[es].queue.size` names; None
        where no object has that address.  Those of the main queue go without `queue.`."""
        for address in self.addresses:
            name = key.removeprefix(f"{address}.")
            if name != key and name:
                return address, f"queue.{name}" if address == MAIN_QUEUE else name
        return None

    def address_of(self, one: ScriptObject) -> str | None:
        """The address of an object."""
        mine = (at for at, each in self.objects.items() if each.origin == one.origin)
        return next((at for at in mine if self.objects[at].kind == one.kind), None)

    def template(self, name: str) -> ScriptObject | None:
        """The template of that name; rsyslogd takes the first where it is written twice."""
        return self._templates.get(name.strip().lower())

    @cached_property
    def _templates(self) -> Mapping[str, ScriptObject]:
        found = [one for one in every(self.block) if isinstance(one, ScriptObject)]
        return {one.key: one for one in reversed(found) if one.kind == "template"}

    def key_of(self, address: str, name: str) -> str:
        """The key that names a parameter."""
        return f"{address}.{name.removeprefix('queue.') if address == MAIN_QUEUE else name}"

    @property
    def engine_actions(self) -> tuple[tuple[str, ScriptObject], ...]:
        """The actions into an engine, each with its address."""
        every = self.of_kind("action")
        return tuple((at, one) for at, one in every if one.type == "omelasticsearch")

    def parameter(self, address: str, name: str) -> Parameter | None:
        """A parameter of an object as it is written, of global() the last; None where rsyslog's
        default applies."""
        found = self.objects.get(address)
        if address == GLOBAL:
            return next((one for one in reversed(self.shared) if one.key == name.lower()), None)
        return None if found is None else found.get(name)


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
    found = [one for one in every(block) if isinstance(one, ScriptObject)]
    # A file that is included twice says the same twice.
    objects = list({(one.kind, one.origin): one for one in found}.values())
    for kind in _ALONE:
        yield from ((kind, one) for one in objects if one.kind == kind)
    for kind in _KINDS:
        mine = [one for one in objects if one.kind == kind]
        names = Counter(one.key for one in mine)
        for number, one in enumerate(mine, 1):
            is_own = one.name and names[one.key] == 1
            yield f"{kind}[{one.name if is_own else number}]", one
    modules = [one for one in objects if one.kind == "module" and not is_directive(one)]
    yield from {module_address(module_name(one)): one for one in reversed(modules)}.items()


def _taken(block: Block) -> Iterator[Statement]:
    """Without what rsyslogd refuses: it keeps the first main_queue(), and the first ruleset() of a
    name with what is inside of it."""
    seen = set[tuple[str, str]]()
    for one in block:
        named = (one.kind, one.key) if isinstance(one, ScriptObject) else ("", "")
        if named not in seen:
            yield one
        if named[0] in {MAIN_QUEUE, "ruleset"}:
            seen.add(named)


def module_address(name: str) -> str:
    """The address of the statement that loads a module."""
    return f"module[{name}]"


def is_directive(one: ScriptObject) -> bool:
    """Whether a module is loaded by a directive of the old form, which takes no parameters."""
    load = one.get("load")
    return load is not None and load.origin == one.origin
