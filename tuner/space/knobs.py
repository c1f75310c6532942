"""The dimensions of a search: paths in the profile with ordered, legal levels."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from types import MappingProxyType

from pydantic import BaseModel

from tuner.engines.index_settings import INDEX_SETTINGS
from tuner.profile.model import Profile, SearchScope
from tuner.profile.schema import resolve_path
from tuner.schema.path import Path
from tuner.space.guarantees import keeping, opened
from tuner.space.knob import Cost, Knob, Level, Part, Row, output_path, with_levels
from tuner.space.queues import file_knobs, queue_knobs
from tuner.space.table import ROWS

_QUEUES = {Part.FIRST, Part.BULK}
_FEWEST_LEVELS = 2
# Of the largest: what has less ranks no further behind.
_LEAST_SHARE = 0.01
_BEFORE_QUEUES = {Part.INPUT, Part.PROFILE, Part.LANES}


def knobs(
    profile: Profile, allow: Sequence[str] = (), shares: Mapping[str, float] = MappingProxyType({})
) -> tuple[Knob, ...]:
    """The knobs a search may turn on this profile, parents before what needs them, as its
    `search` section narrows or extends them.

    Nothing that touches a guarantee is here (durability, replicas, `_source`, queues on disk, ids,
    retries), but for what `allow` and the profile's own `search.allow` open by name, as far as it
    is there to open; raises BadUsage for other names.  Security, and what decides when events are
    dropped, stays shut; `search.keep` shuts what reorders events or loses more in a crash.

    They are those of each output that is tuned, and of the queues and inputs on the way to it; with
    a smaller share of the documents, as far as `shares` know it by name, they rank behind.
    """
    most = max(shares.values(), default=1.0)
    made: dict[object, Knob] = {}
    for number in profile.tuned or (profile.measured_number,):
        name = profile.outputs[number].name
        share = max(shares.get(name, most) / most, _LEAST_SHARE)
        for knob in _knobs_about(profile.about(number), (*profile.search.allow, *allow)):
            place = _place_in_base(profile, knob.path)
            if place is not None:
                ranked = replace(knob, rank=round(knob.rank / share), outputs=(name,))
                made[place] = made[place].serving(ranked) if place in made else ranked
    narrowed = tuple(keeping(profile, _narrowed(knob, profile.search)) for knob in made.values())
    return within_scope(narrowed, profile.search)


def _knobs_about(profile: Profile, allow: Sequence[str]) -> list[Knob]:
    """The knobs of the measured output, and of what is on the way to it."""
    names = {guarantee.name for guarantee in opened(profile, allow)}
    made: list[Knob] = []
    for row in ROWS:
        if row.allow in names and row.when(profile):
            in_queue = row.part in _QUEUES
            made += file_knobs(profile, row, made) if in_queue else _of_row(profile, row, made)
    plain = [row for row in ROWS if not row.allow and row.part not in _QUEUES]
    before = [row for row in plain if row.part in _BEFORE_QUEUES]
    after = [row for row in plain if row.part not in _BEFORE_QUEUES]
    made += [knob for row in before for knob in _of_row(profile, row)]
    made += queue_knobs(profile)
    return made + [knob for row in after for knob in _of_row(profile, row)]


def _place_in_base(profile: Profile, path: Path) -> object:
    """What tells a setting from others: its path, with a base the parameter that says it, which
    several outputs may share; None where none does."""
    if profile.base is None:
        return path
    view = profile.base.kept.view
    return view.place(resolve_path(view.data, path))


def _of_row(profile: Profile, row: Row, before: Sequence[Knob] = ()) -> list[Knob]:
    """The knob of a row, where it has an effect on this profile."""
    if not row.when(profile) or (row.part is Part.SETTINGS and not _is_known(profile, row)):
        return []
    path, section = _place(profile, row.part)
    now, levels = _level(section, row.path), row.levels_in(profile)
    now = row.default_in(profile) if now is None else now
    if now is True:
        levels = tuple(now if level is None else level for level in levels)
    if row.allow and not row.ordered:
        levels = tuple(dict.fromkeys((now, *levels)))
    return [row.knob(path, now, levels, before=before)]


def _is_known(profile: Profile, row: Row) -> bool:
    """Whether the engine knows the setting."""
    return INDEX_SETTINGS[row.path].unknown_to(profile.release) is None


def _place(profile: Profile, part: Part) -> tuple[Path | None, BaseModel | None]:
    """Where a part of the profile is written, and that part."""
    output, at, flooded = profile.measured, output_path(profile), profile.flooded_numbers[0]
    places: Mapping[Part, tuple[Path | None, BaseModel | None]] = {
        Part.INPUT: (Path(f"inputs[{flooded}]"), profile.inputs[flooded]),
        Part.PROFILE: (None, profile),
        Part.LANES: (Path("lanes"), profile.lanes),
        Part.OUTPUT: (at, output),
        Part.INDEX: (at / "index", output.index),
        Part.SETTINGS: (at / "index" / "settings", output.index.settings),
        Part.NODE: (Path("node"), profile.node),
    }
    return places[part]


def _level(section: BaseModel | None, key: str) -> Level:
    """What a section has for a key, by the name that profiles call it; a section in it is on."""
    if section is None:
        return None
    fields = type(section).model_fields.items()
    attribute = next(name for name, field in fields if key in {field.alias, name})
    now = getattr(section, attribute)
    if isinstance(now, BaseModel):
        return "on"
    level: Level = now.value if isinstance(now, Enum) else now
    return level


def within_scope(knobs: tuple[Knob, ...], search: SearchScope) -> tuple[Knob, ...]:
    """The knobs that `search` keeps; those that need a level which nothing can give them any more
    are left out, and needs that hold whatever is turned are forgotten."""
    current = {knob.path: knob.current for knob in knobs}
    within: dict[str, Knob] = {}
    for knob in knobs:
        if len(knob.levels) < _FEWEST_LEVELS or not _is_kept(knob.path, search, current):
            continue
        open_needs = tuple(need for need in knob.needs if need.path in within)
        shut = (need for need in knob.needs if need.path in current.keys() - within.keys())
        if all(current[need.path] in need.levels for need in shut):
            within[knob.path] = replace(knob, needs=open_needs)
    return tuple(within.values())


def _is_kept(path: Path, search: SearchScope, places: Container[str]) -> bool:
    """A place that is a knob itself is no section, although another key may begin like it."""

    def covers(place: str) -> bool:
        return path == place if place in places else path.is_in(place)

    frozen = any(covers(place) for place in search.freeze)
    return not frozen and (not search.only or any(covers(place) for place in search.only))


def _narrowed(knob: Knob, search: SearchScope) -> Knob:
    """The knob with the levels that the profile gives it, its current one among them."""
    levels: Mapping[str, tuple[Level, ...]] = search.levels
    given = levels.get(knob.path)
    return knob if given is None else with_levels(knob, given)


def of_rsyslog(knobs: Sequence[Knob]) -> tuple[Knob, ...]:
    """The knobs that matter where nothing is stored: those of rsyslog."""
    return tuple(knob for knob in knobs if knob.cost is Cost.RSYSLOG_RESTART)


def without_node(knobs: Sequence[Knob]) -> tuple[Knob, ...]:
    """The knobs that an engine of somebody else leaves: none of its nodes'."""
    return tuple(knob for knob in knobs if knob.cost is not Cost.NODE_RESTART)


def most_promising(knobs: Sequence[Knob], most: int, also: Container[str]) -> tuple[Knob, ...]:
    """At most so many knobs, those of the best rank, and those of the paths `also`, in their order;
    what needs one that is left out goes with it unless it is active as the profile is written."""
    best = sorted(knobs, key=lambda knob: knob.rank)[:most]
    paths = [knob.path for knob in knobs if knob in best or knob.path in also]
    return within_scope(tuple(knobs), SearchScope(only=tuple(paths)))
