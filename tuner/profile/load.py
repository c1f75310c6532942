"""A profile from a file or from text: read, validated, linted; all problems come at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from tuner.errors import BadProfile, Problem, Severity
from tuner.profile.lint import Finding, lint
from tuner.profile.model import Profile
from tuner.profile.source import MAX_BYTES, UNREADABLE, KeyPath, Position, Source, problem_at, read
from tuner.profile.wording import problems_of


@dataclass(frozen=True)
class LoadedProfile:
    """A valid profile with the text it came from; `warnings` are lint's, in file order."""

    profile: Profile
    text: str
    path: Path
    source: Source
    warnings: tuple[Problem, ...] = ()

    @property
    def data(self) -> object:
        """The profile as plain data, only what is written, for paths.get and edit."""
        return self.source.data

    def position(self, path: KeyPath) -> Position:
        """Where `path` stands in the file; its section, if it is not written."""
        return self.source.position(path)


def load_profile(path: Path) -> LoadedProfile:
    """The profile in the file at `path`; raises BadProfile with every problem found."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as bad:
        raise _unreadable(path, f"cannot be read: {bad.strerror or bad}", Position(1, 1)) from None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as bad:
        before = raw[: bad.start]
        where = Position(before.count(b"\n") + 1, len(before) - before.rfind(b"\n"))
        raise _unreadable(path, "is not UTF-8 text here: save it as UTF-8", where) from None
    return parse_profile(text, str(path))


def parse_profile(text: str, name: str) -> LoadedProfile:
    """The profile in `text`, which problems call `name`; raises BadProfile."""
    source = read(text, name)
    try:
        profile = Profile.model_validate(source.data, by_alias=True, by_name=False)
    except ValidationError as error:
        raise BadProfile(_in_order(source.problems + _news(error, source))) from None
    found = tuple(_problem(finding, source) for finding in lint(profile))
    errors = tuple(problem for problem in found if problem.severity is Severity.ERROR)
    if source.problems or errors:
        raise BadProfile(_in_order(source.problems + errors))
    return LoadedProfile(profile, text, Path(name), source, _in_order(found))


def _news(error: ValidationError, source: Source) -> tuple[Problem, ...]:
    """What the schema adds to what reading the text already complained about."""
    known = {(problem.line, problem.column) for problem in source.problems}
    found = problems_of(error, source)
    return tuple(problem for problem in found if (problem.line, problem.column) not in known)


def _problem(finding: Finding, source: Source) -> Problem:
    where = source.position(finding.path)
    return Problem(
        source.name, where.line, where.column, finding.message, finding.code, finding.severity
    )


def _unreadable(path: Path, message: str, where: Position) -> BadProfile:
    return BadProfile((problem_at(str(path), where, message, UNREADABLE),))


def _in_order(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))
