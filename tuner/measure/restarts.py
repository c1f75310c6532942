"""Which runs of pairs an engine's restart came just before; pure."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.measure.metrics import Result


def restarts(before: Sequence[Result], after: Sequence[Result]) -> tuple[int, ...]:
    """Of each pair, whether the engine restarted just before the run of the second side (1), of the
    first (-1), or before both or none (0)."""
    return tuple(restarted(b) - restarted(a) for a, b in zip(before, after, strict=True))


def restarted(result: Result) -> bool:
    """Whether the engine restarted just before a run."""
    return result.spent is not None and result.spent.restart_s > 0
