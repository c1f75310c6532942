"""How far a trial kept from the guardrails, and which it breached."""

from __future__ import annotations

import math

import pytest

from tests.measure.factory import failed, measured
from tests.measure.paced import paced
from tuner.profile.model import Guardrails
from tuner.search.guardrails import Limits

MIB = 1024**2


def test_a_profile_s_sizes_are_bytes() -> None:
    assert Limits.of(Guardrails(rss_bytes="2g")) == Limits(45.0, 2 * 1024**3)
    assert Limits.of(Guardrails()).rss_bytes is None


def test_a_saturating_trial_tells_of_memory_and_nothing_of_freshness() -> None:
    limits = Limits(45.0, 180 * MIB)
    ((name, margin),) = limits.margins(measured(1000.0, rss_mib=90))
    assert name == "rss_bytes"
    assert margin == pytest.approx(math.log(2))
    assert limits.breach(measured(1000.0, rss_mib=180)) is None
    assert limits.breach(measured(1000.0, rss_mib=181)) == (
        "memory: rsyslogd used 181 MiB, rss_bytes allows 180 MiB"
    )


def test_without_a_limit_of_memory_nothing_is_modelled() -> None:
    assert Limits(45.0).margins(measured(1000.0)) == ()


def test_a_run_at_a_fixed_rate_tells_of_freshness() -> None:
    limits = Limits(2.0)
    assert dict(limits.margins(paced(p99_s=4.0)))["freshness_p99_s"] == pytest.approx(-math.log(2))
    assert limits.breach(paced(p99_s=4.0)) == "freshness: p99 4 s, freshness_p99_s allows 2 s"
    assert limits.breach(paced(p99_s=1.9)) is None
    assert limits.breach(paced(p99_s=None)) is None


def test_what_failed_tells_nothing() -> None:
    assert Limits(1.0, 1).margins(failed()) == ()
    assert Limits(1.0, 1).breach(failed()) is None
