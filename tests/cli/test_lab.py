"""A lab that stays: what its commands say where there is none."""

from __future__ import annotations

from tests.cli.here import here
from tuner.host.lock import measuring


def test_there_is_nothing_to_take_down_and_to_wait_for_while_another_run_measures() -> None:
    with measuring("another"):
        done = here("lab", "down")
    assert (done.code, done.out) == (0, "no lab is running\n")
