"""What is said of any series of runs, for people and for programs: machines, doubts, failures, what
the lab changed, the phases after the runs; `bench`, `compare` and `sweep` add what they are about.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence

from pydantic_core import to_jsonable_python

from tuner.measure.ceiling import Ceiling, Combination
from tuner.measure.machines import outliers
from tuner.measure.measurement import Doubt, DoubtKind, Failure, PacedMeasurement
from tuner.measure.series import (
    MeasuredProfile,
    Run,
    Series,
    average,
    by_machine,
    ceiling_shares,
    comparison,
    pairs,
    values,
)
from tuner.measure.sustain import Bounds, LoadTrial, Overload
from tuner.profile.metric import Metric
from tuner.report.figures import figure, freshness_kept, on, raw_and_adjusted
from tuner.report.runs import percentiles_text
from tuner.report.sections import Bullets, Paragraph, PlainBlock, Table, bullets
from tuner.schema.numerals import eps, mebibytes
from tuner.search.notes import standing_out

SCHEMA = 4
RATES = (Metric.EPS, Metric.EPS_PAID)


def series_json(
    series: Series, kind: str, metrics: Sequence[Metric], **face: object
) -> dict[str, object]:
    """Everything that was measured, with the comparison by each metric, and what a command adds."""
    fields: dict[str, object] = to_jsonable_python(
        {
            "schema": SCHEMA,
            "kind": kind,
            **face,
            "metrics": {metric.value: _metric(series, metric) for metric in metrics},
            "ceiling_shares": dict(ceiling_shares(series)),
            **vars(series),
        }
    )
    return fields


def _metric(series: Series, metric: Metric) -> dict[str, object]:
    """What each variant showed of a metric, and how it compares with the first."""
    about, runs = metric.about, series.runs
    first, *others = series.names
    return {
        "label": about.label,
        "unit": about.unit,
        "more_is_better": about.more_is_better,
        "values": {name: list(values(runs, name, metric).values()) for name in series.names},
        "averages": {name: average(runs, name, metric) for name in series.names},
        "to_the_first": {name: comparison(runs, first, name, metric) for name in others},
    }


def conditions(series: Series) -> str:
    """Where it was measured: `on rsyslogd 8.2302, sink, 2 cores`."""
    return f"on rsyslogd {series.rsyslog}, {series.engine}, {series.machine}"


def machine_blocks(series: Series, metric: Metric, word: str) -> list[PlainBlock]:
    """A row for each machine: its blocks (each called a `word`), the geometric mean of each variant
    and, of two, how the second compares with the first; nothing of one machine."""
    first, *others = series.names
    header = ("machine", f"{word}s", *(f"{name}, {metric.about.label}" for name in series.names))
    header += (f"{others[0]} over {first}",) if len(others) == 1 else ()
    rows = []
    for machine, machine_runs in by_machine(series.runs).items():
        blocks = ", ".join(str(block) for block in sorted({run.block for run in machine_runs}))
        means = (figure(metric, average(machine_runs, name, metric)) for name in series.names)
        cells = [machine, blocks, *means]
        if len(others) == 1:
            gains = _gains(machine_runs, first, others[0], metric)
            cells.append(f"{math.exp(statistics.fmean(gains)):.3f}" if gains else "-")
        rows.append(tuple(cells))
    return [Table("By machine", header, tuple(rows))] if rows else []


def speed_notes(series: Series, metrics: Sequence[Metric]) -> Iterator[str]:
    """Each ratio of rates with and without what the machine's speed explains."""
    first, *others = series.names
    for metric in metrics:
        for name in others if metric in RATES else ():
            compared = comparison(series.runs, first, name, metric)
            if compared is not None and compared.by_speed is not None:
                yield f"{name} over {first}, {metric.about.label}: {raw_and_adjusted(compared)}"


def closing_blocks(series: Series, metric: Metric) -> list[PlainBlock]:
    """What to doubt, which runs failed, what was not tested and what the lab changed."""
    doubts = (*series.doubts, *_standing_out(series, metric), *_doubts(series))
    return bullets(
        [
            *(f"doubt: {text}" for text in doubts),
            *_failures(series),
            *(f"not tested: {text}" for text in series.untested),
            *(f"changed for the lab: {text}" for text in _substitutions(series)),
        ]
    )


def _run_name(series: Series, run: Run) -> str:
    """What a run is called: by its variant, where there are several, and its block."""
    return f"{f'{run.arm}, ' * (len(series.variants) > 1)}{_block(series, run)}"


def _block(series: Series, run: Run) -> str:
    word = "block" if len(series.variants) > 1 else "run"
    return f"{word} {run.block}{on(run.machine)}"


