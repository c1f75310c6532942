"""What a lint rule says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tuner.errors import Severity
from tuner.profile.model import Profile
from tuner.profile.source import KeyPath


@dataclass(frozen=True)
class Complaint:
    """What one rule found: the setting to change, and what to do about it."""

    path: KeyPath
    message: str


@dataclass(frozen=True)
class Rule:
    """One check with its stable code; F numbers in rules are those of rsyslog's source study."""

    code: str
    severity: Severity
    check: Callable[[Profile], Iterable[Complaint]]


def error(code: str, check: Callable[[Profile], Iterable[Complaint]]) -> Rule:
    """A rule whose breach makes the profile unusable."""
    return Rule(code, Severity.ERROR, check)


def warning(code: str, check: Callable[[Profile], Iterable[Complaint]]) -> Rule:
    """A rule whose breach deserves a second look."""
    return Rule(code, Severity.WARNING, check)
