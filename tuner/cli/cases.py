"""`rsyslog-tune test`: sends the messages of test cases through a real rsyslogd and compares what
arrives with what they expect; `--record` writes such cases, `--junit` results for a CI server."""

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
from tuner.cli.console import ProblemFormat, print_problems, result, say, working
from tuner.cli.options import LOCAL
from tuner.cli.profiles import CONFIGURATION, read_profile, templates_of
from tuner.cli.usage.profiles import TestArguments
from tuner.errors import BadProfile, BadUsage, DifferencesFound, JobFailed, Problem
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
from tuner.writing import require_new, require_writable, write_whole

_MOST_LINES = 500
_RENDERED = "rendered rsyslog.conf"


@dataclass(frozen=True)
class Subject:
    """The configuration under test, with the inputs and outputs that cases can name."""

    base: Base
    surface: Surface


@dataclass(frozen=True)
class _TestedFile:
    """The judged cases of a file, the parts that cannot be tested, and how long it took."""

    path: str
    cases: tuple[JudgedCase, ...]
    untested: tuple[str, ...]
    took_s: float


def run_cases(options: TestArguments) -> None:
    """Carry out `rsyslog-tune test`."""
    if options.profile is not None and options.conf is not None:
        raise BadUsage("--profile and --conf cannot be combined")
    profile, site = options.profile or options.conf, templates_of(options.templates)
    junit, output = options.junit, options.output
    if options.record is not None:
        _record(options, options.record, profile, site)
        return
    if options.by_input is not None:
        raise BadUsage("--input goes with --record: a case names its input itself")
    if junit is not None:
        require_writable(junit)
    prepared, problems = [], list[Problem]()
    for path in options.tests:
        try:
            prepared.append(_prepared(path, profile, site))
        except BadProfile as bad:
            problems += bad.problems
    if problems:
        error = BadProfile(tuple(dict.fromkeys(problems)))
        if output is not ProblemFormat.TEXT:
            print_problems(output, error.problems, _json((), error.problems))
        raise error
    files = [_tested(*cases) for cases in prepared]
    if junit is not None:
        write_whole(junit, junit_xml([(file.path, file.cases, file.took_s) for file in files]))
    _show(files, output)


def _prepared(
    file: Path, profile: Path | None, site: Templates | None
) -> tuple[LoadedCases, Subject, tuple[Sent, ...]]:
    """The cases of a file, the configuration under test (that of `profile` if given, else the one
    the file names), and the messages to send; raises BadProfile and JobFailed."""
    loaded = load_cases(file)
    name = loaded.cases.profile or loaded.cases.conf
    subject = subject_of(profile or (LOCAL if name is None else loaded.beside(name)), site)
    return loaded, subject, messages(loaded, subject.surface)


def subject_of(path: Path, site: Templates | None) -> Subject:
    """The configuration that a profile renders, or the user's own with the changes that a profile
    makes in it; raises BadProfile and JobFailed."""
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
        arrived = run(subject.base, sent, loaded.cases.timezone)
    took_s = time.monotonic() - began_s
    return _TestedFile(name, judged(loaded, arrived), _untested(subject), took_s)


def _untested(subject: Subject) -> tuple[str, ...]:
    """A line for each part of the configuration that cases cannot test."""
    return tuple(f"{gap.origin}: not tested: {gap.message}" for gap in subject.surface.gaps)


def _show(files: Sequence[_TestedFile], output: ProblemFormat) -> None:
    """Print the results; raises DifferencesFound if a case failed."""
    cases = [case for file in files for case in file.cases]
    problems = [problem for case in cases for problem in case.problems]
    for line in dict.fromkeys(line for file in files for line in file.untested):
        say(line)
    if output is not ProblemFormat.TEXT:
        print_problems(output, problems, _json(files, problems))
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


def _record(
    options: TestArguments, log: Path, profile: Path | None, site: Templates | None
) -> None:
    """Write a file of cases that expect of each line of `log` what rsyslogd makes of it now."""
    if len(options.tests) != 1 or options.junit is not None:
        raise BadUsage("--record writes one file of cases, and tests nothing: remove the others")
    (path,) = options.tests
    require_new(path)
    require_writable(path)
    lines = _lines(log)
    profile = profile or LOCAL
    subject = subject_of(profile, site)
    input_name = _input(options.by_input, subject.surface)
    with working(f"recording what becomes of {counted(len(lines), 'line')}"):
        sent = [Sent(input_name, line.encode()) for line in lines for _ in range(2)]
        arrived = run(subject.base, sent, TIME_ZONE)
    kind = "conf" if profile.suffix == CONFIGURATION else "profile"
    header = {kind: seen_from(path, profile)}
    chosen_input = None if options.by_input is None else input_name
    write_whole(path, recorded(header, lines, arrived, datetime.now(UTC), chosen_input))
    for line in _untested(subject):
        say(line)
    number = counted(len(lines), "case")
    result(f"{path}: {number}, by {input_name}: read what was recorded, then keep it")


def seen_from(path: Path, source: Path) -> str:
    """How a file of cases at `path` names what it tests: relative to it, unless absolute."""
    return str(source) if source.is_absolute() else os.path.relpath(source, path.parent)


def _input(name: str | None, surface: Surface) -> str:
    """The input to which the lines are sent; raises BadUsage if none or several match `name`."""
    inputs = inputs_called(name, surface)
    if len(inputs) == 1:
        return inputs[0]
    raise BadUsage(f"--input {name}: name one of {', '.join(inputs or surface.inputs)}")


def _lines(log: Path) -> list[str]:
    """The lines of a sample that are not blank; raises JobFailed and BadUsage."""
    try:
        text = required_content(log).decode()
    except UnicodeDecodeError:
        raise JobFailed(f"{log} is no text in UTF-8, as a file of cases is") from None
    lines = [line for line in text.split("\n") if line.strip()]
    if not 1 <= len(lines) <= _MOST_LINES:
        raise BadUsage(f"{log} has {len(lines)} lines: record 1 to {_MOST_LINES}")
    return lines


def junit_xml(files: Iterable[tuple[str, Sequence[JudgedCase], float]]) -> str:
    """The results as JUnit XML, from each file's name, cases and duration."""
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
    """Replace unprintable characters by `?`: XML allows no control characters or surrogates."""
    return "".join(
        character if character.isprintable() or character in "\n\t" else "?" for character in text
    )
