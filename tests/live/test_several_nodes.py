"""Labs of three nodes: copies are real, and a node that is killed shows what is lost."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.live.conftest import tune
from tests.profile.examples import SMALL
from tuner.engine.client import EngineClient, at
from tuner.engine.owned import PREFIX
from tuner.engine.status import node_counters
from tuner.engines.versions import distribution_for
from tuner.lab.distribution import fetch
from tuner.lab.engine import LabNodes
from tuner.lab.lab import Lab, lab_around, new_run_id
from tuner.lab.nodes import Nodes, nodes_here, plan_for
from tuner.lab.scratch import scratch
from tuner.lint.load import parse_profile
from tuner.measure.measurement import Failure, FailureKind, Result, TrialPlan
from tuner.measure.place import LabTrials, run_profile
from tuner.profile.edit import edit
from tuner.profile.model import Profile
from tuner.script.script import objects_in

pytestmark = [
    pytest.mark.live,
    pytest.mark.full,
    pytest.mark.usefixtures("nothing_left_behind"),
]

NODES = 3
PLAN = TrialPlan(warm_up_s=1.0, window_s=3.0)
SETTINGS = "outputs[logs].index.settings"
ELASTICSEARCH = {"rsyslog": "8.2302", "elasticsearch": "8.19"}
OPENSEARCH = {"rsyslog": "8.2302", "opensearch": "2.19"}


def text(release: dict[str, str], replicas: int) -> str:
    """A profile of three nodes and little traffic, so that cold nodes on busy cores carry it."""
    return edit(SMALL, {
        "release": release,
        "lab.nodes": NODES,
        "node.heap": "512m",
        "workload.rate": 500,
        "main_queue.dequeueBatchSize": 100,
        "outputs[logs].queue.dequeueBatchSize": 100,
        "outputs[logs].queue.workerThreadMinimumMessages": 100,
        "outputs[logs].servers": [f"http://127.0.0.1:{9200 + number}" for number in range(NODES)],
        "outputs[logs].action.resumeInterval": 1,
        f"{SETTINGS}.number_of_shards": NODES,
        f"{SETTINGS}.number_of_replicas": replicas,
    })  # fmt: skip


def profile(release: dict[str, str], replicas: int) -> Profile:
    return parse_profile(text(release, replicas), "nodes.yaml").profile


@contextmanager
def cluster(wanted: Profile, tmp_path: Path) -> Iterator[tuple[Lab, Nodes]]:
    fetch(distribution_for(wanted.release))
    with scratch(tmp_path) as folder:
        hosts = nodes_here(folder / "engine", wanted.lab.nodes)
        nodes = Nodes(plan_for(wanted, hosts), hosts)
        try:
            with lab_around(LabNodes(nodes), folder, new_run_id()) as lab:
                yield lab, nodes
        finally:
            nodes.stop()


def shards(client: EngineClient) -> dict[str, set[str]]:
    """The nodes that hold a started copy of each shard of what is measured."""
    rows = client.request("GET", f"/_cat/shards/{PREFIX}*?format=json")
    assert isinstance(rows, list)
    holders: dict[str, set[str]] = {}
    for row in rows:
        assert at(row, "state") == "STARTED", row
        holders.setdefault(str(at(row, "shard")), set()).add(str(at(row, "node")))
    return holders


def cpu_s(nodes: Nodes) -> float:
    """What the JVMs of all nodes used, by the kernel's count."""
    every = [psutil.Process(one.pid).children(recursive=True) for one in nodes.running]
    times = [one.cpu_times() for node in every for one in node]
    return sum(one.user + one.system for one in times)


def kill(nodes: Nodes, number: int, stage: str) -> None:
    """Kill a node, by its process group, when the window of a run begins."""
    if stage == "window" and nodes.ending() is None:
        os.killpg(nodes.running[number].pid, signal.SIGKILL)


def killed(lab: Lab, wanted: Profile, tell: Callable[[str], None]) -> Callable[..., Result]:
    """A run that tells `tell` of its stages, where something is killed."""
    return lambda name, _tell: run_profile(lab, wanted, PLAN, name, tell)


