"""`facility.severity;...`: which priorities a selector line takes."""

from __future__ import annotations

from tuner.importer.gaps import Inexpressible
from tuner.importer.script import ScriptPosition
from tuner.modules.priorities import FACILITIES, SEVERITIES

Priorities = frozenset[tuple[int, int]]
"""Pairs of a facility's and a severity's code."""

EVERY: Priorities = frozenset(
    (facility, severity)
    for facility in range(len(FACILITIES))
    for severity in range(len(SEVERITIES))
)
_OLD_FACILITIES = {"security": "auth", "mark": "mark"}
_OLD_SEVERITIES = {"error": "err", "warn": "warning", "panic": "emerg"}


def selected(text: str, origin: ScriptPosition) -> Priorities:
    """The priorities that a selector takes; each part changes what those before it say
    (DecodePRIFilter in rsyslog's parse.c)."""
    taken: set[tuple[int, int]] = set()
    for part in text.split(";"):
        if not part.strip():
            continue
        names, dot, level = part.strip().partition(".")
        if not dot:
            raise Inexpressible(origin, f"rsyslogd reads no severity in {part}")
        severities = _severities(level.lower(), origin)
        for facility in _facilities(names.lower(), origin):
            pairs = {(facility, severity) for severity in severities}
            if level.startswith("!"):
                taken -= pairs
            elif level.lower() == "none":
                taken -= {(facility, severity) for severity in range(len(SEVERITIES))}
            else:
                taken |= pairs
    return frozenset(taken)


def _facilities(names: str, origin: ScriptPosition) -> list[int]:
    codes: list[int] = []
    for name in names.split(","):
        word = _OLD_FACILITIES.get(name.strip(), name.strip())
        if word == "*":
            codes.extend(range(len(FACILITIES)))
        elif word in FACILITIES:
            codes.append(FACILITIES.index(word))
        elif word != "mark":
            raise Inexpressible(origin, f"rsyslogd knows no facility {name}")
    return codes


def _severities(level: str, origin: ScriptPosition) -> range:
    """`info` and everything more urgent, `=info` alone."""
    word = level.removeprefix("!")
    exact = word.startswith("=")
    word = _OLD_SEVERITIES.get(word.removeprefix("="), word.removeprefix("="))
    if word in {"*", "none"}:
        return range(len(SEVERITIES))
    if word not in SEVERITIES:
        raise Inexpressible(origin, f"rsyslogd knows no severity {word}")
    code = SEVERITIES.index(word)
    return range(code, code + 1) if exact else range(code + 1)
