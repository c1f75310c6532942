"""Paths to settings of a profile, such as `outputs[logs].queue.workerThreads`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_WELL_FORMED = re.compile(r"[^.\[\]]+(\[[^\[\]]*\])*(\.[^.\[\]]+(\[[^\[\]]*\])*)*")
_STEP = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


@dataclass(frozen=True)
class Step:
    """One word of a path, or the name or number of an item of a list."""

    text: str
    is_item: bool = False


class Path(str):
    """A path to a setting, or to a section of settings.

    It is its own spelling, so that JSON, journals and messages show it as users write it.  A key
    that holds dots (`translog.durability`) has several steps: only a profile can tell.
    """

    __slots__ = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """Its words and items, from the outside in; empty if it is not spelled like a path."""
        return _steps(self)

    @property
    def last(self) -> str:
        """The last word."""
        return self.steps[-1].text

    @property
    def pattern(self) -> Path:
        """The path without the names of items: `outputs[].queue.size`."""
        return _joined([Step("", True) if step.is_item else step for step in self.steps])

    @property
    def without_items(self) -> Path:
        """The path of words alone: `outputs.queue.size`."""
        return _joined([step for step in self.steps if not step.is_item])

    @property
    def ends(self) -> tuple[Path, ...]:
        """Its ends of one word, of two words and so on, the last one being the path itself; the
        items of a list stay with the word before them."""
        starts = [number for number, step in enumerate(self.steps) if not step.is_item]
        return tuple(_joined(self.steps[start:]) for start in reversed(starts))

    def __truediv__(self, key: str) -> Path:
        """The path of a key in this section."""
        return Path(f"{self}.{key}")

    def item(self, name: str) -> Path:
        """The path of an item of this list."""
        return Path(f"{self}[{name}]")

    def is_in(self, section: str) -> bool:
        """Whether it is that section, or inside it."""
        outer = _steps(section)
        return bool(outer) and self.steps[: len(outer)] == outer

    def ends_with(self, key: str) -> bool:
        """Whether it ends with that key, in whole words."""
        inner = _steps(key)
        return bool(inner) and self.steps[-len(inner) :] == inner


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """The shortest end of each path that no other path has.  A key that is one word in small
    letters (`size`, `type`) says too little without the key above it."""
    all_paths = [Path(path) for path in paths]
    return {path: _short(path, all_paths) for path in all_paths}


def _short(path: Path, all_paths: Sequence[Path]) -> str:
    ends = path.ends
    is_vague = path.last.isalpha() and path.last.islower() and len(ends) > 1
    for end in ends[1:] if is_vague else ends:
        if sum(path_beside.ends_with(end) for path_beside in all_paths) == 1:
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


def _joined(steps: Sequence[Step]) -> Path:
    words = (f"[{step.text}]" if step.is_item else f".{step.text}" for step in steps)
    return Path("".join(words).removeprefix("."))
