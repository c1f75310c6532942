"""What runs are compared by: rates, CPU time, space, memory, and how fresh events are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True)
class MetricText:
    """A metric for readers: its name, its unit, and whether more of it is better."""

    label: str
    unit: str
    more_is_better: bool = False


class Metric(Enum):
    """One figure of a run, by its key in results for programs and in experiment files.

    Processor time is in microseconds for each event, the engine's including deferred work;
    cores are those that were busy in the mean.
    Bytes in the engine are those of the primaries after their merges, bytes of files those on disk
    once rsyslogd has ended.
    """

    EPS = "eps"
    EPS_PAID = "eps_paid"
    EPS_DURABLE = "eps_durable"
    SHIPPER_CPU = "shipper_cpu_us"
    ENGINE_CPU = "engine_cpu_us"
    FLOOD_CPU = "flood_cpu_us"
    SHIPPER_CORES = "shipper_cores"
    ENGINE_CORES = "engine_cores"
    STORE = "store_bytes_per_event"
    MEMORY = "shipper_rss_bytes"
    FILE = "file_bytes_per_event"
    DECOMPRESS_CPU = "decompress_cpu_us"
    FRESHNESS_P50 = "freshness_p50_s"
    FRESHNESS_P95 = "freshness_p95_s"
    FRESHNESS_P99 = "freshness_p99_s"

    @property
    def about(self) -> MetricText:
        """What to call it."""
        return _ABOUT[self]

    @property
    def is_freshness(self) -> bool:
        """Whether it shows only in traffic at a fixed rate."""
        return self in FRESHNESS

    @property
    def reads_files(self) -> bool:
        """Whether the files that outputs wrote must be read for it."""
        return self in {Metric.FILE, Metric.DECOMPRESS_CPU}

    @property
    def is_size(self) -> bool:
        """Whether it is space on disk, of which a share is saved."""
        return self in {Metric.STORE, Metric.FILE}


FRESHNESS = (Metric.FRESHNESS_P50, Metric.FRESHNESS_P95, Metric.FRESHNESS_P99)
PACED = (
    Metric.EPS, Metric.SHIPPER_CPU, Metric.ENGINE_CPU, Metric.SHIPPER_CORES, Metric.ENGINE_CORES,
    Metric.MEMORY, *FRESHNESS,
)  # fmt: skip
"""What a run for freshness shows; it ends before merges do, and reads no files."""

_ABOUT = {
    Metric.EPS: MetricText("EPS in the steady window", "events/s", more_is_better=True),
    Metric.EPS_PAID: MetricText("EPS including deferred work", "events/s", more_is_better=True),
    Metric.EPS_DURABLE: MetricText(
        "EPS from the first send to refreshed and flushed", "events/s", more_is_better=True
    ),
    Metric.SHIPPER_CPU: MetricText("CPU of rsyslogd", "us/event"),
    Metric.ENGINE_CPU: MetricText("CPU of the engine", "us/event"),
    Metric.FLOOD_CPU: MetricText("CPU of the senders", "us/event"),
    Metric.SHIPPER_CORES: MetricText("cores busy with rsyslogd", "cores"),
    Metric.ENGINE_CORES: MetricText("cores busy with the engine", "cores"),
    Metric.STORE: MetricText("disk space of the engine after merges", "bytes/event"),
    Metric.MEMORY: MetricText("peak memory of rsyslogd", "bytes"),
    Metric.FILE: MetricText("disk space of the files", "bytes/event"),
    Metric.DECOMPRESS_CPU: MetricText("CPU of decompressing the files", "us/event"),
    Metric.FRESHNESS_P50: MetricText("freshness, p50", "s"),
    Metric.FRESHNESS_P95: MetricText("freshness, p95", "s"),
    Metric.FRESHNESS_P99: MetricText("freshness, p99", "s"),
}
