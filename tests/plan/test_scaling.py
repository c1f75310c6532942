"""The universal scalability law, against fits of others."""

from __future__ import annotations

import math

import pytest

from tuner.plan.scaling import Law, Level, Scaling, Split, scaling, split

# SPEC SDM91 on a Sun SPARCcenter 2000: load and throughput, as in the R package usl.
SDM91 = ((1, 64.9), (18, 995.9), (36, 1652.4), (72, 1853.2), (108, 1828.9), (144, 1775.0),
         (216, 1702.2))  # fmt: skip


def levels(*pairs: tuple[int, float]) -> Scaling:
    return scaling([Level(machines, eps) for machines, eps in pairs])


def test_the_fit_is_that_of_the_r_package() -> None:
    """Its summary, its fitted values and its peak for the same data."""
    law = levels(*SDM91).law
    assert law is not None
    assert law.rate == pytest.approx(89.9952, rel=1e-4)
    assert law.contention == pytest.approx(0.0277285, rel=1e-3)
    assert law.coherency == pytest.approx(0.0001044, rel=1e-3)
    assert [round(law.eps(load)) for load, _ in SDM91] == [90, 1078, 1541, 1850, 1879, 1822, 1646]
    assert round(law.most_machines) == 97


def test_known_coefficients_are_found_again() -> None:
    """Throughput made with 0.02 and 0.02: a test of the R package."""
    pairs = ((1, 1.0), (2, 1.8868), (4, 3.0769), (6, 3.5294), (8, 3.5398), (10, 3.3557))
    law = levels(*pairs).law
    assert law is not None
    assert (round(law.contention, 3), round(law.coherency, 3)) == (0.02, 0.02)


@pytest.mark.parametrize("seen", [1, 2, 3])
def test_three_levels_are_never_a_law(seen: int) -> None:
    """The same level measured again is no other level."""
    pairs = [(number, 50_000.0 * number) for number in range(1, seen + 1)]
    found = levels(*pairs, *pairs)
    assert found.law is None
    assert found.why_not is not None
    assert f"{seen} levels are too few" in found.why_not


def test_levels_that_the_law_does_not_explain_are_no_law() -> None:
    found = levels((1, 60_000), (2, 20_000), (4, 90_000), (8, 30_000), (16, 80_000))
    assert found.law is None
    assert found.why_not is not None
    assert "of the variation" in found.why_not


def test_without_a_law_the_largest_level_counts_for_each() -> None:
    assert levels((4, 160_000), (1, 60_000)).eps_each == 40_000


def test_the_fewest_machines_that_carry_a_rate() -> None:
    law = Law(rate=60_000, contention=0.03, coherency=0.0005, explained=1.0)
    found = split(law, 500_000)
    assert found.groups == 1
    assert law.eps(found.machines) >= 500_000 > law.eps(found.machines - 1)


def test_machines_that_do_not_wait_for_each_other_add_up() -> None:
    assert split(Law(50_000, 0.0, 0.0, 1.0), 1_000_000) == Split(1, 20)


@pytest.mark.parametrize("coherency", [0.0, 0.002])
def test_a_rate_above_the_peak_is_split_over_groups(coherency: float) -> None:
    law = Law(rate=60_000, contention=0.05, coherency=coherency, explained=1.0)
    most = 60_000 / 0.05 if coherency == 0 else law.eps(round(law.most_machines))
    found = split(law, 10_000_000)
    assert found.groups >= math.ceil(10_000_000 / most)
    assert found.groups * law.eps(found.machines) >= 10_000_000 * (1 - 1e-6)


def test_one_machine_that_is_slowed_down_by_any_other() -> None:
    """Coherency above one peaks at a single machine."""
    assert split(Law(1_000, 0.0, 2.0, 1.0), 5_000) == Split(5, 1)
