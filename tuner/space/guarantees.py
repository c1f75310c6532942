"""Settings that touch a guarantee: no dimensions of a search unless the user opens them by name.
And what changes give up that no guarantee names: how soon events are searchable, what can be
searched, room for an outage, the order of events, and how many of them a crash of rsyslogd loses.

Order (rsyslog.md, sections 1.2 and 3): several workers of a queue overtake one another, so do lanes
and the readers of imudp; imptcp and imtcp handle each connection in one thread at a time.
Loss: what stands in a queue in memory is gone when rsyslogd crashes; a queue of a disk type loses
nothing by being larger, while the part of a disk-assisted one that is in memory counts.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.engines.index_settings import INDEX_SETTINGS
from tuner.errors import BadUsage
from tuner.modules.queue import SEGMENTED_SINCE, QueueType
from tuner.profile.model import Keep, Profile, Tier
from tuner.profile.placement import (
    in_flight,
    measured_queue,
    output_neighbours,
    tuned_queues,
    working_queue,
)
from tuner.schema.path import Path
from tuner.space.knob import Knob, Level, amount_of, level_text, path_of

Check = Callable[[Profile, Sequence[str]], str | None]


def _nothing(_: Profile, __: Sequence[str]) -> str | None:
    return None


@dataclass(frozen=True)
class Guarantee:
    """What `--allow NAME` opens, the rows of the table that name it: what is given up, and the lint
    warnings that say the same, which are no reason to leave a candidate out.

    `forbidden` says why a profile may not open it, by its tier or its engine, and `missing` why
    there is nothing to open in it; None where it can be.
    """

    name: str
    gives_up: str
    missing: Check = _nothing
    forbidden: Check = _nothing
    codes: frozenset[str] = frozenset()


def opened(profile: Profile, names: Iterable[str]) -> tuple[Guarantee, ...]:
    """Those of the guarantees with these names that are there to open in this profile, once each;
    raises BadUsage for a name that opens nothing in any.

    What a search turned off, or a lab replaced, is not there any more, which is no fault.
    """
    distinct = tuple(dict.fromkeys(names))
    guarantees = [called(name) for name in distinct]
    return tuple(
        guarantee
        for guarantee in _ALL
        if guarantee in guarantees and _closed(guarantee, profile, distinct) is None
    )


def _closed(guarantee: Guarantee, profile: Profile, names: Sequence[str]) -> str | None:
    """Why it cannot be opened for any output that is tuned, the first of the reasons; None where it
    can for one of them."""
    abouts = [profile.about(number) for number in profile.tuned] or [profile]
    reasons = [guarantee.forbidden(p, names) or guarantee.missing(p, names) for p in abouts]
    return None if None in reasons else reasons[0]


def allowed(profile: Profile, names: Iterable[str]) -> tuple[Guarantee, ...]:
    """The guarantees that these names open on this profile, once each.

    Raises BadUsage for a name that opens nothing, with names that are spelled almost so, and for
    one that the profile's tier or settings leave nothing to open for.
    """
    distinct = tuple(dict.fromkeys(names))
    for name in distinct:
        reason = _closed(called(name), profile, distinct)
        if reason is not None:
            raise BadUsage(f"{name} cannot be opened: {reason}")
    return opened(profile, distinct)


def called(name: str) -> Guarantee:
    """The guarantee of that name; raises BadUsage with names that are spelled almost so."""
    if name in GUARANTEES:
        return GUARANTEES[name]
    endings = {
        word: guarantee for guarantee in GUARANTEES for word in (guarantee, Path(guarantee).last)
    }
    near = dict.fromkeys(endings[word] for word in difflib.get_close_matches(name, endings, 3))
    inside = [guarantee for guarantee in GUARANTEES if name and name in guarantee]
    close = " or ".join(near) or " or ".join(inside)
    hint = f"did you mean {close}?" if close else f"the names are {', '.join(GUARANTEES)}"
    raise BadUsage(f"no guarantee is called {name}: {hint}")


def _has_files(profile: Profile) -> bool:
    return any(queue.resolved.filename is not None for queue in tuned_queues(profile))


def _one_layout(profile: Profile, _: Sequence[str]) -> str | None:
    if profile.release.rsyslog_number < SEGMENTED_SINCE:
        return f"before rsyslog 8.{SEGMENTED_SINCE} queue files have one layout"
    return None if _has_files(profile) else "no queue on the way is on disk"


def _synchronises(profile: Profile) -> bool:
    files = (queue.resolved for queue in tuned_queues(profile))
    return any(queue.filename is not None and queue.sync_queue_files for queue in files)


def _no_durable(profile: Profile, _: Sequence[str]) -> str | None:
    if profile.guardrails.tier is Tier.DURABLE:
        return "the tier durable forbids it: set guardrails.tier to relaxed"
    return None


def _no_async(profile: Profile, names: Sequence[str]) -> str | None:
    settings = profile.measured.index.settings
    if settings.translog_durability != "async" and "translog.durability" not in names:
        return "it has no effect without async: allow translog.durability too"
    return None


def _no_ids(profile: Profile, _: Sequence[str]) -> str | None:
    output = profile.measured
    if output.bulkid is None:
        return "the profile sets no bulkid"
    if output.bulkid != "uuid":
        return "the ids are values of the events, so that they say which documents there are"
    if output.creates:
        return "retryfailures, writeoperation: create and data streams need the ids"
    return None


def _unknown(setting: str) -> Check:
    return lambda profile, _: INDEX_SETTINGS[setting].unknown_to(profile.release)


def _unless(has: Callable[[Profile], bool], otherwise: str) -> Check:
    return lambda profile, _: None if has(profile) else otherwise


_ALL = (
    Guarantee(
        "translog.durability",
        "Events that the engine has acknowledged since the last synchronisation are lost when it, "
        "or its machine, crashes.",
        forbidden=_no_durable,
    ),
    Guarantee(
        "translog.sync_interval",
        "The window in which a crash of the engine loses acknowledged events may grow to a minute.",
        _no_async, _no_durable,
    ),
    Guarantee(
        "number_of_replicas",
        "With fewer copies the loss of a disk or a node loses events that no other node holds.",
        _unless(lambda p: p.measured.index.settings.number_of_replicas > 0,
                "the profile has no replicas"),
        codes=frozenset({"RT302"}),
    ),
    Guarantee(
        "mapping.source.mode",
        "Documents come back rebuilt from their fields and not as they were sent; without an "
        "Enterprise licence nothing changes.",
        forbidden=_unknown("mapping.source.mode"), codes=frozenset({"RT328"}),
    ),
    Guarantee(
        "settings.mode",
        "Documents come back rebuilt from their fields and not as they were sent; the columnar "
        "modes, a technical preview, keep nothing of them that the mapping does not have, and took "
        "eight times as long to find a term among a million documents.",
        forbidden=_unknown("mode"), codes=frozenset({"RT346"}),
    ),
    Guarantee(
        "bulkid",
        "An event that is sent twice, after a broken connection, is kept twice.",
        _no_ids,
    ),
    Guarantee(
        "retryfailures",
        "Events that the engine refuses one by one, when it is overloaded for instance, are lost.",
        _unless(lambda p: p.measured.retryfailures is not None, "the profile does not retry them"),
        codes=frozenset({"RT240", "RT404"}),
    ),
    Guarantee(
        "mmutf8fix",
        "Events that are not valid UTF-8 are refused by the engine, and lost.",
        _unless(lambda p: p.measured.mmutf8fix, "the profile has it off already"),
    ),
    Guarantee(
        "queue.filename",
        "What waits in memory instead of on disk is lost when rsyslogd crashes, and an outage of "
        "the engine fills memory only.",
        _unless(_has_files, "no queue on the way is on disk"),
    ),
    Guarantee(
        "queue.diskQueueType",
        f"rsyslog before 8.{SEGMENTED_SINCE} does not read segmented queue files: after a "
        "downgrade what waits in them is not delivered. In the old layout the last few dozen "
        "events are lost when rsyslogd crashes.",
        _one_layout, codes=frozenset({"RT128"}),
    ),
    Guarantee(
        "queue.syncQueueFiles",
        "Events on disk that are not yet synchronised are lost when the machine loses power.",
        _unless(_synchronises, "no queue on the way synchronises its files"),
    ),
)  # fmt: skip

GUARANTEES: Mapping[str, Guarantee] = {guarantee.name: guarantee for guarantee in _ALL}
"""Every name that `--allow` and `search.allow` take, with what it opens."""

IN_FLIGHT = frozenset({"dequeueBatchSize", "workerThreads"})
"""What decides how many events are in flight."""
_LANES, _OF_EACH_LANE = Path("lanes.count"), Path("lanes.queue")


def given_up_at(knob: Knob, level: Level) -> tuple[Keep, ...]:
    """What a level gives up that the profile's own keeps."""
    return tuple(keep for keep in knob.gives_up if _gives_up(keep, knob, level))


