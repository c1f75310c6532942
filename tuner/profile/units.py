"""Durations as Elasticsearch writes them."""

from __future__ import annotations

import re

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(text: str | None) -> float | None:
    """A duration such as `5s` in seconds; None when it is unset or -1 (never)."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", text or "")
    return float(match.group(1)) * _UNITS_S[match.group(2)] if match else None
