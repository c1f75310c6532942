"""The dimensions of a search: paths in the profile with ordered, legal levels, those of the queues
that events pass on their way to an output among them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import accumulate
from types import MappingProxyType

from pydantic import BaseModel

from tuner.engines.index_settings import INDEX_SETTINGS
from tuner.modules.queue import (
    DISK_TYPES,
    EMPTIED_IN_MS,
    ROOM_AWAITED_MS,
    Place,
    Queue,
    QueueType,
    in_memory,
    resolve,
)
from tuner.profile.model import Keep, Profile, SearchScope
from tuner.profile.placement import (
    PlacedQueue,
    entry_queue,
    measured_path,
    measured_queue,
    working_queue,
)
from tuner.profile.schema import resolve_path
from tuner.schema.path import Path
from tuner.space.guarantees import IN_FLIGHT, has_files, keeping, leads, opened
from tuner.space.knob import (
    Cost,
    Knob,
    Level,
    Levels,
    Need,
    Part,
    Row,
    amount_of,
    output_path,
    path_of,
    with_levels,
)
from tuner.space.table import IN_MEMORY, ROWS

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
                rank = round(knob.rank / share)
                ranked = replace(knob, rank=rank, outputs=(name,), share=share)
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
            made += _file_knobs(profile, row, made) if in_queue else _of_row(profile, row, made)
    plain = [row for row in ROWS if not row.allow and row.part not in _QUEUES]
    before = [row for row in plain if row.part in _BEFORE_QUEUES]
    after = [row for row in plain if row.part not in _BEFORE_QUEUES]
    made += [knob for row in before for knob in _of_row(profile, row)]
    made += _queue_knobs(profile)
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


def sooner(knobs: Sequence[Knob]) -> tuple[Knob, ...]:
    """The knobs without refresh intervals that are longer than the profile's: events are then
    found later, whatever else is turned."""
    return tuple(
        replace(knob, levels=_no_longer(knob)) if knob.path.endswith(".refresh_interval") else knob
        for knob in knobs
    )


def _no_longer(knob: Knob) -> Levels:
    written = amount_of(knob.current)
    return tuple(
        level for level in knob.levels
        if written is None or level == knob.current or (amount_of(level) or 0) <= written
    )  # fmt: skip


def most_promising(knobs: Sequence[Knob], most: int, also: Container[str]) -> tuple[Knob, ...]:
    """So many knobs of the best rank, of which each counts as its share, and those of the paths
    `also`, in their order; what needs one that is left out goes with it unless it is active as the
    profile is written."""
    ranked = sorted(knobs, key=lambda knob: knob.rank)
    before = accumulate((knob.share for knob in ranked), initial=0.0)
    best = [knob for knob, sum_before in zip(ranked, before, strict=False) if sum_before < most]
    paths = [knob.path for knob in knobs if knob in best or knob.path in also]
    return within_scope(tuple(knobs), SearchScope(only=tuple(paths)))


_ATTRIBUTES = {field.alias or name: name for name, field in Queue.model_fields.items()}
_TYPE, _START = "type", "workerThreadMinimumMessages"
_LAYOUT = "diskQueueType"
_FIRST, _BULK = (
    {row.path: row for row in ROWS if row.part is part and not row.allow}
    for part in (Part.FIRST, Part.BULK)
)


def _queue_knobs(profile: Profile) -> list[Knob]:
    """The knobs of every queue on the way, parents before what needs them."""
    direct, working = measured_queue(profile).is_direct, working_queue(profile)
    placed = dict.fromkeys((entry_queue(profile), working))
    firsts = (_first(profile, queue, direct and queue == working) for queue in placed)
    return [*(knob for knobs in firsts for knob in knobs), *_action(profile)]


def _file_knobs(profile: Profile, row: Row, before: Sequence[Knob]) -> list[Knob]:
    """The knobs of a row about files, one for each queue with files that has the setting.  Without
    its file name a queue is one in memory."""
    knobs = []
    for queue in measured_path(profile):
        resolved, is_bulk = queue.resolved, queue.place is Place.ACTION
        if resolved.filename is None or is_bulk != (row.part is Part.BULK):
            continue
        now = _of_files(resolved, row.path)
        if now or (row.path == _LAYOUT and resolved.is_disk_assisted):
            levels = tuple(dict.fromkeys((now, *row.levels_in(profile))))
            knobs.append(row.knob(path_of(profile, queue), now, levels, before=before))
    return knobs


def _of_files(resolved: Queue, path: str) -> Level:
    """What a queue with files has for a setting of them, None where it does not have it: only
    those of a disk type have another type to be, and auto is rsyslog's default of the layout."""
    if path == _TYPE:
        return resolved.type.value if resolved.type in DISK_TYPES else None
    now: Level = getattr(resolved, _ATTRIBUTES[path])
    return None if now == "auto" else now


