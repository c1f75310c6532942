"""The folder a search writes its results to."""

from __future__ import annotations

import time
from pathlib import Path

from tuner.errors import BadUsage, JobFailed
from tuner.profile.candidate import candidate
from tuner.profile.leaf import moved
from tuner.profile.load import LoadedProfile
from tuner.render.artefacts import render
from tuner.render.tree import write
from tuner.report.search_json import report_text
from tuner.report.search_markdown import markdown
from tuner.search.study import Study
from tuner.search.verdict import judge

PARENT = Path("rsyslog-tune-runs")


def default_run_directory(name: str) -> Path:
    """`rsyslog-tune-runs/NAME-DATE-TIME` in the current folder."""
    return PARENT / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"


def make_run_directory(path: Path) -> Path:
    """Create the folder, or take it when it is empty; raises JobFailed or BadUsage."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise BadUsage(f"{path} is not empty: name a new folder with --run-dir")
        probe = path / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise JobFailed(f"cannot write to the run directory {path}: {error.strerror}") from None
    return path


def write_results(directory: Path, written: LoadedProfile, study: Study) -> None:
    """Write best.yaml, its rendered files and both reports.

    An `extends` of best.yaml names the same file as before, seen from the run directory.
    """
    best = candidate(written, judge(study).changes)
    (directory / "best.yaml").write_text(moved(best, directory), encoding="utf-8")
    write(render(best.profile), directory / "rendered")
    (directory / "report.md").write_text(markdown(study), encoding="utf-8")
    (directory / "report.json").write_text(report_text(study), encoding="utf-8")
