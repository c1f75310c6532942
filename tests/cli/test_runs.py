"""Runs of a command on machines that are simulated: what is measured where, and what of it counts
when machines fail."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.measure.factory import failed
from tests.measure.factory import measured as good
from tests.measure.paced import paced
from tests.measure.series import benched
from tests.report.test_bench import CEILING
from tests.search.simulated import PROFILE, Rack, World, rack
from tuner.cli.bench import require_whole
from tuner.cli.series import Course, Measuring, SideBySide, last_known, unmeasured
from tuner.errors import GuardrailBreached, Interrupted, JobFailed, TuneError, Unreachable
from tuner.measure.ceiling import Ceiling
from tuner.measure.measurement import (
    Delivery,
    Failure,
    FailureKind,
    PacedMeasurement,
    Result,
    TrialPlan,
)
from tuner.measure.series import Arm, Run, Series, block_order
from tuner.measure.trial import Tell
from tuner.profile.model import Profile
from tuner.search.budget import SINK_PACE
from tuner.search.farm import FarmOfOne, Lost, MeasuringPlace
from tuner.search.study import Asked, Fingerprint, LabFacts, Phase

FACTS = LabFacts("sink", "2 cores", (), (), Fingerprint("8.2302", "sink", "2 cores", "0123"))
ARMS = (Arm("A", PROFILE), Arm("B", PROFILE))
TURNED = PROFILE.model_copy(
    update={"node": PROFILE.node.model_copy(update={"heap": "1g"}, deep=True)}
)
PLAN = TrialPlan(0.6, 1.0)
LABS = 3


def no_ceiling(machine: str, _profile: Profile, _tell: Tell) -> Ceiling:
    raise Unreachable(f"{machine} does not answer any more")


def place(world: World | Rack, facts: LabFacts = FACTS) -> MeasuringPlace:
    return MeasuringPlace(facts, "0a1b", lambda _: world.farm, lambda _: None, no_ceiling)


def course(count: int, arms: tuple[Arm, ...] = ARMS, *phases: str) -> Course:
    return Course(arms, "run", count, PLAN, SINK_PACE, 1, phases)


def side_by_side(where: MeasuringPlace, count: int, arms: tuple[Arm, ...] = ARMS) -> SideBySide:
    return SideBySide(where, course(count, arms))


def measured(where: MeasuringPlace, count: int, arms: tuple[Arm, ...] = ARMS) -> tuple[Run, ...]:
    *_, (_, runs) = side_by_side(where, count, arms).blocks()
    return runs


def stages(where: MeasuringPlace, asked: Course) -> Iterator[Series]:
    facts = replace(where.facts, beside=((),) * (len(asked.arms) - 1))
    begun = unmeasured(asked, facts, [arm.name for arm in asked.arms], ())
    return Measuring(where, asked, lambda _: None).stages(begun)


def require_all(runs: tuple[Run, ...], count: int) -> None:
    """Every block has every arm once, all on one machine."""
    assert [run.block for run in runs] == [block for block in range(1, count + 1) for _ in ARMS]
    arms = Counter((run.block, run.arm) for run in runs)
    assert set(arms.values()) == {1}
    assert len({(run.block, run.machine) for run in runs}) == count


def fated(labs: Rack, numbers: set[int], *, is_gone: bool = True) -> Rack:
    """Loses the trials of these numbers."""

    def fate(asked: Asked) -> tuple[float, Lost] | None:
        return (1.0, Lost("the worker died", is_gone)) if asked.number in numbers else None

    return replace(labs, fate=fate)


def test_blocks_are_spread_and_each_has_one_machine() -> None:
    labs = rack(LABS)
    runs = measured(place(labs), 9)
    require_all(runs, 9)
    assert {run.machine for run in runs} == {"lab1", "lab2", "lab3"}
    first = {one.machine: one.phase for one in reversed(labs.begun)}
    assert set(first.values()) == {Phase.WARM_UP}, "each machine warms up first"
    assert sum(one.phase is Phase.WARM_UP for one in labs.begun) == LABS


def test_on_one_machine_the_order_is_that_of_the_seed() -> None:
    runs = measured(place(World(0.0)), 6)
    rng, last, wanted = random.Random(1), ARMS[0], []
    for block in range(1, 7):
        for arm in block_order(rng.sample(ARMS, len(ARMS)), last):
            wanted.append((block, arm.name, ""))
            last = arm
    assert [(run.block, run.arm, run.machine) for run in runs] == wanted


def test_the_seed_decides_the_order_in_a_block_whichever_machine_measures_it() -> None:
    alone = [run.arm for run in measured(place(World(0.0)), 9)]
    for labs in (rack(LABS), fated(rack(LABS), {5})):
        assert [run.arm for run in measured(place(labs), 9)] == alone


def test_a_pair_whose_machine_is_lost_is_measured_again_elsewhere() -> None:
    """Whichever trial it is that is lost: the first or second of a pair, or a warm-up."""
    for number in range(14):
        labs = fated(rack(LABS, crashes=0.0), {number})
        runs = measured(place(labs), 6)
        require_all(runs, 6)
        (lost,) = [one for one in labs.begun if one.number == number]
        assert labs.dropped == [lost.machine]
        after = [one for one in labs.begun if one.number > number]
        assert lost.pair is None or [one for one in after if one.pair == lost.pair]


def test_what_is_lost_is_taken_back_at_once() -> None:
    labs = fated(rack(LABS), {LABS + LABS})
    seen = list(side_by_side(place(labs), 6).blocks())
    at = next(number for number, (run, _) in enumerate(seen) if run is None)
    (gone,) = set(seen[at - 1][1]) - set(seen[at][1])
    assert gone.machine == labs.dropped[0]


def test_a_machine_that_only_fails_is_dropped_and_its_block_measured_elsewhere() -> None:
    labs = rack(LABS)
    labs.worlds["lab2"].transient_failures = lambda _: True
    runs = measured(place(labs), 9)
    assert labs.dropped == ["lab2"]
    assert "lab2" not in {run.machine for run in runs if run.block > 2}
    require_all(runs, 9)


def test_without_a_machine_left_it_ends_and_says_why() -> None:
    labs = fated(rack(2), set(range(4, 99)))
    with pytest.raises(Unreachable, match=r"no machine is left to measure on: .* the worker died"):
        measured(place(labs), 6)


def test_where_the_engine_restarts_between_arms_one_machine_has_all_blocks() -> None:
    arms = (ARMS[0], Arm("B", TURNED))
    restarts = replace(FACTS, restarts=True)
    assert {run.machine for run in measured(place(rack(LABS), restarts), 8, arms)} == {"lab1"}
    assert len({run.machine for run in measured(place(rack(LABS)), 8, arms)}) == LABS
    lost = fated(rack(LABS), {5})
    runs = measured(place(lost, restarts), 8, arms)
    require_all(runs, 8)
    assert lost.dropped == ["lab1"]


def test_a_run_that_lost_the_engine_is_made_once_more() -> None:
    gone = Failure(FailureKind.ENGINE_DOWN, "died", lost_engine=True)
    outcomes = iter([failed(), gone, gone, failed()])

    def measure(_asked: Asked, _profile: Profile) -> Result:
        return next(outcomes)

    where = replace(place(World(0.0)), farm=lambda _: FarmOfOne(measure))
    runs = [run for run, _ in side_by_side(where, 1).blocks()]
    assert [run.result for run in runs if run is not None] == [gone, gone, failed()]
    assert [run.arm for run in runs if run is not None][:2] == ["A", "A"]


def test_freshness_of_both_is_on_one_machine_that_lives() -> None:
    labs = rack(2)
    asked = course(6, ARMS, "freshness")
    known = stages(place(labs), asked)
    for series in known:
        if len(series.runs) == 6 * len(ARMS):
            break
    assert {run.machine for run in series.runs} == {"lab1", "lab2"}
    fresh = max(one.number for one in labs.begun) + 2
    labs.fate = fated(labs, {fresh}).fate
    (series,) = known
    assert all(isinstance(one.freshness, PacedMeasurement) for one in series.variants)
    assert (series.phase_on("freshness"), labs.dropped) == ("lab2", ["lab1"])
    assert [one.machine for one in labs.begun[-2:]] == ["lab2", "lab2"]


def test_the_ceiling_is_of_the_next_machine_where_one_is_lost() -> None:
    def ceiling(machine: str, profile: Profile, tell: Tell) -> Ceiling:
        return CEILING if machine == "lab2" else no_ceiling(machine, profile, tell)

    labs = rack(2)
    side = side_by_side(replace(place(labs), ceiling=ceiling), 2)
    assert len(list(side.blocks())) == 2 * len(ARMS)
    assert side.ceiling(PROFILE) == (CEILING, "lab2")
    assert labs.dropped == ["lab1"]
    with pytest.raises(Unreachable, match="lab1 does not answer"):
        side_by_side(place(rack(1)), 1).ceiling(PROFILE)


def test_who_is_interrupted_while_a_run_is_told_has_that_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A sweep told its first run, and left no result."""

    def interrupted(_text: str) -> None:
        raise Interrupted(2)

    monkeypatch.setattr("tuner.cli.series.say", interrupted)
    known, end = last_known(stages(place(rack(1)), course(2, ARMS[:1])))
    assert isinstance(end, Interrupted)
    assert len(known.runs) == 1


