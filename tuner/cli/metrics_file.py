"""The file that `--metrics-file` names: what a run has come to, for node_exporter's textfile
collector, never half written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli.console import say
from tuner.errors import JobFailed

if TYPE_CHECKING:
    from tuner.report.gauges import Gauges

MetricsFileOption = Annotated[
    Path | None,
    typer.Option(
        "--metrics-file",
        metavar="FILE.prom",
        dir_okay=False,
        help="Keep metrics of the run in this file, in Prometheus' text format, for the textfile "
        "collector of node_exporter.",
        show_default=False,
    ),
]


class MetricsFile:
    """Writes its gauges at each update; without a path it only keeps them."""

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
        except OSError as error:
            if self._is_well:
                say(f"cannot write the metrics file {self._path}: {error.strerror}; continuing")
            self._is_well = False

    def write(self) -> None:
        """Put the file in place as a whole, readable for everyone whatever the umask."""
        if self._path is None:
            return
        # Its library takes a while to import, and few ask for it.
        from tuner.report.metrics import metrics_text

        beside = self._path.with_name(f".{self._path.name}.new")
        try:
            beside.write_text(metrics_text(self.gauges), encoding="utf-8")
            beside.chmod(0o644)
            beside.replace(self._path)
        except OSError:
            beside.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def running_metrics(path: Path | None, gauges: Gauges) -> Iterator[MetricsFile]:
    """The metrics of a run, from now to its end, however that comes; raises JobFailed when the
    file cannot be written at the start."""
    metrics = MetricsFile(path, gauges)
    try:
        metrics.write()
    except OSError as error:
        raise JobFailed(f"cannot write the metrics file {path}: {error.strerror}") from None
    try:
        yield metrics
    finally:
        metrics.update(replace(metrics.gauges, is_running=False))
