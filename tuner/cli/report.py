"""`rsyslog-tune report`: make the report of a run again, from its journal alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.console import result, result_json
from tuner.cli.options import Output, OutputOption
from tuner.report.search_json import report as search_report
from tuner.report.search_markdown import markdown
from tuner.search.journal import read


def report(
    run_directory: Annotated[
        Path, typer.Argument(help="A run directory that a search wrote.", show_default=False)
    ],
    output: OutputOption = Output.TEXT,
) -> None:
    """Print the report of a search, made again from its journal."""
    study = read(run_directory)
    if output is Output.JSON:
        result_json(search_report(study))
    else:
        result(markdown(study))
