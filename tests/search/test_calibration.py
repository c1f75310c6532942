"""The noise of measurements, from repeated runs of one profile."""

from __future__ import annotations

import math
import random
import statistics
from dataclasses import replace

import pytest

from tests.benchmarks.noise_promise import shown
from tests.measure.factory import failed
from tuner.errors import GuardrailBreached
from tuner.measure.measurement import FailureKind, TrialPlan
from tuner.measure.speed import Speed
from tuner.search.calibration import Calibration, Repeats, calibrate, required
from tuner.search.notes import calibrated, in_lab
from tuner.search.study import Phase, Trial


def runs(sigma: float, count: int, seed: int, drift: float = 0.0) -> Calibration:
    rng = random.Random(seed)
    times = [10.0 * number for number in range(count)]
    rates = [math.exp(rng.gauss(11, sigma) + drift * at_s / 60) for at_s in times]
    return calibrate(Repeats(rates))


@pytest.mark.parametrize("sigma", [0.03, 0.10, 0.20])
def test_many_runs_tell_the_noise(sigma: float) -> None:
    found = [runs(sigma, 40, seed).sigma for seed in range(20)]
    assert statistics.fmean(found) == pytest.approx(sigma, rel=0.15)


@pytest.mark.parametrize(
    ("rates", "least_noise"),
    [([3_298.0, 4_884.0], 0.27), ([11_191.0, 20_108.0], 0.41), ([100.0, 150.0, 90.0], 0.3)],
)
def test_a_few_runs_that_differ_tell_how_much(rates: list[float], least_noise: float) -> None:
    """What is usual elsewhere takes nothing off it."""
    found = calibrate(Repeats(rates))
    assert found.sigma > least_noise
    assert (found.detectable(6) or 0.0) > 3 * least_noise


def test_two_equal_runs_do_not_tell_of_no_noise() -> None:
    assert calibrate(Repeats([50_000.0, 50_000.0])).sigma > 0.02


def test_one_run_tells_of_no_noise_and_promises_nothing() -> None:
    found = calibrate(Repeats([50_000.0]))
    assert found.detectable(6) is None
    assert list(calibrated(found)) == [
        "baseline noise is not known: there was time for one run of the profile"
    ]


@pytest.mark.parametrize("noise", [0.02, 0.05, 0.1, 0.2, 0.4])
@pytest.mark.parametrize("count", [2, 4, 6])
def test_what_pairs_are_said_to_detect_they_show_four_times_out_of_five(
    noise: float, count: int
) -> None:
    """Whatever the noise is, and by however few runs it is known; the standard error is 2 %."""
    assert shown(noise, count, 6, searches=400) >= 0.75


def test_a_drift_is_no_noise() -> None:
    still, drifting = runs(0.01, 60, 1), runs(0.01, 60, 1, drift=0.05)
    assert drifting.sigma == pytest.approx(still.sigma, abs=0.01)


def test_an_engine_that_gets_warm_fast_makes_no_noise() -> None:
    assert runs(0.02, 6, 1, drift=0.6).sigma == pytest.approx(runs(0.02, 6, 1).sigma)


def test_more_pairs_and_less_noise_show_smaller_gains() -> None:
    quiet, noisy = runs(0.02, 40, 1), runs(0.10, 40, 1)
    gains = [quiet.detectable(12), quiet.detectable(6), noisy.detectable(6)]
    assert gains == sorted(gain for gain in gains if gain is not None)


def test_six_pairs_at_five_percent_show_about_ten() -> None:
    """The table of `search.md` 2.2: 10.1 % with independent runs."""
    known = Calibration(40, 0.05)
    assert known.detectable(6) == pytest.approx(0.13, abs=0.015)


def probed(count: int, seed: int) -> Calibration:
    """Runs on a machine whose speed varies by 12 %, beside a probe; 4 % is other noise."""
    rng = random.Random(seed)
    faster = [rng.gauss(0, 0.12) for _ in range(count)]
    rates = [math.exp(11 + each + rng.gauss(0, 0.04)) for each in faster]
    slower = [math.exp(-each / 2.4) for each in faster]
    speeds = [Speed(900 * one, 180 * one) for one in slower]
    return calibrate(Repeats(rates, speeds))


def test_the_machines_speed_is_told_apart_from_other_noise() -> None:
    many = [probed(40, seed) for seed in range(20)]
    assert statistics.fmean(one.sigma for one in many) == pytest.approx(0.126, rel=0.15)
    adjusted = [one.sigma_adjusted for one in many if one.sigma_adjusted is not None]
    assert statistics.fmean(adjusted) == pytest.approx(0.042, rel=0.15)


def test_a_handful_of_runs_tells_most_of_it_and_says_so() -> None:
    few = [probed(4, seed) for seed in range(100)]
    lower = [
        one for one in few if one.sigma_adjusted is not None and one.sigma_adjusted < one.sigma
    ]
    assert len(lower) > 90
    assert "% adjusted for the machine's speed; 6 pairs detect" in next(calibrated(few[0]))


def test_without_a_probe_beside_every_run_nothing_is_adjusted() -> None:
    speeds = [None, Speed(900.0, 180.0)]
    calibration = calibrate(Repeats([50_000.0, 51_000.0], speeds))
    assert calibration.sigma_adjusted is None
    assert "adjusted" not in next(calibrated(calibration))


def test_what_can_be_detected_follows_from_the_noise_that_decides() -> None:
    """A claim is of the adjusted ratio, and the raw one must show its direction."""
    known = Calibration(6, 0.1)
    helped, useless = replace(known, sigma_adjusted=0.05), replace(known, sigma_adjusted=0.12)
    gains = [one.detectable(8) or math.inf for one in (helped, known, useless)]
    assert gains == sorted(gains)
    assert gains[0] == pytest.approx(math.expm1(0.9 * math.log1p(gains[1])))


def test_what_a_lab_changes_is_one_line_unless_all_is_asked_for() -> None:
    changed = ["inputs[0].port: 514 -> 1", "x.conf:3:1: module imklog -> left out"]
    (line,) = in_lab(changed, in_full=False)
    assert line == (
        "changed for the lab: 1 value, which the report lists, and --verbose here; left out there: "
        "x.conf:3:1: module imklog"
    )
    assert list(in_lab(changed, in_full=True)) == [f"changed for the lab: {one}" for one in changed]
    assert list(in_lab((), in_full=False)) == []


@pytest.mark.parametrize(
    ("plan", "way_out"),
    [
        (TrialPlan(2.0, 4.0), "so it stays as it is"),
        (TrialPlan(2.0, 4.0, offered=1000.0), "stays as it is; --rate offers less"),
        (
            TrialPlan(2.0, 4.0, offered=1000.0, outage_s=10.0),
            "stays as it is; --rate offers less, --outage is shorter",
        ),
    ],
)
def test_a_profile_that_does_not_carry_what_is_offered_is_told_the_way_out(
    plan: TrialPlan, way_out: str
) -> None:
    breached = replace(failed("it carries 7 of 1,000 events"), kind=FailureKind.GUARDRAIL)
    trial = Trial(0, Phase.CALIBRATE, (), "", plan, breached, 0.0)
    with pytest.raises(GuardrailBreached) as raised:
        required(trial)
    assert str(raised.value).endswith(way_out)
