"""What `diagnose` says of counters that a real rsyslogd wrote in the riskiest scenarios of the
drill, kept in `logs/` with their truth."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.drill.drilled import verdict_on

KEPT = Path(__file__).with_name("logs")


@pytest.mark.parametrize("name", sorted(path.name for path in KEPT.iterdir()))
def test_what_is_told_of_kept_counters_is_so(name: str) -> None:
    verdict, _ = verdict_on(name, KEPT / name)
    assert not verdict.false
    assert not verdict.missed
