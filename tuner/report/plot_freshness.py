"""How long events take to become searchable at a fixed rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuner.measure.freshness import Percentiles
from tuner.measure.paced_summary import PacedMeasurement
from tuner.report.drawing import Colour, Plot, svg
from tuner.report.figures import eps
from tuner.report.search_course import side_name
from tuner.search.study import BASELINE, Phase, Study
from tuner.search.verdict import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMES = ("p50", "p95", "p99", "largest")


def fixed_rate(study: Study, verdict: Verdict) -> dict[str, PacedMeasurement]:
    """The runs at a fixed rate of the profile as written and of the best found, as far as they
    were measured; the last candidate's where nothing was confirmed."""
    shown = {BASELINE, verdict.confirmed}
    return {
        side_name(trial, verdict.confirmed): trial.outcome
        for trial in study.of(Phase.CHECK)
        if isinstance(trial.outcome, PacedMeasurement)
        and (trial.changes in shown or verdict.confirmed == BASELINE)
    }


def freshness(study: Study, verdict: Verdict) -> Plot | None:
    """The percentiles of both sides with the limit; None where they were not seen."""
    sides = {
        name: run.freshness_s
        for name, run in fixed_rate(study, verdict).items()
        if run.freshness_s is not None
    }
    if not sides:
        return None
    limit_s = study.header.limits.freshness_p99_s
    offered = next(iter(fixed_rate(study, verdict).values())).offered_per_second
    title = "How long an event takes until a search finds it"
    says = (
        f"At a fixed {eps(offered)} events per second, from when an event was due until a search "
        f"finds it; the guardrail allows {limit_s:g} s at p99."
    )

    def paint(figure: Figure) -> None:
        _paint(figure, sides, limit_s)

    rows = tuple(
        (name, *(f"{one:.2f} s" for one in _values(found))) for name, found in sides.items()
    )
    drawn = svg("freshness", title, says, 220, paint)
    return Plot("freshness", title, says, drawn, ("", *_NAMES), rows)


def _values(found: Percentiles) -> tuple[float, float, float, float]:
    return found.p50, found.p95, found.p99, found.max


def _paint(figure: Figure, sides: dict[str, Percentiles], limit_s: float) -> None:
    axes = figure.subplots()
    thick = 0.8 / len(sides)
    longest_s = max(found.max for found in sides.values())
    for side, (name, found) in enumerate(sides.items()):
        rows = [number + (side - (len(sides) - 1) / 2) * thick for number in range(len(_NAMES))]
        colour = Colour.WRITTEN if name == "as written" else Colour.BEST
        bars = axes.barh(rows, _values(found), thick * 0.9, color=colour.value, alpha=0.85,
                         label=name)  # fmt: skip
        axes.bar_label(bars, fmt="%.1f s", padding=3, fontsize=9)
    if limit_s <= longest_s * 1.5:
        axes.axvline(limit_s, color=Colour.BAD.value, linewidth=1.2, linestyle="--",
                     label="limit of p99")  # fmt: skip
    axes.set_xlim(0, max(longest_s, limit_s if limit_s <= longest_s * 1.5 else 0) * 1.15)
    axes.set_yticks(range(len(_NAMES)), _NAMES)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("seconds")
    figure.legend(loc="outside lower center", ncols=3)
