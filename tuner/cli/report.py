"""`rsyslog-tune report`: make the reports of a run again, from its journal alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.console import OutputFormat, result, result_json, say
from tuner.cli.files import write_reports, writing_to
from tuner.cli.options import OutputOption
from tuner.errors import JobFailed, Locked
from tuner.report.markdown import report_markdown
from tuner.report.result import analyse
from tuner.report.search_report import report_json, search_report
from tuner.search.journal import read


def report(
    run_directory: Annotated[Path, typer.Argument(help="A run directory that a search wrote.")],
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Rewrite the report of a search from its journal, and print it as Markdown.

    Writes report.html, report.md, report.json and trials.csv beside the journal, unless a search
    is still writing there or the folder cannot be written to.
    """
    analysed = analyse(read(run_directory))
    if output is OutputFormat.JSON:
        result_json(report_json(analysed))
    else:
        result(report_markdown(search_report(analysed, run_directory)))
    try:
        with writing_to(run_directory):
            write_reports(run_directory, analysed)
    except (JobFailed, Locked) as why:
        say(f"printed only: {why}")
    else:
        say(f"report: {run_directory / 'report.html'}")
