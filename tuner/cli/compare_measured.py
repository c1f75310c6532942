"""Two profiles in interleaved pairs of runs on one lab."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tuner.cli.blocks import SideBySide, lab_pace, result_text
from tuner.cli.console import say, working
from tuner.cli.profiles import load
from tuner.cli.site import Wanted, open_lab, prepare
from tuner.engines.index import MappingStyle
from tuner.errors import BadUsage
from tuner.host.usage import cores, describe_machine
from tuner.lab.lab import Lab
from tuner.measure.blocks import Arm, Run, pairs, values
from tuner.measure.ceiling import CeilingPlan, ceiling
from tuner.measure.gate import Gate, gate
from tuner.measure.measurement import TrialPlan
from tuner.measure.metrics import Result
from tuner.measure.paired import fewest_pairs
from tuner.profile.bind_inputs import flooded
from tuner.profile.metric import Metric
from tuner.profile.model import Profile
from tuner.report.compare import RATES, A, B, Compared, Side
from tuner.report.figures import eps, percent
from tuner.search.checks import check_rate


@dataclass(frozen=True)
class Chosen:
    """What the options ask for."""

    pairs: int
    window_s: float
    freshness: bool
    ceiling: bool
    fail_below: float | None
    seed: int


def measured(a: Path, b: Path, wanted: Wanted, chosen: Chosen) -> Compared:
    """Measure both profiles on a lab of the release of `a`, with the workload of `a`."""
    first, second = load(a).profile, load(b).profile
    doubts = []
    if second.workload != first.workload:
        second = second.model_copy(update={"workload": first.workload})
        doubts.append("B has another workload than A: both were measured with that of A")
    if first.workload.rate != "max":
        doubts.append("workload.rate is fixed: both sides were offered so much and no more")
    prepare(wanted, first, say)
    flooded(second)
    arms = (Arm(A, first), Arm(B, second))
    with open_lab(wanted, first, Path(tempfile.gettempdir()), say) as lab:
        _require_enough(arms, lab, chosen.pairs)
        if lab.engine.fixes_node and arms[0].node != arms[1].node:
            doubts.append("node settings: the engine that runs keeps its own for both sides")
        side_a, side_b = (
            Side(str(path), tuple(str(one) for one in lab.bind(arm.profile, "t").substitutions))
            for path, arm in zip((a, b), arms, strict=True)
        )
        with working("starting") as tell:
            found = _runs(lab, arms, chosen, tell)
            compared = Compared(
                a=side_a,
                b=side_b,
                engine=lab.engine.name,
                machine=describe_machine(),
                runs=found.runs,
                seed=chosen.seed,
                doubts=tuple(doubts),
            )
            return _beyond(compared, found, chosen)


def _require_enough(arms: tuple[Arm, Arm], lab: Lab, pairs: int) -> None:
    """Raise BadUsage for fewer pairs than can show anything."""
    restarting = lab.engine.restarts and arms[0].node != arms[1].node
    fewest = fewest_pairs(restarting=restarting)
    if pairs < fewest:
        raise BadUsage(
            f"--pairs {pairs} is too few: the node sections differ, so that the engine restarts "
            f"between the sides, and what that costs is estimated too; {fewest} suffice"
        )


@dataclass(frozen=True)
class _Found:
    """The pairs that were run, and what can run more."""

    arms: tuple[Arm, Arm]
    side_by_side: SideBySide
    runs: tuple[Run, ...]


def _runs(lab: Lab, arms: tuple[Arm, Arm], chosen: Chosen, tell: Callable[[str], None]) -> _Found:
    """Every pair, each run told as it ends."""
    plan = TrialPlan(lab_pace(lab).warm_up_s, chosen.window_s, awaits_counters=True)
    side_by_side = SideBySide(lab, plan, random.Random(chosen.seed), tell)
    side_by_side.warm_up(arms[0])
    runs: list[Run] = []
    for run in side_by_side.blocks(arms, chosen.pairs):
        runs.append(run)
        what = f"pair {run.block} of {chosen.pairs}  {run.arm}"
        say(f"{what}: {result_text(run.result)}{_ratio(runs)}")
    return _Found(arms, side_by_side, tuple(runs))


def _ratio(runs: list[Run]) -> str:
    """What the pair of the last run shows, once both sides of it ran."""
    block = runs[-1].block
    before, after = (values(runs, side, Metric.EPS).get(block) for side in (A, B))
    return f", B over A {percent(after / before)}" if before and after else ""


def _beyond(compared: Compared, found: _Found, chosen: Chosen) -> Compared:
    """The gate, and the phases that were chosen, after the pairs."""
    each = [pairs(found.runs, A, B, metric) for metric in RATES]
    if len(each[0].a) < 2:
        return compared
    if chosen.freshness:
        a, b = _freshness(found, check_rate([*each[0].a, *each[0].b]))
        compared = replace(
            compared, a=replace(compared.a, freshness=a), b=replace(compared.b, freshness=b)
        )
    if chosen.ceiling:
        say("the engine's ceiling")
        profile, lab = found.arms[0].profile, found.side_by_side.lab
        restarted = lab.engine.run_with(profile) > 0
        plan = CeilingPlan(engine_warm_up_s=lab_pace(lab).engine_warm_up_s if restarted else 0.0)
        top = ceiling(lab, profile, say, plan)
        compared = replace(compared, ceiling=top, cores=cores() if lab.is_here else None)
    return replace(compared, gate=gate_of(compared.runs, chosen.fail_below))


def gate_of(runs: tuple[Run, ...], bar: float | None) -> Gate | None:
    """The gate on both rates; None when there is no bar."""
    return None if bar is None else gate([pairs(runs, A, B, metric) for metric in RATES], bar)


def _freshness(found: _Found, per_second: float) -> tuple[Result | None, Result | None]:
    """How fresh each side keeps its index at a rate that both carry."""
    say(f"freshness at {eps(per_second)} events per second")
    a, b = (_at(found, arm.profile, per_second) for arm in found.arms)
    return a, b


def _at(found: _Found, profile: Profile, per_second: float) -> Result | None:
    """None where nothing is kept that could be searched."""
    if profile.measured.index.mapping is MappingStyle.NONE:
        return None
    return found.side_by_side.at_a_rate(profile, per_second)
