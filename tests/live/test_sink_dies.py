"""A sink that dies during a trial is named, and ends the search as a dead engine does."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from tuner.errors import Unreachable
from tuner.lab.lab import new_run_id, sink_lab
from tuner.lab.scratch import scratch
from tuner.lint.load import load_profile
from tuner.measure.measurement import TrialPlan
from tuner.measure.place import run_profile

pytestmark = [pytest.mark.live, pytest.mark.full, pytest.mark.usefixtures("nothing_left_behind")]

PROFILE = load_profile(Path(__file__).parents[2] / "profiles" / "default.yaml").profile


def kill_sink() -> None:
    (sink,) = [
        process
        for process in psutil.Process().children()
        if process.status() != psutil.STATUS_ZOMBIE and "tuner.lab.sink_server" in process.cmdline()
    ]
    sink.kill()


@pytest.mark.parametrize("phase", ["warm-up", "window", "drain"])
def test_a_killed_sink_is_named_and_ends_the_search(tmp_path: Path, phase: str) -> None:
    def tell(now: str) -> None:
        if now == phase:
            kill_sink()

    with scratch(tmp_path) as folder, sink_lab(folder, new_run_id()) as lab:
        for name in ("killed", "after"):
            with pytest.raises(Unreachable, match=r"^sink died with SIGKILL$"):
                run_profile(lab, PROFILE, TrialPlan(0.5, 1.0), name, tell)
        assert list(folder.iterdir()) == []
