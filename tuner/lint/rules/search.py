"""What is wrong with a `search` section: paths, levels and names that would have no effect.

The space of the search is imported for a profile that has such a section: it took 10 ms of every
command that reads a profile.
"""

from __future__ import annotations

from collections.abc import Iterator

from tuner.profile.model import Profile
from tuner.rule import Complaint, error


@error(
    "RT603",
    why="A guarantee to give up must be named exactly, and the tier decides which may be given up.",
    source="rsyslog-tune's own: docs/profiles.md",
    bad={"search.allow": ["translog.durability"]},
    good={"guardrails.tier": "relaxed"},
    at="search.allow[0]",
)
def _names(profile: Profile) -> Iterator[Complaint]:
    if profile.search.allow:
        from tuner.lint.search_scope import unknown_names

        yield from unknown_names(profile)


@error(
    "RT601",
    why="A search ignores a name that it does not know: a typo would go unnoticed.",
    source="rsyslog-tune's own: docs/profiles.md",
    bad={"search.freeze": ["main_queue.sise"]},
    good={"search.freeze": ["main_queue.size"]},
    at="search.freeze[0]",
)
def _paths(profile: Profile) -> Iterator[Complaint]:
    if profile.search.freeze or profile.search.only:
        from tuner.lint.search_scope import unknown_paths

        yield from unknown_paths(profile)


@error(
    "RT602",
    why="A level is measured only if the schema accepts it and the search varies its setting.",
    source="rsyslog-tune's own: docs/profiles.md",
    bad={"search.levels": {"main_queue.size": [50_000, "large"]}},
    good={"search.levels": {"main_queue.size": [50_000, 200_000]}},
    at=("search", "levels", "main_queue.size", 1),
)
def _levels(profile: Profile) -> Iterator[Complaint]:
    if profile.search.levels:
        from tuner.lint.search_scope import unfit_levels

        yield from unfit_levels(profile)
