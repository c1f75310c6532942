"""`rsyslog-tune compare`: two profiles side by side, or what two searches ended with."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.console import OutputFormat, Verbosity, say, working
from tuner.cli.files import Exports, JsonFile, MarkdownFile
from tuner.cli.options import (
    ClusterOption,
    EngineChoice,
    EngineOption,
    OutputOption,
    RsyslogdOption,
    TemplatesOption,
    UrlOption,
    duration_s,
    given_beside,
)
from tuner.cli.place import Wanted, open_place, pace_of
from tuner.cli.profiles import CONFIGURATION, load, templates_of
from tuner.cli.runs import SideBySide, begins_block, last_known, reported_runs, require_none_failed
from tuner.errors import BadUsage, BelowTheBar, JobFailed, Refused, Unreachable
from tuner.host.programs import choose_rsyslogd
from tuner.measure.blocks import Arm, Run, comparison, pairs, values
from tuner.measure.gate import Decision, Gate, gate
from tuner.measure.measurement import Measurement, TrialPlan
from tuner.measure.metrics import restarted
from tuner.measure.paired import FEWEST_PAIRS, fewest_pairs
from tuner.profile.metric import Metric
from tuner.profile.model import Profile
from tuner.report.compare import (
    RATES,
    A,
    B,
    Compared,
    Side,
    compare_blocks,
    compare_json,
    gate_text,
)
from tuner.report.figures import interval
from tuner.schema.numerals import eps, percent
from tuner.search.budget import Pace
from tuner.search.farm import MeasuringPlace
from tuner.search.guardrails import check_rate
from tuner.search.journal import read
from tuner.search.study import Header, LabFacts, Study
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
    """Measure both profiles on labs of the release of `a`; where the engine or the last machine is
    lost for good, what was measured before that, and the loss."""
    first, second, doubts = under_one_workload(load(a).profile, load(b).profile, a)
    if first.workload.rate != "max":
        doubts.append("workload.rate is fixed: both sides were offered exactly that rate")
    arms = (Arm(A, first), Arm(B, second))
    parent = Path(tempfile.gettempdir())
    with open_place(wanted, [first, second], parent, Verbosity.NORMAL) as place:
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
            doubts=(*doubts, *(f"not tested: {one}" for one in facts.untested)),
        )
        with working("starting") as tell:
            pace = pace_of(wanted.engine)
            return last_known(_stages(compared, place, arms, chosen, pace, tell))


def under_one_workload(a: Profile, b: Profile, path: Path) -> tuple[Profile, Profile, list[str]]:
    """Both profiles with the workload of A, and what that leaves in doubt; a configuration, in
    which no workload can stand, has that of the profile on top of one beside it."""
    if path.suffix == CONFIGURATION and b.base is not None:
        return a.model_copy(update={"workload": b.workload}), b, []
    if b.workload == a.workload:
        return a, b, []
    doubt = "the workloads differ: both sides were measured with that of A"
    return a, b.model_copy(update={"workload": a.workload}), [doubt]


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
    side_by_side = SideBySide(
        place, arms, plan, pace, random.Random(chosen.seed), begins_block(tell, chosen.pairs)
    )
    for _, runs in reported_runs(side_by_side, chosen.pairs, "pair", _ratio):
        compared = replace(compared, runs=runs)
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
        top, machine = side_by_side.ceiling(arms[0].profile)
        yield replace(compared, ceiling=top, cores=place.facts.cores, ceiling_on=machine)


def _ratio(runs: Sequence[Run], run: Run) -> str:
    """What the pair of a run shows, once both sides of it ran."""
    before, after = (values(runs, side, Metric.EPS).get(run.block) for side in (A, B))
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
        doubts=tuple(_doubts(a, b, studies, (first, second))),
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


def _doubts(
    a: Path, b: Path, studies: tuple[Study, Study], outcomes: tuple[Outcome, Outcome]
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

SidePath = Annotated[Path, typer.Argument(help="A profile, or the run directory of a search.")]
PairCount = Annotated[
    int, typer.Option(min=FEWEST_PAIRS, max=1000, help="Number of pairs of runs.")
]
Window = Annotated[str, typer.Option(help="Length of a run's window.")]
Freshness = Annotated[
    bool, typer.Option(help="Also measure the freshness of each, once and at the same rate.")
]
WithCeiling = Annotated[
    bool,
    typer.Option(
        "--ceiling",
        help="Measure the engine's own ceiling, without rsyslog, and the share of it "
        "that each reaches.",
    ),
]
FailBelow = Annotated[
    float | None,
    typer.Option(
        min=0.01,
        max=100.0,
        metavar="RATIO",
        help="A gate: exit with 7 when B is shown to carry less than RATIO of the events per "
        "second of A, with 0 when it is shown to carry more, and with 1 when the pairs cannot "
        "tell.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Decides which side of a pair runs first.")]


def compare(
    context: typer.Context,
    a: SidePath,
    b: SidePath,
    pairs: PairCount = 8,
    window: Window = "10s",
    freshness: Freshness = True,
    ceiling: WithCeiling = False,
    fail_below: FailBelow = None,
    seed: Seed = 1,
    engine: EngineOption = EngineChoice.NODE,
    elasticsearch: UrlOption = None,
    cluster: ClusterOption = False,
    templates: TemplatesOption = None,
    export_json: JsonFile = None,
    export_markdown: MarkdownFile = None,
    rsyslogd: RsyslogdOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Compare two profiles in interleaved pairs, or what two searches ended with.

    Both profiles run with the workload of A; where A is a configuration of rsyslog and B a profile
    on top of one, with that of B.  For searches it compares the confirming runs, and
    says that they were not interleaved; searches on another engine, rsyslog, machine or workload
    are refused.

    The gate of --fail-below looks at EPS over the steady window and at EPS including deferred
    work.  Shown means that the whole 95 % interval of B over A lies on one side of RATIO and that
    the exact sign-flip test agrees; below by one of the rates is below.  In JSON `gate.decision`
    is kept (exit 0), below (7) or inconclusive (1), and `gate.pairs_wanted` says how many pairs
    would probably decide.

    Whatever the gate says, exits with 6 when a run lost or doubled events or breached a guardrail,
    and with 1 when one failed otherwise.  An engine that dies is started again and the run repeated
    once; after three losses in a row it exits with 4, with what was measured so far.

    With --cluster the pairs are spread over its machines, both runs of a pair on one.
    """
    choose_rsyslogd(rsyslogd)
    exports = Exports(export_json, export_markdown)
    exports.require_writable(a, b)
    directories = [path for path in (a, b) if path.is_dir()]
    if len(directories) == 1:
        raise BadUsage(
            f"{directories[0]} is a folder: compare two profiles, or two run directories"
        )
    lost = None
    if directories:
        if given := given_beside(context, _OF_SEARCHES):
            raise BadUsage(f"two searches are already measured: leave out {', '.join(given)}")
        compared = of_searches(a, b, fail_below)
    else:
        wanted = Wanted(engine, elasticsearch, templates_of(templates), on_cluster=cluster)
        chosen = CompareOptions(pairs, duration_s(window), freshness, ceiling, fail_below, seed)
        compared, lost = measured(a, b, wanted, chosen)
    exports.publish(compare_json(compared), compare_blocks(compared), output)
    if lost is not None:
        raise lost
    _judge(compared)


def _judge(compared: Compared) -> None:
    """Choose the exit code."""
    fresh = (compared.a.freshness, compared.b.freshness)
    require_none_failed([*(run.result for run in compared.runs), *fresh])
    if compared.gate is None or compared.gate.decision is Decision.KEPT:
        return
    decision = gate_text(compared.gate, compared.interleaved)
    if compared.gate.decision is Decision.BELOW:
        raise BelowTheBar(decision)
    raise JobFailed(decision)
