"""A plan as text."""

from __future__ import annotations

import json

import pytest

from tuner.plan.inputs import Request, inputs_of
from tuner.plan.measured import NOTHING
from tuner.plan.plan import plan
from tuner.report.plan import PlannedRate, duration, plan_blocks, plan_json
from tuner.report.sections import Paragraph, Table
from tuner.schema.numerals import bits, counted, size

REQUEST = Request(rate=10_000, message_bytes=244)


def headline_of(request: Request) -> str:
    inputs = inputs_of(request, NOTHING, None)
    head = plan_blocks(PlannedRate(inputs, plan(inputs)))[0]
    assert isinstance(head, Paragraph)
    return head.text


def rows_of(request: Request, name: str) -> list[list[str]]:
    """The rows of one table of a plan."""
    inputs = inputs_of(request, NOTHING, None)
    tables = [
        one for one in plan_blocks(PlannedRate(inputs, plan(inputs))) if isinstance(one, Table)
    ]
    (table,) = (one for one in tables if one.name == name)
    return [[str(cell) for cell in row] for row in table.rows]


def test_the_headline_tells_the_plan_in_one_sentence() -> None:
    assert headline_of(REQUEST) == (
        "10,000 events per second of 244 bytes, kept for 30 d with 1 replica: 2 collectors, "
        "9 data nodes, 14.6 TiB of disk"
    )
    peak = headline_of(Request(rate=10_000, peak=3, replicas=0))
    assert "10,000 events per second, 30,000 at the peak, of 244 bytes" in peak
    assert "with 0 replicas" in peak


def test_every_assumption_has_a_value_and_an_origin_with_its_reason() -> None:
    for name, value, origin, why in rows_of(REQUEST, "Assumptions"):
        assert name
        assert value
        assert origin in {"given", "assumed"}
        assert why


def test_all_periods_of_the_published_table_are_there() -> None:
    space = rows_of(REQUEST, "Space")
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
    inputs = inputs_of(REQUEST, NOTHING, None)
    read = json.loads(json.dumps(plan_json(PlannedRate(inputs, plan(inputs)))))
    assert (read["schema"], read["kind"]) == (1, "plan")
    assert read["inputs"]["rate"] == {"value": 10_000, "origin": "given", "why": "by --rate"}
    assert read["inputs"]["replicas"]["origin"] == "assumed"
    assert read["plan"]["data_nodes"]["count"] == 9
    assert read["plan"]["space"][3]["events"] == 864_000_000
    assert any("three nodes" in note for note in read["notes"])


def test_the_limit_that_decides_stands_first() -> None:
    rows = {row[0]: row for row in rows_of(REQUEST, "Plan")}
    assert rows["data nodes"][2].startswith("8 for disk, 2 for replicas, 1 for processing")
    trickle = {row[0]: row for row in rows_of(Request(rate=1), "Plan")}
    assert trickle["data nodes"][2].startswith("2 for replicas")
