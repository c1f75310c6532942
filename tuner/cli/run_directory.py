"""The folder that a search writes its results to, and that it is resumed from."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from tuner.cli.exports import write_whole
from tuner.errors import BadUsage, JobFailed
from tuner.host.lock import holding
from tuner.lint.candidate import candidate
from tuner.lint.load import LoadedProfile
from tuner.profile.edit.leaf import moved
from tuner.profile.source import read
from tuner.render.artefacts import render
from tuner.render.tree import write
from tuner.report.markdown import report_markdown
from tuner.report.page import page
from tuner.report.result import StudyResult, analyse
from tuner.report.search_files import report_text, trials_csv
from tuner.report.search_report import search_report
from tuner.search.study import Study

PARENT = Path("rsyslog-tune-runs")

_LOCK = ".lock"
_REPORTS: dict[str, Callable[[StudyResult], str]] = {
    "report.md": lambda result: report_markdown(search_report(result)),
    "report.json": report_text,
    "trials.csv": lambda result: trials_csv(result.study),
    "report.html": lambda result: page(search_report(result)),
}


@contextlib.contextmanager
def new_run_directory(wanted: Path | None, name: str) -> Iterator[Path]:
    """An empty folder that is ours alone: the one wanted, else `rsyslog-tune-runs/NAME-DATE-TIME`.

    It is gone afterwards when nothing was written.  Raises JobFailed, BadUsage or Locked.
    """
    directory = wanted or PARENT / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with writing_to(directory):
            if any(path.name != _LOCK for path in directory.iterdir()):
                raise BadUsage(f"{directory} is not empty: name a new folder with --run-dir")
            yield directory
    finally:
        with contextlib.suppress(OSError):
            directory.rmdir()
            if wanted is None:
                directory.parent.rmdir()  # only when it holds no other run


@contextlib.contextmanager
def writing_to(directory: Path) -> Iterator[None]:
    """Be the only one that writes to a run directory; raises Locked naming who does."""
    if not directory.is_dir():
        raise JobFailed(f"there is no run directory {directory}")
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(
                holding(directory / _LOCK, "a search", f"another run is writing to {directory}")
            )
        except OSError as error:
            reason = error.strerror
            raise JobFailed(f"cannot write to the run directory {directory}: {reason}") from None
        yield


def write_results(directory: Path, written: LoadedProfile, study: Study) -> None:
    """Write best.yaml, its rendered files and the reports, each as far as that can be done; raises
    JobFailed, which says what could not.

    An `extends` of best.yaml names the same file as before, seen from the run directory.
    """
    if not directory.is_dir():
        raise JobFailed(f"no results were written: {directory} is gone")
    result = analyse(study)
    best = candidate(written, result.verdict.changes)
    leaf = read(best.text, str(best.path))

    def write_best() -> None:
        write_whole(directory / "best.yaml", moved(leaf, directory))
        write(render(best.profile), directory / "rendered")

    _require_done([write_best, *_reports(directory, result)])


def write_reports(directory: Path, result: StudyResult) -> None:
    """Write everything that people and programs read of a study, as `write_results` does."""
    _require_done(_reports(directory, result))


def _reports(directory: Path, result: StudyResult) -> list[Callable[[], None]]:
    """The page comes last: it takes longest, and the others are there when it is interrupted."""

    def write_report(name: str) -> None:
        write_whole(directory / name, _REPORTS[name](result))

    return [partial(write_report, name) for name in _REPORTS]


def _require_done(steps: Sequence[Callable[[], None]]) -> None:
    """Take every step; raises JobFailed when some failed."""
    failures = []
    for step in steps:
        try:
            step()
        except JobFailed as error:
            failures.append(str(error))
    if failures:
        raise JobFailed("; ".join(failures))
