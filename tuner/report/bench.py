"""Measurements of one profile, for people and for programs."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from tuner.errors import JobFailed
from tuner.measure.ceiling import Ceiling, Combination
from tuner.measure.measurement import Failure, Measurement, Outcome
from tuner.measure.metrics import speeds
from tuner.measure.overload import Overload
from tuner.measure.paced_summary import PacedMeasurement
from tuner.measure.paired import Comparison, compare
from tuner.measure.sustain import Bounds, LoadTrial
from tuner.report.figures import eps, interval, mebibytes, raw_and_adjusted, share
from tuner.report.runs import (
    bottleneck_blocks,
    effective_blocks,
    effective_table,
    freshness_blocks,
    overload_blocks,
    speed_text,
    sustain_blocks,
)
from tuner.report.sections import Paragraph, PlainBlock, Table, bullets

SCHEMA = 3


@dataclass(frozen=True)
class Sustained:
    """The search for the maximum sustainable rate."""

    bounds: Bounds
    trials: tuple[LoadTrial, ...]


@dataclass(frozen=True)
class Bench:
    """Everything that a bench run measured; None for the phases that were not asked for.

    `message_bytes` is the mean size of its messages, None where they were replayed from a file.
    """

    profile: str
    engine: str
    outcomes: tuple[Outcome, ...]
    substitutions: tuple[str, ...]
    freshness_limit_s: float
    freshness: PacedMeasurement | Failure | None = None
    sustained: Sustained | None = None
    overload: Overload | Failure | None = None
    ceiling: Ceiling | None = None
    message_bytes: int | None = None


_BENCH = TypeAdapter(Bench)
_CEILING = TypeAdapter(Ceiling)
_COMPARISON = TypeAdapter(Comparison)


def bench_json(bench: Bench) -> dict[str, object]:
    """All outcomes, and the median and spread of those that are valid."""
    fields: dict[str, object] = _BENCH.dump_python(bench, mode="json")
    figures = summary(bench.outcomes)
    if bench.ceiling is not None:
        fields["ceiling"] = ceiling_json(bench.ceiling, _median(figures))
    itself = self_comparison(bench.outcomes)
    spread = None if itself is None else _COMPARISON.dump_python(itself, mode="json")
    header = {"schema": SCHEMA, "kind": "bench", "summary": figures, "self_comparison": spread}
    return {**header, **fields}


def read_bench(text: str, name: str) -> Bench:
    """What `bench_json` wrote to the file of that name; raises JobFailed when it did not."""
    try:
        fields = json.loads(text)
        kind, schema = fields["kind"], fields["schema"]
    except (ValueError, KeyError, TypeError):
        raise JobFailed(f"{name} is not output of `bench --output json`") from None
    if (kind, schema) != ("bench", SCHEMA):
        raise JobFailed(
            f"{name} is a {kind} of schema {schema}, this version reads a bench of {SCHEMA}: "
            "measure again with `bench --output json`"
        )
    try:
        return _BENCH.validate_python(fields)
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise JobFailed(f"{name} is damaged at {place}: measure again") from None


def bench_blocks(bench: Bench) -> tuple[PlainBlock, ...]:
    """A table with one row a run and the median below it, what limited the run in the middle, the
    phases that were asked for, then what was changed for the lab."""
    header = ("run", "EPS", "sent", "indexed", "rsyslogd us/event", "engine us/event",
              "rsyslogd memory", "remarks")  # fmt: skip
    rows = tuple(_row(number, outcome) for number, outcome in enumerate(bench.outcomes, 1))
    head = Paragraph(f"{bench.profile} on {bench.engine}", is_lead=True)
    blocks: list[PlainBlock] = [head, Table("Runs", header, rows)]
    figures = summary(bench.outcomes)
    if figures is not None and figures["valid"] > 1:
        spread = (
            f"median {eps(figures['eps_median'])} EPS, from {eps(figures['eps_min'])} to "
            f"{eps(figures['eps_max'])}, coefficient of variation {figures['eps_cv']:.1%}; "
            f"CPU per event of rsyslogd {figures['shipper_cpu_cv']:.1%}, engine "
            f"{figures['engine_cpu_cv']:.1%}"
        )
        blocks.append(Paragraph(spread))
    valid = [one for one in bench.outcomes if isinstance(one, Measurement)]
    blocks += [Paragraph(text) for text in speed_text(valid)]
    itself = self_comparison(bench.outcomes)
    if itself is not None:
        blocks.append(Paragraph(_self_text(itself)))
    middle = _middle(bench.outcomes)
    if isinstance(middle, Measurement):
        blocks += effective_blocks(middle)
        if middle.effective is not None:
            blocks.append(effective_table(middle.effective, "Configured and effective"))
    if middle.verdict is not None:
        blocks += bottleneck_blocks(middle.verdict)
    blocks += _phases(bench, figures)
    blocks += bullets([f"changed for the lab: {line}" for line in bench.substitutions])
    return tuple(blocks)


def _phases(bench: Bench, figures: dict[str, float] | None) -> list[PlainBlock]:
    blocks: list[PlainBlock] = []
    if bench.freshness is not None:
        blocks += freshness_blocks(bench.freshness, bench.freshness_limit_s)
    if bench.sustained is not None:
        blocks += sustain_blocks(bench.sustained.bounds, bench.sustained.trials)
    if bench.overload is not None:
        blocks += overload_blocks(bench.overload)
    if bench.ceiling is not None:
        blocks += ceiling_blocks(bench.ceiling, _median(figures))
    return blocks


def _median(figures: dict[str, float] | None) -> float | None:
    return None if figures is None else figures["eps_median"]


def self_comparison(outcomes: Sequence[Outcome]) -> Comparison | None:
    """The profile against itself (A/A): each second run over the one before it, from two pairs on.
    None when there are fewer, or a run failed."""
    runs = [outcome for outcome in outcomes if isinstance(outcome, Measurement)]
    if len(runs) < len(outcomes) or len(runs) < 4:
        return None
    paired = len(runs) // 2 * 2
    a, b = runs[0:paired:2], runs[1:paired:2]
    return compare([run.eps for run in a], [run.eps for run in b], (), speeds(a, b))


def _self_text(itself: Comparison) -> str:
    covered = "covers" if itself.low <= 1.0 <= itself.high else "DOES NOT COVER"
    return (
        f"against itself in {itself.pairs} pairs of neighbouring runs: {interval(itself)}, which "
        f"{covered} no difference; minimum detectable gain {share(itself.detectable)}"
        f"{raw_and_adjusted(itself, '; ')}"
    )


def _middle(outcomes: Sequence[Outcome]) -> Outcome:
    """The run in the middle, which stands for the others; the first one when all have failed."""
    runs = sorted((o for o in outcomes if isinstance(o, Measurement)), key=lambda run: run.eps)
    return runs[len(runs) // 2] if runs else outcomes[0]


def summary(outcomes: Sequence[Outcome]) -> dict[str, float] | None:
    """Median and spread of the valid runs; coefficients of variation, 0 for a single run.  None
    when there is none."""
    runs = [outcome for outcome in outcomes if isinstance(outcome, Measurement)]
    if not runs:
        return None
    rates = [run.eps for run in runs]
    return {
        "eps_median": statistics.median(rates),
        "eps_min": min(rates),
        "eps_max": max(rates),
        "eps_cv": _variation(rates),
        "shipper_cpu_cv": _variation([run.shipper_cpu_us for run in runs]),
        "engine_cpu_cv": _variation([run.engine_cpu_us for run in runs]),
        "valid": len(runs),
    }


def _variation(values: Sequence[float]) -> float:
    mean = statistics.fmean(values)
    return statistics.stdev(values) / mean if len(values) > 1 and mean > 0 else 0.0


def _row(number: int, outcome: Outcome) -> tuple[str, ...]:
    if isinstance(outcome, Failure):
        account = (f"{outcome.sent:,}", f"{outcome.indexed:,}")
        return (str(number), "-", *account, "-", "-", "-", f"failed: {outcome}")
    return (
        str(number),
        f"{eps(outcome.eps)} ± {eps(outcome.eps_se)}",
        f"{outcome.delivery.sent:,}",
        f"{outcome.delivery.indexed:,}",
        f"{outcome.shipper_cpu_us:.1f}",
        f"{outcome.engine_cpu_us:.1f}",
        mebibytes(outcome.shipper_rss_bytes),
        "; ".join(map(str, outcome.doubts)),
    )


def ceiling_json(ceiling: Ceiling, pipeline_eps: float | None) -> dict[str, object]:
    """All of it, and the share that a pipeline of `pipeline_eps` reaches (None when unknown)."""
    fields: dict[str, object] = _CEILING.dump_python(ceiling, mode="json")
    share = None if pipeline_eps is None else pipeline_eps / ceiling.eps
    return {**fields, "pipeline_eps": pipeline_eps, "share": share}


def ceiling_blocks(ceiling: Ceiling, pipeline_eps: float | None) -> list[PlainBlock]:
    """The ceiling, the share of it that a pipeline of `pipeline_eps` reaches, and all combinations
    that were tried."""
    best = ceiling.best
    clients = f"{best.clients} clients send" if best.clients > 1 else "1 client sends"
    head = (
        f"the engine's own ceiling: {eps(ceiling.eps)} ± {eps(ceiling.eps_se)} EPS when {clients} "
        f"bulks of {best.bulk:,} without rsyslog ({ceiling.engine_cpu_us:.1f} us of engine CPU and "
        f"{ceiling.client_cpu_us:.1f} us of client CPU per event), measured again while others "
        f"took {ceiling.others_cpu:.0%} of the cores"
    )
    blocks: list[PlainBlock] = [Paragraph(head)]
    if pipeline_eps is not None:
        blocks.append(Paragraph(_share_text(ceiling, pipeline_eps)))
    header = ("clients", "documents per bulk", "EPS", "engine us/event", "client us/event",
              "cores taken by others", "remarks")  # fmt: skip
    rows = tuple(_combination_row(one) for one in ceiling.combinations)
    blocks.append(Table("Ceiling", header, rows))
    blocks.append(Paragraph(f"{ceiling.documents:,} different documents were sent repeatedly"))
    return blocks


def _share_text(ceiling: Ceiling, pipeline_eps: float) -> str:
    share = pipeline_eps / ceiling.eps
    text = (
        f"the pipeline reaches {share:.0%} of the engine's own ceiling: {eps(pipeline_eps)} of "
        f"{eps(ceiling.eps)} EPS"
    )
    if share <= 1:
        return text
    return f"{text}; it cannot exceed that, so measure both again on a quiet machine"


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
