"""Rules that do not carry what is known of them yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tuner.errors import Severity
from tuner.profile.model import Profile
from tuner.rule import About, Complaint, Rule


def error(code: str, check: Callable[[Profile], Iterable[Complaint]]) -> Rule[Profile]:
    """A rule whose breach makes the profile unusable."""
    return Rule(About(Severity.ERROR, code, why="", source="", bad={}, good={}), check)


def warning(code: str, check: Callable[[Profile], Iterable[Complaint]]) -> Rule[Profile]:
    """A rule whose breach deserves a second look."""
    return Rule(About(Severity.WARNING, code, why="", source="", bad={}, good={}), check)