def _doubts(series: Series) -> Iterator[str]:
    """Doubts about the runs of each variant, each with how many had it and its first figure."""
    having: dict[tuple[str, DoubtKind], list[tuple[Run, Doubt]]] = {}
    for run in series.runs:
        doubts = () if isinstance(run.result, Failure) else run.result.doubts
        for kind, doubt in {doubt.kind: doubt for doubt in reversed(doubts)}.items():
            having.setdefault((run.arm, kind), []).append((run, doubt))
    for (name, kind), doubted in having.items():
        (run, doubt), count = doubted[0], len(doubted)
        runs = sum(run.arm == name for run in series.runs)
        yield (
            f"{f'{name}, ' * (len(series.variants) > 1)}{count} of {runs} runs: {kind.value} "
            f"({kind.consequence.value}; {_block(series, run)}: {doubt.figure}): {kind.advice}"
        )


def _failures(series: Series) -> Iterator[str]:
    for run in series.runs:
        if isinstance(run.result, Failure):
            yield f"{_run_name(series, run)} failed: {run.result}"


def _substitutions(series: Series) -> Iterator[str]:
    """What no variant had as written, once, and what single ones had not, with their names."""
    changed = {variant.name: variant.substitutions for variant in series.variants}
    for text in dict.fromkeys(text for texts in changed.values() for text in texts):
        names = [name for name, texts in changed.items() if text in texts]
        yield text if len(names) == len(changed) else f"{', '.join(names)}: {text}"


def _standing_out(series: Series, metric: Metric) -> Iterator[str]:
    """The machines that differ from the others, in a sentence each: in what the first variant
    shows, and in how the others compare with it."""
    first, *others = series.names
    label, machines = metric.about.label, by_machine(series.runs)
    levels = {
        name: _logs(values(machine_runs, first, metric).values())
        for name, machine_runs in machines.items()
    }
    yield from standing_out(outliers(levels), f"{label} of {first}")
    for other in others:
        gains = {
            name: _gains(machine_runs, first, other, metric)
            for name, machine_runs in machines.items()
        }
        yield from standing_out(outliers(gains), f"{label} of {other} over {first}")


def _logs(shown: Iterable[float]) -> list[float]:
    return [math.log(value) for value in shown if value > 0]


def _gains(runs: Sequence[Run], first: str, other: str, metric: Metric) -> list[float]:
    """The logarithms of a variant over the first, of each block that both completed."""
    both = pairs(runs, first, other, metric)
    return _logs(b / a for a, b in zip(both.a, both.b, strict=True))


def phase_blocks(series: Series) -> list[PlainBlock]:
    """What each phase showed that was measured."""
    names = series.names if len(series.variants) > 1 else ("",)
    machine = series.phase_on("freshness")
    blocks = bullets(
        line
        for name, variant in zip(names, series.variants, strict=True)
        for line in _freshness(f"freshness{f' of {name}' * bool(name)}{on(machine)}", variant)
    )
    if series.sustained is not None:
        blocks += sustain_blocks(series.sustained.bounds, series.sustained.trials)
    if series.overload is not None:
        blocks += overload_blocks(series.overload)
    if series.ceiling is not None:
        blocks += ceiling_blocks(series, series.ceiling)
    where = ", ".join(f"{phase} on {machine}" for phase, machine in series.phases_on)
    return [*blocks, Paragraph(f"each on one machine: {where}")] if where else blocks


def _freshness(phase: str, variant: MeasuredProfile) -> Iterator[str]:
    """How long events took from when they were due until a search found them."""
    outcome, limit_s = variant.freshness, variant.freshness_limit_s
    match outcome:
        case Failure():
            yield f"{phase}: not measured: {outcome}"
        case PacedMeasurement(freshness_s=fresh):
            rate = f"{phase} at {eps(outcome.offered_per_second)} events per second"
            if fresh is None:
                why = (
                    "nothing refreshes the index, or what a message gives differs from time to time"
                )
                yield f"{rate}: cannot be seen: {why}"
                return
            yield f"{rate}: {percentiles_text(fresh)}; {freshness_kept(fresh.p99, limit_s)}"
            yield from (f"doubt: {doubt}" for doubt in outcome.doubts)
        case _:
            """Not measured: it was not asked for, or nothing is kept that could be searched."""


def sustain_blocks(bounds: Bounds, trials: Sequence[LoadTrial]) -> list[PlainBlock]:
    """The maximum sustainable rate, why more is not sustainable, and every trial."""
    head = "maximum sustainable rate: "
    head += "not found" if bounds.lower is None else f"{eps(bounds.lower)} events per second"
    if bounds.upper is not None:
        head += f"; {eps(bounds.upper)} is not sustainable: {_reason(bounds.upper, trials)}"
    header = ("offered per second", "seconds", "freshness p50", "p99", "carried")
    rows = tuple(_load_row(trial) for trial in trials)
    return [Paragraph(head), Table("Sustainable rate", header, rows)]


