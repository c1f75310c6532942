"""`rsyslog-tune test`: unit tests of a pipeline: what messages become."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from tuner.cases.judge import JudgedCase, judged
from tuner.cases.load import LoadedCases, inputs_called, load_cases, messages
from tuner.cases.record import TIME_ZONE, recorded
from tuner.cases.run import Sent, Surface, run, surface
from tuner.cli.annotations import ProblemFormat, show_to_program
from tuner.cli.console import result, say, working
from tuner.cli.options import LOCAL
from tuner.cli.profiles import CONFIGURATION, read_profile, templates_of
from tuner.errors import (
    BadProfile,
    BadUsage,
    DifferencesFound,
    JobFailed,
    Problem,
    Refused,
)
from tuner.host.programs import choose_rsyslogd, rsyslog_version
from tuner.lint.load import snippets_of
from tuner.reading import content, unreadable
from tuner.render.artefacts import rsyslog_conf
from tuner.render.form import Form
from tuner.render.templates import Templates
from tuner.report.junit import junit_xml
from tuner.schema.numerals import counted
from tuner.script.legacy import modernised
from tuner.script.parser import parse
from tuner.script.script import Block
from tuner.validate.rsyslogd import require_taken
from tuner.writing import require_writable, write_whole

_MOST_LINES = 500


@dataclass(frozen=True)
class Subject:
    """What is tested: its statements, and what cases can name of it."""

    block: Block
    surface: Surface


@dataclass(frozen=True)
class _TestedFile:
    """The cases of a file as they were judged, what is not tested, and the seconds it took."""

    path: str
    cases: tuple[JudgedCase, ...]
    untested: tuple[str, ...]
    took_s: float


def run_cases(
    tests: list[Path],
    profile: Path | None,
    conf: Path | None,
    record: Path | None,
    by_input: str | None,
    junit: Path | None,
    templates: Path | None,
    rsyslogd: Path | None,
    output: ProblemFormat,
) -> None:
    """Carry out `rsyslog-tune test`."""
    choose_rsyslogd(rsyslogd)
    if profile is not None and conf is not None:
        raise BadUsage("--profile and --conf cannot be combined")
    site = templates_of(templates)
    if record is not None:
        _record(tests, record, profile or conf, junit, site, by_input)
        return
    if by_input is not None:
        raise BadUsage("--input goes with --record: a case names its input itself")
    if junit is not None:
        require_writable(junit)
    try:
        loaded = _of_all(load_cases, tests)
        ready = _of_all(lambda one: _ready(one, profile or conf, site), loaded)
    except BadProfile as bad:
        if output is not ProblemFormat.TEXT:
            show_to_program(output, bad.problems, _json((), bad.problems))
        raise
    files = [
        _tested(one, subject, sent) for one, (subject, sent) in zip(loaded, ready, strict=True)
    ]
    if junit is not None:
        write_whole(junit, junit_xml([(one.path, one.cases, one.took_s) for one in files]))
    _show(files, output)


_One = TypeVar("_One")
_Made = TypeVar("_Made")


def _of_all(make: Callable[[_One], _Made], ones: Iterable[_One]) -> list[_Made]:
    """What is made of each; raises BadProfile with the problems of all."""
    made, problems = list[_Made](), list[Problem]()
    for one in ones:
        try:
            made.append(make(one))
        except BadProfile as bad:
            problems += bad.problems
    if problems:
        raise BadProfile(tuple(dict.fromkeys(problems)))
    return made


def _ready(
    loaded: LoadedCases, given: Path | None, site: Templates | None
) -> tuple[Subject, tuple[Sent, ...]]:
    """What cases are of, and what is sent; raises BadProfile."""
    named = loaded.cases.profile or loaded.cases.conf
    subject = subject_of(given or (LOCAL if named is None else loaded.beside(named)), site)
    return subject, messages(loaded, subject.surface)


def subject_of(path: Path, site: Templates | None) -> Subject:
    """The statements of a profile or a configuration; raises BadProfile and JobFailed."""
    loaded = read_profile(path)
    base = loaded.profile.base
    if base is not None:
        kept = base.kept
        require_taken(kept.written, is_copy=bool(kept.root), with_all=True)
        block = kept.changed.block
    else:
        form = Form(snippets_of(loaded))
        text = rsyslog_conf(loaded.profile, templates=site, form=form)
        read, refused = parse(text, "rendered rsyslog.conf")
        if refused:
            raise JobFailed("; ".join(map(str, refused)))
        # Snippets may have the form before version 6.
        block, _ = modernised(read)
    return Subject(block, surface(block))


def _tested(loaded: LoadedCases, subject: Subject, sent: Sequence[Sent]) -> _TestedFile:
    """Run the cases of a file."""
    name, began_s = loaded.source.name, time.monotonic()
    with working(f"testing {name} on rsyslogd {rsyslog_version()}"):
        came = run(subject.block, sent, loaded.cases.timezone)
    return _TestedFile(name, judged(loaded, came), _untested(subject), time.monotonic() - began_s)


def _untested(subject: Subject) -> tuple[str, ...]:
    """A line for each part that these cases say nothing of."""
    return tuple(f"{one.origin}: not tested: {one.message}" for one in subject.surface.gaps)


def _show(files: Sequence[_TestedFile], output: ProblemFormat) -> None:
    """The results; raises DifferencesFound where a case failed."""
    every = [one for file in files for one in file.cases]
    problems = [problem for one in every for problem in one.problems]
    for line in dict.fromkeys(line for file in files for line in file.untested):
        say(line)
    if output is not ProblemFormat.TEXT:
        show_to_program(output, problems, _json(files, problems))
    else:
        for problem in problems:
            result(str(problem))
    failed, number = sum(not one.passed for one in every), len(every)
    if failed:
        raise DifferencesFound(f"{failed} of {counted(number, 'case')} failed")
    if output is ProblemFormat.TEXT:
        result(f"{counted(number, 'case')} passed")


def _json(files: Sequence[_TestedFile], problems: Sequence[Problem]) -> dict[str, object]:
    told = [
        {
            "file": one.path,
            "seconds": round(one.took_s, 3),
            "untested": one.untested,
            "cases": [
                {"name": case.name, "passed": case.passed, "came": case.came} for case in one.cases
            ],
        }
        for one in files
    ]
    return {"schema": 1, "kind": "test", "files": told, "problems": problems}


def _record(
    tests: Sequence[Path],
    log: Path,
    given: Path | None,
    junit: Path | None,
    site: Templates | None,
    by_input: str | None,
) -> None:
    """Write a file of cases from sample lines."""
    if len(tests) != 1 or junit is not None:
        raise BadUsage("--record writes one file of cases, and tests nothing: remove the others")
    (path,) = tests
    if path.exists() or path.is_symlink():
        raise Refused(f"{path} exists: name another file, or move it")
    require_writable(path)
    lines = _lines(log)
    subject_path = given or LOCAL
    subject = subject_of(subject_path, site)
    way = _way(by_input, subject.surface)
    with working(f"recording what becomes of {counted(len(lines), 'line')}"):
        sent = [Sent(way, line.encode()) for line in lines for _ in range(2)]
        came = run(subject.block, sent, TIME_ZONE)
    key = "conf" if subject_path.suffix == CONFIGURATION else "profile"
    beside = os.path.relpath(subject_path, path.parent)
    about = {key: str(subject_path) if subject_path.is_absolute() else beside}
    write_whole(path, recorded(about, lines, came, datetime.now(UTC), by_input and way))
    for line in _untested(subject):
        say(line)
    result(f"{path}: {counted(len(lines), 'case')}, by {way}: read what was recorded, then keep it")


def _way(name: str | None, surface: Surface) -> str:
    """The input that is recorded; raises BadUsage where none or several are called so."""
    found = inputs_called(name, surface)
    if len(found) == 1:
        return found[0]
    known = ", ".join(found or surface.inputs)
    raise BadUsage(f"--input {name}: name one of {known}")


def _lines(log: Path) -> list[str]:
    """The lines of a sample that say something; raises JobFailed and BadUsage."""
    try:
        text = content(log).decode()
    except OSError as error:
        raise unreadable(log, error) from None
    except UnicodeDecodeError:
        raise JobFailed(f"{log} is no text in UTF-8, as a file of cases is") from None
    lines = [line for line in text.split("\n") if line.strip()]
    if not 1 <= len(lines) <= _MOST_LINES:
        raise BadUsage(f"{log} has {len(lines)} lines: record 1 to {_MOST_LINES}")
    return lines
