"""A plan as text."""

from __future__ import annotations

import json

import pytest

from tests.plan.test_inputs import said
from tuner.plan import inputs_of, plan
from tuner.report.plan import PlannedRate, duration, plans_blocks, plans_json
from tuner.report.sections import Paragraph, Table
from tuner.schema.numerals import bits, counted, size


def planned(**given: float) -> PlannedRate:
    inputs = inputs_of(said(message_bytes=244, **given))
    return PlannedRate(inputs, plan(inputs))


def headline_of(**given: float) -> str:
    head = plans_blocks([planned(**given)])[0]
    assert isinstance(head, Paragraph)
    return head.text


def rows_of(name: str, **given: float) -> list[list[str]]:
    """The rows of one table of a plan."""
    tables = [block for block in plans_blocks([planned(**given)]) if isinstance(block, Table)]
    (table,) = (block for block in tables if block.name == name)
    return [[str(cell) for cell in row] for row in table.rows]


def test_the_headline_tells_the_plan_in_one_sentence() -> None:
    assert headline_of() == (
        "10,000 events per second of 244 bytes, kept for 30 d with 1 replica: 2 collectors, "
        "9 data nodes, 14.6 TiB of disk"
    )
    peak = headline_of(peak=3, replicas=0)
    assert "10,000 events per second, 30,000 at the peak, of 244 bytes" in peak
    assert "with 0 replicas" in peak


def test_every_assumption_has_a_value_and_an_origin_with_its_reason() -> None:
    for name, value, origin, why in rows_of("Assumptions"):
        assert name
        assert value
        assert origin in {"given", "assumed"}
        assert why


def test_all_periods_of_the_published_table_are_there() -> None:
    space = rows_of("Space")
    assert [row[0] for row in space] == ["second", "minute", "hour", "day", "week", "month", "year"]
    assert space[4][1] == "6,048,000,000"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0 B"), (9.99, "9.99 B"), (1023, "1,023 B"), (1024, "1.00 KiB"), (12_345, "12.1 KiB"),
     (1024**2 - 1, "1.00 MiB"), (822.15 * 1024**3, "822 GiB"), (5e21, "4,337 EiB")],
)  # fmt: skip
def test_bytes_have_three_digits(value: float, shown: str) -> None:
    assert size(value) == shown


def test_bits_are_counted_by_thousands() -> None:
    assert bits(19_600_000) == "19.6 Mbit/s"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(45, "45 s"), (900, "15 min"), (20_000, "5.56 h"), (30 * 86_400, "30 d"), (0.5, "0.5 s")],
)
def test_durations_are_told_in_their_largest_unit(value: float, shown: str) -> None:
    assert duration(value) == shown


def test_one_is_no_plural() -> None:
    assert (counted(1, "collector"), counted(1200, "data node")) == (
        "1 collector",
        "1,200 data nodes",
    )


def test_programs_get_the_inputs_with_their_origins_and_every_figure() -> None:
    read = json.loads(json.dumps(plans_json([planned()])))
    assert (read["schema"], read["kind"]) == (2, "plan")
    (only,) = read["plans"]
    assert only["inputs"]["rate"] == {"value": 10_000, "origin": "given", "why": "by --rate"}
    assert only["inputs"]["replicas"]["origin"] == "assumed"
    assert only["plan"]["engine"]["count"] == 9
    assert only["plan"]["space"][3]["events"] == 864_000_000
    assert any("three nodes" in note for note in only["notes"])


def test_the_limit_that_decides_stands_first() -> None:
    rows = {row[0]: row for row in rows_of("Plan")}
    assert rows["data nodes"][2].startswith("8 for disk, 2 for replicas, 1 for processing")
    trickle = {row[0]: row for row in rows_of("Plan", rate=1)}
    assert trickle["data nodes"][2].startswith("2 for replicas")
