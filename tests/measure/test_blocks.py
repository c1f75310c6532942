"""The order of runs in blocks, and what is compared with what."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.measure.factory import SPEED, failed, measured
from tuner.lint.load import parse_profile
from tuner.measure.measurement import Spent
from tuner.measure.paired import Pairs
from tuner.measure.series import (
    Arm,
    Run,
    average,
    block_order,
    by_machine,
    comparison,
    pairs,
)
from tuner.measure.speed import PRIOR
from tuner.profile.edit import edit
from tuner.profile.metric import Metric

TEXT = (Path(__file__).parents[2] / "profiles/default.yaml").read_text("utf-8")


def arm(name: str, heap: str = "2g") -> Arm:
    return Arm(name, parse_profile(edit(TEXT, {"node.heap": heap}), "p.yaml").profile)


A, B, C = arm("A"), arm("B"), arm("C", heap="1g")


def orders(arms: tuple[Arm, ...], count: int) -> list[str]:
    """The arms of so many blocks, each block after the one before it."""
    rng, last, found = random.Random(1), arms[0], []
    for _ in range(count):
        order = block_order(rng.sample(arms, len(arms)), last)
        found.append("".join(one.name for one in order))
        last = order[-1]
    return found


def test_every_block_has_every_arm_once_and_any_order() -> None:
    seen = Counter(orders((A, B, arm("D")), 600))
    assert len(seen) == 6
    assert min(seen.values()) > 60


def test_the_same_seed_gives_the_same_order() -> None:
    assert orders((A, B), 50) == orders((A, B), 50)


def test_where_the_engine_restarts_between_arms_it_restarts_once_a_block() -> None:
    found = "".join(orders((A, C), 6))
    assert found == "AC" + "CA" + "AC" + "CA" + "AC" + "CA"


def test_arms_that_share_node_settings_stand_together() -> None:
    found = orders((A, B, C), 20)
    assert all("C" in {order[0], order[2]} for order in found)
    assert {order[0] == "C" for order in found} == {True, False}


def runs() -> list[Run]:
    """B is half as fast as A again, but for a run of each that failed."""
    found = [Run("A", block, measured(100.0 * block)) for block in (1, 2, 3, 4)]
    found += [Run("B", block, measured(150.0 * block)) for block in (1, 2, 3, 5)]
    return [*found, Run("A", 5, failed()), Run("B", 4, failed())]


def test_only_blocks_that_both_completed_are_compared() -> None:
    both = Pairs((100.0, 200.0, 300.0), (150.0, 300.0, 450.0), ("",) * 3, ((False, False),) * 3)
    assert pairs(runs(), "A", "B", Metric.EPS) == both
    found = comparison(runs(), "A", "B", Metric.EPS)
    assert found is not None
    assert found.pairs == 3
    assert found.ratio == pytest.approx(1.5)


def test_pairs_tell_of_restarts_and_of_how_fast_the_machine_was() -> None:
    """A machine whose pieces take a tenth longer is expected to index that much less; memory does
    not depend on it."""
    slow = replace(SPEED, zlib_us=1.1 * SPEED.zlib_us)
    restarted = replace(measured(100.0, speed=slow), spent=Spent(restart_s=9.0))
    made = [
        Run("A", 1, restarted, "north"), Run("B", 1, measured(150.0, speed=SPEED), "north"),
        Run("A", 2, measured(90.0, speed=SPEED), "west"),
        Run("B", 2, measured(140.0, speed=SPEED), "west"),
    ]  # fmt: skip
    found = pairs(made, "A", "B", Metric.EPS)
    assert found.machines == ("north", "west")
    assert found.restarts == ((True, False), (False, False))
    assert found.speeds is not None
    (first, second), of_b = found.speeds
    assert first - second == pytest.approx(PRIOR.zlib * math.log(1.1))
    assert list(of_b) == [second, second]
    assert pairs(made, "A", "B", Metric.MEMORY).speeds is None
    made[3] = Run("B", 2, measured(140.0), "west")
    assert pairs(made, "A", "B", Metric.EPS).speeds is None


def test_a_metric_that_shows_nothing_is_not_compared() -> None:
    sunk = [Run(one, 1, replace(measured(1.0), store_bytes=0)) for one in "AB"]
    assert comparison(sunk * 3, "A", "B", Metric.STORE) is None
    made = [
        Run(one, 1, replace(measured(1.0), store_bytes=size))
        for one, size in zip("AB", (0, 9), strict=True)
    ]
    assert pairs(made, "A", "B", Metric.STORE).a == pairs(made, "B", "A", Metric.STORE).a == ()
    assert comparison(runs(), "A", "B", Metric.FRESHNESS_P99) is None
    assert average(runs(), "A", Metric.DECOMPRESS_CPU) is None


def test_an_average_is_that_of_the_blocks_that_show_it() -> None:
    assert average(runs(), "A", Metric.EPS) == pytest.approx((100 * 200 * 300 * 400) ** 0.25)
    idle = replace(measured(1.0), shipper_cpu_us=0.0)
    assert average([*runs(), Run("A", 6, idle)], "A", Metric.SHIPPER_CPU) == 0.0


def test_runs_are_told_apart_by_machine() -> None:
    every = [Run("A", block, failed(), name) for block, name in enumerate(["b", "a", "b"])]
    found = by_machine(every)
    assert list(found) == ["a", "b"]
    assert found["b"] == (every[0], every[2])
    assert by_machine([Run("A", 1, failed())]) == {}


def test_cores_are_rate_times_time() -> None:
    assert average(runs()[:1], "A", Metric.ENGINE_CORES) == pytest.approx(100 * 20e-6)
