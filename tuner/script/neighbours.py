"""Which actions and inputs of a configuration affect each other, because they share a thread or
stand in for one another; whether they are written in blocks, called rulesets or included files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from tuner.modules.input import LOCAL_SOURCES, LOSSY_INPUTS
from tuner.modules.output import Neighbours
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

FAILOVER = "action.execonlywhenpreviousissuspended"
_Links = dict[ScriptPosition, dict[ScriptPosition, None]]
"""Links from actions to other actions, all by their positions; a dict serves as an ordered set."""


def neighbours(base: Base) -> Mapping[str, Neighbours]:
    """The neighbours of each action and of each ruleset with a queue, by address."""
    return dict(_Search(base).by_address())


@dataclass
class _Search:
    base: Base
    failovers: _Links = field(default_factory=dict)
    stack: list[str] = field(default_factory=list)

    def by_address(self) -> Iterator[tuple[str, Neighbours]]:
        for key, body in self.base.bodies.items():
            self.stack = [key]
            self._walk(body, frozenset())
        before: _Links = {}
        for first, failovers in self.failovers.items():
            for failover in failovers:
                before.setdefault(failover, {})[first] = None
        for address, action in self.base.of_kind("action"):
            take_over = _closure(self.failovers, action.origin)
            group = {action.origin, *take_over, *_closure(before, action.origin)}
            run_by = self._threads_of(action.origin)
            threads = self._upstream(run_by)
            yield (
                address,
                Neighbours(
                    self._sorted_names(take_over),
                    self._sorted_names(before.get(action.origin, {})),
                    self._sorted_names(self._outputs(threads) - group),
                    self._lossy(threads),
                    self._sorted_names(self._outputs(run_by) - group),
                ),
            )
        for address, ruleset in self.base.of_kind("ruleset"):
            if ruleset.key in self.base.queued:
                threads = self._upstream({ruleset.key}) - {ruleset.key}
                beside = self._sorted_names(self._outputs(threads))
                yield address, Neighbours(beside=beside, lossy=self._lossy(threads))

    @cached_property
    def members(self) -> Mapping[str, frozenset[str]]:
        """The rulesets that each queue's thread runs; the main queue's thread also runs those of
        inputs without a queue of their own."""
        bound = {key for key, _ in self._inputs} - self.base.queued
        entry_rulesets = {DEFAULT: {DEFAULT, *bound}, **{key: {key} for key in self.base.queued}}
        return {
            thread: frozenset(self.base.reached(rulesets, through_queues=False))
            for thread, rulesets in entry_rulesets.items()
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
        """The threads, and all threads that put events into their queues."""
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
        """The output actions (`om...`) that these threads run."""
        rulesets = set(chain.from_iterable(self.members[thread] for thread in threads))
        return {
            action.origin
            for key in rulesets
            for action in self.base.actions[key]
            if action.type.startswith("om") and action.type != "omdiscard"
        }

    @cached_property
    def _names(self) -> Mapping[ScriptPosition, str]:
        """The name of each action in messages; cached, as every other action may mention it."""
        return {
            action.origin: address if action.name else f"{address} ({_target_of(action)})"
            for address, action in self.base.of_kind("action")
        }

    @cached_property
    def _ranks(self) -> Mapping[ScriptPosition, int]:
        return {origin: rank for rank, origin in enumerate(self._names)}

    @cached_property
    def _inputs(self) -> tuple[tuple[str, str], ...]:
        """Each input as a pair: the ruleset that receives its events, and its address."""
        sources = self.base.of_kind("input")
        return tuple((self.base.ruleset_of(source), address) for address, source in sources)

    def _lossy(self, threads: set[str]) -> tuple[str, ...]:
        """The lossy inputs whose events these threads process."""
        names = (name for thread, name in self._lossy_inputs if thread in threads)
        return tuple(dict.fromkeys(names))

    @cached_property
    def _lossy_inputs(self) -> tuple[tuple[str, str], ...]:
        """Each lossy input as a pair: the thread that gets its events, and its address."""
        inputs = (
            (key if key in self.base.queued else DEFAULT, address)
            for key, address in self._inputs
            if self.base.objects[address].type in LOSSY_INPUTS
        )
        local = (name for name in self.base.module_parameters if name in LOCAL_SOURCES)
        return (*inputs, *((DEFAULT, f"module[{name}]") for name in local))

    def _sorted_names(self, origins: Iterable[ScriptPosition]) -> tuple[str, ...]:
        """The names of the actions at these positions, in rsyslogd's order."""
        ordered = sorted(set(origins) & self._names.keys(), key=self._ranks.__getitem__)
        return tuple(self._names[origin] for origin in ordered)

    def _walk(self, block: Block, tail: frozenset[ScriptPosition]) -> frozenset[ScriptPosition]:
        """The actions that can have run last after `block`, given those that can have run last
        before it."""
        for statement in block:
            match statement:
                case ScriptObject(kind="action"):
                    if statement.is_on(FAILOVER):
                        for previous in tail:
                            self.failovers.setdefault(previous, {})[statement.origin] = None
                    tail = frozenset({statement.origin})
                case ScriptObject():
                    continue
                case Word(word="stop"):
                    return frozenset()
                case Call():
                    targets = self.base.targets(statement)
                    ends = [self._walk_call(name, tail) for name in targets]
                    tail = frozenset(chain.from_iterable(ends)) if ends else tail
                case _:
                    tail = self._walk_inside(statement, tail)
        return tail

    def _walk_call(self, name: str, tail: frozenset[ScriptPosition]) -> frozenset[ScriptPosition]:
        is_run = name in self.base.bodies and name not in self.base.queued
        if not is_run or name in self.stack:
            return tail
        self.stack.append(name)
        after = self._walk(self.base.bodies[name], tail)
        self.stack.pop()
        return after

    def _walk_inside(
        self, statement: Statement, tail: frozenset[ScriptPosition]
    ) -> frozenset[ScriptPosition]:
        """After an if, one of its blocks has run; after a loop, its block or nothing."""
        blocks = inner_blocks(statement)
        if not blocks:
            return tail
        ends = [self._walk(block, tail) for block in blocks]
        return frozenset(chain.from_iterable(ends if len(blocks) > 1 else (*ends, tail)))


def _closure(links: _Links, first: ScriptPosition) -> list[ScriptPosition]:
    """All actions that `links` reach from `first`, directly or through others."""
    reached, waiting = dict[ScriptPosition, None](), [first]
    while waiting:
        for linked in links.get(waiting.pop(), ()):
            if linked not in reached and linked != first:
                reached[linked] = None
                waiting.append(linked)
    return list(reached)


def _target_of(action: ScriptObject) -> str:
    """The file or server that identifies an action without a name, else its type."""
    targets = (action.text(key) for key in ("file", "target", "server", "dynaFile"))
    return next(filter(None, targets), action.type)
