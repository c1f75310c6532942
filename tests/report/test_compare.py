"""The report of a comparison, as text and for programs."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.measure.factory import failed, measured
from tests.measure.paced import paced
from tests.measure.series import series
from tests.report.test_bench import CEILING
from tuner.measure.machines import Decision, Gate
from tuner.measure.measurement import Doubt, DoubtKind, Measurement, Spent
from tuner.measure.series import Run, Series, comparison
from tuner.measure.speed import Speed
from tuner.profile.metric import Metric
from tuner.report.compare import A, B, Difference, compare_blocks, compare_json, difference
from tuner.report.markdown import blocks_markdown


def markdown_of(series: Series, decided: Gate | None = None) -> str:
    return blocks_markdown(compare_blocks(series, decided))


STEPS = (1.0, 1.02, 0.98, 1.01, 0.99, 1.0)


def runs(gain: float, paid: float | None = None) -> tuple[Run, ...]:
    """Six pairs in which B has `gain` times the rate of A, and by the other rate `paid`."""
    found = []
    for block, step in enumerate(STEPS, 1):
        found.append(Run(A, block, measured(1000.0 * step)))
        rate = 1000.0 * gain * STEPS[-block]
        found.append(Run(B, block, measured(rate, paid=rate * (paid or gain) / gain)))
    return tuple(found)


def compared(gain: float = 1.2, paid: float | None = None) -> Series:
    return series(runs(gain, paid), A, B)


@pytest.mark.parametrize(
    ("gain", "paid", "wanted"),
    [
        (1.2, 1.2, Difference.FASTER),
        (0.8, 0.8, Difference.SLOWER),
        (1.001, 1.001, Difference.NOT_SHOWN),
        (1.2, 1.0, Difference.NOT_SHOWN),
        (1.2, 0.8, Difference.NOT_SHOWN),
    ],
)
def test_a_difference_is_claimed_only_by_both_rates(
    gain: float, paid: float, wanted: Difference
) -> None:
    assert difference(compared(gain, paid)) is wanted


def test_escape_sequences_of_others_do_not_reach_the_terminal() -> None:
    steered = replace(compared(), runs=(*runs(1.2), Run(A, 7, failed("\x1b[2Jgone"))))
    assert "[U+001B][2Jgone" in markdown_of(steered)


def test_a_run_with_two_doubts_of_a_kind_counts_once() -> None:
    first, *rest = runs(1.2)
    assert isinstance(first.result, Measurement)
    twice = tuple(Doubt(DoubtKind.DISTURBED, figure) for figure in ("30 %", "a load host, 40 %"))
    doubted = replace(first, result=replace(first.result, doubts=twice))
    text = markdown_of(replace(compared(), runs=(doubted, *rest)))
    assert "A, 1 of 6 runs: disturbed" in text


def test_less_than_six_pairs_claim_nothing() -> None:
    few = replace(compared(), runs=runs(1.2)[:-1])
    assert difference(few) is Difference.TOO_FEW
    assert "No claim: 5 complete pairs" in markdown_of(few)


def turning(count: int) -> tuple[Run, ...]:
    """So many pairs in which B has 1.2 times the rate of A, and the engine restarts before each
    second run, which is a quarter slower."""
    found = []
    for block in range(1, count + 1):
        for second, arm in enumerate((A, B) if block % 2 else (B, A)):
            rate = (1000.0 + block) * (1.2 if arm == B else 1.0)
            run = measured(rate * (1 - 0.25 * second))
            found.append(Run(arm, block, replace(run, spent=Spent(restart_s=25.0 * second))))
    return tuple(found)


def test_what_restarts_cost_is_told_and_no_part_of_the_ratio() -> None:
    text = markdown_of(replace(compared(), runs=turning(8)))
    assert re.search(r"B is faster than A: \+(19|20|21)\.", text)
    assert re.search(
        r"differs from the others by -2[3-7]\.\d % on the first side and -2[3-7]\.\d % on the "
        r"second, so the ratios leave such runs out",
        text,
    )
    assert "restarted" not in markdown_of(compared())


def test_restarts_between_the_sides_need_eight_pairs() -> None:
    few = replace(compared(), runs=turning(6))
    assert difference(few) is Difference.TOO_FEW
    assert "No claim: 6 complete pairs, at least 8 are needed" in markdown_of(few)


def test_the_text_says_how_much_and_how_sure() -> None:
    text = markdown_of(compared())
    assert "- A is a.yaml\n- B is b.yaml\n- on rsyslogd 8.2302, sink, 2 cores" in text
    assert "B is faster than A: +20.0 % [" in text
    row = next(line for line in text.splitlines() if line.startswith("| EPS in the steady"))
    assert "| 1,000 | 1,200 | 1.200 [" in row
    assert "| 0.031 |" in row
    text = markdown_of(compared(1.001))
    assert "No difference is shown" in text
    assert "6 such pairs can detect a difference of " in text


def with_sides(measured_series: Series, a: Mapping[str, Any], b: Mapping[str, Any]) -> Series:
    """The series with what is changed of each side."""
    sides = zip(measured_series.variants, (a, b), strict=True)
    return replace(measured_series, variants=tuple(replace(one, **more) for one, more in sides))


def test_what_neither_side_had_as_written_is_said_once() -> None:
    heap = "heap: 4g -> 2g"
    of_b = {"substitutions": (heap, "x: y -> z")}
    text = markdown_of(with_sides(compared(), {"substitutions": (heap,)}, of_b))
    assert "changed for the lab: heap: 4g -> 2g" in text
    assert "changed for the lab: B: x: y -> z" in text
    assert text.count("heap") == 1


def test_failures_and_freshness_are_told() -> None:
    failing = replace(compared(), runs=(*runs(1.2), Run(A, 7, failed())))
    text = markdown_of(
        with_sides(failing, {"freshness": paced()}, {"freshness": failed("it stopped")})
    )
    assert "A, block 7 failed: delivery incomplete: it lost two events" in text
    assert "freshness of A at " in text
    assert "freshness of B: not measured: delivery incomplete: it stopped" in text


def test_the_gate_is_told_and_stands_in_the_json() -> None:
    undecided = Gate(0.95, Decision.INCONCLUSIVE, 20)
    text = markdown_of(compared(), undecided)
    assert "inconclusive: the interval holds 0.95 of A: about 20 pairs" in text
    data = json.loads(json.dumps(compare_json(compared(), undecided)))
    assert (data["schema"], data["kind"]) == (4, "compare")
    assert data["gate"] == {"bar": 0.95, "decision": "inconclusive", "pairs_wanted": 20}
    assert data["difference"] == "faster"
    assert data["metrics"]["eps"]["to_the_first"]["B"]["ratio"] == pytest.approx(1.2)
    assert len(data["runs"]) == 12
    assert data["interleaved"] is True


def probed(count: int) -> tuple[Run, ...]:
    """So many pairs on a machine whose speed varies by 20 %, with B 1.2 times as fast."""
    rng = random.Random(1)
    found = []
    for block in range(1, count + 1):
        for arm, faster in ((A, 1.0), (B, 1.2)):
            slow = math.exp(rng.gauss(0, 0.08))
            speed = Speed(900 * slow, 180 * slow)
            found.append(Run(arm, block, measured(50_000 * faster / slow**2.4, speed=speed)))
    return tuple(found)


def test_both_ways_are_told_and_which_of_them_counts() -> None:
    text = markdown_of(replace(compared(), runs=probed(8)))
    assert re.search(r"B is faster than A: \+(19|20)\.\d %", text)
    raw = r"EPS.*: [+-][\d.]+ % \[.*\] raw"
    assert re.search(raw + r", \+(19|20)\.\d % \[.*\] adjusted for the machine's speed", text)
    assert "speed; adjusted counts; the interval is widened to the raw direction" in text


def test_both_ways_are_in_the_json() -> None:
    data = json.loads(json.dumps(compare_json(replace(compared(), runs=probed(8)), None)))
    both = data["metrics"]["eps"]["to_the_first"][B]["by_speed"]
    assert both["adjusted"]["ratio"] == pytest.approx(1.2, abs=0.01)
    assert both["counts"] == "adjusted counts"
    assert data["metrics"]["store_bytes_per_event"]["to_the_first"][B]["by_speed"] is None


MACHINES = ("north", "south", "west")


def farmed(gains: tuple[float, ...] = (1.2, 1.2, 1.2)) -> Series:
    """Twelve pairs on three machines, the second of which is half as fast."""
    found = []
    for at, (machine, gain) in enumerate(zip(MACHINES, gains, strict=True)):
        for block, step in enumerate(STEPS[:4], 1 + 4 * at):
            level = 1000.0 * step * (0.5 if machine == "south" else 1.0)
            found.append(Run(A, block, measured(level), machine))
            found.append(Run(B, block, measured(gain * level / step**2), machine))
    fresh = {"freshness": paced()}
    whole = replace(series(found, A, B), ceiling=CEILING)
    phases = (("freshness", "north"), ("ceiling", "south"))
    return replace(with_sides(whole, fresh, fresh), phases_on=phases)


def test_pairs_of_several_machines_are_one_claim_and_a_row_each() -> None:
    text = markdown_of(farmed())
    assert "B is faster than A: +19.4 % [" in text
    rows = [line for line in text.splitlines() if line.startswith(("| north", "| south"))]
    assert rows[0].startswith("| north | 1, 2, 3, 4 | 1,002 | 1,197 | 1.194 |")
    assert rows[1].startswith("| south | 5, 6, 7, 8 | 501.2 | 598.6 | 1.194 |")
    assert "freshness of A on north at " in text
    assert "the engine's own ceiling on south: " in text
    assert "A reaches 0% of it" in text
    failing = replace(farmed(), runs=(*farmed().runs, Run(A, 13, failed(), "west")))
    assert "A, block 13 on west failed: " in markdown_of(failing)


def test_gains_that_differ_by_machine_are_not_claimed_as_sure() -> None:
    same, apart = (
        comparison(farmed(gains).runs, A, B, Metric.EPS)
        for gains in ((1.2, 1.2, 1.2), (1.4, 1.2, 1.03))
    )
    assert same is not None
    assert apart is not None
    assert same.low > 1.15
    assert apart.low < 1.05


def test_a_machine_that_stands_out_is_named() -> None:
    text = markdown_of(farmed())
    assert "doubt: south stands out: EPS in the steady window of A is -50% beside" in text
    assert "B over A is" not in text.partition("doubt:")[2]
    other = markdown_of(farmed((1.2, 1.2, 2.0)))
    assert "west stands out: EPS in the steady window of B over A is +67% beside" in other


def test_programs_learn_the_machine_of_each_run_and_phase() -> None:
    data = json.loads(json.dumps(compare_json(farmed(), None)))
    assert [run["machine"] for run in data["runs"][::8]] == ["north", "south", "west"]
    assert data["phases_on"] == [["freshness", "north"], ["ceiling", "south"]]
