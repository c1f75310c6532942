"""The phases after the runs of a series, as blocks: freshness, the maximum sustainable rate, an
overload, and the engine's own ceiling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.measure.ceiling import Ceiling, Combination
from tuner.measure.measurement import Failure, PacedMeasurement
from tuner.measure.series import MeasuredProfile, Series, ceiling_shares
from tuner.measure.sustain import Bounds, LoadTrial, Overload
from tuner.report.figures import on
from tuner.report.runs import percentiles_text
from tuner.report.sections import Bullets, Paragraph, PlainBlock, Table, bullets
from tuner.schema.numerals import eps, mebibytes


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


def _freshness(what: str, variant: MeasuredProfile) -> Iterator[str]:
    """How long events took from when they were due until a search found them."""
    outcome, limit_s = variant.freshness, variant.freshness_limit_s
    match outcome:
        case Failure():
            yield f"{what}: not measured: {outcome}"
        case PacedMeasurement(freshness_s=fresh):
            rate = f"{what} at {eps(outcome.offered_per_second)} events per second"
            if fresh is None:
                why = (
                    "nothing refreshes the index, or what a message gives differs from time to time"
                )
                yield f"{rate}: cannot be seen: {why}"
                return
            kept = "within" if fresh.p99 <= limit_s else "ABOVE"
            yield f"{rate}: {percentiles_text(fresh)}; p99 is {kept} freshness_p99_s, {limit_s:g} s"
            yield from (f"doubt: {doubt}" for doubt in outcome.doubts)
        case _:
            """Not measured: it was not asked for, or nothing is kept that could be searched."""


def sustain_blocks(known: Bounds, trials: Sequence[LoadTrial]) -> list[PlainBlock]:
    """The maximum sustainable rate, why more is not sustainable, and every trial."""
    head = "maximum sustainable rate: "
    head += "not found" if known.lower is None else f"{eps(known.lower)} events per second"
    if known.upper is not None:
        head += f"; {eps(known.upper)} is not sustainable: {_reason(known.upper, trials)}"
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
    for queue in run.queues:
        room = f" of {queue.size:,}" if queue.size else ""
        lost = f", discarded {queue.discarded:,}" if queue.discarded else ""
        yield f"{queue.name} held at most {queue.most_held:,}{room}{lost}"
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
        f"{clients} bulks of {best.bulk:,} without rsyslog ({ceiling.engine_cpu_us:.1f} us of "
        f"engine CPU and {ceiling.client_cpu_us:.1f} us of client CPU per event), measured again "
        f"while others took {ceiling.others_cpu:.0%} of the cores"
    )
    header = ("clients", "documents per bulk", "EPS", "engine us/event", "client us/event",
              "cores taken by others", "remarks")  # fmt: skip
    rows = tuple(_combination_row(one) for one in ceiling.combinations)
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
                f"; {share.cpu_us:.1f} us of CPU an event allow at most "
                f"{eps(share.cpu_bound_eps)} EPS on {series.cores:g} cores: "
                f"{share.of_cpu_bound:.0%} of that"
            )
        if share.of_ceiling > 1:
            text += "; it cannot exceed that, so measure both again on a quiet machine"
        yield text


def _combination_row(one: Combination) -> tuple[str, ...]:
    what = (str(one.clients), f"{one.bulk:,}")
    if one.invalid is not None:
        return (*what, "-", "-", "-", "-", f"invalid: {one.invalid}")
    return (
        *what,
        f"{eps(one.eps)} ± {eps(one.eps_se)}",
        f"{one.engine_cpu_us:.1f}",
        f"{one.client_cpu_us:.1f}",
        f"{one.others_cpu:.0%}",
        "",
    )
