"""What a recommendation changes: in the profile, and in the files that are rendered from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tuner.lint.candidate import candidate
from tuner.lint.load import LoadedProfile
from tuner.render.artefacts import render
from tuner.render.tree import unified
from tuner.search.study import Changes


@dataclass(frozen=True)
class FileDiff:
    """The unified diff of one file, line by line."""

    path: str
    lines: tuple[str, ...]


def diffs(written: LoadedProfile, changes: Changes) -> tuple[FileDiff, ...]:
    """The profile's own file first, then the rendered ones; none for those that stay."""
    return tuple(one for one in _diffs(written, changes) if one.lines)


def _diffs(written: LoadedProfile, changes: Changes) -> Iterator[FileDiff]:
    best = candidate(written, changes)
    yield _diff(Path(written.path).name, written.text, best.text)
    before = {one.path: one.text for one in render(written.profile)}
    after = {one.path: one.text for one in render(best.profile)}
    for path in sorted(before.keys() | after.keys()):
        yield _diff(f"rendered/{path}", before.get(path), after.get(path))


def _diff(path: str, old: str | None, new: str | None) -> FileDiff:
    return FileDiff(path, tuple(line.rstrip("\n") for line in unified(path, old, new)))
