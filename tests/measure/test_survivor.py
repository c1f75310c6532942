"""What becomes of runs whose engine dies, refuses its settings, or falls silent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.measure.factory import failed, measured
from tests.measure.test_watch import Script
from tests.profile.examples import small
from tuner.engine.client import EngineRefused
from tuner.engine.owned import Owner
from tuner.errors import JobFailed, Refused, Unreachable
from tuner.flood.spec import FloodProgress
from tuner.lab.lab import Lab
from tuner.lab.nodes import NodeRefused
from tuner.lab.rsyslogd import RsyslogdDied
from tuner.measure.measurement import Failure, FailureKind, Measurement, Result, Spent, TrialPlan
from tuner.measure.place import FIRST_INDEX, MOST_LOSSES, LabTrials
from tuner.measure.trial import failure_of, finish
from tuner.measure.watch import NodeLost, Stalled, Watch
from tuner.profile.model import Profile

WARM_UP = TrialPlan(1.0, 4.0)
WRITTEN, CANDIDATE = small(), small({"main_queue.size": 60_000})
GOOD = measured(50_000)


def silent(_: str) -> None:
    """Nobody hears of stages."""


@dataclass
class World:
    """A lab whose engine follows a script: what it did, in order."""

    done: list[object] = field(default_factory=list)
    gone: str | None = None
    lost: str | None = None
    restarts: bool = False
    refuses: bool = False
    comes_back: bool = True
    is_ours: bool = False
    clock: Script = field(default_factory=Script)

    @property
    def lab(self) -> Lab:
        engine = SimpleNamespace(
            run_with=self.run_with, revive=self.revive, ending=lambda: "signal 9",
            restarts=self.is_ours,
        )  # fmt: skip
        made = SimpleNamespace(
            check=self.check, loss=lambda: self.lost, engine=engine, client="client",
            owner=Owner("r1"),
        )  # fmt: skip
        return cast(Lab, made)

    def check(self) -> None:
        if self.gone is not None:
            raise Unreachable(self.gone)

    def run_with(self, _: Profile) -> int:
        if self.refuses:
            self.clock.sleep(2.0)
            raise NodeRefused("no such setting")
        self.clock.sleep(6.0 if self.restarts else 0.0)
        return int(self.restarts)

    def revive(self) -> None:
        self.done.append("revived")
        self.clock.sleep(5.0)
        if not self.comes_back:
            raise Unreachable("nothing starts")
        self.gone = self.lost = None


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()

    def run_profile(
        _lab: object, profile: Profile, plan: TrialPlan, name: str, _tell: object
    ) -> Any:
        assert plan == (FIRST_INDEX if name.endswith("f") else WARM_UP)
        world.done.append((name, profile))
        world.clock.sleep(3.0)
        return GOOD

    monkeypatch.setattr("tuner.measure.place.time", world.clock)
    monkeypatch.setattr("tuner.measure.place.run_profile", run_profile)
    for module in ("place", "trial"):
        monkeypatch.setattr(
            f"tuner.measure.{module}.remove",
            lambda *given: world.done.append(("removed", *given[1:])),
        )
    return world


REMOVED = ("removed", Owner("r1"), "rsyslog-tune-r1-")


def dying(world: World) -> Callable[[str, object], Result]:
    """A run in which the engine goes away."""

    def run(_name: str, _tell: object) -> Result:
        world.clock.sleep(4.0)
        raise Unreachable("nothing answers")

    return run


def run_of(result: Result) -> Callable[[str, object], Result]:
    return lambda _name, _tell: result


def test_what_a_run_gives_is_handed_on(world: World) -> None:
    found = LabTrials(world.lab, WRITTEN, WARM_UP).measured(CANDIDATE, run_of(GOOD), "t1", silent)
    assert isinstance(found, Measurement)
    assert found.eps == GOOD.eps
    assert found.spent is not None
    assert found.spent.restart_s == 0.0
    assert world.done == []


def test_the_second_index_of_an_engine_of_ours_is_the_first_to_be_measured(world: World) -> None:
    """On it code that was compiled for the first one is compiled anew."""
    world.is_ours = True
    survivor = LabTrials(world.lab, WRITTEN, WARM_UP)
    for name in ("t1", "t2"):
        found = survivor.measured(CANDIDATE, run_of(GOOD), name, silent)
        assert found.total_s == GOOD.total_s
    assert world.done == [("t1f", CANDIDATE)]


def test_an_engine_that_restarts_for_a_candidate_gets_warm_with_it(world: World) -> None:
    world.restarts = True
    found = LabTrials(world.lab, WRITTEN, WARM_UP).measured(CANDIDATE, run_of(GOOD), "t1", silent)
    assert world.done == [("t1w", CANDIDATE)]
    assert found.spent is not None
    assert found.spent.restart_s == pytest.approx(6 + 3)


def test_an_engine_that_refuses_the_settings_of_a_candidate_is_no_loss(world: World) -> None:
    world.refuses = True
    found = LabTrials(world.lab, WRITTEN, WARM_UP).measured(CANDIDATE, run_of(GOOD), "t1", silent)
    assert isinstance(found, Failure)
    assert (found.kind, found.lost_engine) == (FailureKind.ENGINE_DOWN, False)
    assert world.done == []
    # What it took counts as a restart, with that of an engine that was gone before.
    world.gone = "it ended"
    again = LabTrials(world.lab, WRITTEN, WARM_UP).measured(CANDIDATE, run_of(GOOD), "t2", silent)
    spent = [one.spent.restart_s for one in (found, again) if one.spent is not None]
    assert spent == pytest.approx([2, 5 + 3 + 2])


def test_an_engine_that_went_back_to_its_old_settings_gets_warm_again(world: World) -> None:
    """It was killed, and started twice."""
    world.is_ours = True
    survivor = LabTrials(world.lab, WRITTEN, WARM_UP)
    survivor.measured(WRITTEN, run_of(GOOD), "t1", silent)
    world.refuses = True
    survivor.measured(CANDIDATE, run_of(GOOD), "t2", silent)
    world.refuses = False
    found = survivor.measured(WRITTEN, run_of(GOOD), "t3", silent)
    assert world.done == [("t1f", WRITTEN), ("t3wf", WRITTEN), ("t3w", WRITTEN)]
    assert found.spent is not None
    assert found.spent.restart_s == pytest.approx(3 + 3, abs=0.01)
    survivor.measured(WRITTEN, run_of(GOOD), "t4", silent)
    assert len(world.done) == 3


def test_an_engine_of_ours_that_was_started_again_has_an_index_before_it_gets_warm(
    world: World,
) -> None:
    world.is_ours = True
    survivor = LabTrials(world.lab, WRITTEN, WARM_UP)
    world.gone = "it ended"
    survivor.measured(WRITTEN, run_of(GOOD), "t1", silent)
    assert world.done == ["revived", REMOVED, ("t1r1f", WRITTEN), ("t1r1", WRITTEN)]
    world.done.clear()
    world.restarts = True
    survivor.measured(CANDIDATE, run_of(GOOD), "t2", silent)
    assert world.done == [("t2wf", CANDIDATE), ("t2w", CANDIDATE)]


def test_an_engine_that_died_in_a_run_starts_again_and_gets_warm_as_written(world: World) -> None:
    survivor = LabTrials(world.lab, WRITTEN, WARM_UP)
    found = survivor.measured(CANDIDATE, dying(world), "t1", silent)
    assert isinstance(found, Failure)
    assert (found.kind, found.lost_engine) == (FailureKind.ENGINE_DOWN, True)
    assert world.done == ["revived", REMOVED, ("t1r1", WRITTEN)]
    assert found.total_s == pytest.approx(4, abs=0.01)
    assert found.spent == Spent(stop_s=found.total_s)
    # What that took is told of the next run, which needs none itself.
    then = survivor.measured(CANDIDATE, run_of(GOOD), "t2", silent)
    assert then.spent is not None
    assert then.spent.restart_s == pytest.approx(5 + 3, abs=0.01)
    last = survivor.measured(CANDIDATE, run_of(GOOD), "t3", silent)
    assert last.spent is not None
    assert last.spent.restart_s == 0.0


def test_an_engine_that_is_gone_before_a_run_starts_again_for_it(world: World) -> None:
    world.gone = "it ended"
    found = LabTrials(world.lab, WRITTEN, WARM_UP).measured(CANDIDATE, run_of(GOOD), "t1", silent)
    assert isinstance(found, Measurement)
    assert world.done == ["revived", REMOVED, ("t1r1", WRITTEN)]


def test_a_node_that_died_in_a_run_that_failed_starts_again(world: World) -> None:
    def run(_name: str, _tell: object) -> Result:
        world.lost = "a node died"
        return failed()

    found = LabTrials(world.lab, WRITTEN, WARM_UP).measured(CANDIDATE, run, "t1", silent)
    assert isinstance(found, Failure)
    assert (found.kind, found.lost_engine) == (FailureKind.DELIVERY, True)
    assert world.done[0] == "revived"


def test_an_engine_that_is_lost_again_and_again_is_given_up(world: World) -> None:
    survivor = LabTrials(world.lab, WRITTEN, WARM_UP)
    for _ in range(MOST_LOSSES - 1):
        survivor.measured(CANDIDATE, dying(world), "t", silent)
    with pytest.raises(Unreachable, match="3 times in a row"):
        survivor.measured(CANDIDATE, dying(world), "t", silent)
    # A run that goes well in between begins the count again.
    survivor = LabTrials(world.lab, WRITTEN, WARM_UP)
    for _ in range(2 * MOST_LOSSES):
        survivor.measured(CANDIDATE, dying(world), "t", silent)
        survivor.measured(CANDIDATE, run_of(GOOD), "t", silent)


def test_an_engine_that_dies_again_while_it_gets_warm_starts_once_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []

    def run_profile(*given: object) -> Measurement:
        names.append(str(given[3]))
        if len(names) == 1:
            raise Unreachable("died again")
        return GOOD

    monkeypatch.setattr("tuner.measure.place.run_profile", run_profile)
    LabTrials(world.lab, WRITTEN, WARM_UP).measured(CANDIDATE, dying(world), "t1", silent)
    assert names == ["t1r1", "t1r2"]


def test_an_engine_that_is_given_up_is_told_with_what_ended_it(world: World) -> None:
    def run(_name: str, _tell: object) -> Result:
        world.lost = "a node died"
        return failed()

    survivor = LabTrials(world.lab, WRITTEN, WARM_UP)
    for _ in range(MOST_LOSSES - 1):
        survivor.measured(CANDIDATE, run, "t", silent)
    with pytest.raises(Unreachable, match="3 times in a row: a node died"):
        survivor.measured(CANDIDATE, run, "t", silent)


def test_an_engine_that_does_not_come_back_is_the_end(world: World) -> None:
    world.comes_back = False
    with pytest.raises(Unreachable, match="nothing answers; nothing starts"):
        LabTrials(world.lab, WRITTEN, WARM_UP).measured(CANDIDATE, dying(world), "t1", silent)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RsyslogdDied("signal 11"), FailureKind.RSYSLOGD),
        (EngineRefused("no", 400, "no"), FailureKind.ENGINE),
        (NodeRefused("no"), FailureKind.ENGINE_DOWN),
        (NodeLost("a node"), FailureKind.ENGINE_DOWN),
        (Stalled("still"), FailureKind.STALLED),
        (JobFailed("cut"), FailureKind.FLOOD),
    ],
)
def test_what_goes_wrong_with_a_candidate_is_told_by_kind(
    error: JobFailed, kind: FailureKind, world: World
) -> None:
    failure = failure_of(error, world.lab, "t1")
    assert (failure.kind, failure.reason) == (kind, str(error))


def test_an_engine_that_is_gone_is_no_fault_of_the_candidate(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuner.measure.trial.answers", lambda one: one != "client")
    with pytest.raises(Unreachable, match="timed out"):
        failure_of(Unreachable("timed out"), world.lab, "t1")
    world.gone = "signal 9"
    with pytest.raises(Unreachable, match="signal 9"):
        failure_of(Unreachable("timed out"), world.lab, "t1")


def test_an_engine_that_was_silent_for_a_while_is_tidied_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuner.measure.trial.answers", lambda one: one == "client")
    failure = failure_of(Unreachable("timed out"), world.lab, "t1")
    assert failure.kind is FailureKind.STALLED
    assert world.done == [("removed", Owner("r1"), "rsyslog-tune-r1-t1-")]


def test_a_profile_that_a_lab_refuses_ends_the_command(world: World) -> None:
    with pytest.raises(Refused, match="too large"):
        failure_of(Refused("too large"), world.lab, "t1")
    world.gone = "signal 9"
    with pytest.raises(Unreachable, match="signal 9"):
        failure_of(Refused("too large"), world.lab, "t1")


PROGRESS = FloodProgress(900, 0.1, 0.0, 1.0, 2.0, False, None, 3.0)


def ended(progress: FloodProgress) -> Watch:
    """A watch whose flood ends so."""

    def blame(error: str) -> None:
        raise JobFailed(error)

    made = SimpleNamespace(flood=SimpleNamespace(finish=lambda _: progress), blame=blame)
    return cast(Watch, made)


def test_a_flood_that_cannot_be_trusted_has_no_account() -> None:
    assert finish(ended(PROGRESS)) == PROGRESS
    cut = finish(ended(replace(PROGRESS, truncated=True)))
    assert isinstance(cut, Failure)
    assert (cut.kind, cut.sent) == (FailureKind.FLOOD, 900)
    with pytest.raises(JobFailed, match="connection reset"):
        finish(ended(replace(PROGRESS, error="connection reset")))
