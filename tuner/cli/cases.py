"""`rsyslog-tune test`: what messages become on a real rsyslogd, and whether that is what they must;
with `--record` the cases of that; with `--junit` results for a CI server."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

from tuner.cases.case_file import LoadedCases, inputs_called, load_cases, messages
from tuner.cases.judge import JudgedCase, judged
from tuner.cases.record import TIME_ZONE, recorded
from tuner.cases.run import Sent, Surface, run, surface
from tuner.cli.console import ProblemFormat, result, say, show_to_program, working
from tuner.cli.options import LOCAL
from tuner.cli.profiles import CONFIGURATION, read_profile, templates_of
from tuner.cli.usage.profiles import TestArguments
from tuner.errors import BadProfile, BadUsage, DifferencesFound, JobFailed, Problem, Refused
from tuner.host.programs import rsyslog_version
from tuner.lab.check import require_taken
from tuner.lint.load import snippets_of
from tuner.profile.base import read_text
from tuner.reading import required_content
from tuner.render.artefacts import rsyslog_conf
from tuner.render.form import Form
from tuner.render.templates import Templates
from tuner.schema.numerals import counted
from tuner.script.objects import Base
from tuner.script.parser import parse
from tuner.writing import require_writable, write_whole

_MOST_LINES = 500
_RENDERED = "rendered rsyslog.conf"


@dataclass(frozen=True)
class Subject:
    """What is tested: a configuration, and what cases can name of it."""

    base: Base
    surface: Surface


@dataclass(frozen=True)
class _TestedFile:
    """The cases of a file as they were judged, what is not tested, and the seconds it took."""

    path: str
    cases: tuple[JudgedCase, ...]
    untested: tuple[str, ...]
    took_s: float


def run_cases(options: TestArguments) -> None:
    """Carry out `rsyslog-tune test`."""
    if options.profile is not None and options.conf is not None:
        raise BadUsage("--profile and --conf cannot be combined")
    named, site = options.profile or options.conf, templates_of(options.templates)
    junit, output = options.junit, options.output
    if options.record is not None:
        _record(options, options.record, named, site)
        return
    if options.by_input is not None:
        raise BadUsage("--input goes with --record: a case names its input itself")
    if junit is not None:
        require_writable(junit)
    ready, problems = [], list[Problem]()
    for path in options.tests:
        try:
            ready.append(_ready(path, named, site))
        except BadProfile as bad:
            problems += bad.problems
    if problems:
        wrong = BadProfile(tuple(dict.fromkeys(problems)))
        if output is not ProblemFormat.TEXT:
            show_to_program(output, wrong.problems, _json((), wrong.problems))
        raise wrong
    files = [_tested(*cases) for cases in ready]
    if junit is not None:
        write_whole(junit, junit_xml([(file.path, file.cases, file.took_s) for file in files]))
    _show(files, output)


def _ready(
    file: Path, named: Path | None, site: Templates | None
) -> tuple[LoadedCases, Subject, tuple[Sent, ...]]:
    """The cases of a file, what they are of, and what is sent; raises BadProfile."""
    loaded = load_cases(file)
    name = loaded.cases.profile or loaded.cases.conf
    subject = subject_of(named or (LOCAL if name is None else loaded.beside(name)), site)
    return loaded, subject, messages(loaded, subject.surface)


def subject_of(path: Path, site: Templates | None) -> Subject:
    """The configuration of a profile, or one of the user's own; raises BadProfile and JobFailed."""
    loaded = read_profile(path)
    if loaded.profile.base is not None:
        kept = loaded.profile.base.kept
        require_taken(kept.written, is_copy=bool(kept.root), with_all=True)
        base = kept.changed
    else:
        form = Form(snippets_of(loaded))
        text = rsyslog_conf(loaded.profile, templates=site, form=form)
        _, refused = parse(text, _RENDERED)
        if refused:
            raise JobFailed("; ".join(map(str, refused)))
        base = read_text(_RENDERED, text)
    return Subject(base, surface(base))


def _tested(loaded: LoadedCases, subject: Subject, sent: Sequence[Sent]) -> _TestedFile:
    """Run the cases of a file."""
    name, began_s = loaded.source.name, time.monotonic()
    with working(f"testing {name} on rsyslogd {rsyslog_version()}"):
        came = run(subject.base, sent, loaded.cases.timezone)
    return _TestedFile(name, judged(loaded, came), _untested(subject), time.monotonic() - began_s)


