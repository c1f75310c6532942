"""The course of a search on a simulated pipeline with a clock of its own."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from tests.measure.factory import failed, itemised, measured
from tests.measure.paced import paced
from tests.search.simulated import TEXT
from tests.search.test_journal import HEADER
from tuner.engines.node import Node
from tuner.errors import GuardrailBreached, JobFailed
from tuner.lint.knobs_check import Checker
from tuner.lint.load import LoadedProfile, parse_profile
from tuner.measure.measurement import FailureKind
from tuner.measure.metrics import Result
from tuner.profile.model import Profile
from tuner.search.budget import NODE_PACE, trial_seconds
from tuner.search.guardrails import Limits
from tuner.search.pairs import pairs_of
from tuner.search.runner import Runner, Setup
from tuner.search.search import Search, Step
from tuner.search.strategies import strategy
from tuner.search.study import (
    BASELINE,
    Asked,
    Earlier,
    Ending,
    Note,
    Phase,
    Study,
    Trial,
)
from tuner.search.verdict import Claim, judge
from tuner.space.knob import Level
from tuner.space.knobs import knobs


def loaded() -> LoadedProfile:
    return parse_profile(TEXT, "small.yaml")


NODE = loaded().profile.node
MIB = 1024**2
LIMITS = Limits(freshness_p99_s=45.0)


@dataclass
class World:
    """A pipeline whose rate follows its action workers; time passes only in trials."""

    gain_per_worker: float
    noise: float = 0.02
    fails: bool = False
    stale: Callable[[dict[str, Level]], bool] = lambda _: False
    rss_mib: Callable[[dict[str, Level]], float] = lambda _: 90.0
    rss_allowed: float = math.inf
    gain_of_buffer: float = 1.0
    cost_of_restart: float = 0.0
    node: Node = NODE
    now_s: float = 20.0
    profiles: list[Profile] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    rng: random.Random = field(default_factory=lambda: random.Random(5))

    def evaluate(self, asked: Asked, profile: Profile) -> Trial:
        at_s = self.now_s
        outcome = self._outcome(asked, profile)
        return Trial.of(asked, outcome, at_s, self.now_s)

    def _outcome(self, asked: Asked, profile: Profile) -> Result:
        self.asked.append(asked)
        self.profiles.append(profile)
        restart_s = 25.0 if profile.node != self.node else 0.0
        self.now_s += restart_s
        self.node = profile.node
        if asked.phase is Phase.CHECK:
            self.now_s += asked.plan.warm_up_s + asked.plan.window_s + 2.0
            return paced(p99_s=60.0 if self.stale(dict(asked.changes)) else 2.0)
        total_s = trial_seconds(asked.plan, 2.0, NODE_PACE)
        self.now_s += total_s
        if self.fails:
            return failed()
        queue = profile.measured.queue
        workers = queue.worker_threads if queue is not None else None
        rate = 50_000 * (1 + self.gain_per_worker * ((workers or 1) - 1))
        if profile.node.settings.get("indices.memory.index_buffer_size") is not None:
            rate *= self.gain_of_buffer
        if restart_s > 0:
            rate *= 1 - self.cost_of_restart
        used = int(self.rss_mib(dict(asked.changes)) * MIB)
        if used > self.rss_allowed:
            reason = f"rsyslogd used {used / MIB:.0f} MiB"
            return replace(failed(reason), kind=FailureKind.GUARDRAIL, shipper_rss_bytes=used)
        rate *= math.exp(self.rng.gauss(0, self.noise))
        found = measured(rate, total_s=total_s, rss_mib=used / MIB)
        return replace(found, spent=itemised(asked.plan, total_s, restart_s))


def run(
    world: World,
    budget_s: float = 300.0,
    shrinks: bool = False,
    name: str = "random",
    limits: Limits = LIMITS,
    earlier: tuple[Earlier, ...] = (),
) -> Study:
    written = loaded()
    checker = Checker(written)
    setup = Setup(
        knobs=knobs(written.profile),
        candidate=checker.profile,
        is_valid=checker.is_valid,
        evaluate=world.evaluate,
        strategy=lambda space, sigma: strategy(name, space, 1, sigma),
        clock=lambda: world.now_s,
        budget_s=budget_s,
        pace=NODE_PACE,
        rng=random.Random(1),
        shrinks=shrinks,
        limits=limits,
        earlier=earlier,
    )
    header = replace(HEADER, profile_text=TEXT, budget_s=budget_s, limits=limits)
    steps: list[Step] = []
    steps.extend(Search(Runner(setup)).run())
    world.profiles.append(written.profile)
    trials = tuple(step for step in steps if isinstance(step, Trial))
    notes = tuple(step for step in steps if isinstance(step, Note))
    return Study(header, trials, Ending.FINISHED, notes)


def test_trial_0_is_the_profile_as_written_after_an_unscored_warm_up() -> None:
    study = run(World(0.1))
    assert [trial.number for trial in study.trials[:2]] == [-1, 0]
    assert study.trials[0].phase is Phase.WARM_UP
    assert study.trials[1].changes == BASELINE
    assert study.trials[1].phase is Phase.CALIBRATE


def test_a_real_gain_is_found_and_confirmed_on_six_fresh_pairs() -> None:
    study = run(World(0.15), name="default")
    verdict = judge(study)
    assert verdict.claim is Claim.IMPROVED
    assert verdict.eps is not None
    assert verdict.eps.pairs >= 6
    assert "outputs[logs].queue.workerThreads" in dict(verdict.changes)


def test_without_a_gain_none_is_claimed() -> None:
    """One in forty such searches may claim one: that is what 95 % confidence means."""
    verdicts = [judge(run(World(0.0, rng=random.Random(seed)), 260.0)) for seed in range(8)]
    unclaimed = [verdict for verdict in verdicts if verdict.claim is Claim.NOT_SHOWN]
    assert len(unclaimed) >= 7
    assert all(verdict.changes == BASELINE for verdict in unclaimed)


@pytest.mark.parametrize("budget_s", [220.0, 300.0, 900.0, 1800.0])
def test_the_budget_is_kept_and_used(budget_s: float) -> None:
    world = World(0.1)
    run(world, budget_s)
    assert 0.8 * budget_s <= world.now_s <= 1.0 * budget_s


@pytest.mark.full
@pytest.mark.parametrize("budget_s", [900.0, 1800.0])
def test_the_budget_is_kept_though_the_best_needs_restarts_of_the_engine(budget_s: float) -> None:
    world = World(0.0, gain_of_buffer=1.5)
    study = run(world, budget_s, name="default")
    assert judge(study).claim is Claim.IMPROVED
    assert "node.indices.memory.index_buffer_size" in dict(judge(study).changes)
    assert world.now_s <= 1.03 * budget_s


def test_what_restarts_cost_in_the_pairs_is_no_part_of_the_gain() -> None:
    """Each side follows a restart in every second pair, and is a quarter slower then."""
    world = World(0.0, gain_of_buffer=1.3, cost_of_restart=0.25)
    eps = judge(run(world, 1800.0, name="default")).eps
    assert eps is not None
    assert eps.pairs >= 8
    assert eps.low < 1.3 < eps.high < 1.4
    assert eps.restarted == pytest.approx(0.75, abs=0.03)


def test_a_budget_too_small_for_restarts_in_its_pairs_leaves_the_node_as_written() -> None:
    study = run(World(0.0, gain_of_buffer=1.5), 600.0, name="default")
    assert not any(path.startswith("node.") for one in study.trials for path, _ in one.changes)
    assert any("too short for engine restarts" in note.text for note in study.notes)


def test_every_candidate_is_a_valid_profile_with_its_guarantees_untouched() -> None:
    world = World(0.1)
    run(world, 1800.0)
    for profile in world.profiles:
        output = profile.measured
        assert profile.guardrails == loaded().profile.guardrails
        assert output.index.settings.translog_durability is None
        assert output.index.settings.number_of_replicas == 0
        assert output.action_resume_retry_count == -1
    assert len({profile.model_dump_json() for profile in world.profiles}) > 10


def test_a_baseline_that_fails_ends_the_search_with_its_reason() -> None:
    with pytest.raises(JobFailed, match=r"as written cannot be measured.*lost two events"):
        run(World(0.1, fails=True))


def test_a_winner_that_fails_in_the_confirmation_is_not_recommended() -> None:
    study = run(World(0.15))
    winner = next(t for t in study.of(Phase.CONFIRM) if t.changes != BASELINE)
    broken = tuple(replace(t, outcome=failed()) if t is winner else t for t in study.trials)
    verdict = judge(replace(study, trials=broken))
    assert verdict.claim is Claim.INFEASIBLE
    assert verdict.changes == BASELINE


WORKERS = "outputs[logs].queue.workerThreads"


def test_a_winner_that_is_not_fresh_gives_way_to_the_next_best() -> None:
    """Everything with the most workers that were tried is too slow to become searchable."""
    plain = judge(run(World(0.15), 900.0, name="default"))
    most = dict(plain.confirmed)[WORKERS]
    world = World(0.15, stale=lambda changes: changes.get(WORKERS) == most)
    study = run(world, 900.0, name="default")
    verdict = judge(study)
    assert verdict.claim is Claim.IMPROVED
    assert dict(verdict.changes)[WORKERS] != most
    assert study.of(Phase.CHECK)[0].changes != verdict.confirmed


def test_where_nothing_is_fresh_enough_the_profile_stays_as_it_is() -> None:
    verdict = judge(run(World(0.15, stale=bool), 900.0))
    assert verdict.claim is Claim.INFEASIBLE
    assert verdict.changes == BASELINE
    assert "freshness: p99 60 s, freshness_p99_s allows 45 s" in verdict.failure


def memory(changes: dict[str, Level]) -> float:
    """MiB that rsyslogd uses, by the number of its workers."""
    return 80.0 + 20 * int(str(changes.get(WORKERS, 1)))


def test_the_recommendation_keeps_to_the_memory_though_more_of_it_is_faster() -> None:
    tight = Limits(45.0, rss_bytes=150 * MIB)
    worlds = [World(0.15, rss_mib=memory, rss_allowed=most) for most in (math.inf, 150 * MIB)]
    free = judge(run(worlds[0], 900.0, name="default"))
    limited = judge(run(worlds[1], 900.0, name="default", limits=tight))
    assert int(str(dict(free.changes)[WORKERS])) > 3
    assert limited.claim is Claim.IMPROVED
    assert int(str(dict(limited.changes).get(WORKERS, 1))) <= 3


def test_where_nothing_else_keeps_to_the_memory_the_profile_stays_as_it_is() -> None:
    world = World(0.0, rss_mib=lambda changes: 120.0 if changes else 90.0, rss_allowed=95 * MIB)
    verdict = judge(run(world, 900.0))
    assert verdict.claim is Claim.INFEASIBLE
    assert verdict.changes == BASELINE
    assert "rsyslogd used 120 MiB" in verdict.failure


def test_a_profile_that_breaches_its_own_guardrails_ends_the_search_with_its_reason() -> None:
    with pytest.raises(GuardrailBreached, match="its own guardrails: rsyslogd used 90 MiB"):
        run(World(0.15, rss_allowed=64 * MIB))


def test_two_runs_with_another_session_between_them_are_no_pair() -> None:
    study = run(World(0.15), 300.0)
    first, second, *_ = study.of(Phase.CONFIRM)
    assert first.pair == second.pair
    later = replace(second, at_s=second.at_s + 60.0)
    apart = tuple(later if trial is second else trial for trial in study.trials)
    assert len(pairs_of(apart)) == len(pairs_of(study.trials)) - 1


def test_the_noise_is_told_before_the_search() -> None:
    study = run(World(0.1, noise=0.01))
    (said,) = [note for note in study.notes if note.text.startswith("baseline noise")]
    first = next(trial for trial in study.trials if trial.phase is Phase.SEARCH)
    assert said.at_s <= first.at_s


def test_a_small_budget_leaves_the_least_promising_knobs_alone_and_says_so() -> None:
    small, large = run(World(0.1), 250.0), run(World(0.1), 3600.0)
    said = [note.text for note in small.notes if "is enough for" in note.text]
    assert len(said) == 1
    assert " queue.workerThreads," not in said[0]
    assert not [note for note in large.notes if "is enough for" in note.text]


def test_clear_losers_are_cut_short_and_nothing_else_is() -> None:
    world = World(0.15)
    run(world, 900.0)
    for asked in world.asked:
        assert (asked.plan.loses_below is not None) == (asked.phase is Phase.SEARCH)


def test_a_change_that_gives_nothing_is_undone_after_the_budget() -> None:
    """With the usual noise of 2 % the mean of four pairs is below 0.99 by chance in one round of
    four, and what gives nothing comes back."""
    world = World(0.15, noise=0.005)
    study = run(world, 900.0, shrinks=True)
    verdict = judge(study)
    assert verdict.claim is Claim.IMPROVED
    assert len(verdict.confirmed) >= 4
    assert len(verdict.changes) <= len(verdict.confirmed) / 2
    assert "outputs[logs].queue.workerThreads" in dict(verdict.changes)
    shrinking = study.of(Phase.SHRINK)
    assert min(trial.at_s for trial in shrinking) > 0.8 * 900


def test_pairs_come_in_both_orders() -> None:
    confirm = run(World(0.15), 1800.0).of(Phase.CONFIRM)
    firsts = {trial.changes == BASELINE for trial in confirm[::2]}
    assert firsts == {True, False}
