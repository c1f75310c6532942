"""What one layer of validation says."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.errors import KeyPath, Problem, Severity
from tuner.lint.load import LoadedProfile


@dataclass(frozen=True)
class Layer:
    """One layer: whether it passed (None: it did not run), and a remark.

    `problems` are what it found in the profile, `notes` what a reader should know besides.
    """

    name: str
    passed: bool | None
    remark: str = ""
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems for which it did not pass."""
        return tuple(one for one in self.problems if one.severity is Severity.ERROR)


def problem(
    loaded: LoadedProfile,
    path: KeyPath,
    message: str,
    code: str,
    severity: Severity = Severity.ERROR,
) -> Problem:
    """A problem where the profile writes the value at `path`, or its section."""
    where, file = loaded.position(path), loaded.source.file_of(path)
    return Problem(file, where.line, where.column, message, code, severity)
