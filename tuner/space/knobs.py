"""The dimensions of a search: paths in the profile with ordered, legal levels."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from tuner.profile.model import Profile, Search
from tuner.space.engine import index_knobs, node_knobs
from tuner.space.guarantees import opened
from tuner.space.level import Cost as Cost
from tuner.space.level import Knob as Knob
from tuner.space.level import Level as Level
from tuner.space.level import Need as Need
from tuner.space.level import level_text as level_text
from tuner.space.level import with_levels
from tuner.space.queues import queue_knobs
from tuner.space.rsyslog import REPLY_FILTER as REPLY_FILTER
from tuner.space.rsyslog import input_knobs, request_knobs


def knobs(profile: Profile, allow: Sequence[str] = ()) -> tuple[Knob, ...]:
    """The knobs a search may turn on this profile, parents before what needs them, as its
    `search` section narrows or extends them.

    Nothing that touches a guarantee is here (durability, replicas, `_source`, queues on disk, ids,
    retries), but for what `allow` and the profile's own `search.allow` open by name, as far as it
    is there to open; raises BadUsage for other names.  Security and loss limits stay shut.
    """
    guarantees = opened(profile, (*profile.search.allow, *allow))
    every = [
        *(knob for guarantee in guarantees for knob in guarantee.knobs(profile)),
        *input_knobs(profile),
        *queue_knobs(profile),
        *request_knobs(profile),
        *index_knobs(profile),
        *node_knobs(profile),
    ]
    return settled(tuple(_narrowed(knob, profile.search) for knob in every), profile.search)


def settled(every: tuple[Knob, ...], search: Search) -> tuple[Knob, ...]:
    """The knobs that `search` keeps; those that need a level which nothing can give them any more
    are left out, and needs that hold whatever is turned are forgotten."""
    current = {knob.path: knob.current for knob in every}
    kept: dict[str, Knob] = {}
    for knob in every:
        if not _is_kept(knob.path, search, current):
            continue
        open_needs = tuple(need for need in knob.needs if need.path in kept)
        shut = (need for need in knob.needs if need.path in current.keys() - kept.keys())
        if all(current[need.path] in need.levels for need in shut):
            kept[knob.path] = replace(knob, needs=open_needs)
    return tuple(kept.values())


def _is_kept(path: str, search: Search, known: Container[str]) -> bool:
    """A place that is a knob itself is no section, although another key may begin like it."""

    def covers(place: str) -> bool:
        return path == place if place in known else is_at(path, place)

    frozen = any(covers(place) for place in search.freeze)
    return not frozen and (not search.only or any(covers(place) for place in search.only))


def is_at(path: str, place: str) -> bool:
    """Whether `path` is `place` or inside that section."""
    return path == place or path.startswith((f"{place}.", f"{place}["))


def _narrowed(knob: Knob, search: Search) -> Knob:
    """The knob with the levels that the profile gives it, its current one among them."""
    levels: Mapping[str, tuple[Level, ...]] = search.levels
    wanted = levels.get(knob.path)
    return knob if wanted is None else with_levels(knob, wanted)


def of_rsyslog(every: Sequence[Knob]) -> tuple[Knob, ...]:
    """The knobs that matter where nothing is stored: those of rsyslog."""
    return tuple(knob for knob in every if knob.cost is Cost.RSYSLOG_RESTART)


def without_node(every: Sequence[Knob]) -> tuple[Knob, ...]:
    """The knobs that an engine of somebody else leaves: none of its nodes'."""
    return tuple(knob for knob in every if knob.cost is not Cost.NODE_RESTART)


def most_promising(every: Sequence[Knob], most: int) -> tuple[Knob, ...]:
    """At most so many knobs, those of the best rank, in their order; what needs one that is left
    out goes with it unless it is active as the profile is written."""
    best = sorted(every, key=lambda knob: knob.worth.rank)[:most]
    paths = {knob.path for knob in best}
    return settled(tuple(every), Search(only=tuple(paths)))
