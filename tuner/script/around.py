"""What stands around the actions of a configuration, wherever they are written: in blocks, in
rulesets that others call, in included files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from tuner.modules.input import HASTY, LOCAL_SOURCES
from tuner.modules.output import Around
from tuner.script.configuration import is_module
from tuner.script.objects import Base
from tuner.script.parameters import ruleset_of
from tuner.script.script import (
    Block,
    Call,
    Parameter,
    ScriptObject,
    ScriptPosition,
    Statement,
    Word,
    every,
    inner_blocks,
    module_name,
)

STANDS_IN = "action.execonlywhenpreviousissuspended"
_DEFAULT, _MAIN = "", ""


def around(base: Base) -> Mapping[str, Around]:
    """That of each action and each ruleset with a queue, by its address."""
    return dict(_Surroundings(base).found())


@dataclass
class _Surroundings:
    base: Base
    follows: dict[ScriptPosition, dict[ScriptPosition, None]] = field(default_factory=dict)
    stack: list[str] = field(default_factory=list)

    def found(self) -> Iterator[tuple[str, Around]]:
        for key in self.bodies:
            self._walk_ruleset(key)
        before: dict[ScriptPosition, dict[ScriptPosition, None]] = {}
        for first, later in self.follows.items():
            for one in later:
                before.setdefault(one, {})[first] = None
        for address, action in self.base.of_kind("action"):
            take_over = _chain(self.follows, action.origin)
            group = {action.origin, *take_over, *_chain(before, action.origin)}
            threads = self._upstream(self._threads_of(action.origin))
            yield (
                address,
                Around(
                    self._named(take_over),
                    self._named(before.get(action.origin, {})),
                    self._named(self._outputs(threads, group)),
                    self._hasty(threads),
                ),
            )
        for address, ruleset in self.base.of_kind("ruleset"):
            if ruleset.key in self.owners:
                threads = self._upstream({ruleset.key}) - {ruleset.key}
                beside = self._named(self._outputs(threads, ()))
                yield address, Around(beside=beside, hasty=self._hasty(threads))

    @cached_property
    def bodies(self) -> Mapping[str, Block]:
        """What each ruleset does; what no ruleset of a name does stands outside of all."""
        outside = tuple(one for one in self.base.block if not _is_ruleset(one))
        found = {one.key: one.body or () for _, one in self.base.of_kind("ruleset")}
        return {_DEFAULT: outside, **found}

    @cached_property
    def owners(self) -> frozenset[str]:
        """The rulesets with a thread of their own, that of the main queue among them."""
        own = (one for _, one in self.base.of_kind("ruleset") if one.queue)
        queued = (one for one in own if (one.text("queue.type") or "").lower() != "direct")
        return frozenset({_MAIN, *(one.key for one in queued)})

    @cached_property
    def members(self) -> Mapping[str, frozenset[str]]:
        """The rulesets that each thread runs: of the main queue all that inputs name."""
        made = {owner: self._run_by([owner]) for owner in self.owners - {_MAIN}}
        bound = {one for one, _ in self._inputs if one not in self.owners}
        return {_MAIN: self._run_by([_DEFAULT, *sorted(bound)]), **made}

    def _run_by(self, rulesets: Iterable[str]) -> frozenset[str]:
        waiting, found = list(rulesets), set[str]()
        while waiting:
            key = waiting.pop()
            if key in self.bodies and key not in found:
                found.add(key)
                waiting += (one for one in self._calls[key] if one not in self.owners)
        return frozenset(found)

    @cached_property
    def _calls(self) -> Mapping[str, tuple[str, ...]]:
        return {
            key: tuple(
                name for one in every(body) if isinstance(one, Call) for name in self._targets(one)
            )
            for key, body in self.bodies.items()
        }

    def _targets(self, call: Call) -> tuple[str, ...]:
        """The rulesets that a call may lead to: any, where an expression names it."""
        if isinstance(call.target, str):
            return (call.target.lower(),)
        return tuple(key for key in self.bodies if key != _DEFAULT)

    def _threads_of(self, action: ScriptPosition) -> set[str]:
        home = self._homes.get(action, set())
        return {owner for owner, members in self.members.items() if members & home}

    @cached_property
    def _homes(self) -> Mapping[ScriptPosition, set[str]]:
        """The rulesets that each action stands in."""
        found: dict[ScriptPosition, set[str]] = {}
        for key, body in self.bodies.items():
            for origin in self._actions(body):
                found.setdefault(origin, set()).add(key)
        return found

    def _upstream(self, threads: set[str]) -> set[str]:
        """The threads, and all that hand events to their queues."""
        found, waiting = set(threads), list(threads)
        while waiting:
            one = waiting.pop()
            for owner, members in self.members.items():
                if owner not in found and any(one in self._calls[key] for key in members):
                    found.add(owner)
                    waiting.append(owner)
        return found

    def _actions(self, body: Block) -> Mapping[ScriptPosition, ScriptObject]:
        found = (one for one in every(body) if isinstance(one, ScriptObject))
        return {one.origin: one for one in found if one.kind == "action"}

    def _outputs(
        self, threads: Iterable[str], but: Iterable[ScriptPosition]
    ) -> Iterator[ScriptPosition]:
        """The actions of the threads that bring events anywhere."""
        rulesets = set(chain.from_iterable(self.members[one] for one in threads))
        left_out = set(but)
        for key, origins in self._bringing.items():
            if key in rulesets:
                yield from (origin for origin in origins if origin not in left_out)

    @cached_property
    def _bringing(self) -> Mapping[str, tuple[ScriptPosition, ...]]:
        """The actions of each ruleset that bring events anywhere."""
        return {
            key: tuple(
                origin
                for origin, one in self._actions(body).items()
                if one.type.startswith("om") and one.type != "omdiscard"
            )
            for key, body in self.bodies.items()
        }

    @cached_property
    def _names(self) -> Mapping[ScriptPosition, str]:
        """What each action is called, worked out once: every other one may name it."""
        return {
            one.origin: at if one.name else f"{at} ({_target_of(one)})"
            for at, one in self.base.of_kind("action")
        }

    @cached_property
    def _ranks(self) -> Mapping[ScriptPosition, int]:
        return {origin: rank for rank, origin in enumerate(self._names)}

    @cached_property
    def _inputs(self) -> tuple[tuple[str, ScriptObject], ...]:
        """Each input with the ruleset that its events come to; modules that are one, too."""
        shared: dict[str, tuple[Parameter, ...]] = {}
        for one in every(self.base.block):
            if is_module(one):
                shared.setdefault(module_name(one), one.parameters)
        made = [
            (ruleset_of(one, shared.get(one.type, ())).lower(), one)
            for _, one in self.base.of_kind("input")
        ]
        return tuple((key if key in self.bodies else _DEFAULT, one) for key, one in made)

    def _hasty(self, threads: Iterable[str]) -> tuple[str, ...]:
        """The inputs that bring events to the threads, and cannot wait."""
        mine = set(threads)
        found = (name for thread, name in self._cannot_wait if thread in mine)
        return tuple(dict.fromkeys(found))

    @cached_property
    def _cannot_wait(self) -> tuple[tuple[str, str], ...]:
        """What brings events and cannot wait, each behind the thread that it brings them to."""
        named = {one.origin: address for address, one in self.base.of_kind("input")}
        loaded = (module_name(one) for one in every(self.base.block) if is_module(one))
        return (
            *(
                (self._thread_at(key), named[one.origin])
                for key, one in self._inputs
                if one.type in HASTY
            ),
            *((_MAIN, f"module[{name}]") for name in loaded if name in LOCAL_SOURCES),
        )

    def _thread_at(self, ruleset: str) -> str:
        return ruleset if ruleset in self.owners else _MAIN

    def _named(self, origins: Iterable[ScriptPosition]) -> tuple[str, ...]:
        """Those that are actions with an address, in rsyslogd's order."""
        ordered = sorted(set(origins) & self._names.keys(), key=self._ranks.__getitem__)
        return tuple(self._names[origin] for origin in ordered)

    def _walk_ruleset(self, key: str) -> None:
        self.stack = [key]
        self._walk(self.bodies[key], frozenset())

    def _walk(self, block: Block, last: frozenset[ScriptPosition]) -> frozenset[ScriptPosition]:
        """The actions that may be the last that were run behind a block, where those may be it
        before."""
        for one in block:
            match one:
                case ScriptObject(kind="action"):
                    if one.is_on(STANDS_IN):
                        for before in last:
                            self.follows.setdefault(before, {})[one.origin] = None
                    last = frozenset({one.origin})
                case ScriptObject():
                    continue
                case Word(word="stop"):
                    return frozenset()
                case Call():
                    ends = [self._walk_call(name, last) for name in self._targets(one)]
                    last = frozenset(chain.from_iterable(ends)) if ends else last
                case _:
                    last = self._walk_inside(one, last)
        return last

    def _walk_call(self, name: str, last: frozenset[ScriptPosition]) -> frozenset[ScriptPosition]:
        if name in self.owners or name not in self.bodies or name in self.stack:
            return last
        self.stack.append(name)
        after = self._walk(self.bodies[name], last)
        self.stack.pop()
        return after

    def _walk_inside(
        self, one: Statement, last: frozenset[ScriptPosition]
    ) -> frozenset[ScriptPosition]:
        """Behind an if, one of its blocks has run; behind a loop, its block or nothing."""
        blocks = inner_blocks(one)
        if not blocks:
            return last
        ends = [self._walk(block, last) for block in blocks]
        return frozenset(chain.from_iterable(ends if len(blocks) > 1 else (*ends, last)))


def _chain(
    links: Mapping[ScriptPosition, Iterable[ScriptPosition]], first: ScriptPosition
) -> list[ScriptPosition]:
    """All that links lead to from an action, and from those again."""
    found, waiting = dict[ScriptPosition, None](), [first]
    while waiting:
        for one in links.get(waiting.pop(), ()):
            if one not in found and one != first:
                found[one] = None
                waiting.append(one)
    return list(found)


def _target_of(one: ScriptObject) -> str:
    """What says most about an action that has no name."""
    known = (one.text(key) for key in ("file", "target", "server", "dynaFile"))
    return next(filter(None, known), one.type)


def _is_ruleset(one: Statement) -> bool:
    return isinstance(one, ScriptObject) and one.kind == "ruleset"
