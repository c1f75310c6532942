"""What verify tells of a host and an engine: each thing that is not as the profile says."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.deploy.test_plan import LIVE, PROFILE, differing, facts, own_of
from tests.profile.examples import small
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.target import Examined, RemoteHost
from tuner.deploy.verify import engine_drift, host_drift
from tuner.engine.client import EngineClient
from tuner.engine.status import EngineFacts
from tuner.profile.model import Profile
from tuner.render.artefacts import configuration

RUNS = replace(facts(), pid=77, opened=frozenset({"tcp:10514"}))
SEEN = Examined(
    facts=RUNS, accepted=True, included=False, stale=(), uid=0, open_files=300,
    rmem_bytes=212_992, missing=(), ends=(), modes={"/etc/rsyslog.d/password": "640"},
)  # fmt: skip


def drift(
    seen: Examined, profile: Profile = PROFILE, *, live: str = LIVE,
    package: str | None = "8.2302.0-1",
) -> list[str]:  # fmt: skip
    """What is told of a host on which that is seen."""
    host = SimpleNamespace(
        machine=InventoryHost("a", "ssh://a"),
        paths=(live,),
        examined=lambda *_: seen,
        host=SimpleNamespace(package=lambda _: package),
    )
    found = list(host_drift(cast(RemoteHost, host), own_of(profile, live)))
    assert {one.where for one in found} <= {"a"}
    return [one.what for one in found]


def test_of_a_host_that_is_as_the_profile_says_nothing_is_told() -> None:
    assert drift(SEEN) == []
    assert drift(replace(SEEN, open_files=None)) == []


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ({"accepted": False}, f"rsyslogd -N1 rejects {LIVE}"),
        ({"stale": (LIVE,)}, f"rsyslogd started before {LIVE} changed: restart it"),
        ({"missing": ("/x",)}, "/x is missing"),
        ({"ends": ("/c",)}, "the certificate /c ends within 30 days, or is not one"),
        ({"modes": {"/s": "604"}}, "/s has mode 604: others can reach a secret"),
        ({"open_files": 299}, "299 open files are too few for 200 connections: LimitNOFILE"),
    ],
)
def test_each_thing_that_was_examined_is_told(seen: dict[str, Any], told: str) -> None:
    assert drift(replace(SEEN, **seen)) == [told]


@pytest.mark.parametrize(
    ("host", "told"),
    [
        ({"live": {}}, f"{LIVE} is missing"),
        ({"live": {LIVE: b"x\n"}}, f"{LIVE} differs"),
        ({"rsyslogd": "8.2210.0"}, "rsyslogd 8.2210.0 is older than the profile's release 8.2302"),
        ({"pid": 0}, "rsyslogd does not run"),
        ({"opened": frozenset()}, "rsyslogd does not listen on tcp:10514"),
        (
            {"taken": frozenset({"tcp:10514"})},
            "tcp:10514 is taken by another program than rsyslogd",
        ),
        ({"pending": "ann"}, "a change by ann is not finished: confirm or recover"),
    ],
)
def test_each_thing_that_a_host_has_or_runs_is_told(host: dict[str, Any], told: str) -> None:
    assert drift(replace(SEEN, facts=replace(RUNS, **host))) == [told]


def test_a_fragment_that_nothing_includes_is_told() -> None:
    fragment = "/etc/rsyslog.d/small.conf"
    there = {fragment: RUNS.live[LIVE]}
    seen = replace(SEEN, facts=replace(RUNS, live=there))
    assert drift(seen, live=fragment) == [f"{LIVE} does not include /etc/rsyslog.d"]
    assert drift(replace(seen, included=True), live=fragment) == []


def test_a_package_that_is_missing_is_told_with_the_module_that_needs_it() -> None:
    assert drift(SEEN, package=None) == [
        "the package rsyslog-elasticsearch is not installed, omelasticsearch needs it"
    ]


def test_a_receive_buffer_that_the_kernel_does_not_give_is_told_except_of_root() -> None:
    source = {"type": "imudp", "port": 10514, "rcvbufSize": "1m"}
    profile = small({"inputs": [source]})
    live = {LIVE: configuration(profile).text.encode()}
    seen = replace(SEEN, facts=replace(RUNS, live=live, opened=frozenset({"udp:10514"})))
    assert drift(seen, profile) == []
    told = drift(replace(seen, uid=104), profile)
    assert told == ["net.core.rmem_max is 212992, below rcvbufSize 1m"]
    assert drift(replace(seen, uid=104, rmem_bytes=1_048_576), profile) == []


def engine(monkeypatch: pytest.MonkeyPatch, *found: object, **said: object) -> list[str]:
    """What is told of an engine that says that of itself and differs in these objects."""
    known = replace(EngineFacts("elasticsearch", "8.19.0", 1, 2), **cast(Any, said))
    monkeypatch.setattr("tuner.deploy.verify.facts", lambda _: known)
    monkeypatch.setattr("tuner.deploy.verify.compare", lambda *_: found)
    client = EngineClient("http://engine.invalid")
    return [one.what for one in engine_drift(PROFILE, client, None)]


def test_each_thing_of_the_engine_that_differs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine(monkeypatch, replace(differing({}), found=differing({}).wanted)) == []
    assert engine(monkeypatch, differing({}), differing(None)) == ["it differs", "it is missing"]
    assert engine(monkeypatch, version="8.20.1") == []
    assert engine(monkeypatch, version="8.7.0") == [
        "version 8.7.0 is older than the profile's release 8.19"
    ]
    assert engine(monkeypatch, distribution="opensearch") == [
        "is opensearch, the profile is for elasticsearch"
    ]
