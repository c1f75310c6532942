"""What a flood did, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.cli.console import result, result_json
from tuner.cli.options import Output
from tuner.flood.flood import Progress, Timeline

_WORTH_SAYING = 0.01
# Below this the CPU time of starting and ending outweighs that of sending.
_LONG_ENOUGH_S = 0.1


def show(final: Progress, timeline: Timeline | None, run_id: str, output: Output) -> None:
    """Print the result of a flood that sent everything."""
    if output is Output.TEXT:
        for line in _lines(final, timeline):
            result(line)
        return
    seen = final.punctuality
    seconds = _seconds(final)
    result_json(
        {
            "schema": 1,
            "kind": "flood",
            "run_id": run_id,
            "sent": final.sent,
            "seconds": seconds,
            "achieved_per_second": _achieved(final, timeline),
            "cpu_seconds": final.cpu_seconds,
            "cpu_share": _cpu_share(final),
            "blocked_seconds": final.blocked_seconds,
            # Only a pace that waits for nobody can be missed.
            "offered": seen and seen.offered,
            "late": seen and seen.late,
            "max_late_s": seen and seen.max_late_s,
            "kept_pace": seen and seen.kept,
        }
    )


def _lines(final: Progress, timeline: Timeline | None) -> Iterator[str]:
    seconds = _seconds(final)
    achieved = _achieved(final, timeline)
    brief = achieved is None or seconds < _LONG_ENOUGH_S
    rate = "too short for a rate" if brief else f"{achieved:,.0f} per second"
    cpu_us = final.cpu_seconds * 1e6 / max(1, final.sent)
    share = _cpu_share(final)
    used = "" if share is None else f", {share:.1%} of a core"
    yield f"{final.sent:,} messages in {seconds:.2f} s ({rate}), {cpu_us:.2f} us CPU each{used}"
    if final.blocked_seconds > _WORTH_SAYING * seconds:
        yield (
            f"The sender was blocked for {final.blocked_seconds:.2f} s: "
            "the receiver could not keep up."
        )
    seen = final.punctuality
    if seen is not None and seen.late:
        verdict = "" if seen.kept else "The rate was not kept: "
        yield (
            f"{verdict}{seen.late:,} of {seen.offered:,} messages were more than 50 ms late, "
            f"by up to {seen.max_late_s:.2f} s."
        )


def _seconds(final: Progress) -> float:
    """From the first message to the last."""
    return (final.last_send_s or 0.0) - (final.first_send_s or 0.0)


def _cpu_share(final: Progress) -> float | None:
    """The share of one core that the sender used; None when it sent too briefly to say."""
    seconds = _seconds(final)
    return final.cpu_seconds / seconds if seconds >= _LONG_ENOUGH_S else None


def _achieved(final: Progress, timeline: Timeline | None) -> float | None:
    """Messages per second.  By a schedule, the last message counts for the time up to the one
    that would follow, so that a pace that is kept comes out as its rate."""
    seconds = _seconds(final)
    if timeline is not None and final.last_send_s is not None:
        following_s = timeline.intended_s(final.sent) - timeline.intended_s(final.sent - 1)
        seconds = final.last_send_s - timeline.start_s + following_s
    return final.sent / seconds if seconds > 0 else None
