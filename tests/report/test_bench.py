"""What is said of the runs of a bench."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from tests.measure.factory import failed, measured
from tests.measure.paced import paced
from tuner.measure.bottleneck import Bottleneck, Verdict
from tuner.measure.measurement import Outcome
from tuner.report.bench import Bench, bench_json, bench_text


def bench(outcomes: Sequence[Outcome]) -> Bench:
    return Bench(
        profile="prod",
        engine="elasticsearch 8.19.0",
        outcomes=tuple(outcomes),
        substitutions=("outputs[logs].servers: a -> b",),
        freshness_limit_s=45.0,
        freshness=paced(),
    )


def test_a_profile_is_compared_with_itself_in_neighbouring_runs() -> None:
    level = [
        measured(rate) for rate in (60_000.0, 61_000.0, 62_000.0, 60_500.0, 60_800.0, 61_900.0)
    ]
    text = bench_text(bench(level))
    assert "against itself in 3 pairs of neighbouring runs" in text
    assert "covers no difference" in text
    drifting = [measured(50_000.0 * 1.1 ** (number % 2)) for number in range(8)]
    assert "DOES NOT COVER no difference" in bench_text(bench(drifting))


def test_too_few_runs_and_failed_ones_are_not_compared() -> None:
    assert "against itself" not in bench_text(bench([measured(60_000.0)] * 3))
    assert "against itself" not in bench_text(bench([*[measured(60_000.0)] * 4, failed()]))


def test_the_spread_of_cpu_per_event_stands_beside_that_of_the_rate() -> None:
    text = bench_text(bench([measured(60_000.0), measured(62_000.0)]))
    assert "coefficient of variation 2.3%; CPU per event of rsyslogd 0.0%, engine 0.0%" in text


def test_programs_get_everything_under_a_schema_number() -> None:
    found = bench_json(bench([measured(60_000.0), measured(62_000.0)] * 2))
    read = json.loads(json.dumps(found))
    assert (read["schema"], read["kind"], read["profile"]) == (2, "bench", "prod")
    assert read["self_comparison"]["pairs"] == 2
    assert read["freshness"]["freshness_s"]["p99"] == 0.9
    assert read["outcomes"][0]["eps"] == 60_000.0
    assert read["ceiling"] is None


def test_a_failed_run_still_says_what_limited_it() -> None:
    rejected = Verdict(Bottleneck.REJECTIONS, (("rejections", "12 bulks"),), (), 0.0)
    text = bench_text(bench([replace(failed(), verdict=rejected)]))
    assert "failed: delivery incomplete: it lost two events" in text
    assert "bottleneck: rejections" in text
