"""What a plan takes from a search and from a bench."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.measure.factory import failed, measured
from tests.search.simulated import ASKED
from tuner.engine.bulk_times import BulkLatency
from tuner.errors import JobFailed
from tuner.measure.measurement import Delivery, Measurement, Result, TrialPlan
from tuner.measure.stages import Effective
from tuner.plan import measured_by_search, measured_of
from tuner.search.study import BASELINE, Changes, Ending, Options, Phase, Study, Trial

PLAN = TrialPlan(1.0, 10.0)
WINNER: Changes = (("outputs[logs].queue.workerThreads", 4),)
BULK = BulkLatency(40.0, 90.0, 120.0, 128.0, 330, 1_000_000.0, "histogram")


def run(shipper_us: float, *, is_merged: bool = True, eps: float = 60_000.0) -> Measurement:
    """A run whose other costs follow from that of rsyslogd."""
    return replace(
        measured(eps),
        shipper_cpu_us=shipper_us,
        engine_cpu_us=4 * shipper_us,
        eps_merged=eps if is_merged else None,
        delivery=Delivery(1000, 1000, 1000, 0, 0),
        store_bytes=int(shipper_us * 20_000),
        effective=Effective((), (), BULK, 30.0, 2000.0, 0),
    )


def study(*trials: tuple[Phase, Changes, Result], engine: str = "node") -> Study:
    """Trials one after the other, two by two in pairs."""
    made = tuple(
        Trial(
            number,
            phase,
            changes,
            "why",
            PLAN,
            outcome,
            at_s=float(number),
            pair=number // 2,
            ended_s=number + 1.0,
        )
        for number, (phase, changes, outcome) in enumerate(trials)
    )
    header = replace(ASKED, options=Options(engine), engine=engine, machine="2 cores")
    return Study(header, made, Ending.FINISHED)


def pairs(gain: float) -> list[tuple[Phase, Changes, Result]]:
    """Six pairs: rsyslogd takes 10 us as written and 5 us with the change."""
    rows: list[tuple[Phase, Changes, Result]] = []
    for number in range(6):
        eps = 60_000.0 + 10 * number
        rows.append((Phase.CONFIRM, BASELINE, run(10.0, eps=eps)))
        rows.append((Phase.CONFIRM, WINNER, run(5.0, eps=eps * gain)))
    return rows


def test_a_gain_that_is_shown_is_planned_with() -> None:
    found = measured_by_search(study(*pairs(1.3)), "runs/prod")
    figures = [found.figures[name] for name in ("collector_us", "node_us", "store_bytes")]
    assert figures == [5.0, 20.0, 100.0]
    assert found.where == "runs/prod"
    assert found.what == "confirming runs of the best found; node, 2 cores"
    assert found.message_bytes == 244


def test_the_copies_that_several_nodes_held_are_not_counted_again_in_a_plan() -> None:
    once, twice = run(5.0), replace(run(5.0), copies=2)
    assert (
        measured_of([twice], "a", "b", 244, stored=True).figures["node_us"]
        == once.engine_cpu_us / 2
    )


def test_without_a_gain_the_profile_as_written_is_planned_with() -> None:
    found = measured_by_search(study(*pairs(1.0)), "runs/prod")
    assert found.figures["collector_us"] == 10.0
    assert found.what.startswith("confirming runs as written")


def test_a_search_that_ended_early_still_has_its_calibration() -> None:
    calibration = [(Phase.CALIBRATE, BASELINE, run(us, is_merged=False)) for us in (8.0, 9.0, 11.0)]
    found = measured_by_search(study(*calibration), "runs/prod")
    assert found.figures["collector_us"] == 9.0
    assert found.what.startswith("calibration as written")
    assert found.doubts == ("the bytes on disk are those before merges",)


def test_a_search_that_failed_is_not_planned_with() -> None:
    calibration = [(Phase.CALIBRATE, BASELINE, run(us)) for us in (8.0, 9.0)]
    for rows, refused in ((calibration, True), (pairs(1.3), False)):
        broken = replace(study(*rows), ending=Ending.FAILED, reason="the engine is gone")
        if refused:
            with pytest.raises(
                JobFailed, match=r"runs/prod: the search failed \(the engine is gone"
            ):
                measured_by_search(broken, "runs/prod")
        else:
            assert measured_by_search(broken, "runs/prod").figures["collector_us"] == 5.0


def test_a_search_without_a_valid_run_has_nothing_to_plan_from() -> None:
    with pytest.raises(JobFailed, match="runs/prod holds no valid run"):
        measured_by_search(study((Phase.CALIBRATE, BASELINE, failed())), "runs/prod")


def test_the_sink_tells_of_rsyslogd_alone() -> None:
    found = measured_by_search(study(*pairs(1.3), engine="sink"), "runs/prod")
    assert found.figures["collector_us"] == 5.0
    assert not found.figures.keys() & {"node_us", "store_bytes", "connection_us"}


def test_requests_give_their_bytes_and_how_long_a_connection_is_busy() -> None:
    """A megabyte and 40 ms for 2000 events."""
    found = measured_of([run(5.0)], "bench.json", "bench", 244, stored=True)
    assert found.figures["bulk_bytes"] == 500.0
    assert found.figures["connection_us"] == 20.0
    silent = replace(run(5.0), effective=None)
    bare = measured_of([silent], "bench.json", "bench", 244, stored=True)
    assert not bare.figures.keys() & {"bulk_bytes", "connection_us"}


def test_runs_whose_merges_were_awaited_say_what_is_on_disk() -> None:
    runs = [run(5.0, is_merged=False), run(7.0), run(9.0, is_merged=False)]
    found = measured_of(runs, "bench.json", "bench", 244, stored=True)
    assert found.figures["store_bytes"] == 140.0
    assert found.doubts == ()


def on_machines(*costs: float) -> Study:
    """Six pairs without a gain on so many machines in turn, each with its own cost of rsyslogd."""
    rows = []
    for number in range(6):
        cost = costs[number % len(costs)]
        rows += [(Phase.CONFIRM, BASELINE, run(cost)), (Phase.CONFIRM, WINNER, run(cost))]
    made = study(*rows)
    named = (replace(one, machine=f"lab{(one.pair or 0) % len(costs)}") for one in made.trials)
    return replace(made, trials=tuple(named))


def test_several_machines_are_told_apart_and_one_is_not() -> None:
    found = measured_by_search(on_machines(8.0, 10.0, 12.0), "runs/prod")
    costs = {name: (run["collector_us"], run["node_us"]) for name, run in found.machines.items()}
    assert costs == {"lab0": (8.0, 32.0), "lab1": (10.0, 40.0), "lab2": (12.0, 48.0)}
    assert found.figures["collector_us"] == 10.0
    assert measured_by_search(on_machines(10.0), "runs/prod").machines == {}
