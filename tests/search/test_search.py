"""The course of a search on a simulated pipeline with a clock of its own."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.measure.factory import failed
from tests.search.simulated import (
    MIB,
    START_S,
    TEXT,
    WORKERS,
    Levels,
    World,
    by_workers,
    changed,
    setup,
    workers_in,
)
from tests.search.test_journal import HEADER
from tests.shipped import ROOT
from tuner.errors import GuardrailBreached, JobFailed, Refused
from tuner.lint.candidate import Checker
from tuner.lint.load import LoadedProfile, parse_profile
from tuner.measure.measurement import Failure, FailureKind, Result
from tuner.profile.model import Profile
from tuner.report.result import analyse
from tuner.report.search_report import next_command
from tuner.search.budget import NODE_PACE, smallest_budget_s
from tuner.search.farm import FarmOfOne
from tuner.search.notes import bought
from tuner.search.runner import Runner
from tuner.search.search import Search
from tuner.search.study import (
    BASELINE,
    HERE,
    RECIPE,
    Asked,
    Changes,
    Earlier,
    Ending,
    Limits,
    Note,
    Phase,
    Study,
    Trial,
)
from tuner.search.verdict import Claim, is_repaired, judge, pairs_of, recipe_of
from tuner.space.knobs import knobs


def loaded() -> LoadedProfile:
    return parse_profile(TEXT, "small.yaml")


LIMITS = Limits(freshness_p99_s=45.0)
BUFFER = "node.indices.memory.index_buffer_size"


def calm(gain_per_worker: float = 0.0, gain_of_buffer: float = 1.0) -> World:
    """A world without crashes, whose rate follows its action workers and the node's buffer."""
    by_worker = by_workers(gain_per_worker)

    def rate(levels: Levels) -> float:
        return by_worker(levels) * (1.0 if levels.get(BUFFER) is None else gain_of_buffer)

    return World(
        START_S, rate, noise=0.02, crashes=0.0, restart_s=25.0, p99_s=lambda _: 2.0, seed="5 "
    )


def run(
    world: World,
    budget_s: float = 300.0,
    effects: bool = False,
    name: str = "random",
    limits: Limits = LIMITS,
    earlier: tuple[Earlier, ...] = (),
    *,
    refuse_noise: float | None = None,
) -> Study:
    checker = Checker(loaded())
    asked = changed(
        setup(world, name=name),
        profile=checker.profile,
        is_valid=checker.is_valid,
        budget_s=budget_s,
        pace=NODE_PACE,
        effects=effects,
        limits=limits,
        earlier=earlier,
        refuse_noise=refuse_noise,
    )
    header = replace(HEADER, profile_text=TEXT, budget_s=budget_s, limits=limits)
    steps = list(Search(Runner(asked)).run())
    trials = tuple(step for step in steps if isinstance(step, Trial))
    notes = tuple(step for step in steps if isinstance(step, Note))
    return Study(header, trials, Ending.FINISHED, notes)


def test_trial_0_is_the_profile_as_written_after_an_unscored_warm_up() -> None:
    study = run(calm(0.1))
    assert [trial.number for trial in study.trials[:2]] == [-1, 0]
    assert study.trials[0].phase is Phase.WARM_UP
    assert study.trials[1].changes == BASELINE
    assert study.trials[1].phase is Phase.CALIBRATE


def test_a_real_gain_is_found_and_confirmed_on_six_fresh_pairs() -> None:
    study = run(calm(0.15), name="default")
    verdict = judge(study)
    assert verdict.claim is Claim.IMPROVED
    assert verdict.eps is not None
    assert verdict.eps.pairs >= 6
    assert "outputs[logs].queue.workerThreads" in dict(verdict.changes)


def test_without_a_gain_none_is_claimed() -> None:
    """One in forty such searches may claim one: that is what 95 % confidence means."""
    verdicts = [judge(run(replace(calm(), seed=f"{seed} "), 260.0)) for seed in range(8)]
    unclaimed = [verdict for verdict in verdicts if verdict.claim is Claim.NOT_SHOWN]
    assert len(unclaimed) >= 7
    assert all(verdict.changes == BASELINE for verdict in unclaimed)


