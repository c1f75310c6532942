"""rsyslog's own counters in rsyslog.conf."""

from __future__ import annotations

import re

from tests.profile.examples import small
from tuner.render.artefacts import rsyslog_conf

FILE = "/var/log/rsyslog/impstats.log"


def test_counters_are_written_as_asked_for_and_every_parameter_is_spelled_out() -> None:
    text = rsyslog_conf(small({"impstats": {"interval": 30, "log.file": FILE}}))
    found = re.search(r'module\(\s*load="impstats"(.*?)\)', text, re.DOTALL)
    assert found is not None
    assert found[1].split() == [
        'interval="30"', 'format="json"', 'resetCounters="off"', 'log.syslog="off"',
        f'log.file="{FILE}"',
    ]  # fmt: skip


def test_impstats_comes_before_every_other_module() -> None:
    text = rsyslog_conf(small({"impstats": {"log.file": FILE}}))
    assert re.findall(r'load="(\w+)"', text)[0] == "impstats"


def test_a_profile_that_does_not_ask_has_none() -> None:
    assert "impstats" not in rsyslog_conf(small())


def test_the_header_tells_a_configuration_with_other_counters_apart() -> None:
    heads = {
        rsyslog_conf(small({"impstats": impstats})).split("\n")[0]
        for impstats in (None, {"log.file": FILE}, {"log.file": FILE, "interval": 30})
    }
    assert len(heads) == 3
