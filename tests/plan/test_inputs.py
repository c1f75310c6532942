"""Where the figures of a plan come from."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from tuner.plan.inputs import Figure, Inputs, Machine, Origin, Request, inputs_of
from tuner.plan.measured import NOTHING, Measured, Sample, sample_of
from tuner.plan.plan import notes, plan
from tuner.plan.scaling import Level

RUN = Measured(
    where="runs/prod",
    what="confirming runs of the best found",
    eps=70_000,
    message_bytes=244,
    shipper_us=5.0,
    engine_us=20.0,
    store_bytes=190.0,
    bulk_bytes=450.0,
    connection_us=40.0,
)
SAMPLE = Sample("app.log", 1000, message_bytes=120.0, gzip_ratio=8.0)


def figures(inputs: Inputs) -> dict[str, Figure]:
    """Every figure by name, those of machines included."""
    found: dict[str, Figure] = {}
    for one in fields(inputs):
        value = getattr(inputs, one.name)
        if isinstance(value, Machine):
            parts = {"eps": value.eps, "cpu_us": value.cpu_us, "cores": value.cores}
            found |= {f"{one.name}.{name}": part for name, part in parts.items() if part}
        elif isinstance(value, Figure):
            found[one.name] = value
    return found


def test_without_anything_but_a_rate_all_else_is_assumed_for_a_reason() -> None:
    found = figures(inputs_of(Request(rate=10e6), NOTHING, None))
    given = [name for name, one in found.items() if one.origin is not Origin.ASSUMED]
    assert given == ["rate"]
    assert all(len(one.why) > 10 for name, one in found.items() if name != "rate")


def test_what_a_run_measured_is_used_and_named() -> None:
    found = figures(inputs_of(Request(rate=10_000), RUN, None))
    expected = {
        "message_bytes": 244,
        "collector.cpu_us": 5.0,
        "node.cpu_us": 20.0,
        "store_bytes": 190.0,
        "bulk_bytes": 450.0,
        "connection_us": 40.0,
    }
    for name, value in expected.items():
        assert found[name] == Figure(value, Origin.MEASURED, "runs/prod")
    assert found["gzip_ratio"].origin is Origin.ASSUMED


def test_machines_carry_what_their_cores_have_time_for() -> None:
    request = Request(rate=10_000, collector_cores=2, node_cores=10)
    found = inputs_of(request, RUN, None)
    assert found.collector.eps.value == pytest.approx(2 * 1e6 / 5)
    assert found.node.eps.value == pytest.approx(10 * 1e6 / 20)


def test_what_no_run_carried_is_extrapolated_and_says_from_what_and_how_far() -> None:
    """70,000 EPS were measured; 4 cores at 5 us, and 8 at 20 us, are more."""
    found = inputs_of(Request(rate=10_000), RUN, None)
    for machine, times in ((found.collector, "11.4 times"), (found.node, "5.7 times")):
        assert machine.eps.origin is Origin.EXTRAPOLATED
        assert machine.eps.why.startswith(f"{times} the 70,000 EPS of the run: ")
    told = " ".join(notes(found, plan(found)))
    assert "extrapolated from the 70,000 EPS of the run: a collector to 11.4 times" in told
    assert "a data node to 5.7 times that; " in told
    assumed = inputs_of(Request(rate=10_000), NOTHING, None)
    assert assumed.node.eps.origin is Origin.ASSUMED
    assert "EPS of the run" not in " ".join(notes(assumed, plan(assumed)))


def test_what_the_user_gives_goes_before_what_was_measured() -> None:
    request = Request(
        rate=10_000,
        message_bytes=500,
        bytes_per_event=222,
        collector_eps=60_000,
        node_eps=50_000,
        gzip_ratio=12,
        replicas=0,
        growth=0.0,
    )
    found = figures(inputs_of(request, RUN, SAMPLE))
    expected = {
        "message_bytes": (500, "by --message-bytes"),
        "store_bytes": (222, "by --bytes-per-event"),
        "collector.eps": (60_000, "by --collector-eps"),
        "node.eps": (50_000, "by --node-eps"),
        "gzip_ratio": (12, "by --gzip-ratio"),
        "replicas": (0, "by --replicas"),
        "growth": (0, "by --growth"),
    }
    for name, (value, why) in expected.items():
        assert found[name] == Figure(value, Origin.GIVEN, why)
    assert "node.cpu_us" not in found


def test_a_sample_gives_size_and_compression() -> None:
    found = figures(inputs_of(Request(rate=10_000), RUN, SAMPLE))
    assert found["message_bytes"] == Figure(
        120.0, Origin.MEASURED, "mean of 1,000 lines of app.log"
    )
    assert found["gzip_ratio"] == Figure(8.0, Origin.MEASURED, "gzip -6 of app.log")


def test_a_run_with_messages_of_another_size_is_scaled_and_that_is_said() -> None:
    larger = figures(inputs_of(Request(rate=10_000, message_bytes=488), RUN, None))
    assert larger["store_bytes"].value == pytest.approx(380)
    assert larger["node.cpu_us"].value == pytest.approx(40)
    assert larger["bulk_bytes"].value == pytest.approx(450 + 244)
    said = "2 times the 190 of runs/prod, which had messages of 244 bytes: in proportion"
    assert larger["store_bytes"].why == said
    for name in ("store_bytes", "node.cpu_us", "collector.cpu_us", "bulk_bytes"):
        assert larger[name].origin is Origin.EXTRAPOLATED
    smaller = figures(inputs_of(Request(rate=10_000, message_bytes=122), RUN, None))
    assert smaller["node.cpu_us"].value == 20.0
    assert smaller["store_bytes"].value == pytest.approx(95)


def test_a_run_on_the_sink_says_nothing_of_the_engine() -> None:
    sink = replace(RUN, engine_us=None, store_bytes=None, connection_us=None)
    found = figures(inputs_of(Request(rate=10_000), sink, None))
    assert found["collector.cpu_us"].origin is Origin.MEASURED
    for name in ("node.cpu_us", "store_bytes", "connection_us"):
        assert found[name].origin is Origin.ASSUMED


def test_levels_without_a_law_count_as_the_largest_of_them() -> None:
    request = Request(rate=10_000, levels=(Level(1, 60_000), Level(2, 100_000)))
    found = inputs_of(request, RUN, None)
    assert found.node.eps.value == 50_000
    assert "--scaling" in found.node.eps.why


def test_lines_of_a_sample_are_counted_without_their_ends() -> None:
    found = sample_of(b"abc\n" * 500 + b"\n" + b"abcde\n" * 500, "app.log")
    assert found is not None
    assert (found.lines, found.message_bytes) == (1000, 4.0)
    assert found.gzip_ratio > 20
    assert sample_of(b"\n\n", "empty.log") is None
