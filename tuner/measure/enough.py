"""How many pairs of runs can show anything."""

from __future__ import annotations

FEWEST_PAIRS = 6
"""With fewer the exact test cannot reach 0.05."""
FEWEST_RESTARTING = 8
"""The fewest where an engine restarts between the sides: half of the runs do not count."""


def fewest_pairs(*, restarting: bool) -> int:
    """How many pairs can show anything, where an engine restarts between their sides or not."""
    return FEWEST_RESTARTING if restarting else FEWEST_PAIRS
