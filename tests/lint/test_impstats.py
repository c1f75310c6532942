"""rsyslog's own counters: each rule breaks and holds."""

from __future__ import annotations

import pytest

from tests.lint.test_lint import codes
from tests.profile.examples import small
from tuner.errors import BadProfile

FILE = "/var/log/rsyslog/impstats.log"


def test_counters_must_go_somewhere() -> None:
    assert codes({"impstats": {"interval": 10}}) == {"RT140"}
    assert codes({"impstats": {"log.file": FILE}}) == set()


def test_counters_among_the_events_deserve_a_second_look() -> None:
    assert codes({"impstats": {"log.syslog": True}}) == {"RT141"}
    assert codes({"impstats": {"log.syslog": False, "log.file": FILE}}) == set()


def test_counters_that_begin_anew_deserve_a_second_look() -> None:
    assert codes({"impstats": {"log.file": FILE, "resetCounters": True}}) == {"RT142"}


@pytest.mark.parametrize("interval", [0, -1, 1.5, 86401])
def test_an_interval_is_whole_seconds(interval: float) -> None:
    with pytest.raises(BadProfile, match="interval"):
        small({"impstats": {"interval": interval, "log.file": FILE}})
