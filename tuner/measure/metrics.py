"""What a run shows of each metric, and whether the engine restarted before it; pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tuner.measure.measurement import Failure, Measurement, PacedMeasurement
from tuner.measure.paired import Speeds
from tuner.measure.speed import PRIOR
from tuner.profile.metric import Metric

# Only differences of speeds count.
_ORIGIN = (0.0, 0.0)

Result = Measurement | PacedMeasurement | Failure
"""What a run gives."""


def value_of(metric: Metric, result: Result) -> float | None:
    """The figure of a run; None where it shows none."""
    match result:
        case Measurement():
            return _SATURATED[metric](result) if metric in _SATURATED else None
        case PacedMeasurement():
            return _AT_A_RATE[metric](result) if metric in _AT_A_RATE else None
        case Failure():
            return None


def _per_event(values: list[float], run: Measurement) -> float | None:
    """The sum of what files show, for each event; None where none shows it."""
    return sum(values) / run.delivery.sent if values else None


def _decompressing_us(run: Measurement) -> float | None:
    took_s = [file.decompress_cpu_s for file in run.files if file.decompress_cpu_s is not None]
    return _per_event([1e6 * seconds for seconds in took_s], run)


def _freshness(percentile: str) -> Callable[[PacedMeasurement], float | None]:
    return lambda run: None if run.freshness_s is None else getattr(run.freshness_s, percentile)


_SATURATED: Mapping[Metric, Callable[[Measurement], float | None]] = {
    Metric.EPS: lambda run: run.eps,
    Metric.EPS_PAID: lambda run: run.eps_paid,
    Metric.EPS_DURABLE: lambda run: run.eps_durable,
    Metric.SHIPPER_CPU: lambda run: run.shipper_cpu_us,
    Metric.ENGINE_CPU: lambda run: run.engine_cpu_paid_us,
    Metric.FLOOD_CPU: lambda run: run.flood_cpu_us,
    Metric.SHIPPER_CORES: lambda run: run.eps * run.shipper_cpu_us / 1e6,
    Metric.ENGINE_CORES: lambda run: run.eps * run.engine_cpu_us / 1e6,
    Metric.STORE: lambda run: run.store_bytes_per_event,
    Metric.MEMORY: lambda run: run.shipper_rss_bytes,
    Metric.FILE: lambda run: _per_event([float(file.bytes) for file in run.files], run),
    Metric.DECOMPRESS_CPU: _decompressing_us,
}
_AT_A_RATE: Mapping[Metric, Callable[[PacedMeasurement], float | None]] = {
    Metric.EPS: lambda run: run.eps,
    Metric.SHIPPER_CPU: lambda run: run.shipper_cpu_us,
    Metric.ENGINE_CPU: lambda run: run.engine_cpu_us,
    Metric.SHIPPER_CORES: lambda run: run.eps * run.shipper_cpu_us / 1e6,
    Metric.ENGINE_CORES: lambda run: run.eps * run.engine_cpu_us / 1e6,
    Metric.MEMORY: lambda run: run.shipper_rss_bytes,
    Metric.FRESHNESS_P50: _freshness("p50"),
    Metric.FRESHNESS_P95: _freshness("p95"),
    Metric.FRESHNESS_P99: _freshness("p99"),
}


VARYING = frozenset({
    Metric.EPS, Metric.EPS_PAID, Metric.EPS_DURABLE,
    Metric.SHIPPER_CPU, Metric.ENGINE_CPU, Metric.FLOOD_CPU,
})  # fmt: skip
"""What varies with the machine's speed."""


def restarts(before: Sequence[Result], after: Sequence[Result]) -> tuple[tuple[bool, bool], ...]:
    """Of each pair, whether the engine restarted just before the run of each side."""
    return tuple((restarted(a), restarted(b)) for a, b in zip(before, after, strict=True))


def speeds(before: Sequence[Result], after: Sequence[Result]) -> Speeds | None:
    """What the probe is expected to explain of the rate of each run of both sides; None where one
    of them had none."""
    of_a, of_b = ([_speed(result) for result in side] for side in (before, after))
    a, b = ([speed for speed in side if speed is not None] for side in (of_a, of_b))
    return (a, b) if len(a) == len(of_a) and len(b) == len(of_b) else None


def _speed(result: Result) -> float | None:
    if isinstance(result, Failure) or result.speed is None:
        return None
    return PRIOR.explained(result.speed.logs, _ORIGIN)


def restarted(result: Result) -> bool:
    """Whether the engine restarted just before a run."""
    return result.spent is not None and result.spent.restart_s > 0
