"""`rsyslog-tune report`: make the reports of a run again, from its journal alone."""

from __future__ import annotations

from tuner.cli.console import OutputFormat, result, result_json, say
from tuner.cli.files import write_reports, writing_to
from tuner.cli.usage.measuring import ReportArguments
from tuner.errors import JobFailed, Locked
from tuner.report.markdown import report_markdown
from tuner.report.result import analyse
from tuner.report.search_report import report_json, search_report
from tuner.search.journal import read


def report(options: ReportArguments) -> None:
    """Carry out `rsyslog-tune report`."""
    run_directory = options.run_directory
    analysed = analyse(read(run_directory))
    if options.output is OutputFormat.JSON:
        result_json(report_json(analysed))
    else:
        result(report_markdown(search_report(analysed, run_directory)))
    try:
        with writing_to(run_directory, "a report"):
            write_reports(run_directory, analysed)
    except (JobFailed, Locked) as why:
        say(f"printed only: {why}")
    else:
        say(f"report: {run_directory / 'report.html'}")