def _gives_up(keep: Keep, knob: Knob, level: Level) -> bool:
    if not knob.ordered:
        direct = QueueType.DIRECT.value
        return knob.current == direct != level
    before, after = (_amount(knob, value) for value in (knob.current, level))
    return before <= 1 < after if keep is Keep.ORDER else before < after


def _amount(knob: Knob, level: Level) -> float:
    return amount_of(knob.unset if level is None else level) or 0.0


def keeping(profile: Profile, knob: Knob) -> Knob:
    """The knob with the levels that `search.keep` leaves it; a queue on disk keeps by itself what a
    crash would lose, but for what is in flight."""
    if _queue_of(knob) in _on_disk(profile) and Path(knob.path).last not in IN_FLIGHT:
        gives_up = tuple(keep for keep in knob.gives_up if keep is not Keep.LOSS)
        knob = replace(knob, gives_up=gives_up)
    shut = set(profile.search.keep)
    levels = tuple(level for level in knob.levels if not shut & {*given_up_at(knob, level)})
    return replace(knob, levels=levels)


@dataclass(frozen=True)
class Concession:
    """What changes give up: in a few words, and in a sentence that names them."""

    short: str
    text: str


_REFRESH, _SIZE = "settings.refresh_interval", "size"
# What a shard does that is searched (Elasticsearch, Index modules, index.refresh_interval).
_REFRESH_UNSET = "1s"


