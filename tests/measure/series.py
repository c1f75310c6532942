"""Series of runs for tests that are about what is made of them."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.measure.measurement import Result
from tuner.measure.series import MeasuredProfile, Run, Series


def series(runs: Sequence[Run], *names: str, seed: int = 1) -> Series:
    """Runs of these variants on the sink; each is what its name in a file says."""
    variants = tuple(MeasuredProfile(name, f"{name.lower()}.yaml", 45.0) for name in names)
    return Series(variants, "sink", "8.2302", "2 cores", seed, tuple(runs))


def benched(
    results: Sequence[Result], engine: str = "elasticsearch 8.19.0", message_bytes: int = 244
) -> Series:
    """Runs of one profile."""
    runs = tuple(Run("prod", block, result) for block, result in enumerate(results, 1))
    variant = MeasuredProfile("prod", "prod", 45.0, message_bytes=message_bytes)
    return Series((variant,), engine, "8.2302", "2 cores", 0, runs)