def require_nothing_lost(outcome: Result) -> None:
    assert isinstance(outcome, Failure), outcome
    assert outcome.kind is FailureKind.ENGINE_DOWN
    assert "died with" in outcome.reason
    assert "of its node lab-1" in outcome.reason
    assert ": 0 lost" in outcome.reason
    assert "red" not in outcome.reason
    assert outcome.delivery is not None
    assert outcome.delivery.sent > 500
    assert outcome.delivery.lost == 0


def test_a_killed_node_loses_nothing_with_a_replica_and_its_shards_without_one(
    tmp_path: Path,
) -> None:
    """The first node is killed, which the tool asks for its figures; then all of them run again."""
    with_replica, without = profile(ELASTICSEARCH, 1), profile(ELASTICSEARCH, 0)
    with cluster(with_replica, tmp_path) as (lab, nodes):
        copy = lab.bind(with_replica, "x").copy
        (action,) = (item for item in objects_in(copy.block, "action") if item.name == "logs")
        servers = action.get("server")
        assert servers is not None
        assert servers.texts == tuple(node.url for node in nodes.running)
        before_s = cpu_s(nodes)
        time.sleep(1.1)  # a node counts its CPU once a second
        counted_s = node_counters(lab.client).cpu_ms / 1000
        assert before_s - 0.1 <= counted_s <= cpu_s(nodes) + 0.1
        holders: dict[str, set[str]] = {}

        def look_and_kill(stage: str) -> None:
            if stage == "window":
                holders.update(shards(lab.client))
            kill(nodes, 0, stage)

        said: list[str] = []
        survivor = LabTrials(lab, with_replica, PLAN)
        run = killed(lab, with_replica, look_and_kill)
        outcome = survivor.measured(with_replica, run, "first", said.append)
        assert [len(nodes_of) for nodes_of in holders.values()] == [2] * NODES
        require_nothing_lost(outcome)
        assert "starting the engine again" in said
        assert nodes.ending() is None

        red = run_profile(lab, without, PLAN, "second", partial(kill, nodes, 1))
        assert isinstance(red, Failure), red
        assert red.kind is FailureKind.ENGINE_DOWN
        assert "the index is red: no copy is left of 1 of its 3 shards" in red.reason
        assert red.delivery is not None
        assert red.delivery.lost > 0


def test_opensearch_goes_on_without_a_node_too(tmp_path: Path) -> None:
    wanted = profile(OPENSEARCH, 1)
    with cluster(wanted, tmp_path) as (lab, nodes):
        assert lab.engine.facts.data_nodes == NODES
        require_nothing_lost(run_profile(lab, wanted, PLAN, "only", partial(kill, nodes, 0)))


def test_a_standing_lab_of_three_nodes_is_used_by_a_bench_and_goes_as_a_whole(
    tmp_path: Path,
) -> None:
    path = tmp_path / "nodes.yaml"
    path.write_text(text(ELASTICSEARCH, 1), "utf-8")
    up = tune("lab", "up", path, "--output", "json", folder=tmp_path)
    try:
        assert up.code == 0, up.err
        others = json.loads(up.out)["other_nodes"]
        assert len(others) == NODES - 1
        done = tune("bench", path, "--window", "3s", "--no-freshness", "--output", "json",
                    folder=tmp_path)  # fmt: skip
        assert done.code == 0, done.err
        assert "using the running lab" in done.err
        result = json.loads(done.out)
        (run,) = (one["result"] for one in result["runs"])
        assert run["delivery"]["lost"] == run["delivery"]["duplicated"] == 0
        told = "\n".join(result["variants"][0]["substitutions"])
        assert all(one["url"] in told for one in others)
        assert "number_of_replicas" not in told
        assert all(psutil.pid_exists(one["process"]["pid"]) for one in others)
    finally:
        assert tune("lab", "down", folder=tmp_path).code == 0
    assert not any(runs(one["process"]["pid"]) for one in others)


def runs(pid: int) -> bool:
    """Whether a process is there, and not only its exit code."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
