"""What each change gave: the design, what runs of it show, and what is taken back."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.measure.factory import failed, measured
from tests.search.simulated import ASKED
from tuner.measure.measurement import TrialPlan
from tuner.schema.path import Path
from tuner.search.effects import Design, Effects, blocks_left, designed, effects_of
from tuner.search.study import BASELINE, Changes, Ending, Phase, Study, Trial
from tuner.search.verdict import Claim, experiments, judge
from tuner.space.knob import Cost, Knob, Level, Need

PLAN = TrialPlan(1.0, 2.0)
PARTS = ("first", "bulk", "settings")


def knob(
    path: str, key: str = "", needs: tuple[Need, ...] = (), cost: Cost = Cost.NEW_INDEX
) -> Knob:
    return Knob(Path(path), (0, 1), 0, cost, needs=needs, keys=(key or path,))


def changed(*paths: str) -> Changes:
    return tuple((path, 1) for path in sorted(paths))


def design_of(
    paths: Sequence[str],
    blocks: int = 8,
    knobs: Sequence[Knob] = (),
    repairs: Changes = (),
    is_valid: Callable[[Changes], bool] = lambda _: True,
) -> Design:
    every = knobs or [knob(path, f"{PARTS[at % 3]}.{path}") for at, path in enumerate(paths)]
    winner = tuple(sorted({*changed(*paths), *repairs}))
    found = designed(winner, repairs, every, blocks, is_valid)
    assert found is not None
    return found


def names(design: Design) -> list[str]:
    """The paths of each factor."""
    return sorted("".join(path for path, _ in factor) for factor in design.factors)


@pytest.mark.parametrize("count", range(2, 8))
def test_every_effect_is_clear_of_the_others_and_of_what_two_do_together(count: int) -> None:
    design = design_of("abcdefgh"[:count])
    assert len(design.factors) == count
    runs = np.array([*design.rows, *([not on for on in row] for row in design.rows)]) * 2 - 1
    assert len(runs) == 16
    for a, b in itertools.combinations(range(count), 2):
        assert runs[:, a] @ runs[:, b] == 0
        for c in range(count):
            assert (runs[:, a] * runs[:, b]) @ runs[:, c] == 0
    assert {*itertools.chain(*design.blocks())} >= {changed(*"abcdefgh"[:count]), BASELINE}


def test_what_one_run_of_a_block_has_the_other_has_not() -> None:
    for first, second in design_of("abcde").blocks():
        assert not {*first} & {*second}
        assert {*first} | {*second} == {*changed(*"abcde")}


def test_there_is_no_design_of_one_change_or_without_time() -> None:
    every = [knob(path) for path in "abc"]
    assert designed(changed("a"), (), every, 8, lambda _: True) is None
    assert designed(changed(*"abc"), (), every, 0, lambda _: True) is None
    assert designed(changed("a", "b"), changed("b"), every, 8, lambda _: True) is None


def test_one_block_too_few_still_tells_two_factors_less_apart() -> None:
    design = design_of("abcdefg", 7)
    assert (len(design.factors), len(design.rows)) == (6, 8)
    measured = list(runs(design, logs(dict.fromkeys("abcdefg", 0.1))))[:-2]
    found = found_of(design, [*calibrated(), *measured])
    assert {round(math.log(found.of(at).ratio), 9) for at in range(6)} == {0.1, 0.2}


def test_more_time_measures_the_same_more_often() -> None:
    once, twice = (design_of("abcde", blocks) for blocks in (8, 16))
    assert sorted(twice.blocks()) == sorted([*once.blocks(), *once.blocks()])


def test_little_time_makes_groups_of_what_belongs_together() -> None:
    """Here a and d are of one part, b and e of another."""
    assert names(design_of("abcde", 4)) == ["ad", "be", "c"]
    assert names(design_of("abcdefg", 4)) == ["adg", "be", "cf"]


def test_what_rsyslog_does_is_told_apart_from_what_the_engine_does() -> None:
    restart = Cost.RSYSLOG_RESTART
    every = [
        knob("a", "settings.a"), knob("b", "index.b"), knob("c", "bulk.c", cost=restart),
        knob("d", "first.d", cost=restart), knob("e", "filter", cost=restart),
    ]  # fmt: skip
    assert names(design_of("abcde", 1, every)) == ["ab", "cde"]


@pytest.mark.parametrize(
    ("blocks", "groups"), [(1, ["ac", "bd"]), (2, ["ac", "bd"]), (3, ["a", "b", "c", "d"])]
)
def test_of_very_little_time_one_row_is_left_to_the_pairs(blocks: int, groups: list[str]) -> None:
    every = [knob("a", "x.a"), knob("b", "y.b"), knob("c", "x.c"), knob("d", "y.d")]
    design = design_of("abcd", blocks, every)
    assert names(design) == groups
    assert len(design.rows) == blocks
    assert not any(all(row) or not any(row) for row in design.rows)


def test_repairs_and_what_the_engine_restarts_for_stay_as_in_the_winner() -> None:
    every = [*(knob(path) for path in "abr"), knob("n", cost=Cost.NODE_RESTART)]
    design = design_of("abn", 8, every, changed("r"))
    assert names(design) == ["a", "b"]
    for run in itertools.chain(*design.blocks()):
        assert {*changed("n", "r")} <= {*run}


def test_a_change_that_does_nothing_without_another_goes_with_it() -> None:
    every = [knob("threads"), knob("start", needs=(Need(Path("threads"), (1,)),)), knob("size")]
    assert names(design_of(["size", "start", "threads"], 8, every)) == ["size", "startthreads"]


def test_changes_that_are_no_valid_profile_apart_are_one_factor() -> None:
    def is_valid(changes: Changes) -> bool:
        return ("a" in dict(changes)) is ("d" in dict(changes))

    design = design_of("abcd", 8, is_valid=is_valid)
    assert "ad" in names(design)
    assert all(is_valid(run) for run in itertools.chain(*design.blocks()))


TRUTH: Mapping[str, float] = {"a": 0.30, "b": 0.0, "c": 0.1, "d": -0.02, "e": 0.0}


def logs(truth: Mapping[str, float] = TRUTH) -> Callable[[Changes], float]:
    return lambda changes: sum(truth[path] for path, _ in changes)


def runs(
    design: Design,
    log: Callable[[Changes], float],
    noise: float = 0.0,
    drift: float = 0.0,
    seed: int = 1,
) -> Iterator[Trial]:
    """The runs of a design: each has a rate that drifts by so much from run to run."""
    rng, number = random.Random(seed), itertools.count(20)
    for pair, block in enumerate(design.blocks(), 1):
        for changes in rng.sample(block, 2):
            at = next(number)
            rate = 1000.0 * math.exp(log(changes) + rng.gauss(0, noise) + drift * at)
            yield Trial(at, Phase.EFFECTS, changes, "", PLAN, measured(rate), at, pair,
                        ended_s=at + 1.0)  # fmt: skip


def calibrated(noise: float = 0.0, seed: int = 1) -> list[Trial]:
    rng = random.Random(f"calibrated {seed}")
    return [
        Trial(at, Phase.CALIBRATE, BASELINE, "", PLAN,
              measured(1000.0 * math.exp(rng.gauss(0, noise))), at, ended_s=at + 1.0)
        for at in range(4)
    ]  # fmt: skip


def found_of(design: Design, trials: Sequence[Trial]) -> Effects:
    winner = tuple(sorted([*design.held, *itertools.chain(*design.factors)]))
    found = effects_of(trials, winner)
    assert found is not None
    return found


def by_path(found: Effects) -> dict[str, float]:
    """The logarithm of what each change gave."""
    return {group[0][0]: math.log(found.of(at).ratio) for at, group in enumerate(found.groups)}


def test_what_each_change_gave_is_found_whatever_the_machine_drifts() -> None:
    """A drift of 1 % a run is 16 % over the design, and half of that within a block at most."""
    design = design_of("abcde")
    assert by_path(found_of(design, list(runs(design, logs())))) == pytest.approx(TRUTH, abs=1e-9)
    drifting = found_of(design, list(runs(design, logs(), drift=0.01)))
    assert by_path(drifting) == pytest.approx(TRUTH, abs=0.011)
    whole = math.log(drifting.whole.ratio)
    assert whole == pytest.approx(sum(TRUTH.values()), abs=0.02)


def test_the_interval_is_as_wide_as_the_noise_makes_it() -> None:
    """Half of the noise of one run is the standard error of an effect by 16 runs."""
    widths, covered, count = [], 0, 0
    for seed in range(60):
        design = design_of("abcde")
        made = [*calibrated(0.05, seed), *runs(design, logs(), 0.05, seed=seed)]
        found = found_of(design, made)
        for at, group in enumerate(found.groups):
            one, true = found.of(at), math.exp(TRUTH[group[0][0]])
            widths.append(math.log(one.high / one.ratio))
            covered, count = covered + (one.low <= true <= one.high), count + 1
    assert 0.05 < float(np.mean(widths)) < 0.07
    assert covered / count >= 0.92


def test_changes_that_always_went_together_have_one_figure() -> None:
    design = design_of("abcde", 4)
    found = found_of(design, list(runs(design, logs())))
    (both,) = [at for at, group in enumerate(found.groups) if ("a", 1) in group]
    assert sorted(path for path, _ in found.groups[both]) == ["a", "d"]
    assert found.of(both).ratio == pytest.approx(math.exp(0.28))


def test_one_block_that_could_not_be_measured_leaves_every_figure() -> None:
    design = design_of("abcdefg")
    truth = dict(zip("abcdefg", (0.3, 0.0, 0.1, -0.02, 0.0, 0.2, 0.05), strict=True))
    made = [*calibrated(), *runs(design, logs(truth))]
    assert by_path(found_of(design, made[:-1])) == pytest.approx(truth, abs=1e-9)


def test_what_gives_nothing_or_harms_is_taken_back_and_never_everything() -> None:
    design = design_of("abcde")
    found = found_of(design, [*calibrated(0.003), *runs(design, logs(), 0.003)])
    assert found.left == changed("a", "c")
    idle = dict.fromkeys("abcde", 0.0)
    none = found_of(design, [*calibrated(0.003), *runs(design, logs(idle), 0.003)])
    assert len(none.left) == 1


def test_what_may_matter_stays() -> None:
    """With runs that differ by 30 % nothing is shown to cost less than 5 %."""
    design = design_of("abcde")
    found = found_of(design, [*calibrated(0.3), *runs(design, logs(), 0.3)])
    assert found.left == changed(*"abcde")


def test_a_block_without_both_runs_does_not_count() -> None:
    design = design_of("abc", 4)
    made = list(runs(design, logs()))
    winner = changed(*"abc")
    assert len(blocks_left(design, made)) == 0
    halved = made[:-1]
    assert [{*block} for block in blocks_left(design, halved)] == [
        {one.changes for one in made[-2:]}
    ]
    broken = [*calibrated(), *made[:-1], replace(made[-1], outcome=failed("it lost two"))]
    found = effects_of(broken, winner)
    assert found is not None
    assert found.blocks == 3
    few = effects_of([*calibrated(), *made[:4]], winner)
    assert few is not None
    assert len(few.groups) == 2
    assert effects_of([*calibrated(), *made[:2]], winner) is None
    assert effects_of([], winner) is None


def test_a_design_goes_on_where_another_session_left_it() -> None:
    design = design_of("abcde", 16)
    made = list(runs(design, logs()))
    assert blocks_left(design, made[:20]) == list(design.blocks()[10:])


def test_the_last_winner_that_was_taken_apart_comes_first() -> None:
    one, other = design_of("abc", 4), design_of("abd", 4)
    late = [replace(trial, pair=(trial.pair or 0) + 10) for trial in runs(other, logs())]
    found = list(experiments([*runs(one, logs()), *late]))
    assert [each.chosen for each in found] == [changed(*"abd"), changed(*"abc")]


TRULY = logs()


def confirmed(
    winner: Changes, log: Callable[[Changes], float] = TRULY, noise: float = 0.0, seed: int = 1
) -> list[Trial]:
    """Six pairs of the profile as written and a winner, the second 0.1 % faster than the first."""
    rng = random.Random(f"confirmed {seed}")

    def rate(changes: Changes, pair: int) -> float:
        return 1000.0 * math.exp(log(changes) + rng.gauss(0, noise)) * (1 + 0.001 * pair)

    return [
        Trial(200 + 2 * pair + at, Phase.CONFIRM, side, "", PLAN, measured(rate(side, pair)),
              200.0 + 2 * pair + at, pair, ended_s=201.0 + 2 * pair + at)
        for pair in range(6)
        for at, side in enumerate((BASELINE, winner))
    ]  # fmt: skip


def told(trials: Sequence[Trial]) -> Effects:
    """What the verdict tells of each change."""
    found = judge(Study(ASKED, tuple(trials), Ending.FINISHED)).effects
    assert found is not None
    return found


@pytest.mark.parametrize("paths", ["ab", "abcd"])
def test_pairs_that_are_a_row_tell_the_changes_apart(paths: str) -> None:
    design, winner = design_of(paths, len(paths) - 1), changed(*paths)
    made = [*calibrated(), *runs(design, logs())]
    assert effects_of(made, winner) is None
    found = told([*made, *confirmed(winner)])
    assert (found.blocks, found.pairs) == (len(paths) - 1, 6)
    assert by_path(found) == pytest.approx({path: TRUTH[path] for path in paths}, abs=1e-9)
    assert found.whole.ratio == pytest.approx(math.exp(logs()(winner)))


def test_a_repair_on_one_side_of_the_pairs_is_no_change_for_speed() -> None:
    repair = changed("r")
    every = [knob(path) for path in "abcdr"]
    design = design_of("abcd", 3, every, repair)
    winner = changed(*"abcdr")

    def log(changes: Changes) -> float:
        return logs()(tuple(one for one in changes if one not in repair))

    found = told([*calibrated(), *runs(design, log), *confirmed(winner, log)])
    assert by_path(found) == pytest.approx({path: TRUTH[path] for path in "abcd"}, abs=1e-9)


def test_a_repair_that_costs_something_is_no_part_of_what_the_changes_gave() -> None:
    """Four blocks tell the changes apart by themselves, so that the pairs show the repair."""
    repair, paths = changed("r"), "abc"
    every = [knob(path) for path in "abcr"]
    design, winner = design_of(paths, 4, every, repair), changed(*"abcr")
    truth = {**TRUTH, "r": -0.2}
    found = told([*runs(design, logs(truth)), *confirmed(winner, logs(truth))])
    assert by_path(found) == pytest.approx({path: TRUTH[path] for path in paths}, abs=1e-9)
    assert found.beside is not None
    assert math.log(found.beside.ratio) == pytest.approx(-0.2, abs=1e-9)


def test_the_pairs_tell_of_the_noise_in_place_of_a_calibration_of_a_cold_engine() -> None:
    design, winner = design_of("abc", 4), changed(*"abc")
    cold = replace(calibrated()[0], outcome=measured(500.0))
    made = [cold, *calibrated(0.02)[1:], *runs(design, logs(), 0.02)]
    before = effects_of(made, winner)
    assert before is not None
    after = told([*made, *confirmed(winner, TRULY, 0.02)])

    def width(found: Effects) -> float:
        return math.log(found.of(0).high / found.of(0).low)

    assert width(after) < width(before) / 4


def test_a_pair_of_longer_windows_counts_for_more() -> None:
    """Two pairs, of which one says 10 % more: the mean leans to the one with windows of 8 s."""
    design, winner = design_of("ab", 1), changed("a", "b")

    def pair(number: int, log: float, window_s: float) -> list[Trial]:
        plan = replace(PLAN, window_s=window_s)
        two = confirmed(winner, lambda changes: log * bool(changes))[:2]
        return [replace(one, pair=number, plan=plan) for one in two]

    made = [*calibrated(0.01), *runs(design, logs({"a": 0.0, "b": 0.0}))]
    for window_s, log in ((2.0, 0.35), (8.0, 0.38)):
        (found,) = experiments([*made, *pair(1, 0.3, 2.0), *pair(2, 0.4, window_s)])
        assert math.log(found.whole.ratio) == pytest.approx(log, abs=0.001)


def test_what_was_taken_back_is_on_neither_side_of_the_pairs() -> None:
    """Three changes are told apart by three blocks alone, well enough where runs are alike."""
    truth = {"a": 0.30, "b": 0.0, "c": 0.1}
    design, winner = design_of("abc", 3), changed(*"abc")
    made = [*calibrated(0.001), *runs(design, logs(truth), 0.001)]
    before = effects_of(made, winner)
    assert before is not None
    assert before.left == changed("a", "c")
    found = told([*made, *confirmed(before.left, logs(truth))])
    assert by_path(found) == pytest.approx(truth, abs=0.01)


def test_intervals_with_the_pairs_cover_as_often_as_they_say() -> None:
    covered, count = 0, 0
    design, winner = design_of("abcd", 3), changed(*"abcd")
    for seed in range(60):
        made = [*calibrated(0.05, seed), *runs(design, logs(), 0.05, seed=seed)]
        found = told([*made, *confirmed(winner, TRULY, 0.05, seed)])
        for at, group in enumerate(found.groups):
            one, true = found.of(at), math.exp(TRUTH[group[0][0]])
            covered, count = covered + (one.low <= true <= one.high), count + 1
    assert covered / count >= 0.92


def test_a_verdict_tells_of_what_its_pairs_are_left_of() -> None:
    design = design_of("abcde")
    made = [*calibrated(0.003), *runs(design, logs(), 0.003)]
    left = changed("a", "c")

    pairs = confirmed(left)
    verdict = judge(Study(ASKED, (*made, *pairs), Ending.FINISHED))
    assert (verdict.claim, verdict.changes) == (Claim.IMPROVED, left)
    assert verdict.chosen == changed(*"abcde")
    assert verdict.effects is not None
    assert verdict.effects.left == left
    level: Level = 1
    other = judge(Study(ASKED, (*pairs,), Ending.FINISHED))
    assert (other.chosen, other.effects) == (left, None)
    assert dict(other.changes)["a"] == level