@pytest.mark.parametrize("budget_s", [220.0, 300.0, 900.0, 1800.0])
def test_the_budget_is_kept_and_used(budget_s: float) -> None:
    world = calm(0.1)
    run(world, budget_s)
    assert 0.8 * budget_s <= world.now_s <= 1.0 * budget_s


@pytest.mark.full
@pytest.mark.parametrize("budget_s", [1200.0, 1800.0])
def test_the_budget_is_kept_though_the_best_needs_restarts_of_the_engine(budget_s: float) -> None:
    world = calm(gain_of_buffer=1.5)
    study = run(world, budget_s, name="default")
    assert judge(study).claim is Claim.IMPROVED
    assert "node.indices.memory.index_buffer_size" in dict(judge(study).changes)
    assert world.now_s <= 1.03 * budget_s


def test_what_restarts_cost_in_the_pairs_is_no_part_of_the_gain() -> None:
    """Each side follows a restart in every second pair, and is a quarter slower then."""
    world = replace(calm(gain_of_buffer=1.3), cold=0.25, seed="7 ")
    eps = judge(run(world, 1800.0, name="default")).eps
    assert eps is not None
    assert eps.pairs >= 8
    assert eps.low < 1.3 < eps.high < 1.4
    assert eps.restarted == pytest.approx((0.75, 0.75), abs=0.03)


def test_a_budget_too_small_for_restarts_in_its_pairs_leaves_the_node_as_written() -> None:
    study = run(calm(gain_of_buffer=1.5), 600.0, name="default")
    assert not any(path.startswith("node.") for one in study.trials for path, _ in one.changes)
    assert any("too short for engine restarts" in note.text for note in study.notes)


def test_every_candidate_is_a_valid_profile_with_its_guarantees_untouched() -> None:
    checker = Checker(loaded())
    profiles = [checker.profile(trial.changes) for trial in run(calm(0.1), 1800.0).trials]
    for profile in profiles:
        output = profile.measured
        assert profile.guardrails == loaded().profile.guardrails
        assert output.index.settings.translog_durability is None
        assert output.index.settings.number_of_replicas == 0
        assert output.action_resume_retry_count == -1
    assert len({profile.model_dump_json() for profile in profiles}) > 10


def test_a_baseline_that_fails_ends_the_search_with_its_reason() -> None:
    with pytest.raises(JobFailed, match=r"as written cannot be measured.*lost two events"):
        run(replace(calm(), loses=lambda _: True))


def test_a_winner_that_fails_in_the_confirmation_is_not_recommended() -> None:
    study = run(calm(0.15))
    winner = next(t for t in study.of(Phase.CONFIRM) if t.changes != BASELINE)
    broken = tuple(replace(t, outcome=failed()) if t is winner else t for t in study.trials)
    verdict = judge(replace(study, trials=broken))
    assert verdict.claim is Claim.INFEASIBLE
    assert verdict.changes == BASELINE


@dataclass
class Striking:
    """A world in which runs fail: `strike` is asked of each."""

    world: World
    strike: Callable[[Asked], Failure | None]

    def measure(self, asked: Asked, profile: Profile) -> Result:
        outcome = self.world.measure(asked, profile)
        failure = self.strike(asked)
        return outcome if failure is None else replace(failure, spent=outcome.spent)


def struck(
    strike: Callable[[Asked], Failure | None],
    budget_s: float = 900.0,
    world: World | None = None,
    name: str = "default",
    *,
    effects: bool = True,
) -> Study:
    """A search in which some runs fail."""
    world = world or calm(0.15)
    farm = FarmOfOne(Striking(world, strike).measure)
    asked = changed(
        setup(world, name=name), farm=farm,
        budget_s=budget_s, pace=NODE_PACE, limits=LIMITS, effects=effects,
    )  # fmt: skip
    trials = tuple(step for step in Search(Runner(asked)).run() if isinstance(step, Trial))
    header = replace(HEADER, profile_text=TEXT, budget_s=budget_s, limits=LIMITS)
    return Study(header, trials, Ending.FINISHED)


