"""Parts of a search's report beside its verdict: the noise, the fixed rate, what stays open."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.measure.paced_summary import PacedMeasurement
from tuner.profile.model import Profile
from tuner.report.figures import eps, table
from tuner.report.paced import percentiles_text
from tuner.search.study import BASELINE, Changes, Ending, Phase, Study, Trial
from tuner.search.verdict import judge
from tuner.space.guarantees import Guarantee, opened

OPEN_LOOP = (
    "Open loop: events go out by a schedule that waits for nobody, and are timed from when they "
    "were due until a search finds them."
)
FIXED_HEADER = ("", "offered per second", "freshness", "CPU per event, rsyslogd and engine")


def is_sink(study: Study) -> bool:
    """Whether the study was made against the sink, which stores nothing."""
    return study.header.engine == "sink"


def cut_short(study: Study) -> str:
    """A sentence on what an early end left undone; empty for a search that came to its end."""
    if study.ending is Ending.FINISHED:
        return ""
    how = "was interrupted" if study.ending is Ending.INTERRUPTED else "failed"
    if study.of(Phase.SHRINK):
        return f"Making the change smaller {how}, so parts of it may give nothing."
    return f"The search {how}."


def opened_part(study: Study, profile: Profile) -> list[str]:
    """Which guarantees the search was allowed to touch, and what that gives up."""
    lines = [f"- {line}" for line in opened_guarantees(study, profile)]
    return ["**Guarantees that were opened:**", "\n".join(lines)] if lines else []


def opened_by(study: Study, profile: Profile) -> tuple[Guarantee, ...]:
    """The guarantees that the search was allowed to touch."""
    return opened(profile, (*profile.search.allow, *study.header.options.allow))


def opened_guarantees(study: Study, profile: Profile) -> list[str]:
    """A line for each guarantee that was opened, with what that gives up."""
    return [f"`{one.name}`: {one.gives_up}" for one in opened_by(study, profile)]


def said(study: Study) -> list[str]:
    """What the search said of itself: its noise, what it left out, what it did beyond its time."""
    if not study.notes:
        return []
    return ["## How sure it can be", "\n".join(f"- {note.text}" for note in study.notes)]


def at_fixed_rate(study: Study) -> list[str]:
    """Both sides at the same rate, well below what either carries."""
    rows = fixed_rows(study)
    return ["## At a fixed rate", OPEN_LOOP, table(FIXED_HEADER, rows)] if rows else []


def fixed_rows(study: Study) -> list[tuple[str, ...]]:
    """A row for each run at a fixed rate, under `FIXED_HEADER`."""
    confirmed = judge(study).confirmed
    return [_fixed_row(side_name(one, confirmed), one) for one in study.of(Phase.CHECK)]


def side_name(trial: Trial, confirmed: Changes) -> str:
    """Which side a run at a fixed rate was of; a candidate that was not confirmed came before."""
    if trial.changes == BASELINE:
        return "as written"
    return "best found" if trial.changes == confirmed else "candidate, not confirmed"


def _fixed_row(name: str, trial: Trial) -> tuple[str, ...]:
    found = trial.outcome
    if not isinstance(found, PacedMeasurement):
        reason = getattr(found, "reason", "not measured")
        return (name, eps(trial.per_second or 0.0), f"failed: {reason}", "-")
    fresh = "cannot be seen" if found.freshness_s is None else percentiles_text(found.freshness_s)
    cpu = f"{found.shipper_cpu_us:.1f} us, {found.engine_cpu_us:.1f} us"
    return (name, eps(found.offered_per_second), fresh, cpu)


def beside(study: Study) -> Iterator[str]:
    """What the measurements leave open of freshness."""
    if not study.of(Phase.CHECK):
        yield (
            "freshness (the guardrail freshness_p99_s only bounds which refresh intervals are "
            "tried; it is measured where ten minutes are left after the engine's warm-up)"
        )
