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
from tuner.script.objects import Base
from tuner.script.script import (
    DEFAULT,
    Block,
    Call,
    ScriptObject,
    ScriptPosition,
    Statement,
    Word,
    inner_blocks,
)

STANDS_IN = "action.execonlywhenpreviousissuspended"
_Links = dict[ScriptPosition, dict[ScriptPosition, None]]
"""From actions to others, all by their places; a dict without values keeps the order."""


def around(base: Base) -> Mapping[str, Around]:
    """That of each action and each ruleset with a queue, by its address."""
    return dict(_Surroundings(base).all())


@dataclass
class _Surroundings:
    base: Base
    standins: _Links = field(default_factory=dict)
    stack: list[str] = field(default_factory=list)

    def all(self) -> Iterator[tuple[str, Around]]:
        for key, body in self.base.bodies.items():
            self.stack = [key]
            self._walk(body, frozenset())
        before: _Links = {}
        for first, standins in self.standins.items():
            for standin in standins:
                before.setdefault(standin, {})[first] = None
        for address, action in self.base.of_kind("action"):
            take_over = _closure(self.standins, action.origin)
            group = {action.origin, *take_over, *_closure(before, action.origin)}
            own = self._threads_of(action.origin)
            threads = self._upstream(own)
            yield (
                address,
                Around(
                    self._named(take_over),
                    self._named(before.get(action.origin, {})),
                    self._named(self._outputs(threads) - group),
                    self._hasty(threads),
                    self._named(self._outputs(own) - group),
                ),
            )
        for address, ruleset in self.base.of_kind("ruleset"):
            if ruleset.key in self.base.queued:
                threads = self._upstream({ruleset.key}) - {ruleset.key}
                beside = self._named(self._outputs(threads))
                yield address, Around(beside=beside, hasty=self._hasty(threads))

    @cached_property
    def members(self) -> Mapping[str, frozenset[str]]:
        """The rulesets that each thread runs: that of the main queue all that inputs name."""
        bound = {key for key, _ in self._inputs} - self.base.queued
        starts = {DEFAULT: {DEFAULT, *bound}, **{key: {key} for key in self.base.queued}}
        return {
            thread: frozenset(self.base.reached(rulesets, through_queues=False))
            for thread, rulesets in starts.items()
        }

    def _threads_of(self, action: ScriptPosition) -> set[str]:
        rulesets = self._rulesets_by_action.get(action, set())
        return {thread for thread, members in self.members.items() if members & rulesets}

    @cached_property
    def _rulesets_by_action(self) -> Mapping[ScriptPosition, set[str]]:
        """The rulesets that each action stands in."""
        rulesets: dict[ScriptPosition, set[str]] = {}
        for key, actions in self.base.actions.items():
            for action in actions:
                rulesets.setdefault(action.origin, set()).add(key)
        return rulesets

    def _upstream(self, threads: set[str]) -> set[str]:
        """The threads, and all that hand events to their queues."""
        upstream, waiting = set(threads), list(threads)
        while waiting:
            queue = waiting.pop()
            for thread, members in self.members.items():
                is_caller = any(queue in self.base.calls[key] for key in members)
                if thread not in upstream and is_caller:
                    upstream.add(thread)
                    waiting.append(thread)
        return upstream

    def _outputs(self, threads: Iterable[str]) -> set[ScriptPosition]:
        """The actions of the threads that bring events anywhere."""
        rulesets = set(chain.from_iterable(self.members[thread] for thread in threads))
        return {
            action.origin
            for key in rulesets
            for action in self.base.actions[key]
            if action.type.startswith("om") and action.type != "omdiscard"
        }

    @cached_property
    def _names(self) -> Mapping[ScriptPosition, str]:
        """What each action is called, worked out once: every other one may name it."""
        return {
            action.origin: address if action.name else f"{address} ({_target_of(action)})"
            for address, action in self.base.of_kind("action")
        }

    @cached_property
    def _ranks(self) -> Mapping[ScriptPosition, int]:
        return {origin: rank for rank, origin in enumerate(self._names)}

    @cached_property
    def _inputs(self) -> tuple[tuple[str, str], ...]:
        """Each input's address behind the ruleset that its events come to."""
        sources = self.base.of_kind("input")
        return tuple((self.base.ruleset_of(source), address) for address, source in sources)

    def _hasty(self, threads: Iterable[str]) -> tuple[str, ...]:
        """The inputs that bring events to the threads, and cannot wait."""
        wanted = set(threads)
        names = (name for thread, name in self._cannot_wait if thread in wanted)
        return tuple(dict.fromkeys(names))

    @cached_property
    def _cannot_wait(self) -> tuple[tuple[str, str], ...]:
        """What brings events and cannot wait, each behind the thread that it brings them to."""
        inputs = (
            (key if key in self.base.queued else DEFAULT, address)
            for key, address in self._inputs
            if self.base.objects[address].type in HASTY
        )
        local = (name for name in self.base.module_parameters if name in LOCAL_SOURCES)
        return (*inputs, *((DEFAULT, f"module[{name}]") for name in local))

    def _named(self, origins: Iterable[ScriptPosition]) -> tuple[str, ...]:
        """Those that are actions with an address, in rsyslogd's order."""
        ordered = sorted(set(origins) & self._names.keys(), key=self._ranks.__getitem__)
        return tuple(self._names[origin] for origin in ordered)

    def _walk(self, block: Block, last: frozenset[ScriptPosition]) -> frozenset[ScriptPosition]:
        """The actions that may be the last that were run behind a block, where those may be it
        before."""
        for statement in block:
            match statement:
                case ScriptObject(kind="action"):
                    if statement.is_on(STANDS_IN):
                        for previous in last:
                            self.standins.setdefault(previous, {})[statement.origin] = None
                    last = frozenset({statement.origin})
                case ScriptObject():
                    continue
                case Word(word="stop"):
                    return frozenset()
                case Call():
                    targets = self.base.targets(statement)
                    ends = [self._walk_call(name, last) for name in targets]
                    last = frozenset(chain.from_iterable(ends)) if ends else last
                case _:
                    last = self._walk_inside(statement, last)
        return last

    def _walk_call(self, name: str, last: frozenset[ScriptPosition]) -> frozenset[ScriptPosition]:
        is_run = name in self.base.bodies and name not in self.base.queued
        if not is_run or name in self.stack:
            return last
        self.stack.append(name)
        after = self._walk(self.base.bodies[name], last)
        self.stack.pop()
        return after

    def _walk_inside(
        self, statement: Statement, last: frozenset[ScriptPosition]
    ) -> frozenset[ScriptPosition]:
        """Behind an if, one of its blocks has run; behind a loop, its block or nothing."""
        blocks = inner_blocks(statement)
        if not blocks:
            return last
        ends = [self._walk(block, last) for block in blocks]
        return frozenset(chain.from_iterable(ends if len(blocks) > 1 else (*ends, last)))


def _closure(links: _Links, first: ScriptPosition) -> list[ScriptPosition]:
    """All that links lead to from an action, and from those again."""
    reached, waiting = dict[ScriptPosition, None](), [first]
    while waiting:
        for linked in links.get(waiting.pop(), ()):
            if linked not in reached and linked != first:
                reached[linked] = None
                waiting.append(linked)
    return list(reached)


def _target_of(action: ScriptObject) -> str:
    """What says most about an action that has no name."""
    targets = (action.text(key) for key in ("file", "target", "server", "dynaFile"))
    return next(filter(None, targets), action.type)
