"""Advice: what experts would change in a profile before anything is measured.

It takes repairs and a recipe from where a search takes them, and of the recipe what gives nothing
up: no guarantee, no order of events that the profile keeps, no event more that a crash loses, and
nothing that queries can do unless the profile says that they need it not; and what goes the way
that is known to help, so that nothing which is larger already becomes smaller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tuner.lint.candidate import Checker
from tuner.lint.lint import SINGLE_REQUESTS
from tuner.lint.load import LoadedProfile
from tuner.lint.repairs import Repair, every_change, repairs
from tuner.lint.rules.connections import remote_servers
from tuner.lint.rules.requests import bulks
from tuner.modules.field import Preset
from tuner.modules.queue import Place
from tuner.profile.model import Keep, Profile
from tuner.profile.placement import PlacedQueue, tuned_queues
from tuner.schema.path import Path
from tuner.space.guarantees import concessions
from tuner.space.knob import Knob, Level, Way, amount_of, level_text
from tuner.space.knobs import knobs
from tuner.space.recipes import Recipe, changes_of, fitting

# At this backlog the second worker of rsyslog's default main queue starts.
_SELDOM = 40_000
# Below this ratio a change is not worth a restart.
_LEAST = 1.1
# What all bulks under way may take of the machine's memory: of 512 MiB some 30.
_SHARE_OF_MEMORY = 16
_BATCH, _WORKERS = "dequeueBatchSize", "workerThreads"
_STARTS = "workerThreadMinimumMessages"


@dataclass(frozen=True)
class Change:
    """One setting of a recipe in a profile: what it gives and what it costs, neither measured, and
    what it takes to apply it."""

    path: str
    before: Level
    after: Level
    why: str
    price: tuple[str, ...]
    takes: str

    @property
    def levels(self) -> str:
        """What it was and what it becomes: `2 -> 4`."""
        return f"{level_text(self.before)} -> {level_text(self.after)}"


@dataclass(frozen=True)
class Advice:
    """What to change in a profile: the repairs, and what fits of a recipe.  The rest of the recipe
    is `left` to a search, each with the reason as its price.  Where no action of a base
    `sends_bulks`, nothing of a recipe pays, and none is advised."""

    recipe: Recipe
    is_local: bool
    sends_bulks: bool
    repairs: tuple[Repair, ...]
    changes: tuple[Change, ...]
    left: tuple[Change, ...]

    @property
    def settings(self) -> tuple[tuple[str, Level], ...]:
        """All that it changes, by path."""
        tuned = {change.path: change.after for change in self.changes}
        return tuple(sorted({**tuned, **dict(every_change(self.repairs))}.items()))


def advise(written: LoadedProfile, cores: float, memory_bytes: int) -> Advice:
    """The advice for a profile whose rsyslogd runs on a machine with these cores and this memory.
    Raises Refused where no output goes into the engine."""
    profile = written.profile
    is_local = not remote_servers(profile.measured)
    recipe, needed = fitting(cores, is_local=is_local), repairs(profile)
    unbatched = sum(warning.code == SINGLE_REQUESTS for warning in written.warnings)
    sends_bulks = unbatched < len(profile.indexed)
    all_knobs = {knob.path: knob for knob in knobs(profile) if sends_bulks}
    free = {knob.path: knob for knob in _free(profile) if sends_bulks}
    asked = dict(changes_of(recipe, tuple(all_knobs.values())))
    fit = _FittedRecipe(written, free, every_change(needed), memory_bytes // _SHARE_OF_MEMORY)
    advised = fit.levels(dict(changes_of(recipe, tuple(free.values()))))
    return Advice(
        recipe,
        is_local,
        sends_bulks,
        needed,
        tuple(
            fit.change(knob, advised[knob.path])
            for knob in sorted(free.values(), key=lambda knob: knob.rank)
            if knob.path in advised
        ),
        tuple(_left(all_knobs, asked, advised, fit)),
    )


def _free(profile: Profile) -> Iterator[Knob]:
    """The knobs that give nothing up, with the levels that do not: no event that a crash loses,
    the order of events neither where the profile keeps it, and of what queries notice only as far
    as the profile itself says what they need."""
    in_order = not any(map(_reorders, tuned_queues(profile)))
    keep = {*profile.search.keep, Keep.LOSS, *((Keep.ORDER,) if in_order else ())}
    scope = profile.search.model_copy(update={"keep": tuple(keep)})
    for knob in knobs(profile.model_copy(update={"search": scope})):
        # Workers that start sooner overtake one another sooner.
        sooner = Keep.ORDER in keep and _is_start(knob.path)
        limits = profile.guardrails.model_fields_set
        later = "settings.refresh_interval" in knob.keys and "freshness_p99_s" not in limits
        # The uses of a preset are ours, and a dashboard may need others.
        leaner = "index.mapping" in knob.keys and isinstance(profile.measured.document, Preset)
        if not (sooner or later or leaner):
            yield knob


def _reorders(queue: PlacedQueue) -> bool:
    """Whether several workers overtake one another; the second of rsyslog's default main queue
    hardly ever starts."""
    seldom = queue.place is not Place.ACTION and queue.minimum_messages >= _SELDOM
    return queue.workers > 1 and not seldom


def _left(
    all_knobs: Mapping[Path, Knob],
    asked: Mapping[str, Level],
    advised: Mapping[str, Level],
    fit: _FittedRecipe,
) -> Iterator[Change]:
    """What the recipe asks for beyond the advice: what gives something up, or is not valid here."""
    for path, level in asked.items():
        knob = all_knobs[Path(path)]
        is_idle = any(
            advised.get(need.path, all_knobs[need.path].current) not in need.levels
            for need in knob.needs
        )
        if path in advised or is_idle:
            continue
        if knob.path not in fit.knobs or level not in fit.knobs[knob.path].levels:
            yield fit.change(knob, level)
        elif _helps(knob, level) and (refusal := fit.refusal({**advised, path: level})):
            yield Change(path, knob.current, level, knob.why, (refusal,), knob.cost.value)


def _helps(knob: Knob, level: Level) -> bool:
    """Whether a change goes the way that helps against some bottleneck.  A choice has no way: what
    is chosen is as good as far as anybody knows without measuring."""
    ways = set(knob.helps.values())
    if not knob.ordered:
        return Way.UP in ways
    before, after = (
        amount_of(knob.unset if value is None else value) for value in (knob.current, level)
    )
    if before is None or after is None:
        return knob.current is None
    larger, smaller = after > before * _LEAST, after * _LEAST < before
    return larger if Way.UP in ways else smaller and Way.DOWN in ways


@dataclass(frozen=True)
class _FittedRecipe:
    """What of a recipe fits a profile, beside its repairs: each setting at its own level, else at
    the nearest that the linter finds nothing against and the memory has room for."""

    written: LoadedProfile
    knobs: Mapping[Path, Knob]
    repairs: Sequence[tuple[str, Level]]
    room_bytes: int

    @cached_property
    def _checker(self) -> Checker:
        return Checker(self.written, (), tuple(self.repairs))

    def change(self, knob: Knob, level: Level) -> Change:
        """One setting by itself, with what it gives up, else what to know of it, as its price."""
        alone = ((str(knob.path), level),)
        changed = self._checker.profile(alone)
        given_up = concessions(self.written.profile, changed, alone, {str(knob.path): knob})
        note = "" if _starts_later(knob, level) else knob.note
        price = tuple(concession.short for concession in given_up) or ((note,) if note else ())
        return Change(knob.path, knob.current, level, knob.why, price, knob.cost.value)

    def levels(self, asked: Mapping[str, Level]) -> dict[str, Level]:
        """The settings that fit, the most promising first."""
        point: dict[str, Level] = {}
        starts = [knob for path, knob in self.knobs.items() if path in asked and _is_start(path)]
        for knob in sorted(self.knobs.values(), key=lambda knob: knob.rank):
            if knob.path in asked and knob not in starts:
                point = self._with(point, knob, asked[knob.path], starts)
        begun = self._begun(point, starts)
        return begun if self.refusal(begun) is None else point

    def refusal(self, point: Mapping[str, Level]) -> str | None:
        """Why a point does not fit; None where it does."""
        refusal = self._checker.refusal(point.items())
        if refusal is not None:
            return refusal
        before, after = (
            sum(bulk.under_way_bytes for _, bulk in bulks(self._checker.profile(changes)))
            for changes in ((), point.items())
        )
        if after > max(before, self.room_bytes):
            return f"bulks under way would take {after // 1024**2} MiB of the machine's memory"
        return None

    def _with(
        self, point: dict[str, Level], knob: Knob, target: Level, starts: Sequence[Knob]
    ) -> dict[str, Level]:
        """The point with a setting as near to its target as fits."""
        for level in _towards(knob, target):
            if _helps(knob, level):
                alone = {**point, knob.path: level}
                for tried in (self._begun(alone, starts), alone):
                    if self.refusal(tried) is None:
                        return tried
        return point

    def _begun(self, point: dict[str, Level], starts: Sequence[Knob]) -> dict[str, Level]:
        """The point with a batch as the start of each of several workers."""
        begun = dict(point)
        for start in starts:
            section = Path(start.path.removesuffix(f".{_STARTS}"))
            batch, workers = (self._level(point, section / key) for key in (_BATCH, _WORKERS))
            if isinstance(batch, int) and workers not in {None, 1}:
                level = min(
                    start.levels, key=lambda start_level: abs((amount_of(start_level) or 0) - batch)
                )
                begun |= {start.path: level}
        return {path: level for path, level in begun.items()
                if level != self.knobs[Path(path)].current}  # fmt: skip

    def _level(self, point: Mapping[str, Level], path: Path) -> Level:
        """What a queue has for a setting at a point."""
        return point.get(path, self.knobs[path].current if path in self.knobs else None)


def _is_start(path: Path) -> bool:
    return path.last == _STARTS


def _starts_later(knob: Knob, level: Level) -> bool:
    """Whether workers wait for more events than now: then fewer overtake one another."""
    before, after = amount_of(knob.current), amount_of(level)
    if before is None or after is None:
        return False
    return _is_start(knob.path) and after > before


def _towards(knob: Knob, target: Level) -> Sequence[Level]:
    """The target first, then the levels between it and what the profile has."""
    if not knob.ordered:
        return (target,)
    current, end = knob.levels.index(knob.current), knob.levels.index(target)
    return knob.levels[current + 1 : end + 1][::-1] if end > current else knob.levels[end:current]
