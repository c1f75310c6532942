"""One dimension of a search: a path in the profile, its levels, and what it can help against; and
the row of the table that it is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from tuner.engines.index_settings import INDEX_SETTINGS
from tuner.engines.settings import Update
from tuner.modules.queue import Place
from tuner.profile.model import Keep, Profile
from tuner.profile.placement import STREAMS, PlacedQueue
from tuner.schema.path import Path
from tuner.schema.units import engine_bytes, seconds

Level = None | bool | int | str | tuple[str, ...]


def level_text(level: Level) -> str:
    """A level as a reader would write it."""
    if level is None:
        return "not set"
    if isinstance(level, bool):
        return "on" if level else "off"
    return ",".join(level) if isinstance(level, tuple) else str(level)


class Cost(Enum):
    """What it takes to apply a change."""

    LIVE_SETTING = "live setting"
    RSYSLOG_RESTART = "rsyslog restart"
    NEW_INDEX = "new index"
    NODE_RESTART = "node restart"


class Bottleneck(Enum):
    """The stage that set the rate."""

    REJECTIONS = "rejections"
    SENDER = "sender"
    NETWORK = "network"
    MERGES = "merge throttling"
    DISK = "disk"
    ACTION_CPU = "action workers' own CPU"
    MAIN_WORKER = "main queue worker"
    INPUT = "input"
    ENGINE_CPU = "engine CPU"
    MACHINE_CPU = "machine CPU"
    ACTION_WAITING = "action workers waiting on the engine"
    UNCLEAR = "unclear"


class Way(Enum):
    """Which way along the levels of a knob helps; a choice has no direction."""

    UP = 1
    DOWN = -1
    CHOICE = 0


Helps = Mapping[Bottleneck, Way]
"""The bottlenecks under which a knob can matter, and which way helps."""


@dataclass(frozen=True)
class Need:
    """A knob is active only while that at `path` has one of these levels."""

    path: Path
    levels: tuple[Level, ...]


@dataclass(frozen=True)
class Knob:
    """One dimension: its path, its levels, and which of them the profile has now.

    None as a level means: not set, the default of rsyslog or of the engine, which is `unset` where
    it is known.  Levels that are not `ordered` have nothing in common.  While one of its `needs`
    does not hold, a knob has no effect and stays at its current level.

    `keys` are the rows of the table that it comes from, its own first: the main queue does the
    work of a Direct action too.  `rank` is small for the most promising; `outputs` are those that
    it is turned for, by name, and `share` is what the largest of them gets of the documents, over
    what the largest of all does.
    What its levels may give up is decided by `guarantees.given_up_at`.
    """

    path: Path
    levels: tuple[Level, ...]
    current: Level
    cost: Cost
    why: str = ""
    note: str = ""
    ordered: bool = True
    unset: Level = None
    needs: tuple[Need, ...] = ()
    keys: tuple[str, ...] = ()
    rank: int = 0
    helps: Helps = field(default_factory=dict)
    gives_up: tuple[Keep, ...] = ()
    outputs: tuple[str, ...] = ("",)
    share: float = 1.0

    def serving(self, other: Knob) -> Knob:
        """The knob, which other outputs share: it does for them what theirs would."""
        return replace(
            self,
            keys=tuple(dict.fromkeys((*self.keys, *other.keys))),
            rank=min(self.rank, other.rank),
            helps={**other.helps, **self.helps},
            gives_up=tuple(dict.fromkeys((*self.gives_up, *other.gives_up))),
            outputs=(*self.outputs, *other.outputs),
            share=max(self.share, other.share),
        )

    @property
    def special(self) -> frozenset[int]:
        """The numbers of the levels that stand apart from the order: 0, -1, and not set where
        nobody knows what that amounts to."""
        if not self.ordered:
            return frozenset()
        amounts = map(self._amount, self.levels)
        return frozenset(number for number, amount in enumerate(amounts) if amount is None)

    @property
    def positions(self) -> tuple[float, ...]:
        """Where ordered levels lie between 0 and 1 by the logarithm of their amounts; special
        ones lie at the end where they stand.  Empty when there is no order."""
        amounts = [amount for level in self.levels if (amount := self._amount(level)) is not None]
        if not self.ordered or not amounts:
            return ()
        low, high = math.log(min(amounts)), math.log(max(amounts))
        scale = high - low or 1.0
        last = len(self.levels) - 1
        return tuple(
            (math.log(amount) - low) / scale
            if (amount := self._amount(level)) is not None
            else float(number == last and number > 0)
            for number, level in enumerate(self.levels)
        )

    def _amount(self, level: Level) -> float | None:
        amount = amount_of(self.unset if level is None else level)
        return amount if amount is not None and amount > 0 else None


def holding(knob: Knob) -> Knob:
    """The knob with its current level among the others, in its place where they are ordered.

    Not set and what that amounts to are one level, spelled as the profile does.
    """
    same = (None, knob.unset) if knob.unset is not None else ()
    own, is_same = knob.current, knob.current in same
    levels = dict.fromkeys(own if is_same and level in same else level for level in knob.levels)
    if own in levels:
        return replace(knob, levels=tuple(levels))
    return replace(knob, levels=_in_order(knob, (*levels, own)))


def with_levels(knob: Knob, levels: Sequence[Level]) -> Knob:
    """The knob with these levels and its current one, in order where there is one."""
    several = tuple(dict.fromkeys(levels))
    return holding(replace(knob, levels=_in_order(knob, several)))


def _in_order(knob: Knob, levels: Sequence[Level]) -> tuple[Level, ...]:
    if not knob.ordered:
        return tuple(levels)
    return tuple(sorted(levels, key=lambda level: _place(level, knob.unset)))


def _place(level: Level, unset: Level) -> float:
    """Where a level stands: not set first where it amounts to nothing known, no amount last."""
    if level is None and unset is None:
        return -1.0
    amount = amount_of(unset if level is None else level)
    return math.inf if amount is None else amount


def amount_of(level: Level) -> float | None:
    """What a level amounts to, in seconds, bytes, percent or as it is; None if it is no amount."""
    if isinstance(level, bool):
        return None
    if isinstance(level, int):
        return float(level)
    if not isinstance(level, str):
        return None
    if level.endswith("%"):
        return float(level[:-1])
    if level.endswith("g") and level[:-1].isdigit():
        # Of a heap; 1024 times one that ends with m, which is read as minutes: only ratios count.
        return float(level[:-1]) * 1024 * 60
    amounts = (seconds(level), engine_bytes(level))
    return next((float(amount) for amount in amounts if amount is not None), None)


Levels = tuple[Level, ...]


class Part(Enum):
    """The part of a profile that a row's path begins at: of one input, of the measured output.

    `BULK` is the queue whose batches are the bulks: the action's, or that before a Direct action;
    `FIRST` are the queues before the outputs.
    """

    INPUT = "inputs[0]"
    PROFILE = "profile"
    LANES = "lanes"
    FIRST = "first"
    BULK = "bulk"
    OUTPUT = "output"
    INDEX = "index"
    SETTINGS = "settings"
    NODE = "node"


_BARE = {Part.PROFILE, Part.OUTPUT}


@dataclass(frozen=True)
class Row:
    """One setting: its path in a part of the profile, its levels, and the bottlenecks it helps.

    `rank` puts the settings in order, the most promising first.  `default` is the level where the
    profile writes none, and `unset` what leaving it out amounts to, where that is known.  `when`
    tells whether it has an effect in a profile.  While the setting at `parent` has one of the
    `idle` levels, this one does nothing.  `allow` names the guarantee that it touches.

    A queue before a Direct action makes the bulks, with `levels_before` where they differ; one of
    type Disk has the setting if `on_disk`.  It does the work of the rows `also` as well.
    `gives_up` says what levels beyond the profile's own cost, `note` what to know of it, and `why`
    what it gives, where a recipe turns it.
    """

    part: Part
    path: str
    rank: int
    helps: Helps
    levels: Levels | Callable[[Profile], Levels]
    default: Level | Callable[[Profile], Level] = None
    unset: Level = None
    ordered: bool = True
    why: str = ""
    note: str = ""
    when: Callable[[Profile], bool] = lambda _: True
    parent: str = ""
    idle: Levels = ()
    allow: str = ""
    levels_before: Levels = ()
    on_disk: bool = True
    also: tuple[str, ...] = ()
    gives_up: tuple[Keep, ...] = ()

    @property
    def key(self) -> str:
        """What recipes call it: `bulk.workerThreads`, `settings.codec`, `filter_path`."""
        return self.path if self.part in _BARE else f"{self.part.value}.{self.path}"

    def levels_in(self, profile: Profile) -> Levels:
        """The levels to try, to which the profile's own is added."""
        return self.levels(profile) if callable(self.levels) else self.levels

    def default_in(self, profile: Profile) -> Level:
        """The level where the profile writes none."""
        return self.default(profile) if callable(self.default) else self.default

    @property
    def cost(self) -> Cost:
        """What it takes to change it."""
        if self.part is Part.SETTINGS:
            is_live = INDEX_SETTINGS[self.path].update is Update.DYNAMIC
            return Cost.LIVE_SETTING if is_live else Cost.NEW_INDEX
        return _COSTS.get(self.part, Cost.RSYSLOG_RESTART)

    def knob(
        self, section: Path | None, now: Level, levels: Levels, unset: Level = None,
        before: Sequence[Knob] = (),
    ) -> Knob:  # fmt: skip
        """The knob in a section of a profile, which has the level `now`; its parent may be among
        those made `before`."""
        parent = section / self.parent if section is not None and self.parent else None
        needs = (
            Need(
                parent_knob.path,
                tuple(level for level in parent_knob.levels if level not in self.idle),
            )
            for parent_knob in before
            if parent_knob.path == parent
        )
        knob = Knob(
            path=Path(self.path) if section is None else section / self.path,
            levels=levels,
            current=now,
            cost=self.cost,
            why=self.why,
            note=self.note,
            ordered=self.ordered,
            unset=self.unset if unset is None else unset,
            needs=tuple(needs),
            keys=(self.key, *self.also),
            rank=self.rank,
            helps=self.helps,
            gives_up=self.gives_up,
        )
        return holding(knob)


def output_path(profile: Profile) -> Path:
    """The path of the measured output."""
    return Path("outputs").item(profile.measured.name)


def path_of(profile: Profile, queue: PlacedQueue) -> Path:
    """The path of a queue, as knobs have it."""
    section, *within = queue.path
    if queue.place is Place.ACTION:
        return Path("outputs").item(profile.outputs[int(within[0])].name) / "queue"
    if section == STREAMS:
        return Path(f"{section}[{within[0]}].queue")
    return Path(".".join(map(str, queue.path)))


_COSTS = {Part.INDEX: Cost.NEW_INDEX, Part.NODE: Cost.NODE_RESTART}