@pytest.mark.parametrize(
    ("phase", "budget_s"),
    [
        (Phase.FINAL, 1800.0),
        (Phase.EFFECTS, 1800.0),
        (Phase.CONFIRM, 1800.0),
        # Without runs at a fixed rate.
        (Phase.CONFIRM, 540.0),
        (Phase.CONFIRM, 300.0),
    ],
)
def test_a_winner_that_lost_an_event_in_any_phase_gives_way_to_the_next_best(
    phase: Phase, budget_s: float
) -> None:
    lost: set[Changes] = set()

    def strike(asked: Asked) -> Failure | None:
        if asked.phase is not phase or not asked.changes or lost - {asked.changes}:
            return None
        lost.add(asked.changes)
        return failed()

    verdict = judge(struck(strike, budget_s))
    assert lost
    assert verdict.claim is Claim.IMPROVED
    assert verdict.changes not in lost


@pytest.mark.parametrize("seed", [5])
def test_a_winner_that_lost_an_event_beside_a_recipe_gives_way_to_the_next_best_that_fits(
    seed: int,
) -> None:
    """Of seed 5 that is none that the engine restarts for: so late there is no time."""
    lost: set[Changes] = set()

    def strike(asked: Asked) -> Failure | None:
        is_recipe = asked.why.startswith(RECIPE)
        if asked.phase is not Phase.RECIPE or is_recipe or lost - {asked.changes}:
            return None
        lost.add(asked.changes)
        return failed()

    world = replace(calm(0.15), seed=f"{seed} ")
    study = struck(strike, 1800.0, world, "random", effects=False)
    verdict = judge(study)
    assert lost
    assert verdict.claim is Claim.IMPROVED
    assert verdict.changes not in lost
    assert world.now_s <= 1800.0


def test_one_stall_in_the_pairs_is_repeated_and_stalls_in_a_row_disqualify() -> None:
    stall = Failure(FailureKind.STALLED, "nothing was indexed for 10 s")

    def once(asked: Asked) -> Failure | None:
        is_it = asked.phase is Phase.CONFIRM and asked.pair == 2 and asked.changes
        return stall if is_it else None

    def ever(asked: Asked) -> Failure | None:
        return stall if asked.phase is Phase.CONFIRM and asked.changes else None

    verdict = judge(struck(once))
    assert verdict.claim is Claim.IMPROVED
    assert verdict.eps is not None
    assert verdict.eps.pairs >= 6
    assert judge(struck(ever)).claim is Claim.INFEASIBLE


def test_where_no_time_is_left_for_pairs_the_budget_that_would_do_is_named_and_does() -> None:
    world = replace(calm(0.15), overhead_s=20.0)
    short = run(world, 240.0)
    verdict = judge(short)
    assert (verdict.claim, verdict.changes) == (Claim.NOT_SHOWN, BASELINE)
    assert verdict.failure.startswith("the time was enough for ")
    assert any("no time is left" in note.text for note in short.notes)
    after = next_command(analyse(short), Path("run"))
    advised = re.search(r"--budget (\d+)m", str(after))
    assert advised is not None
    study = run(replace(world, now_s=START_S), 60.0 * int(advised[1]))
    assert judge(study).claimed is not None


@dataclass
class Slowing:
    """A world in which everything beside the windows takes longer from a trial on."""

    world: World
    factor: float
    since: int

    def __call__(self, asked: Asked) -> None:
        if asked.number == self.since:
            self.world.overhead_s *= self.factor


@pytest.mark.parametrize("budget_s", [240.0, 480.0, 900.0])
@pytest.mark.parametrize("since", [0, 8])
def test_trials_that_double_on_the_way_leave_a_verdict_within_the_budget(
    budget_s: float, since: int
) -> None:
    """By six pairs or, where those no longer fit, without a gain."""
    world = calm(0.15)
    world.stop = Slowing(world, 4.0, since)
    study = run(world, budget_s, effects=True)
    verdict = judge(study)
    assert verdict.claim in {Claim.IMPROVED, Claim.NOT_SHOWN}
    assert world.now_s <= budget_s + max(15.0, 0.05 * budget_s)
    if budget_s > 240.0:
        assert len(pairs_of(study.trials)) >= 6