def concessions(
    written: Profile,
    changed: Profile,
    changes: Sequence[tuple[str, Level]],
    knobs: Mapping[str, Knob],
    per_second: float | None = None,
) -> Iterator[Concession]:
    """What the changes from one profile to another give up, what queries and dashboards notice
    first; `per_second` events tell how long a queue holds out."""
    turned = [(knobs[path], level) for path, level in changes if path in knobs]
    for knob, level in turned:
        change = _change(knob, level)
        if _REFRESH in knob.keys:
            before, after = (
                _REFRESH_UNSET if value is None else value for value in (knob.current, level)
            )
            if _seconds(after) > _seconds(before):
                later = f"searchable after {_text(after)} at most (was {_text(before)})"
                yield Concession(later, f"{change}: events are {later}")
        if "index.mapping" in knob.keys and level == "explicit":
            lost = "no .keyword fields, no searches beyond the uses of each field"
            yield Concession(lost, f"{change}: {lost}; dashboards that need others must change")
    yield from _for_an_outage(written, changed, turned, per_second)
    reordering = [
        _change(knob, level) for knob, level in turned if Keep.ORDER in given_up_at(knob, level)
    ]
    if reordering:
        reordered = "events may be stored in another order"
        yield Concession("another order of events", f"{', '.join(reordering)}: {reordered}")


def _seconds(level: Level) -> float:
    # That never refreshes; a profile has it as a text, which is no amount.
    return math.inf if str(level) == "-1" else amount_of(level) or 0.0


def _for_an_outage(
    written: Profile,
    changed: Profile,
    turned: Sequence[tuple[Knob, Level]],
    per_second: float | None,
) -> Iterator[Concession]:
    """What changes of queues do in an outage of the engine and in a crash of rsyslogd."""
    enlarging: dict[Path, list[str]] = {}
    for knob, level in turned:
        change = _change(knob, level)
        if Keep.LOSS in given_up_at(knob, level):
            enlarging.setdefault(_queue_of(knob), []).append(change)
        before, after = map(amount_of, (knob.current, level))
        if Path(knob.path).last == _SIZE and before and after and after < before:
            lasts = f", {after / per_second:.1f} s at the rate measured" if per_second else ""
            room = f"a queue of {after:,.0f} events for an outage (was {before:,.0f}{lasts})"
            yield Concession(room, f"{change}: {room}")
        if level == QueueType.DIRECT.value != knob.current:
            stops = "an outage of the engine stops the other outputs too"
            yield Concession(stops, f"{change}: {stops}")
    before, later = (in_flight(p, p.measured_number) for p in (written, changed))
    for is_lost, when in (
        (leads, "another output takes over"),
        (has_files, "rsyslogd ends while the engine is down"),
    ):
        if later > before and is_lost(written):
            lost = f"up to {later:,} events in flight are lost when {when}"
            yield Concession(f"{lost} (was {before:,})", f"{lost}, before up to {before:,}")
    for queue, several in enlarging.items():
        held, more = (_held_in_memory(profile, queue) for profile in (written, changed))
        if more > held:
            crash = f"a crash of rsyslogd loses up to {more:,} events"
            yield Concession(
                f"{crash} (was {held:,})",
                f"{', '.join(several)}: {crash} that stand in memory there, before "
                f"{f'up to {held:,}' if held else 'none'}",
            )


def has_files(profile: Profile) -> bool:
    """Whether what waits for the measured output is in files when rsyslogd ends."""
    action_queue = measured_queue(profile)
    queue = working_queue(profile) if action_queue.is_direct else action_queue
    return queue.resolved.filename is not None


def leads(profile: Profile) -> bool:
    """Whether others take over from the measured output."""
    return bool(output_neighbours(profile, profile.measured_number).take_over)


def _change(knob: Knob, level: Level) -> str:
    return f"{knob.path} {_text(knob.current)} -> {_text(level)}"


def _text(level: Level) -> str:
    is_number = isinstance(level, int) and not isinstance(level, bool)
    return f"{level:,}" if is_number else level_text(level)


def _queue_of(knob: Knob) -> Path:
    """The queue that a knob is of; for other knobs, a path that no queue has."""
    return _OF_EACH_LANE if knob.path == _LANES else Path(knob.path.rpartition(".")[0])


def _on_disk(profile: Profile) -> set[Path]:
    path = tuned_queues(profile)
    return {path_of(profile, queue) for queue in path if queue.resolved.is_on_disk}


def _held_in_memory(profile: Profile, queue: Path) -> int:
    """How many events all copies of a queue hold in memory."""
    on_disk = _on_disk(profile)
    return sum(
        placed.size * placed.copies
        for placed in tuned_queues(profile)
        if path_of(profile, placed) == queue and queue not in on_disk
    )
