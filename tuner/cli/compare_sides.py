"""What `compare` compares: two profiles in interleaved pairs of runs, or what two searches ended
with."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tuner.cli.console import Voice, say, working
from tuner.cli.options import load
from tuner.cli.place import open_place, pace_of
from tuner.cli.runs import SideBySide, begins_block, result_text
from tuner.cli.site import Wanted
from tuner.errors import BadUsage, Refused, Unreachable
from tuner.measure.blocks import Arm, Run, comparison, pairs, values
from tuner.measure.gate import Gate, gate
from tuner.measure.measurement import Measurement, TrialPlan
from tuner.measure.metrics import restarted
from tuner.measure.paired import fewest_pairs
from tuner.profile.metric import Metric
from tuner.report.compare import RATES, A, B, Compared, Side
from tuner.report.figures import eps, interval, on, percent
from tuner.search.budget import Pace
from tuner.search.farm import MeasuringPlace
from tuner.search.guardrails import check_rate
from tuner.search.journal import read
from tuner.search.study import LabFacts, Study
from tuner.search.verdict import Outcome, outcome_of


@dataclass(frozen=True)
class CompareOptions:
    """What the options ask for."""

    pairs: int
    window_s: float
    freshness: bool
    ceiling: bool
    fail_below: float | None
    seed: int


def measured(
    a: Path, b: Path, wanted: Wanted, chosen: CompareOptions
) -> tuple[Compared, Unreachable | None]:
    """Measure both profiles on labs of the release of `a`, with the workload of `a`; where the
    engine or the last machine is lost for good, what was measured before that, and the loss."""
    first, second = load(a).profile, load(b).profile
    doubts = []
    if second.workload != first.workload:
        second = second.model_copy(update={"workload": first.workload})
        doubts.append("the workloads differ: both sides were measured with that of A")
    if first.workload.rate != "max":
        doubts.append("workload.rate is fixed: both sides were offered exactly that rate")
    arms = (Arm(A, first), Arm(B, second))
    parent = Path(tempfile.gettempdir())
    with open_place(wanted, [first, second], parent, Voice()) as place:
        facts = place.facts
        _require_enough(arms, facts, chosen.pairs)
        if facts.fixes_node and arms[0].node != arms[1].node:
            doubts.append("node settings: the running engine keeps its own for both sides")
        compared = Compared(
            a=Side(str(a), facts.substitutions),
            b=Side(str(b), facts.beside[0]),
            engine=facts.engine,
            rsyslog=facts.fingerprint.rsyslog,
            machine=facts.machine,
            runs=(),
            seed=chosen.seed,
            doubts=tuple(doubts),
        )
        try:
            with working("starting") as tell:
                stages = _stages(compared, place, arms, chosen, pace_of(wanted.engine), tell)
                for known in stages:
                    compared = known
        except Unreachable as lost:
            if not compared.runs:
                raise
            return compared, lost
        return compared, None


def _require_enough(arms: tuple[Arm, Arm], facts: LabFacts, pairs: int) -> None:
    """Raise BadUsage for fewer pairs than can show anything."""
    restarting = facts.restarts and arms[0].node != arms[1].node
    fewest = fewest_pairs(restarting=restarting)
    if pairs < fewest:
        raise BadUsage(
            f"--pairs {pairs} is too few: the node sections differ, so the engine restarts between "
            f"the sides, and runs just after a restart do not count; {fewest} suffice"
        )


def _stages(
    compared: Compared, place: MeasuringPlace, arms: tuple[Arm, Arm], chosen: CompareOptions,
    pace: Pace, tell: Callable[[str], None],
) -> Iterator[Compared]:  # fmt: skip
    """What is known after each run, each told as it ends, and after each phase that follows."""
    plan = TrialPlan(pace.warm_up_s, chosen.window_s, awaits_counters=True)
    begins = begins_block(tell, chosen.pairs)
    side_by_side = SideBySide(place, arms, plan, pace, random.Random(chosen.seed), begins)
    for run, runs in side_by_side.blocks(chosen.pairs):
        compared = replace(compared, runs=runs)
        if run is not None:
            what = f"pair {run.block} of {chosen.pairs}  {run.arm}{on(run.machine)}"
            say(f"{what}: {result_text(run.result)}{_ratio(runs, run.block)}")
        yield compared
    each = [pairs(compared.runs, A, B, metric) for metric in RATES]
    if len(each[0].a) < 2:
        return
    compared = replace(compared, gate=gate_of(compared.runs, chosen.fail_below))
    yield compared
    if chosen.freshness:
        per_second = check_rate([*each[0].a, *each[0].b])
        say(f"freshness at {eps(per_second)} events per second")
        (a, b), machine = side_by_side.at_a_rate(per_second)
        compared = replace(
            compared,
            a=replace(compared.a, freshness=a),
            b=replace(compared.b, freshness=b),
            freshness_on=machine,
        )
        yield compared
    if chosen.ceiling:
        say("the engine's ceiling")
        top, machine = side_by_side.crew.ceiling(arms[0].profile)
        yield replace(compared, ceiling=top, cores=place.facts.cores, ceiling_on=machine)


def _ratio(runs: Sequence[Run], block: int) -> str:
    """What a pair shows, once both sides of it ran."""
    before, after = (values(runs, side, Metric.EPS).get(block) for side in (A, B))
    return f", B over A {percent(after / before)}" if before and after else ""


def gate_of(runs: tuple[Run, ...], bar: float | None) -> Gate | None:
    """The gate on both rates; None when there is no bar."""
    return None if bar is None else gate([pairs(runs, A, B, metric) for metric in RATES], bar)


def of_searches(a: Path, b: Path, fail_below: float | None) -> Compared:
    """Compare what the searches in two run directories confirmed."""
    studies = read(a), read(b)
    _require_comparable(a, b, studies)
    first, second = (outcome_of(one, str(path)) for one, path in zip(studies, (a, b), strict=True))
    runs = _confirmed_runs(first.confirmed, second.confirmed)
    header = studies[1].header
    return Compared(
        a=_side(a, studies[0], first),
        b=_side(b, studies[1], second),
        engine=header.engine,
        rsyslog=header.rsyslog,
        machine=header.machine,
        runs=runs,
        seed=None,
        doubts=tuple(_doubts(studies, (first, second))),
        gate=gate_of(runs, fail_below),
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


def _side(path: Path, study: Study, outcome: Outcome) -> Side:
    unchanged = "the profile as written: no improvement shown"
    what = "what it confirmed" if outcome.improved else unchanged
    return Side(f"{path} ({what})", study.header.substitutions, outcome.freshness)


def _doubts(studies: tuple[Study, Study], outcomes: tuple[Outcome, Outcome]) -> Iterator[str]:
    yield (
        "the runs of A and B were not interleaved: they are paired by their order only, so a "
        "change of the machine in between shows as a difference"
    )
    before, after = (study.header for study in studies)
    if (before.profile_text, before.profile_layers) != (after.profile_text, after.profile_layers):
        return
    drift = _confirmed_runs(outcomes[0].written, outcomes[1].written)
    found = comparison(drift, A, B, Metric.EPS)
    if found is not None:
        yield (
            f"both searches began with the same profile, which differed by {interval(found)} in "
            f"the pairs of B: this much is not due to the settings"
        )
