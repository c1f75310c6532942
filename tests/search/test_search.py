"""The course of a search on a simulated pipeline with a clock of its own."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

import pytest

from tests.measure.factory import failed, measured
from tuner.errors import JobFailed
from tuner.measure.measurement import Outcome, TrialPlan
from tuner.profile.candidate import candidate
from tuner.profile.knobs import knobs
from tuner.profile.load import LoadedProfile, parse_profile
from tuner.profile.model import Profile
from tuner.search.budget import NODE_PACE, trial_seconds
from tuner.search.search import Search, Setup
from tuner.search.study import BASELINE, SCHEMA, Ending, Header, Phase, Study, Trial
from tuner.search.verdict import Claim, judge

TEXT = """\
name: small
release: {rsyslog: "8.2302", elasticsearch: "8.19"}
inputs: [{type: imptcp, port: 10514}]
main_queue: {size: 100000, workerThreads: 1}
outputs:
  - name: logs
    type: omelasticsearch
    servers: ["http://127.0.0.1:9200"]
    queue: {type: LinkedList, size: 50000, dequeueBatchSize: 1000, workerThreads: 1}
    index: {name: syslog, settings: {number_of_replicas: 0}}
"""


@dataclass
class World:
    """A pipeline whose rate follows its action workers; time passes only in trials."""

    gain_per_worker: float
    noise: float = 0.02
    fails: bool = False
    now_s: float = 20.0
    profiles: list[Profile] = field(default_factory=list)
    rng: random.Random = field(default_factory=lambda: random.Random(5))

    def evaluate(self, profile: Profile, plan: TrialPlan, _number: int) -> Outcome:
        self.profiles.append(profile)
        total_s = trial_seconds(plan, 2.0, NODE_PACE)
        self.now_s += total_s
        if self.fails:
            return failed()
        queue = profile.measured.queue
        workers = queue.worker_threads if queue is not None else None
        rate = 50_000 * (1 + self.gain_per_worker * ((workers or 1) - 1))
        return measured(rate * math.exp(self.rng.gauss(0, self.noise)), total_s=total_s)


def loaded() -> LoadedProfile:
    return parse_profile(TEXT, "small.yaml")


def run(world: World, budget_s: float = 300.0) -> Study:
    written = loaded()
    setup = Setup(
        knobs=knobs(written.profile),
        candidate=lambda changes: candidate(written, changes).profile,
        evaluate=world.evaluate,
        clock=lambda: world.now_s,
        budget_s=budget_s,
        pace=NODE_PACE,
        rng=random.Random(1),
    )
    header = Header(SCHEMA, "test", "", "", "small.yaml", TEXT, budget_s, 1, "", "", "", ())
    trials: list[Trial] = []
    ending = Ending.FAILED
    try:
        trials.extend(Search(setup).run())
        ending = Ending.FINISHED
    finally:
        world.profiles.append(written.profile)
    return Study(header, tuple(trials), ending)


def test_trial_0_is_the_profile_as_written_after_an_unscored_warm_up() -> None:
    study = run(World(0.1))
    assert [trial.number for trial in study.trials[:2]] == [-1, 0]
    assert study.trials[0].phase is Phase.WARM_UP
    assert study.trials[1].changes == BASELINE


def test_a_real_gain_is_found_and_confirmed_on_six_fresh_pairs() -> None:
    study = run(World(0.15))
    verdict = judge(study)
    assert verdict.claim is Claim.IMPROVED
    assert verdict.eps is not None
    assert verdict.eps.pairs >= 6
    assert "outputs[logs].queue.workerThreads" in dict(verdict.changes)


def test_without_a_gain_none_is_claimed() -> None:
    """One in forty such searches may claim one: that is what 95 % confidence means."""
    verdicts = [judge(run(World(0.0, rng=random.Random(seed)), 200.0)) for seed in range(8)]
    unclaimed = [verdict for verdict in verdicts if verdict.claim is Claim.NOT_SHOWN]
    assert len(unclaimed) >= 7
    assert all(verdict.changes == BASELINE for verdict in unclaimed)


def test_the_budget_is_kept_and_used() -> None:
    for budget_s in (200.0, 300.0, 1800.0):
        world = World(0.1)
        run(world, budget_s)
        assert 0.8 * budget_s <= world.now_s <= 1.0 * budget_s


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
    broken = tuple(
        Trial(t.number, t.phase, t.changes, t.why, t.plan, failed(), t.at_s, t.pair)
        if t is winner
        else t
        for t in study.trials
    )
    verdict = judge(Study(study.header, broken, study.ending))
    assert verdict.claim is Claim.INFEASIBLE
    assert verdict.changes == BASELINE


def test_pairs_come_in_both_orders() -> None:
    confirm = run(World(0.15), 1800.0).of(Phase.CONFIRM)
    firsts = {trial.changes == BASELINE for trial in confirm[::2]}
    assert firsts == {True, False}
