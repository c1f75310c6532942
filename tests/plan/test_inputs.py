"""Where the figures of a plan come from."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from tuner.plan import Figure, Inputs, Measured, Origin, Sample, inputs_of, plan, sample_of
from tuner.report.plan import PlannedRate, notes

FIGURES = {
    "collector_us": 5.0,
    "node_us": 20.0,
    "store_bytes": 190.0,
    "bulk_bytes": 450.0,
    "connection_us": 40.0,
}
RUN = Measured(
    where="runs/prod",
    what="confirming runs of the best found",
    eps=70_000,
    message_bytes=244,
    figures=FIGURES,
    machines={},
)
SAMPLE = Sample("app.log", 1000, message_bytes=120.0, gzip_ratio=8.0)


def said(**values: float) -> dict[str, Figure]:
    """What options give, a rate among it."""
    given = {"rate": 10_000.0} | values
    return {name: Figure(value, Origin.GIVEN, f"by --{name}") for name, value in given.items()}


def figures(inputs: Inputs) -> dict[str, Figure]:
    """Every figure by name."""
    return {field.name: value for field in fields(inputs) if (value := getattr(inputs, field.name))}


def told(inputs: Inputs, run: Measured | None = None) -> str:
    return " ".join(notes(PlannedRate(inputs, plan(inputs), run)))


def test_without_anything_but_a_rate_all_else_is_assumed_for_a_reason() -> None:
    found = figures(inputs_of(said(rate=10e6)))
    given = [name for name, one in found.items() if one.origin is not Origin.ASSUMED]
    assert given == ["rate"]
    assert all(len(one.why) > 10 for name, one in found.items() if name != "rate")


def test_what_a_run_measured_is_used_and_named() -> None:
    found = figures(inputs_of(said(), RUN))
    for name, value in {**FIGURES, "message_bytes": 244}.items():
        assert found[name] == Figure(value, Origin.MEASURED, "runs/prod")
    assert found["gzip_ratio"].origin is Origin.ASSUMED


def test_machines_carry_what_their_cores_have_time_for() -> None:
    found = inputs_of(said(collector_cores=2, node_cores=10), RUN)
    assert found.collector_eps.value == pytest.approx(2 * 1e6 / 5)
    assert found.node_eps.value == pytest.approx(10 * 1e6 / 20)


def test_what_no_run_carried_is_extrapolated_and_says_from_what_and_how_far() -> None:
    """70,000 EPS were measured; 4 cores at 5 us, and 8 at 20 us, are more."""
    found = inputs_of(said(), RUN)
    for eps, times in ((found.collector_eps, "11.4 times"), (found.node_eps, "5.7 times")):
        assert eps.origin is Origin.EXTRAPOLATED
        assert eps.why.startswith(f"{times} the 70,000 EPS of the run: ")
    text = told(found, RUN)
    assert "extrapolated from the 70,000 EPS of the run: a collector to 11.4 times" in text
    assert "a data node to 5.7 times that; " in text
    assumed = inputs_of(said())
    assert assumed.node_eps.origin is Origin.ASSUMED
    assert "EPS of the run" not in told(assumed)


def test_what_the_user_gives_goes_before_what_was_measured() -> None:
    given = said(
        message_bytes=500,
        store_bytes=222,
        collector_eps=60_000,
        node_eps=50_000,
        gzip_ratio=12,
        replicas=0,
    )
    found = figures(inputs_of(given, RUN, SAMPLE))
    assert {name: found[name] for name in given} == given


def test_a_sample_gives_size_and_compression() -> None:
    found = figures(inputs_of(said(), RUN, SAMPLE))
    assert found["message_bytes"] == Figure(
        120.0, Origin.MEASURED, "mean of 1,000 lines of app.log"
    )
    assert found["gzip_ratio"] == Figure(8.0, Origin.MEASURED, "gzip -6 of app.log")


def test_a_run_with_messages_of_another_size_is_scaled_and_that_is_said() -> None:
    larger = figures(inputs_of(said(message_bytes=488), RUN))
    assert larger["store_bytes"].value == pytest.approx(380)
    assert larger["node_us"].value == pytest.approx(40)
    assert larger["bulk_bytes"].value == pytest.approx(450 + 244)
    why = "2 times the 190 of runs/prod, which had messages of 244 bytes: in proportion"
    assert larger["store_bytes"].why == why
    for name in ("store_bytes", "node_us", "collector_us", "bulk_bytes"):
        assert larger[name].origin is Origin.EXTRAPOLATED
    smaller = figures(inputs_of(said(message_bytes=122), RUN))
    assert smaller["node_us"].value == 20.0
    assert smaller["store_bytes"].value == pytest.approx(95)


def test_a_run_on_the_sink_says_nothing_of_the_engine() -> None:
    sink = replace(RUN, figures={"collector_us": 5.0, "bulk_bytes": 450.0})
    found = figures(inputs_of(said(), sink))
    assert found["collector_us"].origin is Origin.MEASURED
    for name in ("node_us", "store_bytes", "connection_us"):
        assert found[name].origin is Origin.ASSUMED


def test_lines_of_a_sample_are_counted_without_their_ends() -> None:
    found = sample_of(b"abc\n" * 500 + b"\n" + b"abcde\n" * 500, "app.log")
    assert found is not None
    assert (found.lines, found.message_bytes) == (1000, 4.0)
    assert found.gzip_ratio > 20
    assert sample_of(b"\n\n", "empty.log") is None
