"""What runs are compared by: rates, CPU time, space, memory, and how fresh events are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Self


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

    EPS = "eps", "EPS in the steady window", "events/s", True
    EPS_PAID = "eps_paid", "EPS including deferred work", "events/s", True
    EPS_DURABLE = (
        "eps_durable",
        "EPS from the first send to refreshed and flushed",
        "events/s",
        True,
    )
    SHIPPER_CPU = "shipper_cpu_us", "CPU of rsyslogd", "µs/event"
    ENGINE_CPU = "engine_cpu_us", "CPU of the engine", "µs/event"
    FLOOD_CPU = "flood_cpu_us", "CPU of the senders", "µs/event"
    SHIPPER_CORES = "shipper_cores", "cores busy with rsyslogd", "cores"
    ENGINE_CORES = "engine_cores", "cores busy with the engine", "cores"
    STORE = "store_bytes_per_event", "disk space of the engine after merges", "bytes/event"
    MEMORY = "shipper_rss_bytes", "peak memory of rsyslogd", "bytes"
    FILE = "file_bytes_per_event", "disk space of the files", "bytes/event"
    DECOMPRESS_CPU = "decompress_cpu_us", "CPU of decompressing the files", "µs/event"
    FRESHNESS_P50 = "freshness_p50_s", "freshness, p50", "s"
    FRESHNESS_P95 = "freshness_p95_s", "freshness, p95", "s"
    FRESHNESS_P99 = "freshness_p99_s", "freshness, p99", "s"

    about: MetricText

    def __new__(cls, key: str, label: str, unit: str, more_is_better: bool = False) -> Self:
        """A metric by its key, with what to call it."""
        metric = object.__new__(cls)
        metric._value_, metric.about = key, MetricText(label, unit, more_is_better)
        return metric

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
