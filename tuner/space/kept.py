"""What changes of a search give up that no guarantee names: the order of events, and how many of
them a crash of rsyslogd loses.

Order (rsyslog.md, sections 1.2 and 3): several workers of a queue overtake one another, so do lanes
and the readers of imudp; imptcp and imtcp handle each connection in one thread at a time.
Loss: what stands in a queue in memory is gone when rsyslogd crashes; a queue of a disk type loses
nothing by being larger, while the part of a disk-assisted one that is in memory counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tuner.modules.queue import QueueType
from tuner.profile.model import Keep, Profile
from tuner.profile.placement import measured_way
from tuner.schema.path import Path
from tuner.space.knob import Knob, Level, amount_of, level_text
from tuner.space.queues import path_of

_LANES, _OF_EACH_LANE = Path("lanes.count"), Path("lanes.queue")


def given_up_at(knob: Knob, level: Level) -> tuple[Keep, ...]:
    """What a level gives up that the profile's own keeps."""
    return tuple(keep for keep in knob.gives_up if _gives_up(keep, knob, level))


def _gives_up(keep: Keep, knob: Knob, level: Level) -> bool:
    if not knob.ordered:
        direct = QueueType.DIRECT.value
        return knob.current == direct != level
    before, after = (_amount(knob, one) for one in (knob.current, level))
    return before <= 1 < after if keep is Keep.ORDER else before < after


def _amount(knob: Knob, level: Level) -> float:
    return amount_of(knob.unset if level is None else level) or 0.0


def keeping(profile: Profile, knob: Knob) -> Knob:
    """The knob with the levels that `search.keep` leaves it; a queue on disk keeps by itself what a
    crash would lose."""
    if _queue_of(knob) in _on_disk(profile):
        gives_up = tuple(keep for keep in knob.gives_up if keep is not Keep.LOSS)
        knob = replace(knob, gives_up=gives_up)
    shut = set(profile.search.keep)
    levels = tuple(level for level in knob.levels if not shut & {*given_up_at(knob, level)})
    return replace(knob, levels=levels)


def concessions(
    written: Profile, changed: Profile, changes: Sequence[tuple[str, Level]],
    knobs: Mapping[str, Knob],
) -> Iterator[str]:  # fmt: skip
    """What the changes from one profile to another give up, a line for each queue or setting."""
    enlarging: dict[Path, list[str]] = {}
    for path, level in changes:
        if path not in knobs:
            continue
        knob = knobs[path]
        change = f"{path} {_text(knob.current)} -> {_text(level)}"
        given_up = given_up_at(knob, level)
        if Keep.LOSS in given_up:
            enlarging.setdefault(_queue_of(knob), []).append(change)
        if Keep.ORDER in given_up:
            yield f"{change}: events may be stored in another order"
    for queue, several in enlarging.items():
        before, after = (_held_in_memory(profile, queue) for profile in (written, changed))
        if after > before:
            yield (
                f"{', '.join(several)}: a crash of rsyslogd loses up to {after:,} events that "
                f"stand in memory there, before {f'up to {before:,}' if before else 'none'}"
            )


def _text(level: Level) -> str:
    is_number = isinstance(level, int) and not isinstance(level, bool)
    return f"{level:,}" if is_number else level_text(level)


def _queue_of(knob: Knob) -> Path:
    """The queue that a knob is of; for other knobs, a path that no queue has."""
    return _OF_EACH_LANE if knob.path == _LANES else Path(knob.path.rpartition(".")[0])


def _on_disk(profile: Profile) -> set[Path]:
    way = measured_way(profile)
    return {path_of(profile, one) for one in way if one.resolved.is_on_disk}


def _held_in_memory(profile: Profile, queue: Path) -> int:
    """How many events all copies of a queue hold in memory."""
    on_disk = _on_disk(profile)
    return sum(
        one.size * one.copies
        for one in measured_way(profile)
        if path_of(profile, one) == queue and queue not in on_disk
    )
