"""Lint for the `search` section, whose knobs are looked at only where there is one."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.lint.rule import error
from tuner.profile.model import Profile, Search
from tuner.rule import Complaint


def _paths(profile: Profile) -> Iterator[Complaint]:
    if profile.search != Search():
        from tuner.lint.search_knobs import bad_paths

        yield from bad_paths(profile)


def _levels(profile: Profile) -> Iterator[Complaint]:
    if profile.search != Search():
        from tuner.lint.search_knobs import bad_levels

        yield from bad_levels(profile)


def _names(profile: Profile) -> Iterator[Complaint]:
    if profile.search != Search():
        from tuner.lint.search_knobs import bad_names

        yield from bad_names(profile)


RULES = (
    error("RT601", _paths),
    error("RT602", _levels),
    error("RT603", _names),
)
