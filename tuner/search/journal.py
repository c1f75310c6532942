"""The journal of a search: a line for all that was asked, one for what is about to be done, and one
for what came out, each on disk before anything else happens.

It is the only source of a report, and what a search resumes from: `record_of` makes the study of
its lines.  Every line carries a CRC-32 of itself and of all lines before it, so that no change or
loss goes unseen.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from tuner.errors import JobFailed
from tuner.reading import content, json_of, unreadable
from tuner.search.farm import LostTrial
from tuner.search.study import (
    BASELINE,
    SCHEMA,
    Asked,
    Changes,
    Ending,
    Header,
    Note,
    Phase,
    Record,
    Session,
    Study,
    Trial,
)


@dataclass(frozen=True)
class Began:
    """The search enters a phase."""

    phase: Phase
    at_s: float


@dataclass(frozen=True)
class Intent:
    """A trial is about to run."""

    asked: Asked
    at_s: float


@dataclass(frozen=True)
class Ended:
    """The search ended, or a session of it did; `reason` is why it failed, if it did."""

    ending: Ending
    at_s: float
    reason: str = ""


Line = Session | Began | Intent | Trial | LostTrial | Note | Ended
"""What follows the header."""


def record_of(header: Header, lines: Sequence[Line]) -> Record:
    """The record that the lines of a journal make."""
    ended = unended = Ended(Ending.INTERRUPTED, 0.0)
    begun: dict[int, Changes] = {}
    deaths = Counter[Changes]()
    for line in lines:
        match line:
            case Session():
                deaths.update(_suspects(begun))
                begun.clear()
                ended = unended
            case Trial():
                begun.pop(line.number, None)
                del deaths[line.changes]
            case LostTrial():
                begun.pop(line.asked.number, None)
            case Intent():
                begun[line.asked.number] = line.asked.changes
            case Ended():
                ended = line
                if line.ending is Ending.INTERRUPTED:
                    begun.clear()
            case Began() | Note():
                pass
    deaths.update(_suspects(begun))
    study = Study(
        header,
        tuple(line for line in lines if isinstance(line, Trial)),
        ended.ending,
        tuple(line for line in lines if isinstance(line, Note)),
        tuple(line for line in lines if isinstance(line, Session)),
        ended.reason,
    )
    times_s = [line.ended_s if isinstance(line, Trial) else line.at_s for line in lines]
    lost = tuple(line.asked.changes for line in lines if isinstance(line, LostTrial))
    deadly = frozenset(point for point, often in deaths.items() if often > 1)
    return Record(study, max(times_s, default=0.0), lost, deadly - {BASELINE})


def _suspects(begun: Mapping[int, Changes]) -> list[Changes]:
    """The point that may have ended a session: the one under way then, ended by whatever but a
    signal to the tool; of several, on machines of their own, none."""
    return list(begun.values()) if len(begun) == 1 else []


NAME = "trials.jsonl"
ASIDE = "trials.jsonl.damaged"

_LINE = re.compile(rb'\{"check": "([0-9a-f]{8})", (.*)')
T = TypeVar("T")

_HEADER = TypeAdapter(Header)
_KINDS: dict[str, type[Line]] = {
    "session": Session,
    "phase": Began,
    "intent": Intent,
    "trial": Trial,
    "lost": LostTrial,
    "note": Note,
    "ending": Ended,
}
_ADAPTERS: dict[str, TypeAdapter[Line]] = {name: TypeAdapter(kind) for name, kind in _KINDS.items()}
_NAMES = {kind: name for name, kind in _KINDS.items()}


class Damaged(JobFailed):
    """A line of a journal (counted from 1) is not as it was written."""

    def __init__(self, path: Path, line: int, problem: str) -> None:
        super().__init__(f"{path}:{line}: the journal is damaged{problem}")
        self.line = line


@dataclass(frozen=True)
class End:
    """How far a journal is whole: bytes, and the check of the last line."""

    size: int = 0
    check: int = 0


@dataclass
class Journal:
    """An open journal; a line is on disk when its method returns, which raises JobFailed where it
    cannot be."""

    _path: Path
    _file: int
    _end: End

    def begin(self, header: Header) -> None:
        """Write what was asked: the first line."""
        self._append({"header": _HEADER.dump_python(header, mode="json")})

    def write(self, line: Line) -> None:
        """Write one of the lines after it."""
        name = _NAMES[type(line)]
        self._append({name: _ADAPTERS[name].dump_python(line, mode="json")})

    def _append(self, record: dict[str, object]) -> None:
        """Write after the last whole line, over what a write that was interrupted may have left."""
        body = json.dumps(record)[1:].encode()
        check = zlib.crc32(body, self._end.check)
        line = b'{"check": "%08x", %s\n' % (check, body)
        try:
            self._require_there()
            os.ftruncate(self._file, self._end.size)
            written = 0
            while written < len(line):
                written += os.pwrite(self._file, line[written:], self._end.size + written)
            os.fsync(self._file)
        except OSError as error:
            raise JobFailed(f"cannot write the journal {self._path}: {error.strerror}") from None
        self._end = End(self._end.size + len(line), check)

    def _require_there(self) -> None:
        """Raise JobFailed when the file is no longer where a report would look for it."""
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(self._file), self._path.stat()):
                return
        raise JobFailed(f"{self._path} is gone: its folder was deleted or moved during the search")


@contextmanager
def journal(run_directory: Path, header: Header) -> Iterator[Journal]:
    """Start the journal of a run; the file must not exist yet."""
    with _opened(run_directory, os.O_CREAT | os.O_EXCL) as file:
        record = Journal(run_directory / NAME, file, End())
        record.begin(header)
        _sync_folder(run_directory)
        yield record


@contextmanager
def reopened(run_directory: Path) -> Iterator[Journal]:
    """Continue the journal of a run, after its last whole line."""
    *_, (_, end) = _whole(run_directory / NAME)
    with _opened(run_directory) as file:
        yield Journal(run_directory / NAME, file, end)


def read(run_directory: Path) -> Study:
    """The study a journal holds; raises JobFailed where there is none to read, Damaged where one
    is damaged."""
    return recorded(run_directory).study


def recorded(run_directory: Path) -> Record:
    """Everything a journal holds; the errors are those of `read`.

    A last line that was cut short was being written when the machine stopped: it is left out.
    """
    path = run_directory / NAME
    (first, _), *records = _whole(path)
    header = _validated(path, 1, _HEADER, first["header"])
    lines = [_line_of(path, number, record) for number, (record, _) in enumerate(records, 2)]
    return record_of(header, lines)


def set_aside(run_directory: Path) -> Path:
    """Give a damaged journal another name, under which nothing reads or removes it."""
    taken = sum(1 for path in run_directory.iterdir() if path.name.startswith(ASIDE))
    aside = run_directory / (ASIDE if taken == 0 else f"{ASIDE}.{taken + 1}")
    (run_directory / NAME).rename(aside)
    _sync_folder(run_directory)
    return aside


@contextmanager
def _opened(run_directory: Path, flags: int = 0) -> Iterator[int]:
    file = os.open(run_directory / NAME, os.O_WRONLY | flags, 0o644)
    try:
        yield file
    finally:
        os.close(file)


def _sync_folder(folder: Path) -> None:
    """Make a new name in `folder` outlast a power cut."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _whole(path: Path) -> list[tuple[dict[str, object], End]]:
    """The whole lines of a journal, each with where it ends; at least the header."""
    try:
        *lines, cut = content(path).split(b"\n")
    except (FileNotFoundError, NotADirectoryError):
        raise JobFailed(f"{path.parent} holds no {NAME}: it is not a run directory") from None
    except OSError as error:
        raise JobFailed(str(unreadable(path, error))) from None
    if not lines:
        raise JobFailed(f"{path} holds no whole line: its search had not begun; start a new one")
    _require_schema(path, lines[0])
    records: list[tuple[dict[str, object], End]] = []
    end = End()
    for number, line in enumerate(lines, 1):
        read = _parsed(line, end)
        if read is None:
            if records and number == len(lines) and not cut:
                break
            raise Damaged(path, number, ": its line fails its checksum")
        records.append(read)
        end = read[1]
    return records