def test_what_was_never_tried_is_confirmed_where_the_time_is_enough_for_pairs_alone() -> None:
    """What experts would try first: six pairs of it say more than none."""
    study = run(replace(calm(0.15), overhead_s=8.0), 240.0)
    assert not study.of(Phase.SEARCH)
    assert judge(study).claimed is not None
    assert judge(study).confirmed != BASELINE


@pytest.mark.parametrize("overhead_s", [3.0, 4.0, 5.0, 6.0])
def test_on_a_slow_machine_the_least_budget_has_fewer_trials_and_all_pairs(
    overhead_s: float,
) -> None:
    """Trials that take up to a quarter longer than the least budget reckons with."""
    world, budget_s = replace(calm(0.15), overhead_s=overhead_s), smallest_budget_s(NODE_PACE)
    study = run(world, budget_s)
    assert judge(study).claim in {Claim.IMPROVED, Claim.NOT_SHOWN}
    assert len(pairs_of(study.trials)) >= 6
    assert study.of(Phase.SEARCH)
    assert world.now_s <= budget_s + 15.0


def test_what_downs_the_engine_is_asked_for_once_and_not_recommended() -> None:
    """All with the most workers, which are the fastest."""
    down = Failure(FailureKind.ENGINE_DOWN, "elasticsearch died with SIGKILL")
    most = max(int(str(dict(one.changes).get(WORKERS, 1))) for one in run(calm(0.15), 900.0).trials)
    study = struck(lambda asked: down if workers_in(dict(asked.changes)) == most else None)
    lost = [one.changes for one in study.trials if one.outcome.spent and one.measurement is None]
    assert lost
    assert len(lost) == len(set(lost))
    verdict = judge(study)
    assert verdict.claim is Claim.IMPROVED
    assert workers_in(dict(verdict.changes)) < most


def test_an_engine_that_dies_under_the_profile_as_written_is_a_transient_failure() -> None:
    down = Failure(FailureKind.ENGINE_DOWN, "elasticsearch died with SIGKILL")
    study = struck(lambda asked: down if asked.number == 1 else None)
    failure, again = (one for one in study.trials if one.number in (1, 2))
    assert failure.measurement is None
    assert again.phase is Phase.CALIBRATE
    assert again.measurement is not None
    assert judge(study).claim is Claim.IMPROVED


def test_a_transient_failure_of_the_search_tells_nothing_of_its_point() -> None:
    """The first run of every point stalls; each is repeated, and the best is still confirmed."""
    stall = Failure(FailureKind.STALLED, "nothing was indexed for 10 s")
    seen: set[Changes] = set()

    def first(asked: Asked) -> Failure | None:
        is_first = asked.phase is Phase.SEARCH and asked.changes not in seen
        seen.add(asked.changes)
        return stall if is_first else None

    study = struck(first)
    tried = study.of(Phase.SEARCH)
    assert [one.changes for one in tried[::2]] == [one.changes for one in tried[1::2]]
    assert all(one.measurement is None for one in tried[::2])
    assert judge(study).claim is Claim.IMPROVED


REPAIR: Changes = (("outputs[logs].queue.timeoutEnqueue", 86_400_000),)


def repairing(
    world: World,
    measured_as: list[tuple[Asked, Profile]] | None = None,
    known: tuple[Trial, ...] = (),
) -> Study:
    """A search of a profile that needs a repair, or that goes on with trials that are `known`;
    `measured_as` gets what each trial was of."""
    checker = Checker(loaded(), (), REPAIR)

    def measure(asked: Asked, profile: Profile) -> Result:
        if measured_as is not None:
            measured_as.append((asked, profile))
        return world.measure(asked, profile)

    asked = changed(
        setup(world, name="default"), profile=checker.profile, is_valid=checker.is_valid,
        farm=FarmOfOne(measure), budget_s=900.0, pace=NODE_PACE, limits=LIMITS, repairs=REPAIR,
        trials=known,
    )  # fmt: skip
    steps = list(Search(Runner(asked)).run())
    header = replace(HEADER, profile_text=TEXT, budget_s=900.0, limits=LIMITS)
    trials = (*known, *(step for step in steps if isinstance(step, Trial)))
    notes = tuple(step for step in steps if isinstance(step, Note))
    return Study(header, trials, Ending.FINISHED, notes)