def test_a_series_goes_from_its_runs_to_the_phases_and_keeps_what_it_knows_where_all_is_lost(
    capsys: pytest.CaptureFixture[str],
) -> None:
    labs = rack(2)
    asked = course(2, ARMS[:1], "freshness", "ceiling")
    known, lost = last_known(stages(place(labs), asked))
    assert isinstance(lost, Unreachable), "the ceiling of both machines was lost"
    assert len(known.runs) == 2
    assert isinstance(known.variants[0].freshness, PacedMeasurement)
    assert known.phases_on == (("freshness", "lab1"),)
    told = capsys.readouterr().err
    assert "run 1 of 2 on lab1: " in told
    assert "freshness on lab1: " in told


def test_where_nothing_is_known_a_loss_is_an_error() -> None:
    labs = fated(rack(1), set(range(-1, 9)))
    with pytest.raises(Unreachable, match="no machine is left"):
        last_known(stages(place(labs), course(1)))


def test_a_variant_that_is_not_fresh_enough_breaches_its_guardrail() -> None:
    late = benched([good(1000.0)])
    (variant,) = late.variants
    late = replace(late, variants=(replace(variant, freshness=paced(p99_s=50.0)),))
    with pytest.raises(GuardrailBreached, match=r"freshness p99 is 50\.0 s, freshness_p99_s"):
        require_whole(late)


def test_a_variant_is_not_excused_by_one_before_it_that_has_no_freshness() -> None:
    series = benched([good(1000.0)])
    (variant,) = series.variants
    late = replace(variant, freshness=paced(p99_s=50.0))
    with pytest.raises(GuardrailBreached, match="freshness p99"):
        require_whole(replace(series, variants=(variant, late)))


@pytest.mark.parametrize("lost", [0, 3])
def test_events_that_were_lost_with_the_engine_are_a_breach_and_its_end_alone_is_none(
    lost: int,
) -> None:
    delivery = Delivery(1000, 1000 - lost, 1000 - lost, lost, 0)
    down = Failure.of(FailureKind.ENGINE_DOWN, "a node died", delivery)
    with pytest.raises(TuneError, match="1 run failed: a node died") as raised:
        require_whole(benched([good(1000.0), down]))
    assert type(raised.value) is (GuardrailBreached if lost else JobFailed)
