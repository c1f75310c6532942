"""Files of counters on this machine: plain ones and gzipped ones, in the order of their time, a
line at a time."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from tuner.diagnose.daemons import follows_closely, goes_on
from tuner.errors import JobFailed, of_the_system
from tuner.modules.stats_rounds import Numbered, StatsRound, read_rounds
from tuner.reading import opened as opened_file
from tuner.reading import unreadable

STDIN = Path("-")
_GZIP = b"\x1f\x8b"
# No line of counters is longer: a round of zabbix is one line.
_LONGEST = 4 * 2**20
# Enough for a round of a large configuration, to see when a file begins.
_FIRST_LINES = 20_000


def in_order(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The files by the time of their first round, so that rotated ones come first; those without
    one last, as they were given.  Where the clock was set back between two of them, the counts of
    the process tell which comes first.  Raises JobFailed for one that cannot be read."""
    if len(paths) < 2:
        return tuple(paths)
    every = [(path, _first(path)) for path in dict.fromkeys(paths)]
    every.sort(key=lambda pair: _at(pair[1]))
    for end in range(len(every) - 1, 0, -1):
        for n in range(end):
            if _clock_was_set_back(*every[n], *every[n + 1]):
                every[n], every[n + 1] = every[n + 1], every[n]
    return tuple(path for path, _ in every)


def _clock_was_set_back(
    path: Path, first: StatsRound | None, later: Path, other: StatsRound | None
) -> bool:
    """Whether a file that begins at an earlier time goes on from the end of another."""
    if first is None or other is None or goes_on(first, other):
        return False
    last = _last(later)
    return last is not None and follows_closely(other, last, first) and not goes_on(
        _last(path) or first, other
    )  # fmt: skip


def _at(one: StatsRound | None) -> float:
    return float("inf") if one is None or one.at is None else one.at


def _first(path: Path) -> StatsRound | None:
    # What can be read only once, such as a pipe, keeps its place.
    if path == STDIN or not path.is_file():
        return None
    lines = islice(lines_of(path, lambda _: None), _FIRST_LINES)
    return next(_dated(lines, path), None)


def _last(path: Path) -> StatsRound | None:
    lines = deque(lines_of(path, lambda _: None), _FIRST_LINES)
    return next(iter(deque(_dated(lines, path), 1)), None)


def _dated(lines: Iterable[Numbered], path: Path) -> Iterator[StatsRound]:
    every = read_rounds(lines, last_written(path))
    return (one for one in every if isinstance(one, StatsRound) and one.at is not None)


def last_written(path: Path) -> datetime:
    """When a file was written last: its lines are not later."""
    if path == STDIN:
        return datetime.now()
    try:
        return datetime.fromtimestamp(path.stat().st_mtime + 86_400)
    except OSError as error:
        raise unreadable(path, error) from None


def lines_of(path: Path, complain: Callable[[str], None]) -> Iterator[Numbered]:
    """The lines of a file with their numbers; `complain` takes a sentence about what is damaged.
    Raises JobFailed where it cannot be read."""
    with ExitStack() as opened:
        try:
            file, name, number = _opened(path, opened), str(path), 0
            while raw := file.readline(_LONGEST):
                number += 1
                yield name, number, raw.decode(errors="replace").rstrip("\r\n")
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            complain(f"{path}: the gzip file is damaged after line {number:,}: {error}")
        except OSError as error:
            raise of_the_system(error) from None


def _opened(path: Path, opened: ExitStack) -> BinaryIO:
    if path.is_dir():
        raise JobFailed(f"{path} is a folder: name the files in it")
    plain: BufferedReader[Any]
    if path == STDIN:
        plain = BufferedReader(cast(Any, sys.stdin.buffer))
        opened.callback(plain.detach)
    else:
        try:
            plain = opened.enter_context(cast(BufferedReader, opened_file(path)))
        except OSError as error:
            raise unreadable(path, error) from None
    if plain.peek(2)[:2] != _GZIP:
        return plain
    return cast(BinaryIO, opened.enter_context(gzip.open(plain)))
