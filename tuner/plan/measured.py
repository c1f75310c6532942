"""What a run, or a sample of one's own log lines, says of a stream; pure."""

from __future__ import annotations

import gzip
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tuner.errors import JobFailed
from tuner.lint.load import parse_profile
from tuner.measure.measurement import Measurement
from tuner.search.study import BASELINE, Ending, Phase, Study
from tuner.search.verdict import Claim, judge

# gzip(1)'s default.
_LEVEL = 6


@dataclass(frozen=True)
class Sample:
    """The mean size of a line in bytes, its end left out, and how many times smaller gzip makes
    the text."""

    name: str
    lines: int
    message_bytes: float
    gzip_ratio: float


def sample_of(text: bytes, name: str) -> Sample | None:
    """What the lines of `text` show; None when there is none."""
    lines = [line for line in text.split(b"\n") if line]
    if not lines:
        return None
    return Sample(
        name=name,
        lines=len(lines),
        message_bytes=sum(map(len, lines)) / len(lines),
        gzip_ratio=len(text) / len(gzip.compress(text, _LEVEL)),
    )


@dataclass(frozen=True)
class MachineCosts:
    """Medians of CPU microseconds per event that one of several machines measured: of rsyslogd,
    and of the engine for one copy of it."""

    machine: str
    shipper_us: float | None
    engine_us: float | None


@dataclass(frozen=True)
class Measured:
    """Medians over runs, which `where` names and `what` describes.

    CPU microseconds per event of rsyslogd, of the engine for one copy of it and of the load
    generator, bytes of the primaries per event, bytes of a bulk request per event, and the
    microseconds per event for which a connection to the engine is busy.  `machines` are those that
    measured, where there were several.

    None is what was not measured; our sink says nothing of an engine.  `message_bytes` is the mean
    size of the messages, `eps` the rate of the whole pipeline, `doubts` say what to trust less.
    """

    where: str = ""
    what: str = ""
    eps: float | None = None
    message_bytes: float | None = None
    shipper_us: float | None = None
    engine_us: float | None = None
    load_us: float | None = None
    store_bytes: float | None = None
    bulk_bytes: float | None = None
    connection_us: float | None = None
    doubts: tuple[str, ...] = ()
    machines: tuple[MachineCosts, ...] = ()


NOTHING = Measured()


def of_runs(
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
    merged = [run for run in runs if run.eps_merged is not None]
    return Measured(
        where=where,
        what=what,
        eps=statistics.median(run.eps for run in runs),
        message_bytes=message_bytes,
        shipper_us=_shipper_us(runs),
        engine_us=_engine_us(runs) if stored else None,
        load_us=_median(runs, lambda run: run.flood_cpu_us or None),
        store_bytes=_median(merged or runs, _store_bytes) if stored else None,
        bulk_bytes=_median(runs, _bulk_bytes),
        connection_us=_median(runs, _connection_us) if stored else None,
        doubts=() if merged or not stored else ("the bytes on disk are those before merges",),
        machines=_by_machine(runs, machines, stored),
    )


def _by_machine(
    runs: Sequence[Measurement], machines: Sequence[str], stored: bool
) -> tuple[MachineCosts, ...]:
    """What each of several machines measured; nothing for one alone."""
    groups: dict[str, list[Measurement]] = {}
    for run, machine in zip(runs, machines, strict=False):
        groups.setdefault(machine, []).append(run)
    if len(groups) < 2:
        return ()
    return tuple(
        MachineCosts(name, _shipper_us(group), _engine_us(group) if stored else None)
        for name, group in sorted(groups.items())
    )


def of_study(study: Study, name: str) -> Measured:
    """What the recommended profile of a search reached: the winner's confirming runs, the profile's
    own where no improvement is shown, and the repeats of the calibration where none were made.
    Raises JobFailed for a search that failed before it confirmed anything."""
    header = study.header
    wins = judge(study).claim is Claim.IMPROVED
    confirmed = [one for one in study.of(Phase.CONFIRM) if (one.changes != BASELINE) is wins]
    which = "confirming runs of the best found" if wins else "confirming runs as written"
    if not any(one.measurement for one in confirmed):
        if study.ending is Ending.FAILED:
            why = f" ({study.reason})" if study.reason else ""
            raise JobFailed(f"{name}: the search failed{why}: measure again to plan from it")
        confirmed = list(study.of(Phase.CALIBRATE))
        which = "calibration as written"
    runs = [(one.machine, run) for one in confirmed if (run := one.measurement)]
    text, path, layers = header.profile_text, header.profile_path, header.profile_layers
    profile = parse_profile(text, path, layers, header.profile_base).profile
    size = profile.workload.mean_message_bytes
    what = f"{which}; {header.engine}, {header.machine}"
    return of_runs(
        [run for _, run in runs],
        name,
        what,
        size,
        stored=header.stores,
        machines=[machine for machine, _ in runs],
    )


def _shipper_us(runs: Sequence[Measurement]) -> float | None:
    return _median(runs, lambda run: run.shipper_cpu_us or None)


def _engine_us(runs: Sequence[Measurement]) -> float | None:
    return _median(runs, lambda run: run.engine_cpu_paid_us / run.copies or None)


def _median(
    runs: Sequence[Measurement], read: Callable[[Measurement], float | None]
) -> float | None:
    """The median of what the runs know; None when none does."""
    known = [value for run in runs if (value := read(run)) is not None]
    return statistics.median(known) if known else None


def _store_bytes(run: Measurement) -> float | None:
    return run.store_bytes_per_event if run.store_bytes > 0 else None


def _bulk_bytes(run: Measurement) -> float | None:
    used = run.effective
    if used is None or used.bulk is None or used.bulk.mean_bytes is None:
        return None
    return used.bulk.mean_bytes / used.events_per_bulk if used.events_per_bulk else None


def _connection_us(run: Measurement) -> float | None:
    """The median time of a request over its events, the engine being as busy as it can be."""
    used = run.effective
    if used is None or used.bulk is None or not used.events_per_bulk:
        return None
    return used.bulk.p50_ms * 1000 / used.events_per_bulk