def _untested(subject: Subject) -> tuple[str, ...]:
    """A line for each part that these cases say nothing of."""
    return tuple(f"{gap.origin}: not tested: {gap.message}" for gap in subject.surface.gaps)


def _show(files: Sequence[_TestedFile], output: ProblemFormat) -> None:
    """The results; raises DifferencesFound where a case failed."""
    cases = [case for file in files for case in file.cases]
    problems = [problem for case in cases for problem in case.problems]
    for line in dict.fromkeys(line for file in files for line in file.untested):
        say(line)
    if output is not ProblemFormat.TEXT:
        show_to_program(output, problems, _json(files, problems))
    else:
        for problem in problems:
            result(str(problem))
    failed, number = sum(not case.passed for case in cases), len(cases)
    if failed:
        raise DifferencesFound(f"{failed} of {counted(number, 'case')} failed")
    if output is ProblemFormat.TEXT:
        result(f"{counted(number, 'case')} passed")


def _json(files: Sequence[_TestedFile], problems: Sequence[Problem]) -> dict[str, object]:
    tested = [
        {
            "file": file.path,
            "seconds": round(file.took_s, 3),
            "untested": file.untested,
            "cases": [
                {"name": case.name, "passed": case.passed, "came": case.came} for case in file.cases
            ],
        }
        for file in files
    ]
    return {"schema": 1, "kind": "test", "files": tested, "problems": problems}


def _record(options: TestArguments, log: Path, named: Path | None, site: Templates | None) -> None:
    """Write a file of cases from sample lines."""
    if len(options.tests) != 1 or options.junit is not None:
        raise BadUsage("--record writes one file of cases, and tests nothing: remove the others")
    (path,) = options.tests
    if path.exists() or path.is_symlink():
        raise Refused(f"{path} exists: name another file, or move it")
    require_writable(path)
    lines = _lines(log)
    subject_path = named or LOCAL
    subject = subject_of(subject_path, site)
    by_input = _input(options.by_input, subject.surface)
    with working(f"recording what becomes of {counted(len(lines), 'line')}"):
        sent = [Sent(by_input, line.encode()) for line in lines for _ in range(2)]
        came = run(subject.base, sent, TIME_ZONE)
    key = "conf" if subject_path.suffix == CONFIGURATION else "profile"
    beside = os.path.relpath(subject_path, path.parent)
    about = {key: str(subject_path) if subject_path.is_absolute() else beside}
    named_input = None if options.by_input is None else by_input
    write_whole(path, recorded(about, lines, came, datetime.now(UTC), named_input))
    for line in _untested(subject):
        say(line)
    number = counted(len(lines), "case")
    result(f"{path}: {number}, by {by_input}: read what was recorded, then keep it")


def _input(name: str | None, surface: Surface) -> str:
    """The input that is recorded; raises BadUsage where none or several are called so."""
    inputs = inputs_called(name, surface)
    if len(inputs) == 1:
        return inputs[0]
    raise BadUsage(f"--input {name}: name one of {', '.join(inputs or surface.inputs)}")


def _lines(log: Path) -> list[str]:
    """The lines of a sample that say something; raises JobFailed and BadUsage."""
    try:
        text = required_content(log).decode()
    except UnicodeDecodeError:
        raise JobFailed(f"{log} is no text in UTF-8, as a file of cases is") from None
    lines = [line for line in text.split("\n") if line.strip()]
    if not 1 <= len(lines) <= _MOST_LINES:
        raise BadUsage(f"{log} has {len(lines)} lines: record 1 to {_MOST_LINES}")
    return lines


def junit_xml(files: Iterable[tuple[str, Sequence[JudgedCase], float]]) -> str:
    """The results of files, each with its name and the seconds that it took."""
    root = ElementTree.Element("testsuites")
    for name, cases, took_s in files:
        counts = {"tests": len(cases), "failures": sum(not case.passed for case in cases)}
        attributes = {key: str(value) for key, value in {"name": name, **counts}.items()}
        suite = ElementTree.SubElement(root, "testsuite", {**attributes, "time": f"{took_s:.3f}"})
        for case in cases:
            names = {"classname": _printable(name), "name": _printable(case.name)}
            element = ElementTree.SubElement(suite, "testcase", names)
            if case.problems:
                lines = [_printable(str(problem)) for problem in case.problems]
                failure = ElementTree.SubElement(element, "failure", {"message": lines[0]})
                failure.text = "\n".join(lines)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _printable(text: str) -> str:
    """XML has no control characters, nor halves of characters."""
    return "".join(
        character if character.isprintable() or character in "\n\t" else "?" for character in text
    )
