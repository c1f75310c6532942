"""A profile from a file or from text: read, validated, linted; all problems come at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from tuner.errors import BadProfile, KeyPath, Problem, Severity
from tuner.lint.lint import LATER_CODES, Finding, lint, warnings_of
from tuner.profile.edit import snippet_paths
from tuner.profile.layers import BASE, layered, layers_below
from tuner.profile.model import Profile
from tuner.profile.source import (
    MAX_BYTES,
    TOO_MUCH,
    UNREADABLE,
    Position,
    Source,
    at,
    problem_at,
    read,
)
from tuner.profile.wording import problems_of
from tuner.reading import content, why
from tuner.script.native_yaml import is_native, yaml_advice
from tuner.script.secrets import recordable

if TYPE_CHECKING:
    from tuner.script.configuration import Configuration

STDIN = Path("-")
RecordedFiles = Sequence[tuple[str, str]] | None
"""The files of a base and a sample as they were recorded; None for those of this machine."""

NOT_NEEDED = "RT023"
_REPAIRS = "rsyslog-tune validate --fix writes that"
_START = Position(1, 1)
# What a profile says beside its base.
_OWN = frozenset({("search",), ("workload",)})


@dataclass(frozen=True)
class Draft:
    """A profile that follows the schema, and that lint may still refuse.

    `leaf` is the file named; `below` holds the layers that it extends, nearest first, and `source`
    what all of them say together.
    """

    profile: Profile
    leaf: Source
    below: tuple[Source, ...]
    source: Source

    @property
    def text(self) -> str:
        """The text of the file named."""
        return self.leaf.text

    @property
    def path(self) -> Path:
        """The file named."""
        return Path(self.leaf.name)

    @property
    def data(self) -> object:
        """The profile as plain data, only what is written, for paths.get and edit."""
        return self.source.data

    def position(self, path: KeyPath) -> Position:
        """Where `path` stands in the file; its section, if it is not written."""
        return self.source.position(path)

    @property
    def layers(self) -> tuple[tuple[str, str], ...]:
        """The name and text of each layer below, nearest first, to be parsed again later."""
        return tuple((layer.name, layer.text) for layer in self.below)


@dataclass(frozen=True)
class LoadedProfile(Draft):
    """A valid profile with the text it came from; `warnings` are lint's, in file order, but for
    those that it has `accepted`."""

    warnings: tuple[Problem, ...] = ()
    accepted: tuple[Problem, ...] = ()

    @property
    def beside(self) -> tuple[tuple[str, str], ...] | None:
        """The files of the base without changes, as in a `SourceFile`, its index template and
        the sample, by their whole paths, to be read again later from any folder; None without."""
        base, learnt = self.profile.base, self.profile.workload.learnt
        files = [] if base is None else [*base.kept.sources.items()]
        files += [] if learnt is None else [(learnt.path, learnt.text)]
        return tuple(files) or None

    @property
    def beside_without_secrets(self) -> tuple[tuple[str, str], ...] | None:
        """Those files as everybody may read them, to be given to `with_secrets`."""
        base = self.profile.base
        files_of_base = {} if base is None else base.kept.sources
        return self.beside and tuple(
            (path, recordable(text) if path in files_of_base else text)
            for path, text in self.beside
        )

    def with_text(self, text: str) -> LoadedProfile:
        """The profile with another text of its own on the same layers and base; raises
        BadProfile."""
        return _linted(_draft(read(text, self.leaf.name), self.below, self.beside))


def with_secrets(
    recorded: Sequence[tuple[str, str]], recordable: Callable[[str], str]
) -> list[tuple[str, str]]:
    """Each file as it is on this machine, where it says what was recorded but for what is not
    `recordable`."""
    return [(path, _with_secrets(path, text, recordable)) for path, text in recorded]


def _with_secrets(path: str, recorded: str, recordable: Callable[[str], str]) -> str:
    # What reads a configuration is imported for a profile that stands on one.
    from tuner.script.tokens import SURROGATES

    try:
        text = content(path).decode("utf-8", SURROGATES)
    except OSError:
        return recorded
    return text if recordable(text) == recorded else recorded


def load_profile(path: Path) -> LoadedProfile:
    """The profile in the file at `path`; raises BadProfile with every problem found."""
    return parse_profile(text_of(path), str(path))


def draft_of(path: Path) -> Draft:
    """The profile in the file at `path`, whatever lint says of it; raises BadProfile with every
    problem that reading it shows."""
    leaf = read(text_of(path), str(path))
    draft = _draft(leaf, layers_below(leaf, _read_text))
    if draft.source.problems:
        raise BadProfile(draft.source.problems)
    return draft


def text_of(path: Path) -> str:
    """The text of the file at `path`; raises BadProfile when it cannot be read."""
    try:
        return _read_text(path)
    except OSError as bad:
        raise _bad_profile(str(path), f"cannot be read: {why(bad)}") from None


def _read_text(path: Path) -> str:
    """The text of a file, or of stdin for `-`; raises OSError, and BadProfile when it is not
    UTF-8."""
    most = MAX_BYTES + 1
    raw = sys.stdin.buffer.read(most) if path == STDIN else content(path, most)
    if len(raw) > MAX_BYTES:
        message = f"is larger than {MAX_BYTES} bytes: this cannot be a profile"
        raise _bad_profile(str(path), message, code=TOO_MUCH)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as bad:
        before = raw[: bad.start]
        where = Position(before.count(b"\n") + 1, len(before) - before.rfind(b"\n"))
        message = "is not UTF-8 text here: save it as UTF-8"
        raise _bad_profile(str(path), message, where) from None


def snippets_of(loaded: LoadedProfile) -> dict[str, str]:
    """The text of each snippet of a profile by its path as written; raises BadProfile with every
    file that cannot be read.  Paths are relative to the file that writes them."""
    texts, problems = dict[str, str](), list[Problem]()
    for path in snippet_paths(loaded.data):
        name = str(at(loaded.data, path))
        below = Path(loaded.source.file_of(path)).parent / name
        try:
            texts[name] = _read_text(below)
        except OSError as bad:
            where, file = loaded.position(path), loaded.source.file_of(path)
            message = f"the snippet {below} cannot be read: {why(bad)}"
            problems.append(problem_at(file, where, message, UNREADABLE))
    if problems:
        raise BadProfile(tuple(problems))
    return texts


def parse_profile(
    text: str,
    name: str,
    layers: Sequence[tuple[str, str]] | None = None,
    beside: RecordedFiles = None,
    base: Configuration | None = None,
) -> LoadedProfile:
    """The profile in `text`, named `name` in problems; raises BadProfile.

    The layers that it extends are read from their files, unless `layers` gives their names and
    texts, nearest first; so are those of its base and its sample, unless `beside` does, or `base`
    is what was read of the first.
    """
    leaf = read(text, name)
    if layers is None:
        return _linted(_draft(leaf, layers_below(leaf, _read_text), beside, base))
    return _linted(_draft(leaf, tuple(read(text, name) for name, text in layers), beside))


def _draft(
    leaf: Source,
    below: tuple[Source, ...],
    beside: RecordedFiles = None,
    base: Configuration | None = None,
) -> Draft:
    if isinstance(leaf.data, Mapping) and is_native(leaf.data):
        raise _bad_profile(leaf.name, f"{leaf.name} {yaml_advice(leaf.name)}")
    source, kept = layered(leaf, below), None
    if at(source.data, (BASE,)) is not None:
        # What reads a configuration is imported for that alone.
        from tuner.profile.base import with_base

        source, kept = with_base(source, beside, base)
    try:
        profile = Profile.model_validate(source.data, by_alias=True, by_name=False)
    except ValidationError as error:
        # Reading the text reported some of them already.
        reported = {(problem.file, problem.line, problem.column) for problem in source.problems}
        new = tuple(
            problem
            for problem in problems_of(error, source)
            if (problem.file, problem.line, problem.column) not in reported
        )
        raise BadProfile(_in_order(source.problems + new, leaf, below)) from None
    if profile.base is not None and kept is not None:
        profile.base.hold(kept)
    if profile.workload.sample is not None:
        # What reads a log is imported for that alone.
        from tuner.profile.sample import sample_of

        texts = [] if kept is None else [file.text for file in kept.written.files.values()]
        profile.workload.hold(sample_of(source, [source.text, *texts], beside))
    return Draft(profile, leaf, below, source)


def _linted(draft: Draft) -> LoadedProfile:
    profile, leaf, below, source = draft.profile, draft.leaf, draft.below, draft.source
    problems = tuple(
        _problem(finding, source)
        if profile.base is None or finding.path[:1] in _OWN
        # What runs so is no fault of the profile's: rsyslogd takes it.
        else replace(_problem(finding, source), severity=Severity.WARNING)
        for finding in lint(profile)
    )
    errors = tuple(problem for problem in problems if problem.severity is Severity.ERROR)
    if profile.base is not None:
        kept = profile.base.kept
        problems += (*kept.unset, *warnings_of(kept, profile.release))
    if source.problems or errors:
        raise BadProfile(_in_order(source.problems + errors, leaf, below))
    accept = profile.lint.accept
    accepted = tuple(problem for problem in problems if problem.code in accept)
    warnings = [problem for problem in problems if problem.code not in accept]
    warnings += _idle_acceptances(profile, source, {problem.code for problem in accepted})
    in_order = _in_order(warnings, leaf, below)
    return LoadedProfile(profile, leaf, below, source, in_order, accepted)


def _idle_acceptances(profile: Profile, source: Source, warned: Set[str]) -> Iterator[Problem]:
    """The codes that the profile accepts and that warn of nothing; of those of other layers that is
    not known here."""
    idle = [code for code in profile.lint.accept if code not in warned | LATER_CODES]
    if idle:
        path: KeyPath = ("lint", "accept", idle[0])
        verb = "warns" if len(idle) == 1 else "warn"
        message = f"{', '.join(idle)} {verb} of nothing here: remove it from lint.accept"
        where, file = source.key_position(path), source.file_of(path)
        yield Problem(file, where.line, where.column, message, NOT_NEEDED, Severity.WARNING)


def _problem(finding: Finding, source: Source) -> Problem:
    where, file = source.position(finding.path), source.file_of(finding.path)
    is_repairable = finding.cure is not None and finding.severity is Severity.ERROR
    message = f"{finding.message} ({_REPAIRS})" if is_repairable else finding.message
    return Problem(file, where.line, where.column, message, finding.code, finding.severity)


def _bad_profile(
    name: str, message: str, where: Position = _START, code: str = UNREADABLE
) -> BadProfile:
    return BadProfile((problem_at(name, where, message, code),))


def _in_order(
    problems: Iterable[Problem], leaf: Source, below: tuple[Source, ...]
) -> tuple[Problem, ...]:
    """The file named first, then what it stands on; each from top to bottom."""
    files = {layer.name: number for number, layer in enumerate((leaf, *below))}

    def place(problem: Problem) -> tuple[int, str, int, int]:
        number = files.get(problem.file, len(files))
        return number, problem.file, problem.line, problem.column

    return tuple(sorted(problems, key=place))
