"""`rsyslog-tune render`: a profile as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.console import result, result_json
from tuner.cli.options import Output, OutputOption, ProfilePath
from tuner.cli.profiles import load
from tuner.errors import BadUsage, DifferencesFound
from tuner.render.artefacts import Artefact
from tuner.render.artefacts import render as artefacts_of
from tuner.render.tree import diff as difference
from tuner.render.tree import stale, write


def render(
    profile: ProfilePath,
    directory: Annotated[
        Path | None,
        typer.Option("-o", "--output-dir", help="Where the files go.", show_default=False),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 2 when files are stale.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Write nothing; print what would change, exit with 2.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Render rsyslog.conf, the index template and the node's settings from a profile.

    The same profile always gives the same bytes.  Without -o the files are printed.
    """
    artefacts = artefacts_of(load(profile).profile)
    if directory is None:
        if check or diff:
            raise BadUsage("--check and --diff compare with the files in a folder: name it with -o")
        _print(artefacts, output)
        return
    if check or diff:
        _compare(artefacts, directory, diff, output)
        return
    write(artefacts, directory)
    paths = [str(directory / artefact.path) for artefact in artefacts]
    if output is Output.JSON:
        result_json({"schema": 1, "kind": "render", "files": paths})
    else:
        result("\n".join(paths))


def _print(artefacts: tuple[Artefact, ...], output: Output) -> None:
    if output is Output.JSON:
        files = {artefact.path: artefact.text for artefact in artefacts}
        result_json({"schema": 1, "kind": "render", "text": files})
    else:
        result("\n".join(f"==> {item.path} <==\n{item.text}" for item in artefacts))


def _compare(artefacts: tuple[Artefact, ...], directory: Path, diff: bool, output: Output) -> None:
    old = stale(artefacts, directory)
    if output is Output.JSON:
        result_json({"schema": 1, "kind": "render-check", "stale": list(old)})
    elif diff and old:
        result(difference(artefacts, directory).rstrip())
    if old:
        raise DifferencesFound(f"{len(old)} of {len(artefacts)} files differ: {', '.join(old)}")
