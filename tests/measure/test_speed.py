"""How fast the machine was during a run, by the probe beside it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.measure.test_doubts import AT_FIRST
from tuner.lab.probe import Pieces
from tuner.measure.speed import speed_of

BEFORE = Pieces(100, 0.1, 0.02)
AFTER = Pieces(150, 0.145, 0.029)


def test_a_window_has_the_mean_of_its_pieces() -> None:
    growth = replace(AT_FIRST, probe=AFTER).since(replace(AT_FIRST, probe=BEFORE))
    speed = speed_of(growth.probe)
    assert speed is not None
    assert speed.zlib_us == pytest.approx(900)
    assert speed.socket_us == pytest.approx(180)
    assert speed.logs == pytest.approx((math.log(900), math.log(180)))


def test_without_a_probe_at_both_ends_there_is_no_speed() -> None:
    with_probe = replace(AT_FIRST, probe=AFTER)
    assert speed_of(with_probe.since(AT_FIRST).probe) is None
    assert speed_of(AT_FIRST.since(with_probe).probe) is None
    assert speed_of(with_probe.since(with_probe).probe) is None
