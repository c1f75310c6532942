"""Selectors of the form before version 6, such as `mail.info;auth.none`, as priorities."""

from __future__ import annotations

import re

from tuner.modules.priorities import FACILITIES, SEVERITIES
from tuner.rainerscript.gaps import Inexpressible
from tuner.rainerscript.script import ScriptPosition

Priorities = frozenset[tuple[int, int]]
"""Pairs of a facility's and a severity's code."""

EVERY: Priorities = frozenset(
    (facility, severity)
    for facility in range(len(FACILITIES))
    for severity in range(len(SEVERITIES))
)
OLD_SEVERITIES = {"error": "err", "warn": "warning", "panic": "emerg"}


# Facilities have commas between them; after a severity a comma is as good as a semicolon.
_PART = re.compile(r"[^,;.\s][^.;]*\.[^,;\s]*|[^,;\s]+")


def selected(text: str, origin: ScriptPosition) -> Priorities:
    """The priorities that a selector takes; each part changes what those before it say
    (DecodePRIFilter in rsyslog's parse.c)."""
    taken: set[tuple[int, int]] = set()
    for part in _PART.findall(text):
        names, dot, level = part.partition(".")
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
        word = "auth" if name.strip() == "security" else name.strip()
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
    word = OLD_SEVERITIES.get(word.removeprefix("="), word.removeprefix("="))
    if word in {"*", "none"}:
        return range(len(SEVERITIES))
    if word not in SEVERITIES:
        raise Inexpressible(origin, f"rsyslogd knows no severity {word}")
    code = SEVERITIES.index(word)
    return range(code, code + 1) if exact else range(code + 1)
