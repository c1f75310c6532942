"""The labs of a farm, as the command sees them that measures there."""

from __future__ import annotations

import gc
from concurrent.futures import Future
from pathlib import Path
from typing import cast

import psutil
import pytest
from distributed.actor import Actor

from tuner.cluster.farm import DaskFarm
from tuner.cluster.processes import RemoteProcess
from tuner.host.process import wait_until
from tuner.lint.load import load_profile
from tuner.measure.measurement import TrialPlan
from tuner.search.farm import Lost
from tuner.search.study import Asked, Phase

PROFILE = Path(__file__).parents[2] / "profiles/default.yaml"


class Silent:
    """A worker that never answers."""

    def ask(self, _: bytes) -> Future[bytes]:
        return Future()

    def end(self, _: float) -> Future[None]:
        return Future()


def test_a_trial_for_a_machine_that_was_given_up_is_lost() -> None:
    farm = DaskFarm({"north": cast(Actor, Silent())})
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