@dataclass(frozen=True)
class _SearchedQueue:
    """A queue whose knobs are made: where it is written, what it is with all its defaults, and
    which of its values are written.

    Its later workers start `with_a_batch`; it `is_missing` where the action is Direct.
    """

    section: Path
    resolved: Queue
    written: Queue
    with_a_batch: bool
    is_missing: bool = False

    def knobs(self, rows: Iterable[tuple[Row, Levels]]) -> list[Knob]:
        """The knobs of these rows, with those levels.  What follows from other settings, and what
        a Direct action has not, is not set until it is written."""
        knobs: list[Knob] = []
        for row, levels in rows:
            if self.resolved.type is QueueType.DISK and not row.on_disk:
                continue
            attribute, is_start = _ATTRIBUTES[row.path], row.path == _START
            default = getattr(self.resolved, attribute)
            follows = is_start and self.written != Queue()
            now = getattr(self.written, attribute) if self.is_missing or follows else default
            batch = self.resolved.dequeue_batch_size if is_start and self.with_a_batch else None
            knobs.append(row.knob(self.section, now, levels, batch or default, knobs))
        return knobs


def _first(profile: Profile, placed: PlacedQueue, makes_bulks: bool) -> list[Knob]:
    """A queue before the outputs; a Direct action behind it takes its batches as its bulks."""
    queue, section, knobs = placed.resolved, path_of(profile, placed), list[Knob]()
    if in_memory(queue) and queue.type is not None:
        row = _FIRST[_TYPE]
        knobs.append(row.knob(section, queue.type.value, row.levels_in(profile)))
    rows = [row for row in _FIRST.values() if row.path != _TYPE]
    if makes_bulks:
        rows = [_also(row, _BULK[row.path]) for row in rows]
        rows += [row for row in _BULK.values() if row.path not in _FIRST]
        rows = [_more_in_flight(profile, row) for row in rows]
    turned = _SearchedQueue(section, queue, placed.written or Queue(), starts_with_a_batch(placed))
    levels = (row.levels_before or row.levels_in(profile) for row in rows)
    return [*knobs, *turned.knobs(zip(rows, levels, strict=True))]


def _more_in_flight(profile: Profile, row: Row) -> Row:
    """The row of a queue that makes the bulks, where what is in flight is lost while more is kept:
    when another output takes over (RT255), and when rsyslogd ends in an outage although the queue
    has files (8.2302: 128 of 5,500 events with batches of 128, 1,400 with 3000)."""
    if row.path not in IN_FLIGHT or not (leads(profile) or has_files(profile)):
        return row
    return replace(row, gives_up=tuple(dict.fromkeys((*row.gives_up, Keep.LOSS))))


def _also(row: Row, replaced: Row) -> Row:
    """The row of a queue that does what another row's queue does too."""
    return replace(row, also=(replaced.key,), rank=min(row.rank, replaced.rank), why=replaced.why,
                   note=replaced.note, helps={**replaced.helps, **row.helps})  # fmt: skip


def _action(profile: Profile) -> list[Knob]:
    """The measured action's queue.  Its type varies only between kinds that keep messages in
    memory, and only where the queue before it keeps them there too: no choice then outlives a
    crash better than another."""
    output, placed, kind = profile.measured, measured_queue(profile), _BULK[_TYPE]
    section, is_direct = path_of(profile, placed), placed.is_direct
    may_change = in_memory(placed.resolved) and in_memory(working_queue(profile).resolved)
    if is_direct and (not may_change or _would_end_failover(profile)):
        return []
    begun = queue_for_direct(profile).model_copy(update={"type": QueueType.LINKED_LIST})
    queue = resolve(begun, Place.ACTION) if is_direct else placed.resolved
    with_a_batch = starts_with_a_batch(placed)
    turned = _SearchedQueue(section, queue, output.queue or Queue(), with_a_batch, is_direct)
    rows = [_more_in_flight(profile, row) for row in _BULK.values() if row is not kind]
    knobs = turned.knobs((row, row.levels_in(profile)) for row in rows)
    if not may_change:
        return knobs
    now = placed.resolved.type or QueueType.DIRECT
    of_type = kind.knob(section, now.value, kind.levels_in(profile))
    needs = Need(of_type.path, (*IN_MEMORY, *(disk_type.value for disk_type in DISK_TYPES)))
    return [of_type, *(replace(knob, needs=(needs, *knob.needs)) for knob in knobs)]


def _would_end_failover(profile: Profile) -> bool:
    """Whether a queue of the action's own would keep others from taking over: it accepts
    everything (RT252).  In a profile a queue is rendered around all of them."""
    return profile.base is not None and leads(profile)


def queue_for_direct(profile: Profile) -> Queue:
    """What a Direct action's queue begins as, type left open: with the batches and workers of the
    queue before it, whose work it takes over, and room for what by-hand.yaml holds.

    Nor may it drop what a Direct action waits with (F9): it waits a day, and at the end ten
    seconds instead of rsyslog's ten milliseconds.
    """
    before = working_queue(profile)
    batch = max(1, before.batch)  # 0 of a Direct queue, which lint refuses there
    return Queue.model_validate(
        {
            "size": 50_000,
            "dequeueBatchSize": batch,
            "workerThreads": max(1, before.workers),
            "workerThreadMinimumMessages": batch,
            "timeoutEnqueue": ROOM_AWAITED_MS,
            "timeoutShutdown": EMPTIED_IN_MS,
        },
        by_alias=True,
    )


def starts_with_a_batch(queue: PlacedQueue) -> bool:
    """Whether later workers, when there are any, start once a batch waits for each: where the
    profile has one worker and does not say when a second starts."""
    written = queue.written.worker_thread_minimum_messages if queue.written else None
    return queue.workers == 1 and written is None
