"""Space over time, beside the table that ELMA published in 2012 for 244-byte messages."""

from __future__ import annotations

import pytest

from tests.plan.test_inputs import said
from tuner.plan import DiskSpace, inputs_of, plan

# Per message: 0.29 and 23.44 MB for 100,000, its MB being 1024 * 1024 bytes (23.26 of them are
# 100,000 times 244).
GZIP = 0.29 * 1024**2 / 100_000
ELASTICSEARCH = 23.44 * 1024**2 / 100_000
THEIR_YEAR_S = 12 * 4 * 7 * 86_400


def space() -> dict[str, DiskSpace]:
    given = said(message_bytes=244, store_bytes=ELASTICSEARCH, gzip_ratio=244 / GZIP)
    return {row.period: row for row in plan(inputs_of(given)).space}


def test_messages_up_to_the_week_are_those_published() -> None:
    found = {period: row.events for period, row in space().items()}
    published = {
        "second": 10_000,
        "minute": 600_000,
        "hour": 36_000_000,
        "day": 864_000_000,
        "week": 6_048_000_000,
    }
    assert {period: found[period] for period in published} == published


def test_the_published_month_is_thirty_weeks() -> None:
    found = {period: row.events for period, row in space().items()}
    assert found["week"] * 30 == 181_440_000_000
    assert found["month"] == 25_920_000_000
    assert found["week"] * 30 * 12 == 2_177_280_000_000
    assert found["year"] == 315_360_000_000


def test_the_published_gzip_files_are_those_of_a_year_of_336_days() -> None:
    assert THEIR_YEAR_S == 336 * 86_400
    day = space()["day"]
    assert 336 * day.gzip_bytes / 1024**3 == pytest.approx(822.15, abs=0.01)
    assert space()["year"].gzip_bytes / 1024**3 == pytest.approx(893.1, abs=0.1)


def test_the_published_space_of_elasticsearch_needs_half_as_much_again() -> None:
    day = space()["day"]
    assert pytest.approx(246, abs=0.5) == ELASTICSEARCH
    assert 336 * day.primary_bytes / 1024**4 == pytest.approx(64.9, abs=0.1)
    assert 96.9 * 1024**2 / (336 * day.events / 100_000) == pytest.approx(35.0, abs=0.05)


def test_replicas_are_counted_beside_the_primaries() -> None:
    assert space()["day"].engine_bytes == 2 * space()["day"].primary_bytes
