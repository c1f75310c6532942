"""What the machine's speed explains of the noise of rates."""

from __future__ import annotations

import csv
import math
import random
import statistics
from pathlib import Path

import pytest

from tuner.measure.speed import PRIOR, Logs, ProbedRun, adjustment, slopes_of, usual

PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "speed_probe.csv"


def near(rng: random.Random, sigma: float, at: float = 0.0) -> Logs:
    """Covariates of a machine whose speed varies; both pieces show it."""
    speed = rng.gauss(at, sigma)
    return 6.9 + speed + rng.gauss(0, 0.3 * sigma), 5.2 + speed + rng.gauss(0, 0.3 * sigma)


def runs(
    rng: random.Random, slopes: tuple[float, float], count: int, noise: float = 0.05
) -> list[ProbedRun]:
    each = [near(rng, 0.06) for _ in range(count)]
    level = rng.gauss(11, 0.3)
    return [
        ProbedRun(
            level + slopes[0] * zlib + slopes[1] * socket + rng.gauss(0, noise), (zlib, socket)
        )
        for zlib, socket in each
    ]


def test_without_runs_the_slopes_are_those_believed_beforehand() -> None:
    rng = random.Random(1)
    for none in ([], [runs(rng, (0, 0), 1) for _ in range(9)]):
        slopes = slopes_of(none)
        assert (slopes.zlib, slopes.socket) == pytest.approx((PRIOR.zlib, PRIOR.socket))
        assert slopes.estimated == 0


def test_many_runs_tell_the_slopes_whatever_was_believed() -> None:
    rng = random.Random(2)
    slopes = slopes_of([runs(rng, (-0.2, 0.4), 6) for _ in range(200)])
    assert (slopes.zlib, slopes.socket) == pytest.approx((-0.2, 0.4), abs=0.15)
    assert slopes.estimated == pytest.approx(2, abs=0.1)


def test_a_few_runs_change_little() -> None:
    rng = random.Random(3)
    few = [slopes_of([runs(rng, (0.0, 0.0), 4)]) for _ in range(200)]
    assert all(0 < one.estimated < 1.5 for one in few)
    assert -2.2 < statistics.fmean(one.zlib + one.socket for one in few) < -0.2


def test_an_engine_that_gets_warm_tells_nothing_of_slopes() -> None:
    """Three runs, each half as fast again as the one before, while the probe hardly varies."""
    rng = random.Random(5)
    for _ in range(50):
        warming = [ProbedRun(9.0 + 0.45 * at, near(rng, 0.015)) for at in range(3)]
        slopes = slopes_of([warming])
        assert slopes.zlib + slopes.socket == pytest.approx(PRIOR.zlib + PRIOR.socket, abs=0.6)


def test_what_differs_between_settings_tells_nothing_of_slopes() -> None:
    rng = random.Random(4)
    settings = [runs(rng, (-1.2, -1.2), 3) for _ in range(100)]
    raised = [
        [ProbedRun(run.log_rate + 5.0 * at, (run.logs[0] + at, run.logs[1])) for run in each]
        for at, each in enumerate(settings)
    ]
    slopes, same = slopes_of(settings), slopes_of(raised)
    assert (slopes.zlib, slopes.socket) == pytest.approx((same.zlib, same.socket))


def test_five_runs_outweigh_what_was_believed() -> None:
    """Of a machine whose speed varies as that of the published runs did, on settings whose rate
    does not follow it."""
    rng = random.Random(6)
    five = [
        slopes_of([[ProbedRun(10 + rng.gauss(0, 0.07), near(rng, 0.1)) for _ in range(5)]])
        for _ in range(200)
    ]
    believed = PRIOR.zlib + PRIOR.socket
    assert abs(statistics.median(one.zlib + one.socket for one in five)) < abs(believed) / 2


MIDDLE = 6.9, 5.2


def at_speed(rate: float, slower: float) -> ProbedRun:
    """A run of this logarithm of a rate beside a probe that took so much longer."""
    return ProbedRun(rate, (MIDDLE[0] + slower, MIDDLE[1] + slower))


def test_settings_that_were_run_once_tell_nothing_of_the_machine() -> None:
    assert adjustment([[at_speed(10.0, 0.1)], [at_speed(10.2, 0.0)]], MIDDLE) is None


def test_what_the_machine_explains_is_taken_off_and_no_more_than_it_usually_does() -> None:
    """One setting was run when the machine was slow and when it was fast, by a tenth."""
    runs_of = [at_speed(10.0 - 2.4 * slower, slower) for slower in (-0.1, 0.1, -0.1, 0.1)]
    found = adjustment([runs_of], MIDDLE)
    assert found is not None
    assert found.share == 1.0
    assert found.sigma == pytest.approx(math.sqrt(4 / 3) * 0.24, rel=0.05)
    assert found.above_usual(at_speed(0, 0.05).logs) == pytest.approx(-0.12, rel=0.05)
    assert found.above_usual(MIDDLE) == 0.0
    reach = found.above_usual(at_speed(0, -2.0).logs)
    assert reach == pytest.approx(3 * found.sigma)
    assert found.above_usual(at_speed(0, 2.0).logs) == -reach


def test_the_more_settings_move_the_probe_the_less_is_taken_off() -> None:
    def share(apart: float) -> float:
        settings = [
            [at_speed(10.0, apart * at + slower) for slower in (-0.01, 0.01)] for at in range(20)
        ]
        found = adjustment(settings, MIDDLE)
        assert found is not None
        return found.share

    shares = [share(apart) for apart in (0.0, 0.005, 0.02, 0.1)]
    assert shares[0] == 1.0
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] < 0.01


def test_the_usual_speed_is_the_mean_of_each_covariate() -> None:
    assert usual([(1.0, 2.0), (3.0, 6.0)]) == (2.0, 4.0)


@pytest.mark.skipif(not PUBLISHED.exists(), reason=f"{PUBLISHED} is not there")
def test_the_published_runs_lose_three_quarters_of_their_variance() -> None:
    rows = csv.DictReader(PUBLISHED.read_text(encoding="utf-8").splitlines())
    published = [
        ProbedRun(
            math.log(float(row["eps"])),
            (math.log(float(row["zlib_ms"])), math.log(float(row["socketpair_ms"]))),
        )
        for row in rows
    ]
    slopes = slopes_of([published])
    middle = usual([run.logs for run in published])
    adjusted = [run.log_rate - slopes.explained(run.logs, middle) for run in published]
    raw = statistics.variance(run.log_rate for run in published)
    assert statistics.variance(adjusted) < 0.25 * raw
    assert (PRIOR.zlib, PRIOR.socket) == pytest.approx((slopes.zlib, slopes.socket), abs=0.1)
