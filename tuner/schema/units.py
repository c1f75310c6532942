"""Reads durations and sizes as Elasticsearch, rsyslog and disk vendors write them, and numbers."""

from __future__ import annotations

import re

_UNITS_S = {
    "nanos": 1e-9,
    "micros": 1e-6,
    "ms": 0.001,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}
_UNITS_BYTES = {"b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3, "tb": 1024**4}
_SIZES = {"k": 1024, "m": 1024**2, "g": 1024**3}
_POWERS = ("", "k", "m", "g", "t", "p")
_COUNTS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


def seconds(text: str | None) -> float | None:
    """A duration such as `5s` in seconds; None if it is unset or -1 (never)."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(nanos|micros|ms|s|m|h|d)", text or "")
    return float(match.group(1)) * _UNITS_S[match.group(2)] if match else None


def size_bytes(text: str) -> int:
    """A size such as `512k` or `2g` in bytes, k, m and g being powers of 1024."""
    return int(text[:-1]) * _SIZES[text[-1]] if text[-1] in _SIZES else int(text)


def engine_bytes(text: str) -> int | None:
    """A size such as `512mb`, as Elasticsearch writes it, in bytes; None for -1, no limit."""
    match = re.fullmatch(r"(\d+)(b|kb|mb|gb|tb)", text)
    return int(match.group(1)) * _UNITS_BYTES[match.group(2)] if match else None


def disk_bytes(text: str) -> float | None:
    """A size such as `8TB`, of powers of 1000 as disks are sold, or `7.3TiB`, of powers of 1024
    (IEC 80000-13); None if it is not one: `8t` could be either."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?(?:([kmgtp])(i?))?b", text.lower())
    if match is None:
        return None
    step = 1024.0 if match.group(3) else 1000.0
    return float(match.group(1)) * step ** _POWERS.index(match.group(2) or "")


def count(text: str) -> float | None:
    """A number such as `244`, `10k` or `2.5M`, its letter a power of 1000; None if it is not
    one."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kMG]?)", text)
    return float(match.group(1)) * _COUNTS[match.group(2)] if match else None


def share(text: str) -> float | None:
    """A share such as `30%`, or below 1 as a fraction such as `0.3`; None if it is not one: `30`
    could be either."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", text)
    if match is None:
        return None
    number, has_unit = float(match.group(1)), bool(match.group(2))
    return number / 100 if has_unit else number if number < 1 else None


def cores_text(count: float) -> str:
    """A number of cores in words; a container can have a fraction of one."""
    return "1 core" if count == 1 else f"{count:g} cores"