def test_repairs_are_part_of_every_candidate_and_of_what_is_handed_over() -> None:
    study = repairing(calm(0.15))
    verdict = judge(study)
    assert all(REPAIR[0] in trial.changes for trial in study.trials if trial.changes)
    tried = [trial.changes for trial in study.trials if trial.phase is Phase.SEARCH]
    assert tried.index(REPAIR) > 0, "where there is time for one trial, it is a recipe"
    assert REPAIR[0] in verdict.changes
    assert len(verdict.changes) > 1


@pytest.mark.parametrize("phase", [Phase.WARM_UP, Phase.CALIBRATE, Phase.CHECK, Phase.CONFIRM])
def test_once_the_profile_as_written_loses_events_its_repairs_are_the_baseline(
    phase: Phase,
) -> None:
    """The search goes on, and no pair is with the profile as written."""
    measured_as: list[tuple[Asked, Profile]] = []
    world = replace(
        calm(0.15),
        loses=lambda asked: asked.phase is phase and not asked.changes and not asked.repaired,
    )
    study = repairing(world, measured_as)
    (lost,) = [one for one in study.trials if one.lost_as_written]
    baseline = [(a, profile) for a, profile in measured_as if a.changes == BASELINE]
    assert [a.repaired for a, _ in baseline] == [a.number > lost.number for a, _ in baseline]
    queues = [profile.measured.queue for _, profile in baseline]
    waits = [queue is not None and queue.timeout_enqueue == REPAIR[0][1] for queue in queues]
    assert waits == [a.repaired for a, _ in baseline]
    verdict = judge(study)
    assert verdict.claim is Claim.IMPROVED
    assert REPAIR[0] in verdict.changes
    repaired = {id(one.measurement) for one in study.trials if one.repaired}
    assert repaired.issuperset(id(pair.before) for pair in pairs_of(study.trials))
    assert any("the baseline is the profile with its repairs" in one.text for one in study.notes)


def test_pairs_that_were_enough_stand_though_the_profile_lost_events_after_them() -> None:
    world = replace(calm(0.15), loses=lambda asked: not asked.changes and (asked.pair or 0) > 6)
    study = repairing(world)
    assert judge(study).claim is Claim.IMPROVED
    assert not is_repaired(study.trials)
    pairs = pairs_of(study.trials)
    assert len(pairs) == 6
    # Another machine was in its pair then, and its baseline began after that.
    *_, before, after = [one for one in study.trials if one.measurement is not None]
    repaired = replace(before, changes=BASELINE, repaired=True, pair=8)
    others = (repaired, replace(after, changes=judge(study).changes, pair=8))
    assert pairs_of((*study.trials, *others)) == pairs
    # A session that resumed has none to add.
    resumed = repairing(world, known=study.trials)
    assert {one.phase for one in resumed.trials[len(study.trials) :]} == {Phase.WARM_UP}
    assert resumed.trials[-1].repaired
    assert not is_repaired(resumed.trials)
    assert judge(resumed).claim is Claim.IMPROVED


def test_a_profile_that_loses_events_with_its_repairs_too_ends_the_search() -> None:
    with pytest.raises(JobFailed, match=r"with its repairs cannot be measured.*lost two events"):
        repairing(replace(calm(), loses=lambda _: True))


def stale_where(is_stale: Callable[[Levels], bool]) -> World:
    """A world in which events of these points are found too late."""
    return replace(calm(0.15), p99_s=lambda levels: 60.0 if is_stale(levels) else 2.0)


