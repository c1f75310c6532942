"""Documents and lines as they arrived, and times of a clock then."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tuner.validate.arrival import Arrival, is_now


def test_values_of_documents_go_by_dotted_names() -> None:
    fields = Arrival("logs", None, '{"a":{"b":1,"c":{}},"d":[{"e":2}]}').fields
    assert fields == {"a.b": 1, "a.c": {}, "d": [{"e": 2}]}


@pytest.mark.parametrize("text", ["no JSON", "[1]", '{"a":1,"a":2}', ""])
def test_what_no_engine_takes_has_no_values(text: str) -> None:
    assert Arrival("logs", None, text).fields is None


@pytest.mark.parametrize(
    "written",
    ["%Y-%m-%dT%H:%M:%S%z", "%b %d %H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y%m%d%H%M%S", "%s",
     "%H:%M:%S"],
)  # fmt: skip
def test_a_time_is_that_of_a_clock_in_any_format_of_rsyslogs(written: str) -> None:
    now = datetime(2026, 11, 5, 12, 30).astimezone()
    for minutes, wanted in ((-9, True), (9, True), (-11, False), (11, False)):
        then = (now + timedelta(minutes=minutes)).strftime(written)
        if written == "%Y-%m-%dT%H:%M:%S%z":
            then = f"{then[:-2]}:{then[-2:]}"
        assert is_now(then, now) is wanted, then
