"""Files of counters on this machine: plain ones and gzipped ones, in the order of their time, a
line at a time."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from tuner.errors import JobFailed, of_the_system
from tuner.modules.stats_rounds import Numbered, StatsRound, read_rounds

STDIN = Path("-")
_GZIP = b"\x1f\x8b"
# No line of counters is longer: a round of zabbix is one line.
_LONGEST = 4 * 2**20
# Enough for a round of a large configuration, to see when a file begins.
_FIRST_LINES = 20_000


def in_order(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The files by the time of their first round, so that rotated ones come first; those without
    one last, as they were given.  Raises JobFailed for one that cannot be read."""
    if len(paths) < 2:
        return tuple(paths)
    return tuple(sorted(dict.fromkeys(paths), key=_begins))


def _begins(path: Path) -> float:
    # What can be read only once, such as a pipe, keeps its place.
    if path == STDIN or not path.is_file():
        return float("inf")
    lines = islice(lines_of(path, lambda _: None), _FIRST_LINES)
    every = read_rounds(lines, last_written(path))
    first = (one.at for one in every if isinstance(one, StatsRound) and one.at is not None)
    return next(first, float("inf"))


def last_written(path: Path) -> datetime:
    """When a file was written last: its lines are not later."""
    if path == STDIN:
        return datetime.now()
    try:
        return datetime.fromtimestamp(path.stat().st_mtime + 86_400)
    except OSError as error:
        raise of_the_system(error) from None


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
        plain = opened.enter_context(path.open("rb"))
    if plain.peek(2)[:2] != _GZIP:
        return plain
    return cast(BinaryIO, opened.enter_context(gzip.open(plain)))