def test_a_winner_that_is_not_fresh_gives_way_to_the_next_best() -> None:
    """Everything with the most workers that were tried is too slow to become searchable."""
    plain = judge(run(replace(calm(0.15), seed="1 "), 900.0, name="default"))
    most = dict(plain.confirmed)[WORKERS]
    world = stale_where(lambda levels: levels.get(WORKERS) == most)
    study = run(replace(world, seed="1 "), 900.0, name="default")
    verdict = judge(study)
    assert verdict.claim is Claim.IMPROVED
    assert dict(verdict.changes)[WORKERS] != most
    assert study.of(Phase.CHECK)[0].changes != verdict.confirmed


def test_where_nothing_is_fresh_enough_the_profile_stays_as_it_is() -> None:
    verdict = judge(run(stale_where(bool), 900.0))
    assert verdict.claim is Claim.INFEASIBLE
    assert verdict.changes == BASELINE
    assert "freshness: p99 60 s, freshness_p99_s allows 45 s" in verdict.failure


def memory(levels: Levels) -> float:
    """MiB that rsyslogd uses, by the number of its workers."""
    return 80.0 + 20 * workers_in(levels)


def test_the_recommendation_keeps_to_the_memory_though_more_of_it_is_faster() -> None:
    tight = Limits(45.0, rss_bytes=150 * MIB)
    worlds = [replace(calm(0.15), rss_mib=memory, rss_allowed_mib=most) for most in (math.inf, 150)]
    free = judge(run(worlds[0], 900.0, name="default"))
    limited = judge(run(worlds[1], 900.0, name="default", limits=tight))
    assert int(str(dict(free.changes)[WORKERS])) > 3
    assert limited.claim is Claim.IMPROVED
    assert int(str(dict(limited.changes).get(WORKERS, 1))) <= 3


def test_where_nothing_else_keeps_to_the_memory_the_profile_stays_as_it_is() -> None:
    world = replace(calm(), rss_mib=lambda levels: 120.0 if levels else 90.0, rss_allowed_mib=95)
    verdict = judge(run(world, 900.0))
    assert verdict.claim is Claim.INFEASIBLE
    assert verdict.changes == BASELINE
    assert "rsyslogd used 120 MiB" in verdict.failure


def test_a_profile_that_breaches_its_own_guardrails_ends_the_search_with_its_reason() -> None:
    with pytest.raises(GuardrailBreached, match="its own guardrails: rsyslogd used 90 MiB"):
        run(replace(calm(0.15), rss_allowed_mib=64))


def test_two_runs_with_another_session_between_them_are_no_pair() -> None:
    study = run(calm(0.15), 300.0)
    first, second, *_ = study.of(Phase.CONFIRM)
    assert first.pair == second.pair
    later = replace(second, at_s=second.at_s + 60.0)
    apart = tuple(later if trial is second else trial for trial in study.trials)
    assert len(pairs_of(apart)) == len(pairs_of(study.trials)) - 1


def test_the_noise_is_noted_before_the_search() -> None:
    study = run(replace(calm(0.1), noise=0.01))
    (noise,) = [note for note in study.notes if note.text.startswith("baseline noise")]
    first = next(trial for trial in study.trials if trial.phase is Phase.SEARCH)
    assert noise.at_s <= first.at_s


def test_on_a_noisy_machine_it_says_what_that_costs_in_pairs() -> None:
    quiet, noisy = (
        [note.text for note in run(replace(calm(0.1), noise=noise)).notes] for noise in (0.01, 0.3)
    )
    assert not [text for text in quiet if "is noisy" in text]
    (said,) = [text for text in noisy if "is noisy" in text]
    here, there = map(int, re.findall(r"(\d+)(?: pairs here|\s+where)", said))
    assert here > 10 * there


def test_a_machine_noisier_than_allowed_is_refused_before_a_candidate_is_measured() -> None:
    world = replace(calm(0.1), noise=0.3)
    runner = Runner(changed(setup(world), refuse_noise=0.1))
    with pytest.raises(Refused, match=r"baseline noise is .* --refuse-noise allows 10.0%"):
        list(Search(runner).run())
    assert {trial.phase for trial in runner.trials} == {Phase.WARM_UP, Phase.CALIBRATE}
    assert run(calm(0.1)).trials == run(calm(0.1), refuse_noise=0.1).trials


