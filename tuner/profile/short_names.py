"""Short names of settings; pure."""

from __future__ import annotations

from collections.abc import Sequence


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """The shortest end of each path that no other path has.  A key that is one word in small
    letters (`size`, `type`) says too little without the key above it."""
    return {path: _short(path, paths) for path in paths}


def _short(path: str, paths: Sequence[str]) -> str:
    keys = path.split(".")
    ends = [".".join(keys[at:]) for at in reversed(range(len(keys)))]
    telling = ends[1:] if keys[-1].isalpha() and keys[-1].islower() and len(ends) > 1 else ends
    for end in telling:
        if sum(f".{other}".endswith(f".{end}") for other in paths) == 1:
            return end
    return path
