"""Real pipelines, each with one stage made the bottleneck on purpose, and what the verdict says.

Seen on two cores.  Not here, because they cannot be forced reliably or not within seconds: an
input thread without time (imptcp takes 11 us for a message of 8 KB, everything behind it four times
as much, so the cores run out first), a disk (a synced queue is so slow that the sockets may not
empty in time when the flood ends), merge throttling, and rejections (rsyslog 8.2302 loses what the
engine turns away, so that there is no measurement).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.live.engines import WatchedNode
from tuner.engine.client import EngineClient
from tuner.engines.release import Release
from tuner.engines.versions import distribution_for
from tuner.lab.distribution import fetch
from tuner.lab.engine import SinkEngine
from tuner.lab.lab import Lab, attached_lab, lab_around, lab_of, new_run_id
from tuner.lab.nodes import NodePlan, Nodes, nodes_here
from tuner.lab.scratch import scratch
from tuner.lab.sink import Sink, parse_fault
from tuner.lint.load import parse_profile
from tuner.measure.bottleneck import Diagnosis
from tuner.measure.measurement import DoubtKind, Measurement, TrialPlan
from tuner.measure.place import run_profile
from tuner.profile.edit import edit
from tuner.profile.model import Profile
from tuner.space.knob import Bottleneck

pytestmark = [pytest.mark.live, pytest.mark.alone, pytest.mark.usefixtures("nothing_left_behind")]

DEFAULT = (Path(__file__).parents[2] / "profiles" / "default.yaml").read_text(encoding="utf-8")
SHORT = TrialPlan(1.0, 2.5)
ON_ENGINE = TrialPlan(2.0, 3.0)
TRIES = 3

QUEUE = "outputs[logs].queue"
FILTER = {"outputs[logs].filter_path": ["errors", "items.*.status", "items.*.error"]}
ONE_WORKER = {f"{QUEUE}.workerThreads": 1}
ON_DISK: dict[str, object] = {
    "type": "Disk",
    "size": 100_000,
    "dequeueBatchSize": 1024,
    "workerThreads": 1,
    "filename": "main",
    "spoolDirectory": "/var/spool/rsyslog",
    "maxDiskSpace": "1g",
}


@dataclass(frozen=True)
class Case:
    """Changes to the default profile, the verdict they lead to, and settings it names and not."""

    bottleneck: Bottleneck
    changes: Mapping[str, object]
    names: tuple[str, ...]
    omits: tuple[str, ...] = ()
    faults: tuple[str, ...] = field(default=())


CASES = {
    "a sender that was told a low rate": Case(
        Bottleneck.SENDER, {"workload.rate": 2000}, ("workload.rate",), (f"{QUEUE}.size",)
    ),
    "a main queue on disk, which one worker reads back": Case(
        Bottleneck.MAIN_WORKER,
        {**FILTER, "main_queue": ON_DISK},
        ("main_queue.dequeueBatchSize",),
        ("main_queue.workerThreads", f"{QUEUE}.workerThreads"),
    ),
    "one worker that reads full replies": Case(
        Bottleneck.ACTION_CPU,
        ONE_WORKER,
        ("outputs[logs].filter_path", f"{QUEUE}.workerThreads"),
    ),
    "one worker behind a small queue, sent more than it can carry": Case(
        Bottleneck.ACTION_CPU,
        {
            **ONE_WORKER,
            f"{QUEUE}.size": 6000,
            f"{QUEUE}.dequeueBatchSize": 1000,
            f"{QUEUE}.workerThreadMinimumMessages": 1000,
            "workload.rate": 200_000,
        },
        ("outputs[logs].filter_path",),
        ("inputs[0].threads",),
    ),
    "an engine that answers slowly": Case(
        Bottleneck.ACTION_WAITING,
        {},
        (f"{QUEUE}.workerThreads",),
        ("outputs[logs].filter_path",),
        ("delay=0.05,after=1,times=1000000",),
    ),
    "four workers on two cores": Case(
        Bottleneck.MACHINE_CPU,
        {f"{QUEUE}.workerThreads": 4},
        ("outputs[logs].filter_path",),
        ("outputs[logs].index.settings.refresh_interval",),
    ),
}


def changed(changes: Mapping[str, object]) -> Profile:
    return parse_profile(edit(DEFAULT, changes), "default.yaml").profile


@contextmanager
def sink_lab(tmp_path: Path, *faults: str) -> Iterator[Lab]:
    with (
        Sink(faults=[parse_fault(text) for text in faults]) as sink,
        scratch(tmp_path) as folder,
    ):
        lab = lab_of(SinkEngine(sink), folder, new_run_id())
        yield lab
        lab.client.close()


@contextmanager
def one_core() -> Iterator[None]:
    """What is started meanwhile may run on one core only."""
    ours = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(ours)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, ours)


@contextmanager
def pinned_lab(tmp_path: Path) -> Iterator[Lab]:
    """A lab whose Elasticsearch may use one core, and everything else all of them."""
    distribution = distribution_for(Release(elasticsearch="8.19"))
    fetch(distribution)
    with scratch(tmp_path) as folder:
        with one_core():
            node = Nodes(NodePlan(distribution, "1g"), nodes_here(folder / "engine"))
        try:
            with lab_around(WatchedNode(node), folder, new_run_id()) as lab:
                yield lab
        finally:
            node.stop()


def undisturbed(lab: Lab, profile: Profile, plan: TrialPlan) -> Diagnosis:
    """The verdict of the first trial during which nothing else kept this machine busy: what others
    use is missing here, and then the cores are the bottleneck."""
    for number in range(TRIES):
        outcome = run_profile(lab, profile, plan, f"t{number}", lambda _: None)
        assert isinstance(outcome, Measurement), outcome
        if DoubtKind.DISTURBED not in {doubt.kind for doubt in outcome.doubts}:
            assert outcome.verdict is not None
            return outcome.verdict
    pytest.skip("something else kept this machine busy all the time")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_stage_that_sets_the_rate_is_named_with_what_helps(tmp_path: Path, case: Case) -> None:
    with sink_lab(tmp_path, *case.faults) as lab:
        verdict = undisturbed(lab, changed(case.changes), SHORT)
    assert verdict.bottleneck is case.bottleneck, verdict
    assert set(case.names) <= set(verdict.knobs)
    assert not set(case.omits) & set(verdict.knobs)


def test_an_engine_with_one_core_of_its_own_is_full(tmp_path: Path) -> None:
    with pinned_lab(tmp_path) as lab:
        verdict = undisturbed(lab, changed(FILTER), ON_ENGINE)
    assert verdict.bottleneck is Bottleneck.ENGINE_CPU, verdict
    assert "of its 1 core" in dict(verdict.figures)["engine"]
    assert "outputs[logs].index.settings.refresh_interval" in verdict.knobs
    assert "outputs[logs].filter_path" not in verdict.knobs


def test_an_engine_that_takes_most_of_the_shared_cores_is_named(
    elasticsearch: EngineClient, tmp_path: Path
) -> None:
    """Dynamic mapping makes an event dear to index, and the explicit one is what helps."""
    dynamic = {"outputs[logs].index.mapping": "dynamic", f"{QUEUE}.workerThreads": 4}
    client = EngineClient(elasticsearch.url)
    with (
        scratch(tmp_path) as folder,
        attached_lab(client, folder, new_run_id(), "1g") as lab,
    ):
        verdict = undisturbed(lab, changed(dynamic), ON_ENGINE)
    assert verdict.bottleneck is Bottleneck.ENGINE_CPU, verdict
    assert verdict.knobs[0] == "outputs[logs].index.mapping"
