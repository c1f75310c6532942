"""What each of several senders has of one flood, and what they have done of it together; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tuner.engine.numbering import event_of
from tuner.errors import BadUsage
from tuner.flood.pace import Runs
from tuner.flood.schedule import Timeline, share
from tuner.flood.spec import FloodProgress, FloodSpec, Punctuality
from tuner.host.clock import ClockOffset


def shared(total: int, senders: int) -> tuple[int, ...]:
    """As equal shares as there are."""
    return tuple(share(total, sender, senders) for sender in range(senders))


def parts_of(spec: FloodSpec, senders: int) -> tuple[FloodSpec, ...]:
    """The floods of that many senders, which together are `spec`."""
    connections = shared(max(spec.connections, senders), senders)
    counts = (None,) * senders if spec.count is None else shared(spec.count, senders)
    return tuple(
        replace(spec, connections=connections[one], count=counts[one], sender=one, senders=senders)
        for one in range(senders)
    )


def runs_of(runs: Runs, senders: int) -> tuple[Runs, ...]:
    """The runs of each; raises BadUsage where there is not a message for each."""
    if runs.messages < senders:
        raise BadUsage(f"runs of {runs.messages} messages are too short for {senders} load hosts")
    return tuple(replace(runs, messages=one) for one in shared(runs.messages, senders))


def granted(before: Sequence[int], sent: Sequence[int], limit: int) -> tuple[int, ...]:
    """How much each sender may send in total, where all together may send `limit`.

    What was granted `before` may be sent already, so it stands.  What there is beyond goes to those
    that have the least left: a slow sender keeps no others from sending.
    """
    left = [may - did for may, did in zip(before, sent, strict=True)]
    more = limit - sum(before)
    if more <= 0:
        return tuple(before)
    # The level to which what is left of the lowest is filled.
    order = sorted(left)
    for several in range(len(order), 0, -1):
        level, odd = divmod(more + sum(order[:several]), several)
        if level >= order[several - 1]:
            break
    new = []
    for may, has in zip(before, left, strict=True):
        is_odd = has <= level and odd > 0
        new.append(may + max(0, level - has) + is_odd)
        odd -= is_odd
    return tuple(new)


def on_our_clock(progress: FloodProgress, clock: ClockOffset) -> FloodProgress:
    """The progress of a sender whose clock stands so to ours."""

    def ours(at_s: float | None) -> float | None:
        return None if at_s is None else at_s + clock.offset_s

    kept = progress.punctuality
    return replace(
        progress,
        first_send_s=ours(progress.first_send_s),
        last_send_s=ours(progress.last_send_s),
        at_s=progress.at_s + clock.offset_s,
        punctuality=kept and replace(kept, start_s=kept.start_s + clock.offset_s),
    )


def merged(each: Sequence[FloodProgress]) -> FloodProgress:
    """How far all senders have come together, by one clock; they are blocked as much as they are in
    the mean."""
    firsts = [one.first_send_s for one in each if one.first_send_s is not None]
    lasts = [one.last_send_s for one in each if one.last_send_s is not None]
    return FloodProgress(
        sent=sum(one.sent for one in each),
        cpu_seconds=sum(one.cpu_seconds for one in each),
        blocked_seconds=sum(one.blocked_seconds for one in each) / len(each),
        first_send_s=min(firsts, default=None),
        last_send_s=max(lasts, default=None),
        truncated=any(one.truncated for one in each),
        error=next((one.error for one in each if one.error is not None), None),
        at_s=min(one.at_s for one in each),
        punctuality=_merged([one.punctuality for one in each if one.punctuality is not None]),
        counts=tuple(one.sent for one in each),
    )


def _merged(each: Sequence[Punctuality]) -> Punctuality | None:
    if not each:
        return None
    return Punctuality(
        offered=sum(one.offered for one in each),
        late=sum(one.late for one in each),
        max_late_s=max(one.max_late_s for one in each),
        first=sum(one.first for one in each),
        start_s=min(one.start_s for one in each),
    )


@dataclass(frozen=True)
class SpreadTimeline(Timeline):
    """When the messages of several senders were due, each of which has a part of the schedule."""

    parts: tuple[Timeline, ...] = ()

    def intended_s(self, number: int) -> float:
        """When a message was due, as CLOCK_MONOTONIC of this machine."""
        sender, event = event_of(number, len(self.parts))
        return self.parts[sender].intended_s(event)
