"""How far a trial kept from the guardrails, and which it breached."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.measure.factory import failed, measured
from tests.measure.paced import paced
from tuner.measure.measurement import Failure
from tuner.profile.model import Guardrails
from tuner.search.study import Limits

MIB = 1024**2


def test_a_profile_s_sizes_are_bytes() -> None:
    assert Limits.of(Guardrails(rss_bytes="2g")) == Limits(45.0, 2 * 1024**3)
    assert Limits.of(Guardrails()).rss_bytes is None


def breached(rss_mib: float) -> Failure:
    return replace(failed(), shipper_rss_bytes=int(rss_mib * MIB))


def test_a_trial_tells_how_far_it_kept_from_the_memory_allowed() -> None:
    limits = Limits(45.0, 180 * MIB)
    ((name, margin),) = limits.margins(measured(1000.0, rss_mib=90))
    assert name == "rss_bytes"
    assert margin == pytest.approx(math.log(2))
    ((_, beyond),) = limits.margins(breached(360))
    assert beyond == pytest.approx(-math.log(2))


def test_without_a_limit_of_memory_nothing_is_modelled() -> None:
    assert Limits(45.0).margins(measured(1000.0)) == ()


def test_a_run_at_a_fixed_rate_tells_of_freshness() -> None:
    assert Limits(2.0).breach(paced(p99_s=4.0)) == "freshness: p99 4 s, freshness_p99_s allows 2 s"
    assert Limits(2.0).breach(paced(p99_s=1.9)) is None
    assert Limits(2.0).breach(paced(p99_s=None)) is None


def test_what_failed_before_its_memory_was_known_tells_nothing() -> None:
    assert Limits(1.0, 1).margins(failed()) == ()
