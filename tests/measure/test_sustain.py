"""The search for the maximum sustainable rate, against pipelines whose limit is known."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.measure.factory import failed
from tests.measure.paced import paced
from tuner.lint.load import load_profile
from tuner.measure.measurement import Failure, PacedMeasurement
from tuner.measure.sustain import (
    Bounds,
    LoadTrial,
    bounds,
    next_load,
    why_not,
)
from tuner.profile.model import Guardrails, Profile

TRIAL_S, ENOUGH_S = 10.0, 30.0
DEFAULT = load_profile(Path(__file__).parents[2] / "profiles" / "default.yaml").profile


def pipeline(limit: float, *, unsure: float = 0.0, seed: int = 1) -> list[LoadTrial]:
    """The trials of a search on a pipeline that carries up to `limit`, give or take `unsure`."""
    rng = random.Random(seed)
    trials: list[LoadTrial] = []
    while (load := next_load(trials, ENOUGH_S, 50_000.0)) is not None:
        carried = load <= limit * (1 + unsure * rng.gauss(0, 1))
        trials.append(LoadTrial(load, TRIAL_S, None if carried else "fell behind"))
    return trials


@pytest.mark.parametrize("limit", [3_000.0, 49_000.0, 61_234.0, 900_000.0])
def test_the_bounds_close_in_on_the_limit(limit: float) -> None:
    found = bounds(pipeline(limit), ENOUGH_S)
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower <= limit < found.upper
    assert found.upper / found.lower - 1 <= 0.03


def test_a_first_load_that_is_carried_is_no_end() -> None:
    trials = pipeline(70_000.0)
    assert [trial.per_second for trial in trials[:4]] == [50_000.0] * 3 + [62_500.0]


def test_a_pipeline_that_carries_next_to_nothing_has_no_lower_bound() -> None:
    found = bounds(pipeline(50.0), ENOUGH_S)
    assert found.lower is None
    assert found.upper is not None
    assert found.upper <= 2_500.0


def test_below_a_first_load_that_fails_half_of_it_is_tried() -> None:
    assert next_load([LoadTrial(1000.0, TRIAL_S, "fell behind")], ENOUGH_S, 1000.0) == 500.0


def test_a_load_counts_only_after_it_was_carried_for_long_enough() -> None:
    once = LoadTrial(100_000.0, TRIAL_S, None)
    assert next_load([once], ENOUGH_S, 100_000.0) == 100_000.0
    assert bounds([once, once], ENOUGH_S).lower is None
    assert bounds([once, once, once], ENOUGH_S).lower == 100_000.0


def test_one_failure_among_three_trials_is_too_many() -> None:
    good, bad = LoadTrial(1000.0, TRIAL_S, None), LoadTrial(1000.0, TRIAL_S, "fell behind")
    assert bounds([good, good, bad], ENOUGH_S) == Bounds(None, 1000.0)


def test_a_carried_load_above_a_failing_one_is_no_lower_bound() -> None:
    lucky = [LoadTrial(2000.0, TRIAL_S, None)] * 3
    failed = [LoadTrial(1000.0, TRIAL_S, "fell behind")]
    assert bounds([*lucky, *failed], ENOUGH_S) == Bounds(None, 1000.0)


def test_noise_makes_it_cautious_and_not_wrong() -> None:
    """Near its limit such a pipeline fails now and then: what is named was carried three times."""
    named = [
        bounds(pipeline(50_000.0, unsure=0.03, seed=seed), ENOUGH_S).lower for seed in range(200)
    ]
    rates = sorted(rate for rate in named if rate is not None)
    assert len(rates) == 200
    assert 45_000 < rates[100] < 50_500
    assert sum(rate > 53_000 for rate in rates) <= 2


def limited(freshness_p99_s: float) -> Profile:
    guardrails = Guardrails(freshness_p99_s=freshness_p99_s)
    return DEFAULT.model_copy(update={"guardrails": guardrails})


def test_a_load_that_everything_kept_up_with_is_carried() -> None:
    for growth in (-500.0, 0.0, 199.0):
        assert why_not(paced(growth_per_second=growth), limited(1.0)) is None


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (failed("it lost two events"), "delivery incomplete: it lost two events"),
        (paced(pace_kept=False), "up to 3.2 s late"),
        (paced(growth_per_second=201.0), "fell behind by 201 events each second"),
        (paced(on_disk=1), "wrote to its disk"),
        (paced(p99_s=1.2), "freshness p99 1.2 s, freshness_p99_s allows 1 s"),
    ],
    ids=["loss", "pace", "backlog", "disk", "freshness"],
)
def test_each_criterion_alone_makes_a_load_too_much(
    outcome: PacedMeasurement | Failure, reason: str
) -> None:
    said = why_not(outcome, limited(1.0))
    assert said is not None
    assert reason in said


def test_freshness_that_cannot_be_seen_is_no_failure() -> None:
    assert why_not(paced(p99_s=None), limited(1.0)) is None