def test_what_a_budget_leaves_out_is_said_in_the_same_words_before_and_after() -> None:
    """So that a search need not say it twice."""
    small = run(calm(0.1), 250.0)
    (after,) = [note.text for note in small.notes if "is enough for" in note.text]
    assert after == next(bought(250.0, NODE_PACE, loaded().profile, knobs(loaded().profile)))


def test_no_setting_that_is_searched_is_called_not_searched() -> None:
    """Nor where it needs another one that the budget is too short for."""
    path = ROOT / "examples/published/p1-production.yaml"
    profile = parse_profile(path.read_text(), str(path)).profile
    every = knobs(profile)
    (said,) = [one for one in bought(300.0, NODE_PACE, profile, every) if "is enough for" in one]
    found = re.fullmatch(r".* for (\d+) of (\d+) settings.*not searched: (.*) and (\d+) more", said)
    assert found is not None
    kept, settings, named, more = found.groups()
    assert int(kept) + len(named.split(", ")) + int(more) == int(settings) == len(every)


def test_several_machines_buy_more_trials() -> None:
    profile = loaded().profile
    alone, three = (
        next(one for one in bought(1800.0, NODE_PACE, profile, knobs(profile), machines)
             if one.startswith("trials: "))
        for machines in (1, 3)
    )  # fmt: skip
    assert "of the profile as written on each of 3 machines" in three
    searching = [int(re.findall(r"about (\d+) to search", one)[0]) for one in (alone, three)]
    assert searching[1] > 2 * searching[0]


def test_why_the_mapping_is_not_searched_is_said_before() -> None:
    fields = (
        "    document:\n      - {property: msg, name: message}\n"
        "      - {property: hostname, name: host, uses: [term]}\n"
        "    index: {mapping: dynamic, "
    )
    profile = parse_profile(TEXT.replace("    index: {", fields), "small.yaml").profile
    turned = knobs(profile)
    assert not [knob for knob in turned if knob.path.endswith("index.mapping")]
    (said,) = [one for one in bought(1800.0, NODE_PACE, profile, turned) if "mapping" in one]
    assert said.startswith("index.mapping is not searched: ")
    assert "must serve (message); with `uses` for all of them" in said
    of_sink = [knob for knob in turned if ".index." not in knob.path]
    assert not [one for one in bought(1800.0, NODE_PACE, profile, of_sink) if "mapping" in one]
    own = loaded().profile
    assert not [one for one in bought(1800.0, NODE_PACE, own, knobs(own)) if "mapping" in one]


def test_a_small_budget_leaves_the_least_promising_knobs_alone_and_says_so() -> None:
    small, large = run(calm(0.1), 250.0), run(calm(0.1), 3600.0)
    kept = [note.text for note in small.notes if "is enough for" in note.text]
    assert len(kept) == 1
    assert " queue.workerThreads," not in kept[0]
    assert not [note for note in large.notes if "is enough for" in note.text]


def test_clear_losers_are_cut_short_and_nothing_else_is() -> None:
    for trial in run(calm(0.15), 900.0).trials:
        assert (trial.plan.loses_below is not None) == (trial.phase is Phase.SEARCH)


def test_a_change_that_gives_nothing_is_taken_back_before_the_confirmation() -> None:
    world = replace(calm(0.15), noise=0.005)
    study = run(world, 900.0, effects=True)
    verdict = judge(study)
    assert verdict.claim is Claim.IMPROVED
    assert len(verdict.chosen) >= 4
    assert len(verdict.changes) < len(verdict.chosen)
    assert "outputs[logs].queue.workerThreads" in dict(verdict.changes)
    apart, confirming = study.of(Phase.EFFECTS), study.of(Phase.CONFIRM)
    assert max(trial.at_s for trial in apart) < min(trial.at_s for trial in confirming)
    assert world.now_s <= 900


def test_the_pairs_are_of_exactly_what_is_handed_over() -> None:
    for seed in range(4):
        study = run(replace(calm(0.15), seed=f"{seed} "), 900.0, effects=True)
        verdict = judge(study)
        sides = {trial.changes for trial in study.of(Phase.CONFIRM)}
        assert sides == {BASELINE, verdict.changes}


