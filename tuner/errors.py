"""What can go wrong, and the exit code of each.

TuneError
|- JobFailed           1   the job failed, for the reason in the message
|  |- NotReadable      78   a file that was named cannot be read
|  `- NotListening      4   nothing takes a connection at the target of a flood
|- DifferencesFound    2   render --check: the files on disk are stale
|- LintWarnings        3   warnings under --strict
|- Unreachable         4   a target does not answer
|- Refused             5   a safety check refused
|- GuardrailBreached   6   a guardrail breached, or delivery incomplete
|- NoImprovement       7   no improvement shown, under --require-gain
|- BelowTheBar         7   shown to be worse than compare --fail-below allows
|- BadUsage           64   wrong arguments, or a budget too small for the job
|- ProgramMissing     69   a program or package is not installed
|- Locked             75   another run holds the lock
|- BadProfile         78   the profile is wrong; carries every problem found
`- BadTemplate        78   a site's own template is wrong

Interrupted      130/143   stopped by a signal; everything was restored
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

# A setting of a profile, as the keys and list numbers that lead to it.
KeyPath = tuple[str | int, ...]


class TuneError(Exception):
    """Any failure a user can act on; the message is the whole sentence shown."""

    exit_code = 1


class JobFailed(TuneError):
    """The job could not be done."""


class NotReadable(JobFailed):
    """A file that the user named cannot be read."""

    exit_code = 78


class NotListening(JobFailed):
    """Nothing takes a connection at the target of a flood."""

    exit_code = 4


class DifferencesFound(TuneError):
    """What was compared differs."""

    exit_code = 2


class LintWarnings(TuneError):
    """The profile has warnings, and --strict forbids them."""

    exit_code = 3


class Unreachable(TuneError):
    """A target does not answer."""

    exit_code = 4


class Refused(TuneError):
    """A guard refused, before anything was touched or, for noise, before a candidate ran."""

    exit_code = 5


class GuardrailBreached(TuneError):
    """A guardrail was breached, or events were lost or doubled."""

    exit_code = 6


class NoImprovement(TuneError):
    """The search found nothing that is shown to be better."""

    exit_code = 7


class BelowTheBar(TuneError):
    """What was compared is shown to be worse than it may be."""

    exit_code = 7


class BadUsage(TuneError):
    """The command line asks for something impossible."""

    exit_code = 64


class ProgramMissing(TuneError):
    """A program or package is missing; the message names the one to install."""

    exit_code = 69


# What is installed only for who asks for it: the libraries of each extra.
EXTRAS = {
    "search": ("matplotlib", "scipy", "zstandard"),
    "cluster": ("cryptography", "dask", "distributed"),
}


def library_missing(library: str, asked: str) -> ProgramMissing | None:
    """What to install where `asked` needs a library that is not there; None for one that always
    is."""
    for extra, libraries in EXTRAS.items():
        if library in libraries:
            *names, last = libraries
            return ProgramMissing(
                f"{asked} needs {', '.join(names)} and {last}: run pip install '.[{extra}]' in a "
                "checkout of rsyslog-tune"
            )
    return None


class Locked(TuneError):
    """Another run holds what we need; the message names it."""

    exit_code = 75


class Interrupted(BaseException):
    """A signal stopped the command: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP.

    Like KeyboardInterrupt it is no Exception: libraries that expect any in what they call, as
    Jinja and pydantic do, must not take it for one of theirs.
    """

    def __init__(self, signal_number: int) -> None:
        super().__init__("interrupted" if signal_number == 2 else "terminated")
        self.exit_code = 128 + signal_number


def of_the_system(error: OSError) -> JobFailed:
    """What the operating system refused, in words for the user."""
    where = f" {error.filename}" if error.filename else ""
    return JobFailed(f"cannot read or write{where}: {error.strerror}")


class Severity(Enum):
    """How much a problem matters."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a profile: where (1-based), what, and what to do about it."""

    file: str
    line: int
    column: int
    message: str
    code: str
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}"
        return f"{where}: {self.severity.value}: {self.message} [{self.code}]"


class BadProfile(TuneError):
    """The profile is wrong; `problems` holds every problem found, in the order of the file."""

    exit_code = 78

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class BadTemplate(TuneError):
    """A template of --templates is wrong; the message names file and line."""

    exit_code = 78
