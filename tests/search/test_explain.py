"""What each change gave: measured where it was undone, else a guess that says so."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import pytest

from tests.measure.factory import measured
from tests.search.simulated import ASKED, START_S, World, search
from tests.search.test_guess import AXES, TRUTH, trials
from tests.search.test_shrink import round_of
from tuner.measure.measurement import TrialPlan
from tuner.search.effects import Effect, Explained, explain
from tuner.search.study import BASELINE, Changes, Ending, Phase, Study, Trial
from tuner.search.verdict import Claim, Verdict, judge

PLAN = TrialPlan(1.0, 2.0)
WINNER: Changes = (("big", 8), ("hump", 512), ("idle1", 4))


def confirmation(changes: Changes, ratio: float) -> list[Trial]:
    """Six pairs in which the changes have that ratio to the profile as written."""
    return [
        Trial(
            number, Phase.CONFIRM, one, "", PLAN,
            measured(rate * (1 + 0.001 * (number % 5)), paid=rate * (1 + 0.002 * pair)),
            0.0, pair,
        )
        for number, (pair, (one, rate)) in enumerate(
            itertools.product(range(1, 7), ((BASELINE, 1000.0), (changes, 1000.0 * ratio)))
        )
    ]  # fmt: skip


def without(*paths: str) -> Changes:
    return tuple(one for one in WINNER if one[0] not in paths)


def tried(number: int, after: Changes, ratio: float) -> list[Trial]:
    """A round in which the winner ran with and without some of its changes."""
    rate = 1000.0 * math.exp(sum(TRUTH.get(one, 0.0) for one in WINNER))
    return round_of(number, WINNER, after, ratio, rate=rate)


def explained(changes: Changes, *rounds: list[Trial], ratio: float = 1.4) -> Explained:
    every = [*trials(1), *confirmation(changes, ratio), *itertools.chain(*rounds)]
    study = Study(replace(ASKED, space=AXES), tuple(every), Ending.FINISHED)
    return explain(study, judge(study))


def effects(found: Explained) -> dict[str, Effect]:
    return {one.path: one for one in found.effects}


def test_a_change_that_was_undone_alone_is_measured() -> None:
    found = effects(explained(WINNER, tried(0, without("hump"), 0.8)))
    hump = found["hump"]
    assert hump.pairs == 4
    assert hump.together == ()
    assert hump.estimate.ratio == pytest.approx(1 / 0.8)
    assert hump.estimate.low <= hump.estimate.ratio <= hump.estimate.high
    assert not hump.undone


def test_changes_that_were_undone_together_say_so() -> None:
    found = effects(explained(WINNER, tried(0, without("hump", "idle1"), 0.8)))
    assert found["hump"].together == ("idle1",)
    assert found["idle1"].together == ("hump",)
    assert found["hump"].estimate == found["idle1"].estimate


def test_the_attempt_with_the_least_beside_it_counts() -> None:
    both, one = without("hump", "idle1"), without("idle1")
    rounds = tried(0, both, 0.8), tried(1, one, 0.999)
    found = effects(explained(one, *rounds))
    assert found["idle1"].together == ()
    assert found["idle1"].estimate.ratio == pytest.approx(1 / 0.999)
    assert found["idle1"].undone
    assert found["hump"].together == ("idle1",)


def test_what_was_never_undone_is_a_guess() -> None:
    found = effects(explained(WINNER, tried(0, without("hump"), 0.8)))
    big = found["big"]
    assert big.pairs == 0
    assert big.estimate.low < 1.35 < big.estimate.high


def test_a_single_change_is_what_the_confirmation_measured() -> None:
    only = effects(explained((("big", 8),), ratio=1.25))["big"]
    assert only.pairs == 6
    assert only.estimate.ratio == pytest.approx(1.25)


def test_no_effect_is_told_of_changes_that_are_not_recommended() -> None:
    found = explained(WINNER, ratio=1.0)
    assert found.effects == ()
    assert {*found.alike, *found.slower, *found.unclear} == {axis.path for axis in AXES}


def test_knobs_without_a_difference_are_told_from_those_that_were_not_tried() -> None:
    known = trials(1, 600)
    study = Study(replace(ASKED, space=AXES), tuple(known), Ending.FINISHED)
    found = explain(study, Verdict(Claim.NOT_SHOWN, BASELINE))
    assert set(found.alike) == {f"idle{number}" for number in range(6)}
    assert found.unclear == ("big", "hump", "untried")


def test_a_knob_that_only_loses_is_best_as_written() -> None:
    axes = (replace(AXES[0], current=8), *AXES[1:])

    def reversed_(changes: Changes) -> Changes:
        """The same settings, seen from a profile with the best level of `big`."""
        wanted = {"big": 1, **dict(changes)}
        return tuple((path, level) for path, level in wanted.items() if (path, level) != ("big", 8))

    known = [replace(one, changes=reversed_(one.changes)) for one in trials(1, 200)]
    study = Study(replace(ASKED, space=axes), tuple(known), Ending.FINISHED)
    assert explain(study, Verdict(Claim.NOT_SHOWN, BASELINE)).slower == ("big",)


def test_a_level_that_was_tried_once_tells_nothing() -> None:
    once = Trial(0, Phase.SEARCH, (("untried", True),), "", PLAN, measured(1000.0), 0.0)
    found = []
    for more in ([once], [once, once]):
        known = (*trials(1, 200, sigma=0.001), *more)
        study = Study(replace(ASKED, space=AXES), known, Ending.FINISHED)
        found.append(explain(study, Verdict(Claim.NOT_SHOWN, BASELINE)))
    assert "untried" in found[0].unclear
    assert "untried" in found[1].alike


def test_every_change_of_a_whole_search_is_explained(tmp_path: Path) -> None:
    study = search(tmp_path, World(START_S))
    verdict = judge(study)
    found = explain(study, verdict)
    assert verdict.claim is Claim.IMPROVED
    assert [one.path for one in found.effects] == [path for path, _ in verdict.chosen]
    assert {one.path for one in found.effects if one.undone} == dict(verdict.chosen).keys() - {
        path for path, _ in verdict.changes
    }
    named = [*(one.path for one in found.effects), *found.alike, *found.slower, *found.unclear]
    assert sorted(named) == sorted(axis.path for axis in study.header.space)
