"""Node settings are knobs: a lab of ours restarts its engine with others, and they take effect."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.profile.examples import small
from tuner.engine.client import EngineClient
from tuner.engines.versions import distribution_for
from tuner.lab.distribution import fetch
from tuner.lab.lab import Lab, attached_lab, new_run_id, node_lab
from tuner.lab.scratch import scratch
from tuner.measure.measurement import Failure, FailureKind, Measurement, TrialPlan
from tuner.measure.place import LabTrials, run_profile
from tuner.profile.model import Profile
from tuner.space.knob import Cost
from tuner.space.knobs import knobs

pytestmark = [pytest.mark.live, pytest.mark.full]

PLAN = TrialPlan(warm_up_s=1.0, window_s=3.0)
BUFFER = "indices.memory.index_buffer_size"
REPLICAS = {"outputs[logs].index.settings.number_of_replicas": 0}


def profile(**node: object) -> Profile:
    return small({**REPLICAS, "node": {"heap": "512m", **node}})


TURNED = profile(**{BUFFER: "20%"})


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """With what a shell may say of Java and Elasticsearch, none of which reaches the engine."""
    fetch(distribution_for(profile().release))
    with (
        pytest.MonkeyPatch.context() as shell,
        scratch(tmp_path_factory.mktemp("lab")) as folder,
    ):
        shell.setenv("ES_JAVA_OPTS", "-Xms700m -Xmx700m")
        shell.setenv("JAVA_TOOL_OPTIONS", "-XX:NoSuchOption")
        shell.setenv("ES_PATH_CONF", "/nonexistent")
        with node_lab(profile(), folder, new_run_id()) as lab:
            yield lab


def at(answer: object, *keys: str) -> object:
    for key in keys:
        assert isinstance(answer, dict)
        answer = answer[key]
    return answer


def node(client: EngineClient, part: str) -> dict[str, object]:
    nodes = client.get(f"/_nodes/{part}?flat_settings=true")["nodes"]
    assert isinstance(nodes, dict)
    (only,) = nodes.values()
    assert isinstance(only, dict)
    return only


def test_an_engine_of_ours_runs_with_what_the_profile_says(lab: Lab, tmp_path: Path) -> None:
    """It stays at its address, says itself what it runs with, and measures."""
    url = lab.client.url
    assert lab.engine.run_with(profile()) == 0.0
    turned = profile(**{BUFFER: "30%", "heap": "1g"})
    seconds = lab.engine.run_with(turned)
    assert seconds > 0
    assert lab.client.url == url
    assert at(node(lab.client, "settings"), "settings", BUFFER) == "30%"
    heap = at(node(lab.client, "jvm"), "jvm", "mem", "heap_init_in_bytes")
    assert heap == 1024**3
    assert lab.engine.run_with(turned) == 0.0
    assert lab.bind(turned, "x").profile.node == turned.node
    outcome = run_profile(lab, turned, PLAN, "turned", lambda _: None)
    assert isinstance(outcome, Measurement), outcome


def test_a_run_says_whether_the_engine_restarted_before_it(lab: Lab) -> None:
    found = []
    survivor = LabTrials(lab, profile(), PLAN)
    for name in ("first", "second"):
        run = partial(run_profile, lab, TURNED, PLAN)
        outcome = survivor.measured(TURNED, run, name, lambda _: None)
        assert isinstance(outcome, Measurement), outcome
        assert outcome.spent is not None
        found.append(outcome.spent.restart_s)
    assert found[0] > 2.0
    assert found[1] == 0.0


def test_settings_that_the_engine_refuses_fail_the_trial_and_not_the_lab(lab: Lab) -> None:
    lab.engine.run_with(TURNED)
    refused = profile(**{"thread_pool.write.size": 500})
    outcome = run_profile(lab, refused, PLAN, "refused", lambda _: None)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.ENGINE_DOWN
    assert "thread_pool.write.size" in outcome.reason
    lab.check()
    assert lab.engine.run_with(TURNED) == 0.0, "it runs as before"
    assert isinstance(run_profile(lab, TURNED, PLAN, "after", lambda _: None), Measurement)


def test_an_attached_engine_keeps_its_node(lab: Lab, tmp_path: Path) -> None:
    every = knobs(profile())
    assert any(knob.cost is Cost.NODE_RESTART for knob in lab.engine.turns(every))
    with attached_lab(EngineClient(lab.client.url), tmp_path, new_run_id(), "512m") as attached:
        assert not any(knob.cost is Cost.NODE_RESTART for knob in attached.engine.turns(every))
        assert attached.engine.run_with(profile(heap="1g")) == 0.0
    assert lab.engine.ending() is None
