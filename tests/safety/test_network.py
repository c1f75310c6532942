"""F11: trouble between rsyslogd and the engine loses no event unseen."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.safety.bad_network import BadNetwork, Trouble
from tests.safety.invariants import Json
from tests.safety.scorecard import control, row
from tests.safety.trials import PROFILE, SHORT, books, require_true_score, silent
from tuner.lab.engine import SinkEngine
from tuner.lab.lab import lab_of, new_run_id
from tuner.lab.scratch import scratch
from tuner.lab.sink import Sink
from tuner.measure import summary
from tuner.measure.measurement import Failure, Measurement, Result
from tuner.measure.place import run_profile

pytestmark = [pytest.mark.live, pytest.mark.full]

# For how long; None: until the trial has ended.
LASTS_S: Mapping[Trouble, float | None] = {
    Trouble.CUT: 1.0,
    Trouble.RESET: 0.3,
    Trouble.HALF_OPEN: None,
    Trouble.SLOW: None,
}


class BehindANetwork(Sink):
    """A sink that is reached through a proxy."""

    proxy: BadNetwork

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.proxy.port}"


def troubled(site: Path, trouble: Trouble) -> tuple[Result, Json]:
    """A trial with that trouble in its window, and what the sink counted; the next one works."""
    with BehindANetwork() as sink, BadNetwork(sink.port) as network, books() as counted:
        sink.proxy, lasts_s = network, LASTS_S[trouble]

        def strike(phase: str) -> None:
            if phase == "window":
                network.trouble = trouble
                if lasts_s is not None:
                    threading.Timer(lasts_s, heal).start()

        def heal() -> None:
            network.trouble = Trouble.NONE

        with scratch(site) as folder:
            lab = lab_of(SinkEngine(sink), folder, new_run_id())
            outcome = run_profile(lab, PROFILE, SHORT, "struck", strike)
            heal()
            after = run_profile(lab, PROFILE, SHORT, "after", silent)
            assert isinstance(after, Measurement), after
            lab.client.close()
        return outcome, counted[0]


@row("F11")
@pytest.mark.parametrize("trouble", list(LASTS_S), ids=lambda one: one.value)
def test_f11_a_bad_network_is_no_throughput(site: Path, trouble: Trouble, run: int) -> None:
    outcome, counted = troubled(site, trouble)
    require_true_score(outcome, counted)
    if LASTS_S[trouble] is None:
        assert isinstance(outcome, Failure), outcome


@control("F11")
def test_control_f11(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "failure_of", lambda settled, profile: None)

    def reset_again_and_again() -> None:
        """Whether a bulk was stored before its connection was reset is left to chance."""
        for _ in range(25):
            require_true_score(*troubled(site, Trouble.RESET))

    with pytest.raises(AssertionError, match="the trial has a score"):
        reset_again_and_again()