def test_what_the_climb_gave_beyond_the_best_recipe_is_measured_in_pairs_of_their_own() -> None:
    study = run(calm(0.15), 1800.0, effects=True)
    verdict = judge(study)
    recipes = [one for one in study.of(Phase.SEARCH) if one.why.startswith(RECIPE)]
    best = max(recipes, key=lambda one: one.measurement.eps_paid if one.measurement else 0.0)
    runs = study.of(Phase.RECIPE)
    assert {one.changes for one in runs} == {best.changes, verdict.changes}
    assert study.trials[-len(runs) :] == tuple(runs)
    beyond = verdict.beyond_recipe
    assert beyond is not None
    assert (beyond.pairs, beyond.shows_more) == (len(runs) // 2, True)
    claimed = verdict.claimed
    assert claimed is not None
    assert claimed.pairs == len(study.of(Phase.CONFIRM)) // 2
    # Pairs of the recipe are none of the profile as written.
    without = tuple(one for one in study.trials if one.phase is not Phase.RECIPE)
    assert judge(replace(study, trials=without)) == replace(verdict, beyond_recipe=None)
    # What loses events there is not recommended.
    last = next(one for one in reversed(runs) if one.changes == verdict.changes)
    lost = tuple(replace(t, outcome=failed()) if t is last else t for t in study.trials)
    assert judge(replace(study, trials=lost)).claim is Claim.INFEASIBLE


def test_a_winner_that_is_a_recipe_is_not_compared_with_it() -> None:
    trials = run(calm(0.15)).trials
    recipe = recipe_of(trials, (("another", 1),))
    assert recipe is not None
    assert recipe_of(trials, recipe.changes) is None
    assert recipe_of(trials, recipe.changes[1:]) is None


def test_pairs_come_in_both_orders() -> None:
    confirm = run(calm(0.15), 1800.0).of(Phase.CONFIRM)
    firsts = {trial.changes == BASELINE for trial in confirm[::2]}
    assert firsts == {True, False}


def test_which_side_of_a_pair_runs_first_is_chance() -> None:
    """Where the engine does not restart between them: then it is the one that ran last."""
    runner = Runner(setup(calm()))
    firsts = [
        runner.pair_order(Phase.CONFIRM, BASELINE, ((WORKERS, 4),), HERE)[0] == BASELINE
        for _ in range(400)
    ]
    assert 160 < sum(firsts) < 240
    turns = sum(one != other for one, other in pairwise(firsts))
    assert 160 < turns < 240


def once(number: int) -> Callable[[Asked], bool]:
    """Whether a trial has this number."""
    return lambda asked: asked.number == number


@pytest.mark.parametrize(("number", "phase"), [(-1, Phase.WARM_UP), (1, Phase.CALIBRATE)])
def test_a_run_of_the_profile_that_a_transient_failure_spoiled_is_repeated_once_and_noted(
    number: int, phase: Phase
) -> None:
    study = run(replace(calm(0.15), transient_failures=once(number)), name="default")
    failure, again = (one for one in study.trials if one.number in (number, number + 1))
    assert failure.measurement is None
    assert again.phase is phase
    assert again.plan == failure.plan
    assert again.measurement is not None
    said = [note.text for note in study.notes if "repeating it once" in note.text]
    name = "the warm-up" if phase is Phase.WARM_UP else f"trial {number}"
    assert said == [f"{name} failed: no progress: no events for 10 s; repeating it once"]
    undisturbed = run(calm(0.15), name="default")
    assert len(study.of(phase)) == len(undisturbed.of(phase)) + 1
    assert judge(study).claim is Claim.IMPROVED


def test_a_profile_that_stalls_twice_ends_the_search() -> None:
    with pytest.raises(JobFailed, match=r"as written cannot be measured.*no events for 10 s"):
        run(replace(calm(), transient_failures=lambda asked: asked.number in (1, 2)))


def test_a_run_that_lost_events_is_not_repeated() -> None:
    asked: list[Asked] = []
    with pytest.raises(JobFailed, match="lost two events"):
        run(replace(calm(), loses=lambda _: True, stop=asked.append))
    assert len(asked) == 1
