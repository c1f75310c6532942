"""The files that a command leaves: its results where an option names a file, the metrics of a run
that is under way, and the run directory of a search."""

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
# The page comes last: it takes longest, and the others are there when it is interrupted.
_REPORTS: dict[str, Callable[[StudyResult, Path], str]] = {
    "report.md": lambda result, directory: report_markdown(search_report(result, directory)),
    "report.json": lambda result, _: report_text(result),
    "trials.csv": lambda result, _: trials_csv(result.study),
    "report.html": lambda result, directory: page(search_report(result, directory)),
}


@dataclass(frozen=True)
class Exports:
    """The files that were asked for beside what is printed."""

    json: Path | None
    markdown: Path | None

    def require_writable(self, *inputs: Path) -> None:
        """Raise BadUsage for a file that is named twice or is one of `inputs`, and JobFailed for
        one that cannot be written: before a measurement, not after it."""
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
        """Write the results to those files, then print them, unless a signal was their end, which
        is raised; raises JobFailed."""
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
    """Writes its gauges at each update, whole and readable for everyone; without a path it only
    keeps them."""

    def __init__(self, path: Path | None, gauges: Gauges) -> None:
        self._path = path
        self._is_well = True
        self.gauges = gauges

    def update(self, gauges: Gauges) -> None:
        """Write what is known now.  Where that fails it is reported once, and the measurement
        continues."""
        self.gauges = gauges
        try:
            self.write()
        except JobFailed as error:
            if self._is_well:
                say(f"{error}; continuing")
            self._is_well = False

    def write(self) -> None:
        """Put the file in place; raises JobFailed."""
        if self._path is not None:
            write_whole(self._path, metrics_text(self.gauges), 0o644)


@contextlib.contextmanager
def running_metrics(path: Path | None, gauges: Gauges) -> Iterator[MetricsFile]:
    """The metrics of a run, from now to its end, however that comes; raises JobFailed when the
    file cannot be written at the start."""
    metrics = MetricsFile(path, gauges)
    metrics.write()
    try:
        yield metrics
    finally:
        metrics.update(replace(metrics.gauges, is_running=False))


@contextlib.contextmanager
def new_run_directory(wanted: Path | None, name: str) -> Iterator[Path]:
    """An empty folder that is ours alone: the one wanted, else `rsyslog-tune-runs/NAME-DATE-TIME`.
    What the lab of a search that was killed left in it is removed first.

    It is gone afterwards when nothing was written.  Raises JobFailed, BadUsage or Locked.
    """
    directory = wanted or PARENT / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with writing_to(directory, "a search"):
            if not _holds_no_run(directory):
                remove_abandoned()
            if not _holds_no_run(directory):
                raise BadUsage(f"{directory} is not empty: name a new folder with --run-dir")
            yield directory
    finally:
        with contextlib.suppress(OSError):
            directory.rmdir()
            if wanted is None:
                directory.parent.rmdir()  # only when it holds no other run


@contextlib.contextmanager
def writing_to(directory: Path, writer: str) -> Iterator[None]:
    """Be the only `writer`, such as a search, to a run directory; raises Locked naming who is."""
    if not directory.is_dir():
        raise JobFailed(f"there is no run directory {directory}")
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(
                holding(directory / _LOCK, writer, f"another run is writing to {directory}")
            )
        except OSError as error:
            reason = error.strerror
            raise JobFailed(f"cannot write to the run directory {directory}: {reason}") from None
        yield


def require_begun(directory: Path) -> None:
    """Raise JobFailed for a folder without a journal, such as that of a search that was killed
    before it began to measure; what the lab of that left there is removed."""
    if not (directory / JOURNAL).exists():
        remove_abandoned()
    if _holds_no_run(directory):
        raise JobFailed(
            f"{directory} holds no {JOURNAL}: it is not a run directory, or its search was ended "
            "before it began to measure; then start it again with the same command, into the same "
            "--run-dir"
        )


def recorded_or_set_aside(directory: Path) -> Record:
    """What the journal of a run directory holds.  One that is damaged gets another name, so that
    nothing goes on from it; raises JobFailed, which says where it is."""
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


def _holds_no_run(directory: Path) -> bool:
    return directory.is_dir() and all(path.name == _LOCK for path in directory.iterdir())


def keep_snippets(directory: Path, written: LoadedProfile) -> None:
    """Write the snippets of a profile beside its best.yaml to be, which names them alike; those
    outside of its own folder stay where they are.  Raises BadProfile and JobFailed."""
    texts, leaf = snippets_of(written), read(written.text, str(written.path))
    names = (str(at(leaf.data, path)) for path in snippet_paths(leaf.data))
    for name in names:
        if not is_outside(name):
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            is_private = hidden(texts[name]) != texts[name]
            write_whole(directory / name, texts[name], 0o600 if is_private else None)


def write_results(directory: Path, written: LoadedProfile, study: Study) -> None:
    """Write best.yaml, its rendered files and the reports, each as far as that can be done; raises
    JobFailed, which says what could not.

    An `extends` of best.yaml names the same file as before, seen from the run directory; what is
    rendered is what `render best.yaml` gives.
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
            there = parse_profile(text, str(path), best.layers, best.beside)
            _require_secrets(there)
            rendered = render(there.profile, form=Form(snippets_of(there)))
            Tree(rendered, directory / "rendered").write()
        except (BadProfile, Refused) as bad:
            raise JobFailed(f"best.yaml is not rendered: {bad}") from None

    write_reports(directory, result, write_best)


def _require_secrets(loaded: LoadedProfile) -> None:
    """Raise JobFailed where files of the base are known from a journal alone, without secrets."""
    base = loaded.profile.base
    for path, text in () if base is None else base.kept.sources.items():
        if LEFT_OUT in text:
            raise JobFailed(
                f"best.yaml is not rendered: {path} has changed since the search began, or is "
                "gone, and no secret of it is kept: see what best.yaml changes"
            )


def write_reports(directory: Path, result: StudyResult, *before: Callable[[], None]) -> None:
    """Write everything that people and programs read of a study, after what comes before, each as
    far as that can be done; raises JobFailed, which says what could not."""

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
