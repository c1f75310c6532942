"""Paths to the settings of a profile, such as `outputs[logs].queue.workerThreads`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_WELL_FORMED = re.compile(r"[^.\[\]]+(\[[^\[\]]*\])*(\.[^.\[\]]+(\[[^\[\]]*\])*)*")
_STEP = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


@dataclass(frozen=True)
class Step:
    """One step of a path: a key, or the name or number of a list item."""

    text: str
    is_item: bool = False


class Path(str):
    """A path to a setting, or to a section of settings.

    A path is a string, so that JSON, journals and messages show it as users write it.  A key with
    dots (`translog.durability`) counts as several steps: only a profile can tell them apart.
    """

    __slots__ = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """Its keys and items, outermost first; empty if the text is not a valid path."""
        return _steps(self)

    @property
    def last(self) -> str:
        """The last key or item."""
        return self.steps[-1].text

    @property
    def pattern(self) -> Path:
        """The path without the names of items: `outputs[].queue.size`."""
        return _path_of([Step("", True) if step.is_item else step for step in self.steps])

    @property
    def without_items(self) -> Path:
        """The path of keys alone: `outputs.queue.size`."""
        return _path_of([step for step in self.steps if not step.is_item])

    @property
    def suffixes(self) -> tuple[Path, ...]:
        """Its suffixes, shortest first: one key, two keys, up to the whole path.  A list item stays
        with the key before it."""
        starts = [number for number, step in enumerate(self.steps) if not step.is_item]
        return tuple(_path_of(self.steps[start:]) for start in reversed(starts))

    def __truediv__(self, key: str) -> Path:
        """The path of a key in this section."""
        return Path(f"{self}.{key}")

    def item(self, name: str) -> Path:
        """The path of an item of this list."""
        return Path(f"{self}[{name}]")

    def is_in(self, section: str) -> bool:
        """Whether the path is `section`, or lies inside it."""
        outer = _steps(section)
        return bool(outer) and self.steps[: len(outer)] == outer

    def ends_with(self, key: str) -> bool:
        """Whether the path ends with `key`, compared step by step."""
        suffix = _steps(key)
        return bool(suffix) and self.steps[-len(suffix) :] == suffix


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """The shortest suffix of each path that no other path shares.  A key of one lower-case word
    (`size`, `type`) keeps the key above it, as it says too little alone."""
    all_paths = [Path(path) for path in paths]
    return {path: _short(path, all_paths) for path in all_paths}


def _short(path: Path, all_paths: Sequence[Path]) -> str:
    suffixes = path.suffixes
    is_vague = path.last.isalpha() and path.last.islower() and len(suffixes) > 1
    for end in suffixes[1:] if is_vague else suffixes:
        if sum(other.ends_with(end) for other in all_paths) == 1:
            return end
    return path


@lru_cache(maxsize=4096)
def _steps(path: str) -> tuple[Step, ...]:
    if not _WELL_FORMED.fullmatch(path):
        return ()
    return tuple(
        Step(match[2]) if match[1] is None else Step(match[1], is_item=True)
        for match in _STEP.finditer(path)
    )


def _path_of(steps: Sequence[Step]) -> Path:
    words = (f"[{step.text}]" if step.is_item else f".{step.text}" for step in steps)
    return Path("".join(words).removeprefix("."))
