"""What `doctor` says before it does anything."""

from __future__ import annotations

import pytest

from tuner.cli.doctor import doctor
from tuner.errors import BadUsage


@pytest.mark.parametrize("wrong", ["elastic8", "elasticsearch", "elasticsearch-8", "sink-1.0"])
def test_an_engine_that_cannot_be_fetched_is_a_usage_error(wrong: str) -> None:
    with pytest.raises(BadUsage, match=f"--fetch {wrong}: write elasticsearch-8.19"):
        doctor([wrong])
