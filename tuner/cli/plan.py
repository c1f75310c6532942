"""`rsyslog-tune plan`: capacity on paper."""

from __future__ import annotations

from pathlib import Path

from tuner.cli import plan_options as ask
from tuner.cli.console import result_json
from tuner.cli.layout import show_blocks
from tuner.cli.options import OutputFormat, OutputOption
from tuner.errors import BadUsage, JobFailed
from tuner.lab.engine import stores
from tuner.measure.measurement import Measurement
from tuner.plan.inputs import Request, inputs_of
from tuner.plan.measured import NOTHING, Measured, Sample, of_runs, of_study, sample_of
from tuner.plan.plan import plan as plan_of
from tuner.plan.plan import plan_range
from tuner.report.bench import read_bench
from tuner.report.figures import counted
from tuner.report.plan import PlannedRate, plan_blocks, plan_json, rates_blocks, rates_json
from tuner.search.journal import read

_SAMPLE_BYTES = 64 * 1024**2


def plan(
    rate: ask.Rate,
    run: ask.Run = None,
    message_bytes: ask.MessageBytes = None,
    bytes_per_event: ask.BytesPerEvent = None,
    sample: ask.SampleFile = None,
    peak: ask.Peak = None,
    growth: ask.Growth = None,
    senders: ask.Senders = None,
    gzip_ratio: ask.GzipRatio = None,
    retention: ask.Retention = None,
    outage: ask.Outage = None,
    replicas: ask.Replicas = None,
    headroom: ask.Headroom = None,
    collector_eps: ask.CollectorEps = None,
    collector_cores: ask.CollectorCores = None,
    node_eps: ask.NodeEps = None,
    node_cores: ask.NodeCores = None,
    node_disk: ask.NodeDisk = None,
    shard_size: ask.ShardSize = None,
    scaling: ask.Scale = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Plan the machines, shards, queues, disks and network for a stream, from measured, given or
    assumed figures.

    Each figure is listed with where it came from. Nothing is measured, started or changed.
    """
    said = {
        "--message-bytes": message_bytes,
        "--bytes-per-event": bytes_per_event,
        "--peak": peak,
        "--growth": growth,
        "--senders": senders,
        "--gzip-ratio": gzip_ratio,
        "--retention": retention,
        "--outage": outage,
        "--replicas": replicas,
        "--headroom": headroom,
        "--collector-eps": collector_eps,
        "--collector-cores": collector_cores,
        "--node-eps": node_eps,
        "--node-cores": node_cores,
        "--node-disk": node_disk,
        "--shard-size": shard_size,
        "--scaling": scaling,
    }
    requests = [ask.request_of({"--rate": part, **said}) for part in rate.split(",")]
    found, own = _measured(run), _sample(sample)
    plans = [_planned(request, found, own) for request in requests]
    one, *others = plans
    if output is OutputFormat.JSON:
        result_json(rates_json(plans) if others else plan_json(one.inputs, one.made, one.reach))
    elif others:
        show_blocks(rates_blocks(plans))
    else:
        show_blocks(plan_blocks(one.inputs, one.made, one.reach))


def _planned(request: Request, found: Measured, sample: Sample | None) -> PlannedRate:
    inputs = inputs_of(request, found, sample)
    return PlannedRate(inputs, plan_of(inputs), plan_range(request, found, sample))


def _measured(run: Path | None) -> Measured:
    """What a run directory or the output of a bench measured; nothing without one."""
    if run is None:
        return NOTHING
    if run.is_dir():
        return of_study(read(run), str(run))
    try:
        text = run.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise JobFailed(f"{run}: no such run directory or file") from None
    except UnicodeDecodeError:
        raise JobFailed(f"{run} is not output of `bench --output json`: it is not text") from None
    found = read_bench(text, str(run))
    runs = [one for one in found.outcomes if isinstance(one, Measurement)]
    what = f"bench of {found.profile} on {found.engine}, {counted(len(runs), 'valid run')}"
    return of_runs(runs, str(run), what, found.message_bytes, stored=stores(found.engine))


def _sample(path: Path | None) -> Sample | None:
    if path is None:
        return None
    with path.open("rb") as file:
        found = sample_of(file.read(_SAMPLE_BYTES), str(path))
    if found is None:
        raise BadUsage(f"--sample {path} has no lines")
    return found
