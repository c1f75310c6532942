"""Numbers and lists formatted for people."""

from __future__ import annotations

import math
from collections.abc import Sequence

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_DECIMAL = ("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s")

_MOST_NAMED = 3


def eps(value: float) -> str:
    """Events per second: `71,234`."""
    return f"{value:,.0f}"


def counted(number: int, noun: str) -> str:
    """`1 collector`, `1,200 collectors`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def times(number: int) -> str:
    """`once`, `3 times`."""
    return "once" if number == 1 else f"{number:,} times"


def percent(ratio: float) -> str:
    """A ratio as a signed change: 1.37 gives `+37.0 %`."""
    return f"{(ratio - 1) * 100:+.1f} %"


def share(value: float | None) -> str:
    """A share or a gain as `12.3 %`; `-` for None."""
    return "-" if value is None else f"{value * 100:.1f} %"


def size(value: float) -> str:
    """Bytes with three significant digits: `1.50 GiB`, `822 GiB`."""
    return _scaled(value, 1024, _BINARY)


def bits(value: float) -> str:
    """Bits per second: `19.6 Mbit/s`."""
    return _scaled(value, 1000, _DECIMAL)


def _scaled(value: float, step: int, units: tuple[str, ...]) -> str:
    for unit in units[:-1]:
        if value < step * 0.9995:
            return f"{digits(value)} {unit}"
        value /= step
    return f"{digits(value)} {units[-1]}"


def digits(value: float) -> str:
    """Three significant digits, and never less than the whole integer part."""
    if value < 0.995:
        return f"{value:.2g}"
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def significant(value: float) -> str:
    """Four significant digits, and never less than the whole integer part: `6.023`."""
    if value <= 0:
        return "0"
    return f"{value:,.{max(0, 3 - math.floor(math.log10(value)))}f}"


def seconds(value: float) -> str:
    """A duration: `42 s`, `3 min 05 s`."""
    whole = max(0, round(value))
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"


def mebibytes(value: int) -> str:
    """Bytes as `123 MiB`."""
    return f"{value / 1024**2:,.0f} MiB"


def p_value(p: float) -> str:
    """A p-value to print after `p`: `= 0.031`, or `< 0.001` rather than zero."""
    return "< 0.001" if p < 0.0005 else f"= {p:.3f}"


def listed(names: Sequence[str]) -> str:
    """The first three names, and how many more there are: `a, b, c and 2 more`."""
    more = len(names) - _MOST_NAMED
    shown = ", ".join(names[:_MOST_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown
