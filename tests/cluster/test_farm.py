"""The labs of a farm, as the command sees them that measures there."""

from __future__ import annotations

import gc
from concurrent.futures import Future
from pathlib import Path
from typing import cast

import psutil
import pytest
from distributed import Client
from distributed.actor import Actor

from tuner.cluster.farm import DaskFarm
from tuner.cluster.messages import (
    FROM_LOAD,
    REPLIES,
    TO_LOAD,
    EndSender,
    Failed,
    Opened,
    OpenLab,
    Ping,
    Pong,
    Prepared,
)
from tuner.cluster.processes import RemoteProcess, processes
from tuner.errors import JobFailed, Locked, Unreachable
from tuner.host.process import Child, wait_until
from tuner.lint.load import load_profile
from tuner.measure.measurement import TrialPlan
from tuner.search.farm import Lost
from tuner.search.study import Asked, Fingerprint, LabFacts, Phase

PROFILE = Path(__file__).parents[2] / "profiles/default.yaml"


class Silent:
    """A worker that never answers."""

    def ask(self, _: bytes) -> Future[bytes]:
        return Future()

    def end(self, _: float) -> Future[None]:
        return Future()


def test_a_trial_for_a_machine_that_was_given_up_is_lost() -> None:
    farm = DaskFarm({"north": cast(Actor, Silent())}, lambda: True)
    farm.drop("north")
    asked = Asked(1, Phase.WARM_UP, (), "", TrialPlan(1.0, 2.0), machine="north")
    farm.start(asked, load_profile(PROFILE).profile)
    assert farm.wait(10.0) == {1: Lost("north does not answer any more", is_gone=True)}


# What is given up is not closed.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_process_ends_when_nobody_wants_it_any_more() -> None:
    before = set(psutil.Process().children())
    process = RemoteProcess("tuner.cluster.load")
    (child,) = set(psutil.Process().children()) - before
    del process
    gc.collect()
    assert wait_until(lambda: child.status() == psutil.STATUS_ZOMBIE, 30)


class Answering:
    """A worker whose process gets ready and then answers so, has ended, or takes for ever."""

    def __init__(self, answer: bytes | Exception | None) -> None:
        self._answer = answer

    def ask(self, line: bytes) -> Future[bytes]:
        answer: Future[bytes] = Future()
        if isinstance(self._answer, Exception):
            answer.set_exception(self._answer)
        elif line.startswith(b"OpenLab") and self._answer in {OPENED, None}:
            answer.set_result(REPLIES.line(Prepared()))
        elif self._answer is not None:
            answer.set_result(self._answer)
        return answer

    def end(self, _: float) -> Future[None]:
        return Future()


REQUEST = OpenLab("sink", "{}", ())
FACTS = LabFacts("sink", "2 cores", (), (), Fingerprint("8.2302", "sink", "2 cores", "a", ""))
OPENED = REPLIES.line(Opened(FACTS, 0.0))


def farm_of(scheduler_lives: bool = True, **labs: bytes | Exception | None) -> DaskFarm:
    actors = {name: cast(Actor, Answering(answer)) for name, answer in labs.items()}
    return DaskFarm(actors, lambda: scheduler_lives)


def test_a_machine_whose_lab_does_not_open_is_left_out_with_its_own_words() -> None:
    told: list[str] = []
    farm = farm_of(north=OPENED, south=JobFailed("it ended with exit code 1: KeyError: 'Ask'"))
    assert list(farm.open(REQUEST, told.append)) == ["north"]
    assert farm.machines == ("north",)
    assert told == ["south: it ended with exit code 1: KeyError: 'Ask'; south is left out"]


def test_a_lab_that_takes_three_times_as_long_to_start_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tuner.cluster.farm._LEAST_OPENING_S", 0.2)
    told: list[str] = []
    farm = farm_of(north=None, south=OPENED)
    assert list(farm.open(REQUEST, told.append)) == ["south"]
    assert told == ["north: no lab after 1 s; north is left out"]


def test_labs_that_all_fail_and_machines_that_are_busy_are_errors() -> None:
    broken = JobFailed("it ended with exit code 1: no engine")
    with pytest.raises(JobFailed, match="north: it ended with exit code 1: no engine"):
        farm_of(north=broken, south=broken).open(REQUEST, print)
    busy = REPLIES.line(Failed.from_error(Locked("another run is measuring on this machine")))
    with pytest.raises(Locked, match="south: another run is measuring"):
        farm_of(north=OPENED, south=busy).open(REQUEST, print)


def test_a_dead_scheduler_is_said_once_and_blamed_on_no_machine() -> None:
    gone = OSError("closed")
    farm = farm_of(scheduler_lives=False, north=gone, south=gone)
    profile = load_profile(PROFILE).profile
    for number, machine in enumerate(farm.machines):
        farm.start(
            Asked(number, Phase.SEARCH, (), "", TrialPlan(1.0, 2.0), machine=machine), profile
        )
    with pytest.raises(
        Unreachable, match=r"^the scheduler of the cluster does not answer any more"
    ):
        farm.wait(10.0)


def test_what_a_process_does_not_know_is_said_in_its_own_words_and_ends_it() -> None:
    """As what another rsyslog-tune asks for: it neither hangs nor aborts."""
    lab = Child("tuner.cli.cluster_lab")
    try:
        lab.tell(b'SweepAll {"first": 1}\n')
        reply = REPLIES.message(lab.stdout.readline())
        assert isinstance(reply, Failed)
        assert "it was told SweepAll, which this rsyslog-tune does not know" in reply.text
        assert lab.wait(30)
        assert "SIGABRT" not in str(lab.ending())
    finally:
        lab.end()
        lab.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_question_does_not_wait_for_the_answer_to_that_of_another_command() -> None:
    """Of two commands that use one worker, the first measures for a long time."""
    with Client(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as client:
        (worker,) = client.scheduler_info()["workers"]
        first, second = (
            processes(client, {"north": worker}, "tuner.cluster.load")["north"] for _ in range(2)
        )
        try:
            measuring = first.ask(TO_LOAD.line(EndSender("none")))
            answer = second.ask(TO_LOAD.line(Ping(1.0))).result(30)
            assert isinstance(FROM_LOAD.message(answer), Pong)
            assert not measuring.done()
        finally:
            for process in (first, second):
                process.end(5.0).result(30)
