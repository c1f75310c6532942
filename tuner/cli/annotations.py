"""Problems of a profile as the annotations of a merge request; pure."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from tuner.errors import Problem, Severity

Escapes = dict[str, str | int | None]

# https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions, with the
# escapes of actions/toolkit, packages/core/src/command.ts: the message first, then properties too.
_MESSAGE: Escapes = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY: Escapes = _MESSAGE | {":": "%3A", ",": "%2C"}

# https://docs.gitlab.com/ci/testing/code_quality/: info, minor, major, critical or blocker.
_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor"}


def github(problems: Iterable[Problem]) -> str:
    """A workflow command of GitHub Actions for each problem, one a line."""
    return "\n".join(map(_command, problems))


def gitlab(problems: Iterable[Problem]) -> list[dict[str, object]]:
    """A code quality report of GitLab."""
    seen: Counter[tuple[str, str, str]] = Counter()
    return [_entry(problem, seen) for problem in problems]


def _command(problem: Problem) -> str:
    place = {"file": problem.file, "line": problem.line, "col": problem.column}
    properties = ",".join(
        f"{name}={_escaped(str(value), _PROPERTY)}"
        for name, value in (place | {"title": problem.code}).items()
    )
    message = _escaped(problem.message, _MESSAGE)
    return f"::{problem.severity.value} {properties}::{message}"


def _escaped(text: str, escapes: Escapes) -> str:
    return text.translate(str.maketrans(escapes))


def _entry(problem: Problem, seen: Counter[tuple[str, str, str]]) -> dict[str, object]:
    """One problem; its fingerprint stays when it moves in its file, and `seen` tells those apart
    that say the same."""
    said = (problem.file, problem.code, problem.message)
    text = "\0".join((*said, str(seen[said])))
    seen[said] += 1
    return {
        "description": problem.message,
        "check_name": problem.code,
        "fingerprint": hashlib.sha256(text.encode()).hexdigest()[:32],
        "severity": _SEVERITIES[problem.severity],
        "location": {"path": problem.file, "lines": {"begin": problem.line}},
    }