def _reason(load: float, trials: Sequence[LoadTrial]) -> str:
    reasons = [t.why_not for t in trials if t.per_second == load and t.why_not is not None]
    return reasons[0] if reasons else "it was not carried"


def _load_row(trial: LoadTrial) -> tuple[str, ...]:
    fresh = trial.outcome.freshness_s if isinstance(trial.outcome, PacedMeasurement) else None
    return (
        eps(trial.per_second),
        f"{trial.lasted_s:g}",
        "-" if fresh is None else f"{fresh.p50:.2f} s",
        "-" if fresh is None else f"{fresh.p99:.2f} s",
        "yes" if trial.why_not is None else f"no: {trial.why_not}",
    )


def overload_blocks(outcome: Overload | Failure) -> list[PlainBlock]:
    """Where the events of an overload went, what it cost, and how long the recovery took."""
    if isinstance(outcome, Failure):
        return [Paragraph(f"overload: {outcome}")]
    plan = outcome.plan
    head = (
        f"overload: {eps(plan.over_per_second)} events per second for {plan.over_s:g} s, "
        f"before and after it {eps(plan.calm_per_second)}"
    )
    return [Paragraph(head), Bullets(tuple(_overload_lines(outcome)))]


def _overload_lines(overload: Overload) -> Iterator[str]:
    run = overload.measurement
    yield (
        f"behind by at most {overload.most_behind:,} events, "
        f"{overload.most_unsent:,} of them not taken from the senders"
    )
    for queue in run.effective.queues:
        disk = f" and {queue.most_on_disk:,} on disk" if queue.most_on_disk else ""
        lost = f", discarded {queue.discarded:,}" if queue.discarded else ""
        if queue.most_held is not None:
            yield f"{queue.name} held at most {queue.most_held:,} of {queue.size:,}{disk}{lost}"
    if run.spool_bytes:
        yield f"on disk at most {mebibytes(run.spool_bytes)}"
    yield (
        f"senders blocked for {run.blocked_s:.1f} s, {run.late:,} of {run.sent:,} messages more "
        f"than 50 ms late, by up to {run.max_late_s:.1f} s"
    )
    if run.freshness_s is not None:
        yield f"freshness from the start of the overload: {percentiles_text(run.freshness_s)}"
    yield str(run.delivery)
    if overload.recovered_s is None:
        yield "did not recover while it was watched"
    else:
        yield f"recovered {overload.recovered_s:.1f} s after its end"


def ceiling_blocks(series: Series, ceiling: Ceiling) -> list[PlainBlock]:
    """The ceiling, the share of it that each variant reaches, and all combinations that were
    tried."""
    best, where = ceiling.best, on(series.phase_on("ceiling"))
    clients = f"{best.clients} clients send" if best.clients > 1 else "1 client sends"
    head = (
        f"the engine's own ceiling{where}: {eps(ceiling.eps)} ± {eps(ceiling.eps_se)} EPS when "
        f"{clients} bulks of {best.bulk:,} without rsyslog ({ceiling.engine_cpu_us:.1f} µs of "
        f"engine CPU and {ceiling.client_cpu_us:.1f} µs of client CPU per event), measured again "
        f"while others took {ceiling.others_cpu:.0%} of the cores"
    )
    header = ("clients", "documents per bulk", "EPS", "engine µs/event", "client µs/event",
              "cores taken by others", "remarks")  # fmt: skip
    rows = tuple(_combination_row(combination) for combination in ceiling.combinations)
    return [
        Paragraph(head),
        *bullets(_reached(series)),
        Table("Ceiling", header, rows),
        Paragraph(f"{ceiling.documents:,} different documents were sent repeatedly"),
    ]


def _reached(series: Series) -> Iterator[str]:
    for name, share in ceiling_shares(series):
        text = f"{name} reaches {share.of_ceiling:.0%} of it: {eps(share.eps)} EPS"
        if share.cpu_bound_eps is not None:
            text += (
                f"; {share.cpu_us:.1f} µs of CPU an event allow at most "
                f"{eps(share.cpu_bound_eps)} EPS on {series.cores:g} cores: "
                f"{share.of_cpu_bound:.0%} of that"
            )
        if share.of_ceiling > 1:
            text += "; it cannot exceed that, so measure both again on a quiet machine"
        yield text


def _combination_row(combination: Combination) -> tuple[str, ...]:
    sent = (str(combination.clients), f"{combination.bulk:,}")
    if combination.invalid is not None:
        return (*sent, "-", "-", "-", "-", f"invalid: {combination.invalid}")
    return (
        *sent,
        f"{eps(combination.eps)} ± {eps(combination.eps_se)}",
        f"{combination.engine_cpu_us:.1f}",
        f"{combination.client_cpu_us:.1f}",
        f"{combination.others_cpu:.0%}",
        "",
    )
