"""The course of a trial, on a pipeline that follows a script: warm-up, window, drain, account."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.measure.test_doubts import AT_FIRST
from tests.measure.test_watch import Engine, Script, counted, prepared_for
from tests.profile.examples import small
from tuner.engine.status import NodeSilent
from tuner.flood.spec import FloodProgress, Punctuality
from tuner.host.usage import CoreTime, Usage
from tuner.lab.lab import Lab
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.written import WrittenFile
from tuner.measure.counters import Counters
from tuner.measure.measurement import (
    DoubtKind,
    Failure,
    FailureKind,
    Measurement,
    Outcome,
    StageClock,
    TrialPlan,
)
from tuner.measure.pipeline import Pipeline
from tuner.measure.prepared import PreparedTrial
from tuner.measure.trial import run_trial
from tuner.profile.objective import Objective

WARM_UP_S, WINDOW_S, RATE = 3.0, 8.0, 1000.0
PLAN = TrialPlan(WARM_UP_S, WINDOW_S)


@dataclass
class Course:
    """A trial whose events are indexed at half of the rate while it warms up; from `slows_s` on
    the rate is a tenth.  `loses` so many events at its end."""

    patch: pytest.MonkeyPatch
    slows_s: float = float("inf")
    loses: int = 0
    script: Script = field(default_factory=Script)
    steered: list[object] = field(default_factory=list)
    followed: list[object] = field(default_factory=list)
    sent: float = float("inf")
    told: list[str] = field(default_factory=list)
    folder: Path = Path("/nonexistent")
    stand_in: str | None = None
    truncated: bool = False
    punctuality: Punctuality | None = None
    busy_cores: float = 1.0
    is_ours: bool = False

    def indexed(self, at_s: float) -> float:
        """What is indexed by then, if nothing is lost."""
        warm_s = max(0.0, min(at_s, self.slows_s) - WARM_UP_S)
        slow_s = max(0.0, at_s - self.slows_s)
        return RATE * (0.5 * min(at_s, WARM_UP_S) + warm_s + 0.1 * slow_s)

    def run(self, plan: TrialPlan = PLAN, changes: Mapping[str, object] = {}) -> Outcome:
        """The outcome."""
        script = self.script
        script.sent = lambda at_s: self.indexed(at_s) + 500
        script.indexed = lambda at_s: min(self.sent - self.loses, self.indexed(at_s))
        for module in ("measure.watch", "measure.settle", "measure.trial", "host.process"):
            self.patch.setattr(f"tuner.{module}.time", script)
        clock = partial(StageClock, clock=script.monotonic)
        self.patch.setattr("tuner.measure.trial.StageClock", clock)
        self.patch.setattr("tuner.measure.trial.pipeline", self.pipeline)
        self.patch.setattr("tuner.measure.trial.Flood", self.traffic)
        self.patch.setattr("tuner.measure.watch.counters_now", lambda *_: self.counters())
        self.patch.setattr("tuner.measure.watch.refreshing", self.refreshing)
        facts = SimpleNamespace(processors=2, data_nodes=1)
        engine = SimpleNamespace(
            stand_in=self.stand_in,
            check_delivery=counted(script),
            facts=facts,
            sampled=lambda *_: (),
            tells_apart=lambda _: True,
            processes=(0,),
        )
        lab = SimpleNamespace(
            client=Engine(script), loss=script.loss, engine=engine, check=lambda: None,
            loads=lambda: (), is_ours=False, is_here=False,
        )  # fmt: skip
        ready = prepared_for(cast(Lab, lab), small(changes), script.began_s)
        return run_trial(ready, plan, self.told.append)

    @contextmanager
    def pipeline(self, ready: PreparedTrial) -> Iterator[Pipeline]:
        script = self.script
        rsyslogd = SimpleNamespace(
            check=script.check, ending=script.ending, usage=lambda: Usage(1.0, 1),
            finish=lambda _: None,
        )  # fmt: skip
        stats = self.folder / "impstats.log"
        yield Pipeline(rsyslogd=cast(Rsyslogd, rsyslogd), stats=stats, prepared=ready)

    @contextmanager
    def traffic(self, *_: object) -> Iterator[object]:
        def finish(_: float) -> FloodProgress:
            self.sent = int(self.script.sent(self.script.at_s))
            progress = replace(self.script.progress(), first_send_s=self.script.began_s)
            return replace(progress, truncated=self.truncated, punctuality=self.punctuality)

        yield SimpleNamespace(
            progress=self.script.progress, finish=finish, spec=SimpleNamespace(stamped_run="700"),
            steer=lambda *given: self.steered.append(given),
            follow=lambda *given: self.followed.append(given),
        )  # fmt: skip

    @contextmanager
    def refreshing(self, client: object, pattern: str) -> Iterator[object]:
        assert (type(client), pattern) == (Engine, small().measured.index.pattern)
        yield lambda: True

    def counters(self) -> Counters:
        at_s = self.script.at_s
        return replace(
            AT_FIRST, at_s=self.script.now_s, epoch_s=self.script.now_s,
            machine=CoreTime(self.busy_cores * at_s, at_s, 0.0),
            engine_cpu_s=0.3 * at_s, shipper_cpu_s=0.1 * at_s,
        )  # fmt: skip


@pytest.fixture
def course(monkeypatch: pytest.MonkeyPatch) -> Course:
    return Course(monkeypatch)


def measured(outcome: Outcome) -> Measurement:
    assert isinstance(outcome, Measurement), outcome
    return outcome


def test_the_rate_is_of_the_window_alone(course: Course) -> None:
    found = measured(course.run())
    assert found.eps == pytest.approx(RATE, rel=0.02)
    assert found.window_s == pytest.approx(WINDOW_S, abs=0.3)
    assert found.engine_cpu_us == pytest.approx(300, rel=0.05)
    assert found.shipper_cpu_us == pytest.approx(100, rel=0.05)
    assert found.delivery.exact
    assert found.delivery.sent == course.sent
    # The backlog is steered after each poll, and the sender follows no schedule.
    assert len(course.steered) > 50
    assert course.followed == []
    assert course.told == ["warm-up", "window", "drain"]
    # Half a second after the window everything is indexed.
    assert found.spent is not None
    each = {name: pytest.approx(lasted_s, abs=0.3) for name, lasted_s in vars(found.spent).items()}
    assert each == {
        "restart_s": 0.0, "start_s": 0.0, "warm_up_s": WARM_UP_S, "window_s": WINDOW_S,
        "drain_s": 0.5, "settle_s": 0.0, "stop_s": 0.0,
    }  # fmt: skip
    assert found.total_s == found.spent.total_s


def test_a_backlog_is_drained_from_when_the_engine_goes_on_though_it_answers_later(
    course: Course,
) -> None:
    """An engine that answers only once it has indexed what waited drained it all the same."""
    outage_s, silent_s = 4.0, 3.0
    script, patch = course.script, course.patch
    patch.setattr("tuner.measure.trial.suspended", lambda _: nullcontext())
    goes_on_s = WARM_UP_S + outage_s
    patch.setattr("tuner.measure.trial.answers", lambda _: script.at_s > goes_on_s + silent_s)
    plan = replace(PLAN, objective=Objective.DRAIN, offered=RATE, outage_s=outage_s)
    found = measured(course.run(plan))
    assert found.objective is Objective.DRAIN
    assert found.window_s == pytest.approx(silent_s, abs=0.6)


def test_a_window_that_is_not_steady_is_made_longer_once_if_the_plan_says_so(
    course: Course,
) -> None:
    course.slows_s = WARM_UP_S + WINDOW_S - 2
    longer = replace(PLAN, extension_s=5.0)
    found = measured(course.run(longer))
    assert found.window_s == pytest.approx(WINDOW_S + 5, abs=0.4)
    assert course.told[2] == "window, extended because the rate is not steady"


def test_a_steady_window_is_not_made_longer(course: Course) -> None:
    found = measured(course.run(replace(PLAN, extension_s=5.0)))
    assert found.window_s == pytest.approx(WINDOW_S, abs=0.3)


@pytest.mark.parametrize(("below", "cut"), [(2 * RATE, True), (0.5 * RATE, False)])
def test_a_window_that_cannot_win_is_cut_short(course: Course, below: float, cut: bool) -> None:
    found = measured(course.run(replace(PLAN, loses_below=below)))
    assert (found.window_s < WINDOW_S / 2) is cut


@pytest.mark.parametrize("busy_s", [4.0, 60.0])
def test_work_of_others_is_waited_for_and_told_where_it_does_not_end(
    course: Course, busy_s: float
) -> None:
    course.script.bulk_bytes = lambda at_s: 9 if at_s < busy_s else 0
    doubts = measured(course.run()).doubts
    said = [one.figure for one in doubts if one.kind is DoubtKind.CARRIED_OVER]
    assert said == (["0 merges and 9 bytes of bulks under way"] if busy_s > 5 else [])


def test_an_engine_without_a_histogram_of_bulks_is_looked_at_in_the_window(
    course: Course,
) -> None:
    """There one after the other takes 150 ms."""

    def under_way(*_: object) -> dict[str, float]:
        number, running_s = divmod(course.script.at_s, 0.15)
        return {f"n:{number:g}": running_s}

    course.patch.setattr("tuner.measure.trial.bulk_tasks", under_way)
    used = measured(course.run()).effective
    assert used is not None
    assert used.bulk is not None
    assert used.bulk.source == "sampled"
    assert used.bulk.p50_ms == pytest.approx(150, rel=0.15)
    assert used.bulk.requests == pytest.approx(WINDOW_S / 0.15, abs=3)


@pytest.mark.parametrize("reads", [True, False])
def test_what_outputs_wrote_into_files_is_read_where_the_plan_says_so(
    course: Course, reads: bool
) -> None:
    files = (WrittenFile("copy", 5000, 0, 0.1),)

    def written(profile: object, folder: Path) -> tuple[WrittenFile, ...]:
        assert (profile, folder) == (small(), course.folder / "files")
        return tuple(replace(one, events=int(course.sent)) for one in files)

    course.patch.setattr("tuner.measure.trial.written_files", written)
    found = measured(course.run(replace(PLAN, reads_files=reads)))
    assert [one.output for one in found.files] == (["copy"] if reads else [])


def test_a_workload_with_a_rate_of_its_own_is_not_steered(course: Course) -> None:
    measured(course.run(changes={"workload.rate": 800}))
    assert course.steered == []
    assert len(course.followed) == 1


def test_a_trial_that_lost_an_event_has_no_number(course: Course) -> None:
    course.loses = 1
    outcome = course.run()
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.DELIVERY
    assert outcome.delivery is not None
    assert (outcome.delivery.lost, outcome.sent) == (1, course.sent)


@pytest.mark.parametrize("stand_in", [None, "sink"])
def test_work_that_an_engine_puts_off_counts_and_a_sink_puts_nothing_off(
    course: Course, stand_in: str | None
) -> None:
    course.stand_in = stand_in
    course.script.cpu_ms = lambda at_s: 300 * at_s + (5000 if at_s > 11.4 else 0)
    found = measured(course.run())
    if stand_in is not None:
        assert found.deferred_cpu_us == 0.0
        return
    # For all events of the trial, beyond what those of the window took.
    assert found.deferred_cpu_us == pytest.approx(1e3 * 8500 / course.sent - 300, abs=30)


@pytest.mark.parametrize(
    ("awaits", "merges_for_s", "merged"), [(False, 10, True), (False, 20, False), (True, 20, True)]
)
def test_merges_of_what_is_reported_get_longer_to_end(
    course: Course, awaits: bool, merges_for_s: float, merged: bool
) -> None:
    ends_s = WARM_UP_S + WINDOW_S + merges_for_s
    course.script.merges = lambda at_s: int(at_s < ends_s)
    found = measured(course.run(replace(PLAN, awaits_counters=awaits)))
    assert (found.eps_merged is not None) is merged
    assert (DoubtKind.UNMERGED in {one.kind for one in found.doubts}) is not merged
    assert found.spent is not None
    assert found.spent.settle_s == pytest.approx(merges_for_s if merged else 15.0, abs=2.5)


def test_a_flood_that_was_cut_short_has_no_number(course: Course) -> None:
    course.truncated = True
    outcome = course.run()
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.FLOOD


def test_a_node_that_died_after_the_window_is_told_with_the_account(course: Course) -> None:
    course.script.node_died_s = WARM_UP_S + WINDOW_S + 0.3
    outcome = course.run()
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.ENGINE_DOWN
    assert outcome.delivery is not None
    assert outcome.delivery.exact


def test_a_node_that_died_in_the_window_is_told_with_the_account(course: Course) -> None:
    course.script.node_died_s = WARM_UP_S + 2
    outcome = course.run()
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.ENGINE_DOWN
    assert outcome.reason.startswith("a node died")
    assert outcome.delivery is not None
    assert outcome.delivery.exact
    assert course.told[-1] == "drain, after the loss of a node"


def test_a_node_that_ended_as_all_were_asked_is_told_with_the_account(course: Course) -> None:
    """For a moment it still belongs to the engine, and does not answer."""

    def asked() -> Counters:
        course.script.node_died_s = course.script.at_s
        raise NodeSilent("1 of the engine's nodes did not say what they counted")

    course.counters = asked  # type: ignore[method-assign]
    outcome = course.run()
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.ENGINE_DOWN
    assert outcome.delivery is not None
    assert outcome.delivery.exact


def test_nothing_indexed_while_all_nodes_run_is_a_stall(course: Course) -> None:
    course.indexed = lambda at_s: min(2000.0, RATE * at_s)  # type: ignore[method-assign]
    outcome = course.run(replace(PLAN, window_s=60.0))
    assert isinstance(outcome, Failure)
    assert (outcome.kind, outcome.delivery) == (FailureKind.STALLED, None)


def test_an_rsyslogd_that_died_is_the_candidates_failure(course: Course) -> None:
    course.script.rsyslogd_died_s = WARM_UP_S + 2
    outcome = course.run()
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.RSYSLOGD
