"""The journal of a search: one line for the header, one for each trial as it happens.

It is the only source of a report, and it is on disk before the next trial begins.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tuner.errors import JobFailed
from tuner.search.study import SCHEMA, Ending, Header, Study, Trial

NAME = "trials.jsonl"

_HEADER = TypeAdapter(Header)
_TRIAL = TypeAdapter(Trial)


@dataclass(frozen=True)
class Journal:
    """An open journal."""

    file: TextIOWrapper

    def trial(self, trial: Trial) -> None:
        """Record a trial."""
        self._line({"trial": _TRIAL.dump_python(trial, mode="json")})

    def end(self, ending: Ending) -> None:
        """Record how the search ended."""
        self._line({"ending": ending.value})

    def _line(self, record: dict[str, object]) -> None:
        self.file.write(json.dumps(record) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())


@contextmanager
def journal(run_directory: Path, header: Header) -> Iterator[Journal]:
    """Start the journal of a run; the file must not exist yet."""
    with (run_directory / NAME).open("x", encoding="utf-8") as file:
        record = Journal(file)
        record._line({"header": _HEADER.dump_python(header, mode="json")})
        yield record


def read(run_directory: Path) -> Study:
    """The study a journal holds; raises JobFailed when it is none or is damaged.

    A last line that was cut short is the trial in flight when the machine stopped: it is left out.
    """
    path = run_directory / NAME
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    except (FileNotFoundError, NotADirectoryError):
        raise JobFailed(f"{run_directory} holds no {NAME}: it is not a run directory") from None
    whole = [line for line in lines if line.endswith("\n")]
    records = [_parse(path, number, line) for number, line in enumerate(whole, 1)]
    if not records or "header" not in records[0]:
        raise JobFailed(f"{path}:1: the journal has no header")
    try:
        return _study(records)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise JobFailed(f"{path} is damaged at {place}: {first['msg']}") from None


def _parse(path: Path, number: int, line: str) -> dict[str, object]:
    try:
        record = json.loads(line)
    except ValueError:
        raise JobFailed(f"{path}:{number}: the journal is damaged: not JSON") from None
    if not isinstance(record, dict):
        raise JobFailed(f"{path}:{number}: the journal is damaged: not an object")
    return record


def _study(records: list[dict[str, object]]) -> Study:
    header = _HEADER.validate_python(records[0]["header"])
    if header.schema != SCHEMA:
        raise JobFailed(f"the journal has schema {header.schema}, this version reads {SCHEMA}")
    trials = tuple(_TRIAL.validate_python(r["trial"]) for r in records if "trial" in r)
    endings = [Ending(r["ending"]) for r in records if "ending" in r]
    return Study(header, trials, endings[-1] if endings else Ending.INTERRUPTED)