def _parsed(line: bytes, before: End) -> tuple[dict[str, object], End] | None:
    """The record of a line and where it ends; None when it is not what was written there."""
    match = _LINE.fullmatch(line)
    if match is None or zlib.crc32(match[2], before.check) != int(match[1], 16):
        return None
    try:
        record = json_of(b"{" + match[2])
    except ValueError:
        return None
    return record, End(before.size + len(line) + 1, int(match[1], 16))


def _require_schema(path: Path, first: bytes) -> None:
    """Raise JobFailed for a journal of another version; those before 3 had no checks."""
    try:
        schema = json_of(first)["header"]["schema"]
    except (ValueError, KeyError, TypeError):
        raise Damaged(path, 1, ": it has no header") from None
    if schema != SCHEMA:
        raise JobFailed(
            f"{path} has schema {schema}, this version reads {SCHEMA}: "
            "use the rsyslog-tune that wrote it"
        )


def _line_of(path: Path, number: int, record: dict[str, object]) -> Line:
    """A line as what it says."""
    ((name, content),) = record.items()
    if name not in _ADAPTERS:
        raise Damaged(path, number, f": {name} is not a kind of line")
    return _validated(path, number, _ADAPTERS[name], content)


def _validated(path: Path, number: int, adapter: TypeAdapter[T], content: object) -> T:
    try:
        return adapter.validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise Damaged(path, number, f" at {place}: {first['msg']}") from None
