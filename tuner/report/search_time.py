"""The part of a search's report that says where its time went."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.report.figures import seconds, table
from tuner.search.study import Phase, Study
from tuner.search.times import Overhead, Times, times

_WHAT_FOR = {
    Phase.WARM_UP: "warm-up: gets the engine warm, not scored",
    Phase.CALIBRATE: "calibrate: the profile as written, for the noise",
    Phase.SEARCH: "search",
    Phase.FINAL: "final: good ones again, to choose among them",
    Phase.CONFIRM: "confirm: fresh pairs",
    Phase.CHECK: "check: at a fixed rate",
    Phase.SHRINK: "shrink: undoing changes, beyond the budget",
}

TIME_HEADER = ("", "trials", "time", "share", "in windows")


def where_the_time_went(study: Study) -> list[str]:
    """The seconds of each phase, and what a trial takes beside its window."""
    found = times(study)
    if found.total_s <= 0:
        return []
    return [
        "## Where the time went",
        table(TIME_HEADER, list(time_rows(found))),
        "\n".join(f"- {line}" for line in time_notes(found, study.header.budget_s)),
    ]


def time_notes(found: Times, budget_s: float) -> list[str]:
    """How much of the budget was measuring, and what a trial takes beside that."""
    lines = [_measuring(found, budget_s)]
    if found.overhead is not None:
        lines.append(_overhead_text(found.overhead))
    return lines


def time_rows(found: Times) -> Iterator[tuple[str, ...]]:
    """From the start of the command to the end of the last trial: shares add up to 100 %."""

    def row(name: str, count: str, taken_s: float, windows: str = "-") -> tuple[str, ...]:
        return (name, count, _exactly(taken_s), f"{taken_s / found.total_s * 100:.1f} %", windows)

    yield row("start: the command and the engine", "-", found.starts_s)
    for one in found.phases:
        windows = "-" if one.phase is Phase.WARM_UP else _exactly(one.windows_s)
        yield row(_WHAT_FOR[one.phase], str(one.trials), one.seconds, windows)
    if found.restarts:
        name = "restarts of the engine with other node settings, which then gets warm"
        yield row(f"{name} ({found.restarts})", "-", found.restarts_s)
    yield row("between trials: the search's own computing", "-", found.between_s)
    trials = sum(one.trials for one in found.phases)
    windows_s = sum(one.windows_s for one in found.phases)
    yield row("all", str(trials), found.total_s, _exactly(windows_s))


def _measuring(found: Times, budget_s: float) -> str:
    beyond = any(one.phase is Phase.SHRINK for one in found.phases)
    but = ", what came beyond it left out" if beyond else ""
    return (
        f"measuring: {found.measuring * 100:.1f} % of the budget of {seconds(budget_s)} were "
        f"windows of valid trials{but}"
    )


def _overhead_text(found: Overhead) -> str:
    parts = found.parts
    named = (
        ("start", parts.start_s),
        ("warm-up", parts.warm_up_s),
        ("drain", parts.drain_s),
        ("settle", parts.settle_s),
        ("stop", parts.stop_s),
    )
    items = ", ".join(f"{name} {taken_s:.1f} s" for name, taken_s in named)
    return (
        f"a trial of the search took {found.median_s:.1f} s beside its window (median of "
        f"{found.trials} without a restart of the engine): {items}. Start is a fresh index and "
        "rsyslogd, drain goes until the last event is indexed, settle is refresh, flush and the "
        "account of all events, stop removes everything; each is a median of its own"
    )


def _exactly(taken_s: float) -> str:
    return f"{taken_s:.1f} s" if taken_s < 60 else seconds(taken_s)
