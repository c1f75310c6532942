"""`rsyslog-tune validate`: is this profile right?  Layer by layer, each named."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from tuner.cli.console import result, result_json
from tuner.cli.options import Output, OutputOption, ProfilePath
from tuner.errors import BadProfile, JobFailed, LintWarnings, Problem
from tuner.profile.load import LoadedProfile, load_profile
from tuner.validate.layers import Layer, layers


def validate(
    profile: ProfilePath,
    offline: Annotated[
        bool, typer.Option("--offline", help="Stop before the layers that start a daemon.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 3 when there are warnings.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Check a profile: schema, lint, then `rsyslogd -N1` on the whole rendered configuration."""
    try:
        loaded = load_profile(profile)
    except BadProfile as bad:
        if output is Output.JSON:
            problems = [_problem(problem) for problem in bad.problems]
            result_json({"schema": 1, "kind": "validate", "layers": [], "problems": problems})
        raise
    found = layers(loaded, offline)
    _show(loaded, found, output)
    rejected = [layer for layer in found if layer.passed is False]
    if rejected:
        raise JobFailed(f"{profile}: rejected by {rejected[0].name}")
    if strict and loaded.warnings:
        raise LintWarnings(f"{profile}: {len(loaded.warnings)} warnings")


def _show(loaded: LoadedProfile, found: tuple[Layer, ...], output: Output) -> None:
    if output is Output.JSON:
        problems = [_problem(warning) for warning in loaded.warnings]
        shown = [asdict(layer) for layer in found]
        result_json({"schema": 1, "kind": "validate", "layers": shown, "problems": problems})
        return
    lines = [str(warning) for warning in loaded.warnings]
    for layer in found:
        word = {True: "ok", False: "REJECTED", None: "not run"}[layer.passed]
        lines.append(f"{layer.name:<14} {word}{': ' + layer.remark if layer.remark else ''}")
    result("\n".join(lines))


def _problem(problem: Problem) -> dict[str, object]:
    return asdict(problem) | {"severity": problem.severity.value}
