"""rsyslog's own counters: each rule breaks and holds."""

from __future__ import annotations

import pytest

from tests.lint.findings import findings
from tests.profile.examples import small
from tuner.errors import BadProfile

FILE = "/var/log/rsyslog/impstats.log"


def test_counters_must_go_somewhere() -> None:
    assert findings({"impstats": {"interval": 10}}) == {"error RT140 impstats"}
    assert findings({"impstats": {"log.file": FILE}}) == set()


def test_counters_among_the_events_deserve_a_second_look() -> None:
    assert findings({"impstats": {"log.syslog": True}}) == {"warning RT141 impstats.log.syslog"}
    assert findings({"impstats": {"log.syslog": False, "log.file": FILE}}) == set()


def test_counters_that_begin_anew_deserve_a_second_look() -> None:
    assert findings({"impstats": {"log.file": FILE, "resetCounters": True}}) == {
        "warning RT142 impstats.resetCounters"
    }


@pytest.mark.parametrize("interval", [0, -1, 1.5, 86401])
def test_an_interval_is_whole_seconds(interval: float) -> None:
    with pytest.raises(BadProfile, match="interval"):
        small({"impstats": {"interval": interval, "log.file": FILE}})
