"""Capacity on paper: what a stream needs, from figures measured, given or assumed; pure."""

from __future__ import annotations

import gzip
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from tuner.engine.bulk_times import BulkLatency
from tuner.errors import JobFailed
from tuner.lint.load import parse_profile
from tuner.measure.measurement import Measurement
from tuner.profile.placement import message_memory_bytes
from tuner.reading import table
from tuner.search.study import BASELINE, Ending, Phase, Study
from tuner.search.verdict import Claim, judge


class Origin(StrEnum):
    """How a figure is known."""

    MEASURED = "measured"
    EXTRAPOLATED = "extrapolated"
    GIVEN = "given"
    ASSUMED = "assumed"


@dataclass(frozen=True)
class Figure:
    """A value, how it is known, and in which run, by which option or for which reason."""

    value: float
    origin: Origin
    why: str


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What a plan follows from.

    Rates are events per second, `peak` is the busiest one as a multiple of `rate`.  CPU is
    microseconds per event, of an engine for one copy of it; `connection_us` is the time for which
    an event keeps a connection to the engine busy.  A data node indexes `node_eps` without
    replicas.  `store_bytes` is what an event needs on disk in a primary shard.
    """

    rate: Figure
    peak: Figure
    message_bytes: Figure
    retention_s: Figure
    replicas: Figure
    outage_s: Figure
    headroom: Figure
    collector_us: Figure
    collector_cores: Figure
    collector_eps: Figure
    node_us: Figure
    node_cores: Figure
    node_eps: Figure
    node_disk_bytes: Figure
    store_bytes: Figure
    bulk_bytes: Figure
    connection_us: Figure
    queue_memory_bytes: Figure
    queue_file_bytes: Figure
    gzip_ratio: Figure
    shard_bytes: Figure
    load_us: Figure | None = None


@dataclass(frozen=True)
class InputText:
    """An input for readers: what it is called and how its value is shown; what it is where nothing
    says it, None where that follows from others, and why."""

    label: str
    shown: str
    assumed: float | None = None
    why: str = ""


@cache
def input_texts() -> Mapping[str, InputText]:
    """Those of plan.toml, by the names of `Inputs` and in the order of a report."""
    return {name: InputText(**row) for name, row in table("plan.toml").items()}


_SHARD_DOCUMENTS = 200_000_000
# 23.44 MiB for 100,000 messages of 244 bytes: ELMA appliance tests, 2012.
_STORE_RATIO = 246 / 244
_BULK_OVERHEAD_BYTES = 270.0
# The properties with their names, as runtime/msg.c (MsgSerialize) writes them, for host names and
# tags of usual length.
_QUEUE_FILE_OVERHEAD_BYTES = 430.0


@dataclass(frozen=True)
class Sample:
    """The user's own log lines: their mean size in bytes without the line end, and how many times
    smaller gzip makes them."""

    name: str
    lines: int
    message_bytes: float
    gzip_ratio: float


def sample_of(text: bytes, name: str) -> Sample | None:
    """The sizes of the lines of `text`, and how well gzip(1) packs them; None without any line."""
    lines = [line for line in text.split(b"\n") if line]
    if not lines:
        return None
    ratio = len(text) / len(gzip.compress(text, 6))  # gzip(1)'s default
    return Sample(name, len(lines), statistics.fmean(map(len, lines)), ratio)


@dataclass(frozen=True)
class Measured:
    """Medians over the runs that `where` names and `what` describes, by the names of `Inputs`;
    those of our sink say nothing of an engine.

    `machines` are the medians of each, where several measured.  `message_bytes` is the mean size of
    the messages, `eps` the rate of the whole pipeline, `doubts` say what to trust less.
    """

    where: str
    what: str
    eps: float
    message_bytes: float | None
    figures: Mapping[str, float]
    machines: Mapping[str, Mapping[str, float]]
    doubts: tuple[str, ...] = ()


def _in_bulk(run: Measurement, value: Callable[[BulkLatency], float | None]) -> float | None:
    """A figure of a bulk request over its events."""
    used = run.effective
    if used is None or used.bulk is None or not used.events_per_bulk:
        return None
    return (value(used.bulk) or 0.0) / used.events_per_bulk or None


_READINGS: Mapping[str, Callable[[Measurement], float | None]] = {
    "collector_us": lambda run: run.shipper_cpu_us or None,
    "load_us": lambda run: run.flood_cpu_us or None,
    "bulk_bytes": lambda run: _in_bulk(run, lambda bulk: bulk.mean_bytes),
    "node_us": lambda run: run.engine_cpu_paid_us / run.copies or None,
    "store_bytes": lambda run: run.store_bytes_per_event if run.store_bytes > 0 else None,
    # The median time of a request, the engine being as busy as it can be.
    "connection_us": lambda run: _in_bulk(run, lambda bulk: bulk.p50_ms * 1000),
}
_ENGINE_READINGS = ("node_us", "store_bytes", "connection_us")


def _medians(runs: Sequence[Measurement], stored: bool) -> dict[str, float]:
    merged = [run for run in runs if run.eps_merged is not None] or runs
    medians = {}
    for name, read in _READINGS.items():
        readings = [read(run) for run in (merged if name == "store_bytes" else runs)]
        values = [value for value in readings if value is not None]
        if values and (stored or name not in _ENGINE_READINGS):
            medians[name] = statistics.median(values)
    return medians


def measured_of(
    runs: Sequence[Measurement],
    where: str,
    what: str,
    message_bytes: float | None,
    *,
    stored: bool,
    machines: Sequence[str] = (),
) -> Measured:
    """The medians of `runs`, on an engine that `stored` the events or not, each on the one of
    `machines` where those are named; raises JobFailed without a run."""
    if not runs:
        raise JobFailed(f"{where} holds no valid run, so nothing to plan from: measure again")
    groups: dict[str, list[Measurement]] = {}
    for run, machine in zip(runs, machines, strict=False):
        groups.setdefault(machine, []).append(run)
    several = sorted(groups.items()) if len(groups) > 1 else ()
    is_unmerged = stored and not any(run.eps_merged is not None for run in runs)
    return Measured(
        where,
        what,
        statistics.median(run.eps for run in runs),
        message_bytes,
        _medians(runs, stored),
        {name: _medians(group, stored) for name, group in several},
        ("the bytes on disk are those before merges",) if is_unmerged else (),
    )


def measured_by_search(study: Study, name: str) -> Measured:
    """What the recommended profile of a search reached: the winner's confirming runs, the profile's
    own where no improvement is shown, and the repeats of the calibration where none were made.
    Raises JobFailed for a search that failed before it confirmed anything."""
    header = study.header
    wins = judge(study).claim is Claim.IMPROVED
    trials = [trial for trial in study.of(Phase.CONFIRM) if (trial.changes != BASELINE) is wins]
    basis = "confirming runs of the best found" if wins else "confirming runs as written"
    if not any(trial.measurement for trial in trials):
        if study.ending is Ending.FAILED:
            why = f" ({study.reason})" if study.reason else ""
            raise JobFailed(f"{name}: the search failed{why}: measure again to plan from it")
        trials = list(study.of(Phase.CALIBRATE))
        basis = "calibration as written"
    runs = [(trial.machine, run) for trial in trials if (run := trial.measurement)]
    text, path, layers = header.profile_text, header.profile_path, header.profile_layers
    profile = parse_profile(text, path, layers, header.profile_base).profile
    return measured_of(
        [run for _, run in runs],
        name,
        f"{basis}; {header.engine}, {header.machine}",
        profile.workload.mean_message_bytes,
        stored=header.stores,
        machines=[machine for machine, _ in runs],
    )


def inputs_of(
    given: Mapping[str, Figure], run: Measured | None = None, sample: Sample | None = None
) -> Inputs:
    """Each figure as the user gave it, else as it was measured, else as it is assumed."""
    texts = input_texts()
    figures = {
        name: Figure(text.assumed, Origin.ASSUMED, text.why)
        for name, text in texts.items()
        if text.assumed is not None
    }
    if run is not None and run.message_bytes is not None:
        figures["message_bytes"] = Figure(run.message_bytes, Origin.MEASURED, run.where)
    if sample is not None:
        where = f"mean of {sample.lines:,} lines of {sample.name}"
        figures["message_bytes"] = Figure(sample.message_bytes, Origin.MEASURED, where)
        where = f"gzip -6 of {sample.name}"
        figures["gzip_ratio"] = Figure(sample.gzip_ratio, Origin.MEASURED, where)
    size = given.get("message_bytes", figures["message_bytes"]).value
    derived = {
        "store_bytes": size * _STORE_RATIO,
        "bulk_bytes": size + _BULK_OVERHEAD_BYTES,
        "queue_memory_bytes": message_memory_bytes(size),
        "queue_file_bytes": size + _QUEUE_FILE_OVERHEAD_BYTES,
    }
    figures |= {
        name: Figure(value, Origin.ASSUMED, texts[name].why) for name, value in derived.items()
    }
    if run is not None:
        figures |= {name: _for_size(name, run, size) for name in run.figures}
    figures.update(given)
    for machine in ("collector", "node"):
        figures.setdefault(
            f"{machine}_eps", _carried(figures[f"{machine}_us"], figures[f"{machine}_cores"], run)
        )
    return Inputs(**figures)


def _for_size(name: str, run: Measured, size: float) -> Figure:
    """A median of a run for messages of `size` bytes: CPU per event grows in proportion with larger
    ones, which is more than it takes, and stays with smaller ones."""
    value, was = run.figures[name], run.message_bytes
    stays = name == "connection_us" or (name.endswith("_us") and was is not None and was > size)
    if was is None or was == size or stays:
        return Figure(value, Origin.MEASURED, run.where)
    if name == "bulk_bytes":
        why = f"the message and the {value - was:.0f} bytes beside it in {run.where}"
        return Figure(size + value - was, Origin.EXTRAPOLATED, why)
    factor = size / was
    why = (
        f"{factor:.3g} times the {value:.3g} of {run.where}, which had messages of "
        f"{was:.0f} bytes: in proportion"
    )
    return Figure(value * factor, Origin.EXTRAPOLATED, why)


def _carried(cpu_us: Figure, cores: Figure, run: Measured | None) -> Figure:
    """What cores carry when all their time goes into events, which no run has shown; beside the
    rate that the run did show, of rsyslogd and the engine together."""
    carried = cores.value * 1e6 / cpu_us.value
    why = "cores over CPU per event, assuming that the rate grows in proportion to cores"
    if cpu_us.origin is Origin.ASSUMED or run is None:
        return Figure(carried, Origin.ASSUMED, why)
    why = f"{carried / run.eps:.1f} times the {run.eps:,.0f} EPS of the run: {why}"
    return Figure(carried, Origin.EXTRAPOLATED, why)


def _whole(value: float) -> int:
    """The next whole number, at least 1; what is above it by rounding alone counts as that."""
    return max(1, math.ceil(value - 1e-9))


_SPARE = 1
# The line feed, or about as much for a count of octets.
_FRAMING_BYTES = 1


@dataclass(frozen=True)
class Collectors:
    """Hosts that run rsyslog: `needed` carry the peak, `count` has a spare one.

    What is said of each is for the peak while one has failed: its rate, the share of its capacity,
    HTTP connections to the engine, and payload bits per second, not compressed.  While the engine
    takes nothing its queues hold `queued_events`, in memory or in files, and have caught up
    `catch_up_s` later, at the peak rate.
    """

    needed: int
    count: int
    eps_each: float
    utilisation: float
    connections_each: int
    bits_in_each: float
    bits_out_each: float
    queued_events: float
    memory_bytes: float
    file_bytes: float
    file_bytes_per_second: float
    catch_up_s: float


def _collectors(inputs: Inputs, peak_eps: float) -> Collectors:
    spare, carried = inputs.headroom.value, inputs.collector_eps.value
    needed = _whole(peak_eps / (carried * (1 - spare)))
    each_eps = peak_eps / needed
    outage_s, file_bytes = inputs.outage_s.value, inputs.queue_file_bytes.value
    return Collectors(
        needed=needed,
        count=needed + _SPARE,
        eps_each=each_eps,
        utilisation=each_eps / carried,
        connections_each=_whole(each_eps * inputs.connection_us.value / 1e6),
        bits_in_each=each_eps * (inputs.message_bytes.value + _FRAMING_BYTES) * 8,
        bits_out_each=each_eps * inputs.bulk_bytes.value * 8,
        queued_events=each_eps * outage_s,
        memory_bytes=each_eps * outage_s * inputs.queue_memory_bytes.value,
        file_bytes=each_eps * outage_s * file_bytes,
        file_bytes_per_second=each_eps * file_bytes,
        catch_up_s=outage_s * (1 - spare) / spare,
    )


# 15 % under the low disk watermark of 85 % and 10 % for errors and background work such as merges:
# Elastic, "Benchmarking and sizing your Elasticsearch cluster for logs and metrics".
DISK_ROOM = 0.25
# cluster.max_shards_per_node of both engines; 25 shards per GiB of heap: AWS, OpenSearch lens,
# AOSPERF01-BP01, with 31 GiB of heap.
_SHARDS_PER_NODE = min(1000, 25 * 31)
# ILM looks every 10 minutes (indices.lifecycle.poll_interval), so what fills much faster than this
# is rolled over late.
_LEAST_S = 7200.0
# An index is deleted whole: with one that lasts a tenth of the retention, a tenth more is kept.
_LONGEST_SHARE = 0.1


@dataclass(frozen=True)
class DataNodes:
    """`count` data nodes are the most that one of `needs` asks for, `decided_by`, and a spare one.

    `stored_bytes` is what indices take, replicas included, `disk_bytes` that and what must stay
    free.  An index has so many `primaries` that every node that the peak needs writes, and that it
    lasts two hours.  It rolls over after `rollover_s`, when each of its shards holds
    `documents_each`, for `limit`: size, documents or age.  `shards_kept` counts replicas too.
    """

    count: int
    decided_by: str
    needs: Mapping[str, int]
    stored_bytes: float
    disk_bytes: float
    primaries: int
    documents_each: float
    shard_bytes_each: float
    limit: str
    rollover_s: float
    shards_kept: int
    bits_in_each: float


def _engine(inputs: Inputs, mean_eps: float, peak_eps: float) -> DataNodes:
    """Every copy of an event is indexed anew, so replicas multiply the work."""
    copies, store_bytes = 1 + inputs.replicas.value, inputs.store_bytes.value
    nodes = _whole(peak_eps * copies / (inputs.node_eps.value * (1 - inputs.headroom.value)))
    by_size = inputs.shard_bytes.value / store_bytes
    full = min(by_size, float(_SHARD_DOCUMENTS))
    retention_s = inputs.retention_s.value
    longest_s = retention_s * _LONGEST_SHARE
    primaries = max(_whole(nodes / copies), _whole(mean_eps * min(_LEAST_S, longest_s) / full))
    filled_s = primaries * full / mean_eps
    rollover_s = min(filled_s, longest_s)
    shards = int(_whole((retention_s + rollover_s) / rollover_s) * primaries * copies)
    # An index is deleted whole, so the last one is kept beyond the retention.
    stored = mean_eps * (retention_s + rollover_s) * store_bytes * copies
    needs = {
        "processing": nodes,
        "disk": _whole(stored * (1 + DISK_ROOM) / inputs.node_disk_bytes.value),
        "shards": _whole(shards / _SHARDS_PER_NODE),
        "replicas": int(copies),
    }
    decides = max(needs, key=lambda name: needs[name])
    documents = mean_eps * rollover_s / primaries
    limit = "size" if by_size < _SHARD_DOCUMENTS else "documents"
    # Any node may receive an event; it passes it on to its primary, and that to the replicas.
    bits = peak_eps * inputs.bulk_bytes.value * 8 * (copies + (nodes - 1) / nodes) / nodes
    return DataNodes(
        count=needs[decides] + _SPARE,
        decided_by=decides,
        needs=needs,
        stored_bytes=stored,
        disk_bytes=stored * (1 + DISK_ROOM),
        primaries=primaries,
        documents_each=documents,
        shard_bytes_each=documents * store_bytes,
        limit=limit if filled_s <= longest_s else "age",
        rollover_s=rollover_s,
        shards_kept=shards,
        bits_in_each=bits,
    )


# The table of 2012 that this one can be laid beside is right up to the week: docs/plan.md.
_PERIODS = (
    ("second", 1), ("minute", 60), ("hour", 3600), ("day", 86_400), ("week", 7 * 86_400),
    ("month", 30 * 86_400), ("year", 365 * 86_400),
)  # fmt: skip


@dataclass(frozen=True)
class DiskSpace:
    """Events of a period and their bytes: as messages, in the primaries of an engine, with its
    replicas, and in gzip files."""

    period: str
    events: float
    message_bytes: float
    primary_bytes: float
    engine_bytes: float
    gzip_bytes: float


@dataclass(frozen=True)
class Plan:
    """What a stream needs that has `mean_eps` events per second and `peak_eps` when it is busiest;
    `load_hosts` send the peak to try it, None where what that costs was not measured."""

    mean_eps: float
    peak_eps: float
    collectors: Collectors
    engine: DataNodes
    space: tuple[DiskSpace, ...]
    load_hosts: int | None


def plan(inputs: Inputs) -> Plan:
    """Everything that follows from the inputs."""
    mean, store = inputs.rate.value, inputs.store_bytes.value
    peak = mean * inputs.peak.value
    load, busy = inputs.load_us, 1 - inputs.headroom.value
    message = inputs.message_bytes.value
    sizes = (message, store, store * (1 + inputs.replicas.value), message / inputs.gzip_ratio.value)
    return Plan(
        mean,
        peak,
        _collectors(inputs, peak),
        _engine(inputs, mean, peak),
        tuple(
            DiskSpace(name, mean * seconds, *(mean * seconds * size for size in sizes))
            for name, seconds in _PERIODS
        ),
        # A sender is one process and uses one core at most.
        None if load is None else _whole(peak * load.value / 1e6 / busy),
    )


def plan_range(
    given: Mapping[str, Figure], run: Measured | None, sample: Sample | None
) -> tuple[Plan, Plan] | None:
    """The plans with the least and with the most CPU per event that one of several machines
    measured; None where fewer than two did: nothing then tells how much machines differ."""
    if run is None or not run.machines:
        return None
    costs = {
        name: [costs[name] for costs in run.machines.values() if name in costs]
        for name in ("collector_us", "node_us")
    }
    low, high = (
        {name: choose(values) for name, values in costs.items() if values} for choose in (min, max)
    )
    low_run, high_run = (replace(run, figures={**run.figures, **ends}) for ends in (low, high))
    return plan(inputs_of(given, low_run, sample)), plan(inputs_of(given, high_run, sample))
