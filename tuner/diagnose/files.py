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
from tuner.reading import opened, unreadable

STDIN = Path("-")
_GZIP = b"\x1f\x8b"
# No line of counters is longer: a round of zabbix is one line.
_LONGEST = 4 * 2**20
_MOST = sys.maxsize
# Enough for a round of a large configuration, to see when a file begins.
_FIRST_LINES = 20_000


def in_order(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The files by the time of their first round, so that rotated ones come first; those without
    one last, as they were given.  Where the clock was set back between two of them, the counts of
    the process tell which comes first.  Raises JobFailed for one that cannot be read."""
    if len(paths) < 2:
        return tuple(paths)
    ordered = [(path, _first(path)) for path in dict.fromkeys(paths)]
    ordered.sort(key=lambda pair: _at(pair[1]))
    for end in range(len(ordered) - 1, 0, -1):
        for n in range(end):
            if _clock_was_set_back(*ordered[n], *ordered[n + 1]):
                ordered[n], ordered[n + 1] = ordered[n + 1], ordered[n]
    return tuple(path for path, _ in ordered)


def _clock_was_set_back(
    path: Path, first: StatsRound | None, later: Path, later_first: StatsRound | None
) -> bool:
    """Whether a file that begins at an earlier time goes on from the end of another."""
    if first is None or later_first is None or goes_on(first, later_first):
        return False
    last = _last(later)
    return last is not None and follows_closely(later_first, last, first) and not goes_on(
        _last(path) or first, later_first
    )  # fmt: skip


def _at(stats: StatsRound | None) -> float:
    return float("inf") if stats is None or stats.at is None else stats.at


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
    rounds = read_rounds(lines, last_written(path))
    return (stats for stats in rounds if isinstance(stats, StatsRound) and stats.at is not None)


def last_written(path: Path) -> datetime:
    """When a file was written last: its lines are not later."""
    if path == STDIN:
        return datetime.now()
    try:
        return datetime.fromtimestamp(path.stat().st_mtime + 86_400)
    except OSError as error:
        raise unreadable(path, error) from None


def lines_of(
    path: Path, complain: Callable[[str], None], longest: int = _LONGEST
) -> Iterator[Numbered]:
    """The lines of a file with their numbers, cut where they are longer than so many bytes;
    `complain` takes a sentence about what is damaged.  Raises JobFailed where it cannot be read."""
    with ExitStack() as files:
        try:
            yield from lines_in(_opened(path, files), str(path), complain, longest=longest)
        except OSError as error:
            raise of_the_system(error) from None


def lines_in(
    file: BufferedReader[Any],
    name: str,
    complain: Callable[[str], None],
    most_bytes: int = _MOST,
    longest: int = _LONGEST,
) -> Iterator[Numbered]:
    """The lines of an open file, which may be gzipped, with their numbers, up to so many bytes, and
    of each at most the `longest` first; `complain` takes a sentence about what is not read."""
    is_gzipped = file.peek(2)[:2] == _GZIP
    lines = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if is_gzipped else file
    number = size = 0
    try:
        while raw := lines.readline(longest):
            number, size = number + 1, size + len(raw)
            if size > most_bytes:
                complain(f"{name}: longer than what is read: the rest after line {number:,} is not")
                return
            yield name, number, raw.decode(errors="replace").rstrip("\r\n")
            while not raw.endswith(b"\n") and (raw := lines.readline(longest)):
                size += len(raw)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        complain(f"{name}: the gzip file is damaged after line {number:,}: {error}")


def _opened(path: Path, files: ExitStack) -> BufferedReader[Any]:
    if path.is_dir():
        raise JobFailed(f"{path} is a folder: name the files in it")
    if path == STDIN:
        plain = BufferedReader(cast(Any, sys.stdin.buffer))
        files.callback(plain.detach)
        return plain
    try:
        return files.enter_context(cast(BufferedReader, opened(path)))
    except OSError as error:
        raise unreadable(path, error) from None
