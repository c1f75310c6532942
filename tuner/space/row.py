"""A row of the table of knobs: all that is known of one setting that a search can change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from tuner.engines.index_settings import INDEX_SETTINGS
from tuner.engines.settings import Update
from tuner.profile.model import Keep, Profile
from tuner.schema.path import Path
from tuner.space.knob import Cost, Helps, Knob, Level, Need, holding

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
            Need(one.path, tuple(level for level in one.levels if level not in self.idle))
            for one in before
            if one.path == parent
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


_COSTS = {Part.INDEX: Cost.NEW_INDEX, Part.NODE: Cost.NODE_RESTART}
