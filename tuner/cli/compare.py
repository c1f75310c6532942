"""`rsyslog-tune compare`: two profiles side by side, or what two searches ended with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tuner.cli.files import Exports
from tuner.cli.options import (
    duration_s,
)
from tuner.cli.place import pace_of, wanted_of
from tuner.cli.profiles import CONFIGURATION, load
from tuner.cli.series import measured, require_none_failed
from tuner.cli.side_by_side import Course
from tuner.cli.usage.measuring import CompareArguments
from tuner.errors import BadUsage, BelowTheBar, JobFailed, Refused, Unreachable
from tuner.measure.enough import fewest_pairs
from tuner.measure.machines import Decision
from tuner.measure.measurement import Measurement, TrialPlan
from tuner.measure.series import Arm, MeasuredProfile, Run, Series, comparison, restarted
from tuner.profile.metric import Metric
from tuner.profile.model import Profile
from tuner.report.compare import A, B, compare_blocks, compare_json, gate_of, gate_text
from tuner.report.figures import interval
from tuner.search.journal import read
from tuner.search.study import Header, Study
from tuner.search.verdict import ConfirmedRuns, confirmed_runs

_PHASES = ("freshness", "ceiling")


def measured_pair(options: CompareArguments) -> tuple[Series, Unreachable | None]:
    """Measure both profiles on labs of the release of `a`; where the engine or the last machine is
    lost for good, what was measured before that, and the loss."""
    a, b, wanted = options.a, options.b, wanted_of(options)
    first, second, doubts = under_one_workload(load(a).profile, load(b).profile, a)
    if first.workload.rate != "max":
        doubts.append("workload.rate is fixed: both sides were offered exactly that rate")
    arms, pace = (Arm(A, first), Arm(B, second)), pace_of(wanted.engine)
    plan = TrialPlan(pace.warm_up_s, duration_s(options.window), awaits_counters=True)
    phases = tuple(phase for phase in _PHASES if getattr(options, phase))
    course = Course(arms, "pair", options.pairs, plan, pace, options.seed, phases)
    _require_enough(course, restarts=wanted.starts_node)
    return measured(wanted, course, (str(a), str(b)), doubts=doubts)


def under_one_workload(a: Profile, b: Profile, path: Path) -> tuple[Profile, Profile, list[str]]:
    """Both profiles with the workload of A, and what that leaves in doubt; a configuration, in
    which no workload can stand, has that of the profile on top of one beside it."""
    if path.suffix == CONFIGURATION and b.base is not None:
        return a.model_copy(update={"workload": b.workload}), b, []
    if b.workload == a.workload:
        return a, b, []
    doubt = "the workloads differ: both sides were measured with that of A"
    return a, b.model_copy(update={"workload": a.workload}), [doubt]


def _require_enough(course: Course, *, restarts: bool) -> None:
    """Raise BadUsage for fewer pairs than can show anything."""
    fewest = fewest_pairs(restarting=restarts and course.nodes > 1)
    if course.blocks < fewest:
        raise BadUsage(
            f"--pairs {course.blocks} is too few: the node sections differ, so the engine restarts "
            f"between the sides, and runs just after a restart do not count; {fewest} suffice"
        )


def of_searches(a: Path, b: Path) -> Series:
    """Compare what the searches in two run directories confirmed."""
    studies = read(a), read(b)
    _require_comparable(a, b, studies)
    first, second = (
        confirmed_runs(one, str(path)) for one, path in zip(studies, (a, b), strict=True)
    )
    runs = _confirmed_runs(first.confirmed, second.confirmed)
    header = studies[1].header
    return Series(
        variants=(_side(A, a, studies[0], first), _side(B, b, studies[1], second)),
        engine=header.engine,
        rsyslog=header.rsyslog,
        machine=header.machine,
        runs=runs,
        seed=None,
        doubts=tuple(_doubts(a, b, studies, (first, second))),
    )


def _require_comparable(a: Path, b: Path, studies: tuple[Study, Study]) -> None:
    """Raise Refused where more than the settings of the searches differs; a heap is a setting."""
    before, after = (study.header.fingerprint for study in studies)
    apart = before.apart(replace(after, heap=before.heap))
    if apart:
        what = "; ".join(f"{name}: {was} in A, {now} in B" for name, was, now in apart)
        raise Refused(
            f"A and B cannot be compared, they were measured under different conditions: {what}; "
            f"to measure both here: rsyslog-tune compare {a / 'best.yaml'} {b / 'best.yaml'}"
        )


def _confirmed_runs(a: Sequence[Measurement], b: Sequence[Measurement]) -> tuple[Run, ...]:
    """The runs of both in order, those just after a restart of the engine with such runs only."""
    pairs = [
        both
        for after in (False, True)
        for both in zip(
            [one for one in a if restarted(one) is after],
            [one for one in b if restarted(one) is after],
            strict=False,
        )
    ]
    return tuple(
        Run(arm, block, one)
        for block, both in enumerate(pairs, 1)
        for arm, one in zip((A, B), both, strict=True)
    )


def _side(name: str, path: Path, study: Study, outcome: ConfirmedRuns) -> MeasuredProfile:
    unchanged = "the profile as written: no improvement shown"
    what = "what it confirmed" if outcome.improved else unchanged
    header = study.header
    title, limit_s = f"{path} ({what})", header.limits.freshness_p99_s
    return MeasuredProfile(name, title, limit_s, header.substitutions, outcome.freshness)


def _doubts(
    a: Path, b: Path, studies: tuple[Study, Study], outcomes: tuple[ConfirmedRuns, ConfirmedRuns]
) -> Iterator[str]:
    yield (
        "the runs of A and B were not interleaved: they are paired by their order only, so a "
        "change of the machine in between shows as a difference"
    )
    before, after = (study.header for study in studies)
    if _said(before) != _said(after):
        yield (
            "the searches began with different profiles, so the difference is that of the profiles "
            f"and of what was found: rsyslog-tune diff {a / 'best.yaml'} {b / 'best.yaml'}"
        )
        return
    drift = _confirmed_runs(outcomes[0].written, outcomes[1].written)
    found = comparison(drift, A, B, Metric.EPS)
    if found is not None:
        yield (
            f"both searches began with the same profile, which differed by {interval(found)} in "
            f"the pairs of B: this much is not due to the settings"
        )


def _said(header: Header) -> tuple[object, ...]:
    return header.profile_text, header.profile_layers, header.profile_base


# What two searches can be compared with.
_OF_SEARCHES = {"a", "b", "fail_below", "export_json", "export_markdown", "rsyslogd", "output"}


def compare(options: CompareArguments) -> None:
    """Carry out `rsyslog-tune compare`."""
    a, b = options.a, options.b
    exports = Exports(options.export_json, options.export_markdown)
    exports.require_writable(a, b)
    directories = [path for path in (a, b) if path.is_dir()]
    if len(directories) == 1:
        raise BadUsage(
            f"{directories[0]} is a folder: compare two profiles, or two run directories"
        )
    lost = None
    if directories:
        if given := options.given_beside(_OF_SEARCHES):
            raise BadUsage(f"two searches are already measured: leave out {', '.join(given)}")
        series = of_searches(a, b)
    else:
        series, lost = measured_pair(options)
    decided = gate_of(series, options.fail_below)
    exports.publish(compare_json(series, decided), compare_blocks(series, decided), options.output)
    if lost is not None:
        raise lost
    require_none_failed(series)
    if decided is None or decided.decision is Decision.KEPT:
        return
    text = gate_text(decided, series)
    raise (BelowTheBar if decided.decision is Decision.BELOW else JobFailed)(text)
