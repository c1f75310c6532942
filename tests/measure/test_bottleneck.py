"""Each bottleneck on figures as real runs give them, and which of two wins."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from tests.measure.stages import (
    ACTION,
    BUSY_MAIN,
    CALM,
    EMPTY_ACTION,
    EMPTY_MAIN,
    IDLE_ACTION,
    MAIN,
)
from tests.measure.test_stages import SEEN
from tests.profile.examples import small
from tuner.lab.lab import Lab
from tuner.measure.bottleneck import judge, verdict_of
from tuner.measure.stages import CoreCounts, LoadStage, Stages, stages_of
from tuner.profile.schema import resolve_path
from tuner.space.knob import Bottleneck
from tuner.space.knobs import knobs, of_rsyslog
from tuner.space.recipes import UNHELPED

WORKERS = "outputs[logs].queue.workerThreads"
ADVICE = {"workload.connections", "workload.rate", "outputs[logs].document"}

REJECTING = replace(CALM, rejected=12)
UNFED = replace(CALM, backlog_kept=0.3, sender_cpu=0.99)
THROTTLED = replace(CALM, index_throttled_ms=2_400, merge_throttled_ms=9_000, engine_cpu=0.35)
DISK = replace(CALM, io_wait=0.32, engine_cpu=0.25, machine_cpu=0.4)
FULL_WORKERS = replace(CALM, action=replace(ACTION, cpu=0.95, busiest=0.97, runnable=0.02))
FULL_MAIN = replace(CALM, main=BUSY_MAIN, action=IDLE_ACTION)
FULL_INPUT = replace(CALM, main=EMPTY_MAIN, action=EMPTY_ACTION, input_cpu=0.96)
ENGINE = replace(CALM, cores=2, engine_cores=2, engine_cpu=0.78, shipper_cpu=0.17, machine_cpu=0.98)
ELSEWHERE = replace(CALM, engine_is_here=False, engine_cpu=0.93, machine_cpu=0.3)
MACHINE = replace(CALM, cores=2, engine_cores=2, engine_cpu=0.45, shipper_cpu=0.5, machine_cpu=0.99)
WORKING = replace(CALM, action=replace(ACTION, cpu=0.6, busiest=0.65, runnable=0.1))
UNCLEAR = replace(CALM, main=EMPTY_MAIN, action=EMPTY_ACTION)
HALF_FULL = replace(FULL_WORKERS.action or ACTION, fill=0.5)
ROOMY = replace(ACTION, fill=0.5)
UNCOUNTED = replace(
    CALM, main=replace(BUSY_MAIN, held=None, fill=None), action=replace(ACTION, fill=None)
)
IDLE_LOAD = LoadStage("north", 0.3, 2.0, None, 0.2, 0.0)
OUTSIDE = replace(UNCLEAR, input_cpu=0.2, loads=(IDLE_LOAD,))

CASES = {
    "rejections": (REJECTING, Bottleneck.REJECTIONS),
    "the sender's own CPU": (UNFED, Bottleneck.SENDER),
    "merges": (THROTTLED, Bottleneck.MERGES),
    "disk": (DISK, Bottleneck.DISK),
    "full action workers": (FULL_WORKERS, Bottleneck.ACTION_CPU),
    "a full main worker": (FULL_MAIN, Bottleneck.MAIN_WORKER),
    "a full input thread": (FULL_INPUT, Bottleneck.INPUT),
    "an engine that takes most of the shared cores": (ENGINE, Bottleneck.ENGINE_CPU),
    "an engine elsewhere": (ELSEWHERE, Bottleneck.ENGINE_CPU),
    "all parts share all cores": (MACHINE, Bottleneck.MACHINE_CPU),
    "workers that wait": (CALM, Bottleneck.ACTION_WAITING),
    "workers that work most of the time": (WORKING, Bottleneck.ACTION_CPU),
    "a network": (OUTSIDE, Bottleneck.NETWORK),
    "nothing": (UNCLEAR, Bottleneck.UNCLEAR),
}


@pytest.mark.parametrize(("stages", "bottleneck"), CASES.values(), ids=CASES.keys())
def test_each_bottleneck_shows(stages: Stages, bottleneck: Bottleneck) -> None:
    verdict = judge(stages)
    assert verdict.bottleneck is bottleneck
    assert verdict.figures
    assert all(name and text for name, text in verdict.figures)


def test_every_bottleneck_has_a_case() -> None:
    assert {bottleneck for _, bottleneck in CASES.values()} == set(Bottleneck)


@pytest.mark.parametrize(("stages", "bottleneck"), CASES.values(), ids=CASES.keys())
def test_its_knobs_are_dimensions_of_the_search_or_advice(
    stages: Stages, bottleneck: Bottleneck
) -> None:
    profile = small()
    data = profile.model_dump(mode="json", by_alias=True)
    named = judge(stages, knobs(profile)).knobs
    assert bool(named) is (bottleneck not in UNHELPED)
    for path in named:
        assert resolve_path(data, path)
    assert set(named) <= {knob.path for knob in knobs(profile)} | ADVICE


def test_on_the_sink_no_setting_of_the_engine_is_named() -> None:
    named = judge(ENGINE, of_rsyslog(knobs(small()))).knobs
    assert named[:2] == ("outputs[logs].filter_path", "outputs[logs].queue.dequeueBatchSize")
    assert not [path for path in named if ".index." in path or path.startswith("node.")]


def test_a_frozen_setting_is_not_named() -> None:
    frozen = small({"search": {"freeze": [WORKERS]}})
    assert WORKERS in judge(CALM, knobs(small())).knobs
    assert WORKERS not in judge(CALM, knobs(frozen)).knobs


@pytest.mark.parametrize(
    ("stages", "path", "value"),
    [
        (FULL_WORKERS, "outputs[logs].filter_path", ["errors", "items.*.status", "items.*.error"]),
        (FULL_WORKERS, WORKERS, 6),
        (CALM, "outputs[logs].queue.workerThreadMinimumMessages", 500),
        (REJECTING, WORKERS, 1),
        (FULL_MAIN, "main_queue.dequeueBatchSize", 4096),
        (FULL_INPUT, "inputs[0].processOnPoller", False),
        (THROTTLED, "outputs[logs].index.settings.refresh_interval", "30s"),
    ],
)
def test_a_setting_that_cannot_go_further_is_not_named(
    stages: Stages, path: str, value: object
) -> None:
    assert path in judge(stages, knobs(small())).knobs
    assert path not in judge(stages, knobs(small({path: value}))).knobs


def test_a_setting_that_the_profile_leaves_to_the_engine_has_room() -> None:
    path = "outputs[logs].index.settings.refresh_interval"
    assert path in judge(THROTTLED, knobs(small())).knobs


@pytest.mark.parametrize(
    ("stages", "bottleneck"),
    [
        (replace(UNFED, rejected=1), Bottleneck.REJECTIONS),
        (replace(THROTTLED, backlog_kept=0.5), Bottleneck.SENDER),
        (replace(THROTTLED, io_wait=0.4), Bottleneck.MERGES),
        (replace(DISK, main=BUSY_MAIN), Bottleneck.DISK),
        (replace(DISK, action=FULL_WORKERS.action), Bottleneck.DISK),
        (replace(FULL_WORKERS, action=HALF_FULL, main=BUSY_MAIN), Bottleneck.ACTION_CPU),
        (replace(FULL_WORKERS, machine_cpu=0.99, engine_cpu=0.9), Bottleneck.ACTION_CPU),
        (replace(FULL_INPUT, machine_cpu=0.99, engine_cpu=0.9), Bottleneck.INPUT),
        (replace(UNCOUNTED, input_cpu=0.96), Bottleneck.MAIN_WORKER),
        (replace(OUTSIDE, machine_cpu=0.95), Bottleneck.MACHINE_CPU),
        (replace(OUTSIDE, input_cpu=0.4, sender_blocked=0.9), Bottleneck.NETWORK),
        (replace(CALM, main=replace(MAIN, held=0.8), action=ROOMY), Bottleneck.MAIN_WORKER),
        (replace(FULL_MAIN, machine_cpu=0.99, engine_cpu=0.7), Bottleneck.MAIN_WORKER),
        (replace(ENGINE, engine_cpu=0.6, shipper_cpu=0.38), Bottleneck.MACHINE_CPU),
    ],
)
def test_the_order_decides_between_two(stages: Stages, bottleneck: Bottleneck) -> None:
    assert judge(stages).bottleneck is bottleneck


def test_a_worker_that_found_no_core_is_the_machines_and_not_its_own() -> None:
    starved = replace(BUSY_MAIN, cpu=0.6, busiest=0.6, runnable=0.38)
    full = replace(MACHINE, main=starved, action=IDLE_ACTION)
    assert judge(full).bottleneck is Bottleneck.MACHINE_CPU


def test_sockets_that_stay_full_are_not_the_senders_fault() -> None:
    refused = replace(FULL_INPUT, backlog_kept=0.4, sender_blocked=0.9, input_cpu=0.5)
    assert judge(refused).bottleneck is Bottleneck.INPUT


def test_the_load_host_without_a_core_to_spare_is_named() -> None:
    full = LoadStage("south", 1.0, 2.0, None, 0.99, 0.0)
    verdict = judge(replace(UNFED, loads=(IDLE_LOAD, full)))
    assert verdict.bottleneck is Bottleneck.SENDER
    assert (
        "south: 99% of a core, its sockets full 0% of the time, its machine 100% of 2 cores"
        in dict(verdict.figures)["sender"]
    )


def test_the_network_is_only_to_blame_between_machines_and_while_the_input_waits() -> None:
    assert "north" in dict(judge(OUTSIDE).figures)["sender"]
    assert judge(replace(OUTSIDE, loads=())).bottleneck is Bottleneck.UNCLEAR
    busy = replace(OUTSIDE, input_cpu=0.7, sender_blocked=0.9)
    assert judge(busy).bottleneck is Bottleneck.INPUT


def test_senders_elsewhere_take_nothing_of_this_machine() -> None:
    here = replace(CALM, machine_cpu=0.9, shipper_cpu=0.1, engine_cpu=0.1, sender_cpu=0.4)
    away = replace(here, loads=(IDLE_LOAD,))
    assert away.others_cpu - here.others_cpu == pytest.approx(0.4 / here.cores)


def test_a_backlog_before_a_main_worker_that_waits_is_still_the_main_queues() -> None:
    waiting = replace(MAIN, cpu=0.3, busiest=0.3, held=0.8)
    stages = replace(CALM, main=waiting, action=IDLE_ACTION)
    assert judge(stages).bottleneck is Bottleneck.MAIN_WORKER


def test_a_full_action_queue_is_the_fault_of_its_workers_and_not_of_what_stands_before_it() -> None:
    """Seen with a sender at a fixed rate above what one worker with a small queue carries."""
    seen = replace(
        CALM,
        backlog_kept=1.0,
        sender_blocked=0.69,
        main=replace(MAIN, held=0.42, fill=0.47),
        action=replace(ACTION, cpu=0.74, busiest=0.74, runnable=0.04, held=0.05, fill=1.0),
    )
    assert judge(seen).bottleneck is Bottleneck.ACTION_CPU
    in_main = replace(seen, main=replace(BUSY_MAIN, fill=0.6), sender_blocked=0.0)
    assert judge(in_main).bottleneck is Bottleneck.ACTION_CPU
    idle = replace(seen, main=replace(MAIN, held=0.8, fill=0.6), sender_blocked=0.0)
    assert judge(idle).bottleneck is Bottleneck.ACTION_CPU


@pytest.mark.parametrize(
    ("window_s", "throttled_ms", "shows"),
    [(10.0, 1_000, True), (10.0, 999, False), (20.0, 1_999, False), (20.0, 2_000, True)],
)
def test_indexing_throttled_for_a_tenth_of_the_window_is_a_bottleneck(
    window_s: float, throttled_ms: int, shows: bool
) -> None:
    stages = replace(CALM, window_s=window_s, index_throttled_ms=throttled_ms)
    assert (judge(stages).bottleneck is Bottleneck.MERGES) is shows


def test_merges_slowed_down_for_the_sake_of_indexing_are_no_bottleneck() -> None:
    stages = replace(CALM, merge_throttled_ms=9_000)
    assert judge(stages).bottleneck is Bottleneck.ACTION_WAITING


def test_the_main_queues_workers_are_judged_as_action_workers_when_the_action_is_direct() -> None:
    direct = replace(CALM, action=None, main=replace(MAIN, held=0.9))
    verdict = judge(direct, knobs(small({"outputs[logs].queue": {"type": "Direct"}})))
    assert verdict.bottleneck is Bottleneck.ACTION_WAITING
    assert "main_queue.workerThreads" in verdict.knobs
    assert "Direct" in dict(verdict.figures)["action queue"]


def test_threads_decide_alone_when_nobody_counted_the_queues() -> None:
    main = replace(BUSY_MAIN, held=None, fill=None)
    action = replace(ACTION, held=None, fill=None)
    assert judge(replace(CALM, main=main, action=action)).bottleneck is Bottleneck.MAIN_WORKER
    calm = replace(CALM, main=replace(MAIN, held=None), action=action)
    assert judge(calm).bottleneck is Bottleneck.ACTION_WAITING


def test_the_figures_say_who_used_the_cores_and_how_many_workers_waited() -> None:
    figures = dict(judge(MACHINE).figures)
    assert figures["machine"] == ("99% of 2 cores: engine 45%, rsyslogd 50%, sender 2%, others 1%")
    assert "idle, which is 1.4 workers at any moment" in figures["action queue"]


def test_imtcp_has_no_threads_to_choose() -> None:
    imtcp = small({"inputs[0].type": "imtcp"})
    assert judge(FULL_INPUT, knobs(imtcp)).knobs == ("workload.connections",)


def test_an_engine_that_may_use_one_core_only_is_full_with_it() -> None:
    pinned = replace(CALM, cores=2, engine_cores=1, engine_cpu=0.96, machine_cpu=0.65)
    verdict = judge(pinned)
    assert verdict.bottleneck is Bottleneck.ENGINE_CPU
    assert dict(verdict.figures)["engine"] == "96% of its 1 core"
    assert "engine 48%" in dict(verdict.figures)["machine"]


def test_a_sender_that_was_told_its_rate_is_told_another_one() -> None:
    turnable = knobs(small())
    assert judge(replace(UNFED, rate_is_fixed=True), turnable).knobs == ("workload.rate",)
    for stages in (UNFED, CALM):
        told = replace(stages, rate_is_fixed=stages is CALM)
        assert judge(told, turnable).knobs == judge(stages, turnable).knobs != ("workload.rate",)


def lab(*, ours: bool = True, here: bool = True, processors: int = 8) -> Lab:
    """One with an engine of so many processors."""
    facts = SimpleNamespace(processors=processors)
    engine = SimpleNamespace(facts=facts)
    return cast(Lab, SimpleNamespace(is_ours=ours, is_here=here, engine=engine))


@pytest.mark.parametrize(
    ("here", "processors", "engine_cores"), [(True, 8, 2), (True, 1, 1), (False, 8, 8)]
)
def test_a_window_is_judged_by_the_cores_of_its_lab(
    here: bool, processors: int, engine_cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuner.measure.bottleneck.cores", lambda: 2)
    turnable = of_rsyslog(knobs(small()))
    found = verdict_of(SEEN, lab(here=here, processors=processors), small(), turnable)
    assert found is not None
    machines = CoreCounts(2, engine_cores, engine_is_here=here)
    assert found.stages == stages_of(SEEN, small(), machines)
    assert found == judge(found.stages, turnable)


def test_of_an_engine_of_the_users_elsewhere_nothing_is_said() -> None:
    assert verdict_of(SEEN, lab(ours=False, here=False), small(), ()) is None
