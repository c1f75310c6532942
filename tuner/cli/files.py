"""The files that commands write: exported results, the metrics of a running search, and the run
directory of a search."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tuner.cli.console import OutputFormat, say
from tuner.cli.layout import print_blocks
from tuner.errors import BadProfile, BadUsage, Interrupted, JobFailed, Refused
from tuner.host.lock import holding
from tuner.lab.scratch import remove_abandoned
from tuner.lint.candidate import candidate
from tuner.lint.load import LoadedProfile, parse_profile, snippets_of
from tuner.profile.edit import is_outside, moved, snippet_paths
from tuner.profile.source import at, read
from tuner.reading import resolved
from tuner.render.artefacts import render
from tuner.render.form import Form
from tuner.render.tree import Tree
from tuner.report.markdown import blocks_markdown, report_markdown
from tuner.report.metrics import Gauges, metrics_text
from tuner.report.page import page
from tuner.report.result import StudyResult, analyse
from tuner.report.search_report import report_text, search_report, trials_csv
from tuner.report.sections import PlainBlock
from tuner.script.secrets import LEFT_OUT, hidden, recordable_profile
from tuner.search.journal import NAME as JOURNAL
from tuner.search.journal import Damaged, recorded, set_aside
from tuner.search.study import Record, Study
from tuner.writing import require_writable, write_whole

PARENT = Path("rsyslog-tune-runs")

_LOCK = ".lock"
# The page comes last: it takes longest, and the others are complete if it is interrupted.
_REPORTS: dict[str, Callable[[StudyResult, Path], str]] = {
    "report.md": lambda result, directory: report_markdown(search_report(result, directory)),
    "report.json": lambda result, _: report_text(result),
    "trials.csv": lambda result, _: trials_csv(result.study),
    "report.html": lambda result, directory: page(search_report(result, directory)),
}


@dataclass(frozen=True)
class Exports:
    """The files that get the results beside stdout; None for a format without a file."""

    json: Path | None
    markdown: Path | None

    def require_writable(self, *inputs: Path) -> None:
        """Raise BadUsage for a file that is named twice or is one of `inputs`, and JobFailed for
        one that cannot be written; call it before the measurement."""
        taken = set(map(resolved, inputs))
        for path in filter(None, (self.json, self.markdown)):
            if resolved(path) in taken:
                raise BadUsage(f"{path} is used twice: name another file to export to")
            taken.add(resolved(path))
            require_writable(path)

    def publish(
        self,
        data: Mapping[str, object],
        blocks: Sequence[PlainBlock],
        output: OutputFormat,
        end: BaseException | None = None,
    ) -> None:
        """Write the results to the files, then print them; if `end` is a signal that interrupted
        the run, print only the names of the files, and raise it.  Raises JobFailed."""
        if self.json is not None:
            write_whole(self.json, json.dumps(data, indent=2) + "\n")
        if self.markdown is not None:
            write_whole(self.markdown, blocks_markdown(blocks))
        if isinstance(end, Interrupted):
            if written := list(filter(None, (self.json, self.markdown))):
                say(f"results so far: {' and '.join(map(str, written))}")
            raise end
        print_blocks(output, data, blocks)


class MetricsFile:
    """Writes its gauges to a file at each update, atomically and readable for everyone; without a
    path it only keeps them."""

    def __init__(self, path: Path | None, gauges: Gauges) -> None:
        self._path = path
        self._has_failed = False
        self.gauges = gauges

    def update(self, gauges: Gauges) -> None:
        """Write new gauges; only the first failure is reported, and the measurement continues."""
        self.gauges = gauges
        try:
            self.write()
        except JobFailed as error:
            if not self._has_failed:
                say(f"{error}; continuing")
            self._has_failed = True

    def write(self) -> None:
        """Write the file; raises JobFailed."""
        if self._path is not None:
            write_whole(self._path, metrics_text(self.gauges), 0o644)


@contextlib.contextmanager
def running_metrics(path: Path | None, gauges: Gauges) -> Iterator[MetricsFile]:
    """The metrics file of a run, which is marked as no longer running however the block ends;
    raises JobFailed if the file cannot be written at the start."""
    metrics = MetricsFile(path, gauges)
    metrics.write()
    try:
        yield metrics
    finally:
        metrics.update(replace(metrics.gauges, is_running=False))


@contextlib.contextmanager
def new_run_directory(chosen: Path | None, name: str) -> Iterator[Path]:
    """An empty folder, locked for us: `chosen`, else `rsyslog-tune-runs/NAME-DATE-TIME`.  What the
    lab of a killed search left in it is removed first.

    It is removed afterwards if nothing was written to it.  Raises JobFailed, BadUsage or Locked.
    """
    directory = chosen or PARENT / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with writing_to(directory, "a search"):
            if not _is_empty(directory):
                remove_abandoned()
            if not _is_empty(directory):
                raise BadUsage(f"{directory} is not empty: name a new folder with --run-dir")
            yield directory
    finally:
        with contextlib.suppress(OSError):
            directory.rmdir()
            if chosen is None:
                directory.parent.rmdir()  # Fails if it holds another run.


@contextlib.contextmanager
def writing_to(directory: Path, writer: str) -> Iterator[None]:
    """Lock a run directory for `writer`, such as "a search"; raises Locked with the name of another
    writer, and JobFailed."""
    if not directory.is_dir():
        raise JobFailed(f"there is no run directory {directory}")
    with contextlib.ExitStack() as locks:
        try:
            locks.enter_context(
                holding(directory / _LOCK, writer, f"another run is writing to {directory}")
            )
        except OSError as error:
            reason = error.strerror
            raise JobFailed(f"cannot write to the run directory {directory}: {reason}") from None
        yield


def require_begun(directory: Path) -> None:
    """Raise JobFailed for an empty folder, such as that of a search that was killed before it began
    to measure; what its lab left there is removed first."""
    if not (directory / JOURNAL).exists():
        remove_abandoned()
    if _is_empty(directory):
        raise JobFailed(
            f"{directory} holds no {JOURNAL}: it is not a run directory, or its search was ended "
            "before it began to measure; then start it again with the same command, into the same "
            "--run-dir"
        )


def recorded_or_set_aside(directory: Path) -> Record:
    """The records of a run directory's journal.  A damaged journal is renamed, so that nothing
    resumes from it, and JobFailed with its new name is raised."""
    try:
        return recorded(directory)
    except Damaged as damaged:
        aside = set_aside(directory)
        intact = damaged.line - 1
        remedy = (
            f". The lines before it are intact: to resume from there, run head -n {intact} {aside} "
            f"> {aside.with_name('trials.jsonl')}"
        )
        raise JobFailed(
            f"{damaged}. The journal was renamed to {aside}{remedy if intact else ''}"
        ) from None


def _is_empty(directory: Path) -> bool:
    return directory.is_dir() and all(path.name == _LOCK for path in directory.iterdir())


def copy_snippets(directory: Path, written: LoadedProfile) -> None:
    """Copy the snippets of a profile into the run directory, where best.yaml will name them by the
    same relative paths; those outside of the profile's folder stay where they are.  Raises
    BadProfile and JobFailed."""
    texts, leaf = snippets_of(written), read(written.text, str(written.path))
    names = (str(at(leaf.data, path)) for path in snippet_paths(leaf.data))
    for name in names:
        if not is_outside(name):
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            is_private = hidden(texts[name]) != texts[name]
            write_whole(directory / name, texts[name], 0o600 if is_private else None)


def write_results(directory: Path, written: LoadedProfile, study: Study) -> None:
    """Write best.yaml, its rendered files and the reports, even if one of them fails; raises
    JobFailed with every failure.

    Paths in best.yaml, such as `extends`, are relative to the run directory; the rendered files are
    those of `render best.yaml`.
    """
    if not directory.is_dir():
        raise JobFailed(f"no results were written: {directory} is gone")
    result = analyse(study)
    best = candidate(written, result.verdict.changes)
    leaf = read(best.text, str(best.path))

    def write_best() -> None:
        path, text = directory / "best.yaml", moved(leaf, directory)
        is_private = recordable_profile(text) != text
        write_whole(path, text, 0o600 if is_private else None)
        try:
            loaded = parse_profile(text, str(path), best.layers, best.beside)
            _require_secrets(loaded)
            rendered = render(loaded.profile, form=Form(snippets_of(loaded)))
            Tree(rendered, directory / "rendered").write()
        except (BadProfile, Refused) as bad:
            raise JobFailed(f"best.yaml is not rendered: {bad}") from None

    write_reports(directory, result, write_best)


def _require_secrets(loaded: LoadedProfile) -> None:
    """Raise JobFailed if a file of the base is known only from a journal, which has no secrets."""
    base = loaded.profile.base
    for path, text in () if base is None else base.kept.sources.items():
        if LEFT_OUT in text:
            raise JobFailed(
                f"best.yaml is not rendered: {path} has changed since the search began, or is "
                "gone, and no secret of it is kept: see what best.yaml changes"
            )


def write_reports(directory: Path, result: StudyResult, *before: Callable[[], None]) -> None:
    """Run the steps `before`, then write all reports of a study, even if one of them fails; raises
    JobFailed with every failure."""

    def write_report(name: str) -> None:
        write_whole(directory / name, _REPORTS[name](result, directory))

    steps = [*before]
    steps += [partial(write_report, name) for name in _REPORTS]
    failures = []
    for step in steps:
        try:
            step()
        except JobFailed as error:
            failures.append(str(error))
    if failures:
        raise JobFailed("; ".join(failures))
