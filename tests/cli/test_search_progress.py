"""What is known of a search as it goes on, and how it is said in lines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.measure.factory import failed, limited_by, measured
from tests.measure.paced import paced
from tests.search.simulated import PROFILE
from tuner.cli.search_screen import Progress, Running, detail_lines, stage_line, trial_line
from tuner.measure.measurement import Doubt, DoubtKind, Result, TrialPlan
from tuner.search.climb import Leader
from tuner.search.effects import EffectRatio
from tuner.search.study import BASELINE, Changes, Phase, Trial
from tuner.space.knob import Bottleneck
from tuner.space.knobs import knobs
from tuner.space.table import REPLY_FILTER

PLAN = TrialPlan(1.0, 2.0)
SIZE = "outputs[logs].queue.size"
BATCH = "outputs[logs].queue.dequeueBatchSize"
REFRESH = "outputs[logs].index.settings.refresh_interval"
LONGER: Changes = ((REFRESH, "30s"), (BATCH, 2000), (SIZE, 100_000))
CHANGED: Changes = ((SIZE, 100_000),)
LEADER = Leader(LONGER, EffectRatio(1.3, 1.2, 1.4))
NOTHING_YET = Progress("small", 600.0, PROFILE, knobs(PROFILE))


def trial(
    outcome: Result,
    changes: Changes = BASELINE,
    phase: Phase = Phase.SEARCH,
    number: int = 3,
    pair: int | None = None,
    why: str = "promising",
) -> Trial:
    return Trial(number, phase, changes, why, PLAN, outcome, 10.0 * number, pair,
                 ended_s=10.0 * number + 10.0)  # fmt: skip


def after(*trials: Trial, leader: Leader | None = None) -> Progress:
    progress = NOTHING_YET
    for one in trials:
        progress = progress.after(one, leader)
    return progress


def lines(*trials: Trial, leader: Leader | None = None) -> list[str]:
    found, progress = [], NOTHING_YET
    for one in trials:
        found.append(trial_line(progress, one, 65.0))
        progress = progress.after(one, leader)
    return found


def test_a_slow_first_run_of_a_cold_engine_does_not_make_everything_look_fast() -> None:
    rates = (28_000.0, 41_000.0, 40_000.0)
    shown = lines(*(trial(measured(rate)) for rate in rates), trial(measured(60_000.0), CHANGED))
    assert "60,000 EPS  +50.0 %, best seen 60,000" in shown[-1]


def test_the_best_stays_the_best() -> None:
    shown = lines(*(trial(measured(rate)) for rate in (40_000.0, 60_000.0, 50_000.0)))
    assert "best seen 60,000" in shown[-1]


def test_a_line_says_which_trial_it_was_what_is_left_and_what_it_changed_and_why() -> None:
    (shown,) = lines(trial(measured(40_000.0), CHANGED))
    assert shown.startswith("trial   3  ")
    assert shown.endswith("(1 min 05 s left)  queue.size 50000 -> 100000 (promising)")


def test_what_is_nearer_to_the_best_than_to_the_profile_is_told_from_there() -> None:
    nearer: Changes = tuple(sorted({**dict(LONGER), REFRESH: "5s"}.items()))
    shown = lines(trial(measured(1.0), LONGER), trial(measured(1.0), nearer), leader=LEADER)
    assert shown[-1].endswith("best with refresh_interval 30s -> 5s (promising)")


def test_what_is_measured_again_is_told_by_its_first_trial() -> None:
    first = trial(measured(1.0), LONGER, number=7)
    again = trial(measured(1.0), LONGER, Phase.FINAL, 9)
    assert lines(first, again, leader=LEADER)[-1].endswith("again, as trial 7, the best so far")
    other = Leader(CHANGED, EffectRatio(1.3, 1.2, 1.4))
    assert lines(first, again, leader=other)[-1].endswith("again, as trial 7")


def test_many_changes_are_counted_and_the_most_promising_named() -> None:
    many: Changes = (*LONGER, ("inputs[0].threads", 4), ("main_queue.workerThreads", 2))
    (shown,) = lines(trial(measured(1.0), tuple(sorted(many))))
    assert shown.endswith(
        "queue.dequeueBatchSize 1000 -> 2000, refresh_interval not set -> 30s, "
        "main_queue.workerThreads 1 -> 2, 2 more (promising)"
    )


def test_a_line_cuts_no_value() -> None:
    changes: Changes = (("outputs[logs].filter_path", REPLY_FILTER),)
    (shown,) = lines(trial(measured(1.0), changes))
    assert "filter_path not set -> errors,items.*.status,items.*.error (promising)" in shown


def test_a_pair_is_compared_once_both_sides_are_known_in_either_order() -> None:
    first = (trial(measured(40_000.0), BASELINE, Phase.CONFIRM, 5, 1),
             trial(measured(50_000.0), CHANGED, Phase.CONFIRM, 6, 1))  # fmt: skip
    second = (trial(measured(60_000.0), CHANGED, Phase.CONFIRM, 7, 2),
              trial(measured(40_000.0), BASELINE, Phase.CONFIRM, 8, 2))  # fmt: skip
    shown = lines(*first, *second)
    assert "pair 1     40,000 EPS  (" in shown[0]
    assert "this pair +25.0 %" in shown[1]
    assert "this pair" not in shown[2]
    assert "this pair +50.0 %" in shown[3]
    progress = after(*first, *second)
    assert progress.best == CHANGED
    paired, _ = progress.paired
    assert paired is not None
    assert paired.pairs == 2


def test_a_pair_names_both_rates_of_which_a_claim_is_the_lower() -> None:
    first = (trial(measured(40_000.0), BASELINE, Phase.CONFIRM, 5, 1),
             trial(measured(60_000.0, paid=50_000.0), CHANGED, Phase.CONFIRM, 6, 1))  # fmt: skip
    said = "this pair +50.0 % over the steady window, +25.0 % including deferred work"
    assert said in lines(*first)[1]


def test_two_runs_that_another_session_lies_between_are_no_pair() -> None:
    before = trial(measured(40_000.0), BASELINE, Phase.CONFIRM, 5, 1)
    later = replace(trial(measured(50_000.0), CHANGED, Phase.CONFIRM, 6, 1), at_s=500.0)
    assert "this pair" not in lines(before, later)[1]


def test_a_pair_is_known_by_its_machine_while_others_measure() -> None:
    one = trial(measured(40_000.0), BASELINE, Phase.CONFIRM, 5, 1)
    here = replace(one, machine="lab1")
    there = replace(one, machine="lab2", outcome=measured(20_000.0), number=6, pair=2)
    second = replace(
        here, outcome=measured(50_000.0), changes=CHANGED, number=7, at_s=one.ended_s, ended_s=70.0
    )
    assert "this pair +25.0 %" in lines(here, there, second)[2]


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (failed("it lost two"), "failed: delivery incomplete: it lost two"),
        (paced(p99_s=1.5), "10,000 EPS, freshness p99 1.5 s"),
        (paced(p99_s=None), "10,000 EPS  ("),
    ],
)
def test_what_has_no_rate_of_its_own_says_what_it_has(outcome: Result, said: str) -> None:
    assert said in lines(trial(outcome, phase=Phase.CHECK))[0]


def test_all_that_a_trial_showed_is_told_to_those_who_ask() -> None:
    doubt = Doubt(DoubtKind.UNSTEADY, "12 % drift")
    verdict = limited_by(Bottleneck.ENGINE_CPU)
    outcome = replace(measured(1.0), doubts=(doubt,), verdict=verdict)
    shown = "\n".join(detail_lines(NOTHING_YET, trial(outcome, CHANGED)))
    assert f"{SIZE}: 50000 -> 100000" in shown
    assert "CPU per event: rsyslogd 6.0 µs, engine 20.0 µs" in shown
    assert "bottleneck: engine CPU" in shown
    assert "doubt: unsteady (12 % drift): the rate did not settle" in shown
    assert stage_line(Running(4, Phase.SEARCH, None, "window", 0.0)) == "trial 4: window"


def test_doubts_and_verdicts_are_gathered() -> None:
    doubt = Doubt(DoubtKind.UNSTEADY, "12 % drift")
    runs = [
        replace(measured(1.0), doubts=(doubt,), verdict=limited_by(limit))
        for limit in (Bottleneck.INPUT, Bottleneck.DISK)
    ]
    progress = after(*map(trial, runs))
    assert progress.doubts[DoubtKind.UNSTEADY] == 2
    found = progress.verdict(BASELINE)
    assert found is not None
    assert found.bottleneck is Bottleneck.DISK
    assert progress.verdict(CHANGED) is None


def test_runs_that_take_the_winner_apart_are_in_blocks_and_compared_with_the_profile() -> None:
    written = trial(measured(40_000.0), BASELINE, Phase.CALIBRATE, 0)
    apart = trial(measured(50_000.0), CHANGED, Phase.EFFECTS, 5, 1, "to see what each change gives")
    shown = lines(written, apart)[1]
    assert "block 1" in shown
    assert "+25.0 %" in shown
    assert "this pair" not in shown
