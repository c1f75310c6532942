"""Problems as programs read them: JSON, and the annotations of merge requests."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

from tuner.cli.console import result, result_json
from tuner.errors import Problem, Severity


class ProblemFormat(Enum):
    """How the problems and the layers are written."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    GITLAB = "gitlab"


def show_to_program(output: ProblemFormat, problems: Sequence[Problem], data: object) -> None:
    """Print problems as annotations, or all `data` as JSON."""
    if output is ProblemFormat.GITLAB:
        result_json(list(gitlab(problems)))
    elif output is ProblemFormat.JSON:
        result_json(data)
    elif problems:
        result(github(problems))


# https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions, with the
# escapes of actions/toolkit, packages/core/src/command.ts: the message first, then properties too.
_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = _MESSAGE | str.maketrans({":": "%3A", ",": "%2C"})


def github(problems: Iterable[Problem]) -> str:
    """A workflow command of GitHub Actions for each problem, one a line."""
    lines = []
    for one in problems:
        place = {"file": one.file, "line": one.line, "col": one.column, "title": one.code}
        named = (f"{name}={str(value).translate(_PROPERTY)}" for name, value in place.items())
        text = one.message.translate(_MESSAGE)
        lines.append(f"::{one.severity.value} {','.join(named)}::{text}")
    return "\n".join(lines)


# https://docs.gitlab.com/ci/testing/code_quality/: info, minor, major, critical or blocker.
_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor"}


def gitlab(problems: Iterable[Problem]) -> Iterator[dict[str, object]]:
    """The entries of a code quality report of GitLab.  A fingerprint stays when its problem moves
    in its file; those that say the same are told apart by their number."""
    before: Counter[tuple[str, str, str]] = Counter()
    for one in problems:
        what = (one.file, one.code, one.message)
        text = "\0".join((*what, str(before[what])))
        before[what] += 1
        yield {
            "description": one.message,
            "check_name": one.code,
            "fingerprint": hashlib.sha256(text.encode()).hexdigest()[:32],
            "severity": _SEVERITIES[one.severity],
            "location": {"path": one.file, "lines": {"begin": one.line}},
        }
