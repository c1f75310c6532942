"""Plans for several rates side by side, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuner.plan.inputs import Inputs
from tuner.plan.notes import notes
from tuner.plan.plan import Plan, PlanRange
from tuner.report.figures import eps, size
from tuner.report.plan import (
    RATE,
    SCHEMA,
    assumptions,
    between,
    collectors_of,
    data_nodes_of,
    plan_json,
    primaries_of,
)
from tuner.report.sections import PlainBlock, Table, bullets

_HEADER = (RATE, "collectors", "load hosts", "data nodes", "primary shards", "disk")


@dataclass(frozen=True)
class PlannedRate:
    """The plan for one of several rates, and what the machines that measured leave open of it."""

    inputs: Inputs
    made: Plan
    reach: PlanRange | None


def rates_json(rates: Sequence[PlannedRate]) -> dict[str, object]:
    """Each plan as `plan` gives it for one rate."""
    plans = [plan_json(one.inputs, one.made, one.reach) for one in rates]
    return {"schema": SCHEMA, "kind": "plans", "plans": plans}


def rates_blocks(rates: Sequence[PlannedRate]) -> tuple[PlainBlock, ...]:
    """A row for each rate, what is to be known of all of them and of the highest, and what they
    assume."""
    highest = max(rates, key=lambda one: one.made.peak_eps)
    every = [set(notes(one.inputs, one.made)) for one in rates]
    remarks = [
        note if all(note in some for some in every) else f"{eps(highest.made.mean_eps)} EPS: {note}"
        for note in notes(highest.inputs, highest.made)
    ]
    shared = tuple(row for row in assumptions(highest.inputs) if row[0] != RATE)
    return (
        Table("Plans", _HEADER, tuple(_row(one) for one in rates)),
        *bullets(remarks),
        Table("Assumptions", ("assumption", "value", "", "where from"), shared),
    )


def _row(one: PlannedRate) -> tuple[str, ...]:
    made, reach = one.made, one.reach
    return (
        eps(made.mean_eps),
        between(made, reach, collectors_of),
        "not measured" if made.load_hosts is None else f"{made.load_hosts:,}",
        between(made, reach, data_nodes_of),
        between(made, reach, primaries_of),
        size(made.data_nodes.disk_bytes),
    )
