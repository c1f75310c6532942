"""One pipeline on several machines: rsyslogd on the collector, load from two others."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.flood.receiver import Receiver
from tests.live.conftest import QUICK, tune, tune_and_signal
from tests.live.hosts import SshHost, hosts, passed
from tests.live.test_cluster import COMMAND, PROFILE, left, require_exact, run_until, worker
from tests.live.test_flood_kinds import KINDS, profile_of
from tuner.engine import owned
from tuner.engine.client import EngineClient
from tuner.engine.numbering import SentEvents
from tuner.host.process import wait_until

pytestmark = [pytest.mark.live, pytest.mark.full]

ALLOW = "/etc/rsyslog-tune/allow-targets"
OWN_CLOCK, OWN_COMMAND, AHEAD_S = "with-own-clock", "tune-with-own-clock", 1_000_000
SEARCH = ("search", "--cluster", "--engine", "sink", "--no-effects", "--budget", "60s")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose commands know a cluster of their own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def span(site: Path) -> Iterator[list[SshHost]]:
    """A cluster of a collector and two load hosts."""
    with spanning(site, {"middle": "collector", "north": "load", "south": "load"}) as machines:
        yield machines


@contextmanager
def spanning(
    site: Path, roles: dict[str, str], ahead: Container[str] = ()
) -> Iterator[list[SshHost]]:
    """A cluster of a collector and others, of which those that make load may flood it; the clocks
    of some may be eleven days ahead of the others'."""
    with hosts(site / "hosts", *roles) as machines:
        collector = machines[0]
        entries = {}
        for one in machines:
            if roles[one.name] == "load":
                one.write(ALLOW, f"{collector.ip}\n")
            if one.name in ahead:
                one.program(OWN_CLOCK, f'exec unshare --time --monotonic {AHEAD_S} "$@"')
                one.program(OWN_COMMAND, f'exec {OWN_CLOCK} {COMMAND} "$@"')
            entries[one.name] = {
                "address": one.address,
                "role": roles[one.name],
                "rsyslog_tune": f"/usr/local/sbin/{OWN_COMMAND}" if one.name in ahead else COMMAND,
            }
        path = site / "hosts.yaml"
        path.write_text(json.dumps({"hosts": entries}), encoding="utf-8")
        path.chmod(0o600)
        begun = tune("cluster", "up", "--inventory", path, folder=site)
        assert begun.code == 0, begun.err
        try:
            yield machines
        finally:
            ended = tune("cluster", "down", folder=site)
        assert ended.code == 0, ended.err
        assert not left(machines)


def test_a_search_over_a_span(site: Path, span: list[SshHost]) -> None:
    done = tune(*SEARCH, "--run-dir", "run", PROFILE, folder=site, command=QUICK)
    assert done.code == 0, done.err
    trials = require_exact(site / "run")
    assert {one.machine for one in trials} == {"middle"}


def await_flood(load: SshHost) -> None:
    """Until it sends."""

    def sends() -> bool:
        return any("tuner.flood.sender" in line for line in load.processes().values())

    assert wait_until(sends, 60)


def test_a_load_host_dies_in_a_trial(site: Path, span: list[SshHost]) -> None:
    _, north, _ = span
    arguments = (*SEARCH, "--run-dir", "run", PROFILE)

    def kill() -> None:
        await_flood(north)
        os.kill(worker(north), signal.SIGKILL)

    code, said = run_until(site, "trial   5", kill, *arguments)
    assert code == 0, said
    assert "was lost on middle: north: " in said, said
    assert "load comes from south now; it does not count" in said, said
    assert wait_until(lambda: not north.processes(), 60), "its sender ends with it"
    require_exact(site / "run")


def test_a_load_host_is_cut_off_and_comes_back(site: Path, span: list[SshHost]) -> None:
    _, _, south = span

    def cut_for_a_while() -> None:
        await_flood(south)
        south.cut()
        threading.Timer(12, south.heal).start()

    code, said = run_until(site, "trial   5", cut_for_a_while, *SEARCH, "--run-dir", "run", PROFILE)
    assert code == 0, said
    assert "was lost on middle: south: no answer for" in said, said
    require_exact(site / "run")

    def takes_part() -> bool:
        return "load       south\n" in tune("cluster", "status", folder=site).out

    assert wait_until(takes_part, 60), "it takes part again"


def test_a_load_host_that_may_not_flood_the_collector(site: Path, span: list[SshHost]) -> None:
    collector, _, south = span
    south.write(ALLOW, "# nobody\n")
    done = tune(*SEARCH, "--run-dir", "run", PROFILE, folder=site, command=QUICK)
    assert done.code == 5, done.err
    assert f"south: {collector.ip} is not local and not in allow-targets" in done.err
    south.write(ALLOW, f"{collector.ip}\n")
    away = ("search", "--cluster", "--elasticsearch", "http://192.0.2.1:9200", PROFILE)
    guarded = tune(*away, folder=site)
    assert guarded.code == 5, guarded.err
    assert "middle: 192.0.2.1 is not local and not in allow-targets" in guarded.err


def test_a_pair_is_measured_again_where_a_load_host_dies(site: Path, span: list[SshHost]) -> None:
    """It dies in the second run of a pair."""
    _, north, _ = span

    def kill() -> None:
        await_flood(north)
        os.kill(worker(north), signal.SIGKILL)

    code, said = run_until(
        site, "pair 2 of 6", kill, "compare", PROFILE, PROFILE, "--cluster", "--engine", "sink",
        "--window", "1s", "--pairs", 6, "--no-freshness", "--export-json", "found.json",
    )  # fmt: skip
    assert code == 0, said
    assert "block 2 was lost on middle: north: " in said, said
    found = json.loads((site / "found.json").read_text("utf-8"))
    runs = [(run["block"], run["machine"]) for run in found["runs"]]
    assert runs == [(block, "middle") for block in range(1, 7) for _ in "AB"]
    accounts = [run["result"]["delivery"] for run in found["runs"]]
    assert {(one["lost"], one["duplicated"]) for one in accounts} == {(0, 0)}


def test_ctrl_c_ends_the_span(site: Path, span: list[SshHost]) -> None:
    done = tune_and_signal(
        *SEARCH, "--run-dir", "run", PROFILE,
        folder=site, number=signal.SIGINT, after_line="trial   2", command=QUICK,
    )  # fmt: skip
    assert done.code == 130, done.err
    assert {line for line in left(span) if "cluster member" not in line} == set()


def test_a_flood_from_all_load_hosts(site: Path, span: list[SshHost]) -> None:
    _, *loads = span
    here = loads[0].controller
    with Receiver(address=here) as receiver:
        target = f"{here}:{receiver.port}"
        flood = ("flood", "--cluster", "--target", target, "--count", "5001", "--output", "json")
        refused = tune(*flood, folder=site)
        assert refused.code == 5, refused.err
        assert f"north: {here} is not local and not in allow-targets" in refused.err
        assert receiver.numbers() == []
        for one in loads:
            one.write(ALLOW, f"{here}\n")
        done = tune(*flood, folder=site)
        assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["load_hosts"] == {"north": 2501, "south": 2500}
    assert told["sent"] == 5001
    ranges = SentEvents((2501, 2500)).ranges()
    assert receiver.numbers() == [number for one in ranges for number in range(*one)]


def benched(site: Path, *arguments: object) -> list[dict[str, Any]]:
    """The runs of a bench, of which each event was found once."""
    done = tune("bench", "--cluster", "--window", "2s", "--output", "json", *arguments, folder=site)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    results = (*(run["result"] for run in found["runs"]), found["variants"][0]["freshness"])
    runs = [one for one in results if one is not None]
    assert {(one["delivery"]["lost"], one["delivery"]["duplicated"]) for one in runs} == {(0, 0)}
    return runs


def test_events_are_as_old_by_clocks_that_differ(site: Path) -> None:
    roles = {"middle": "collector", "north": "load", "south": "load"}
    with spanning(site, roles, ("north", "south")) as (_, north, _):
        clock = (sys.executable, "-c", "import time; print(time.monotonic())")
        there, here = (float(passed(north.run(*how, *clock))) for how in ((OWN_CLOCK,), ()))
        assert there - here > AHEAD_S - 60
        _, paced = benched(site, "--engine", "sink", PROFILE)
    age = paced["freshness_s"]
    assert 0 < age["error_s"] < 1
    assert -age["error_s"] < age["p50"] <= age["p99"] < 60


@pytest.mark.parametrize("kind", [one for one in KINDS if "tls" in one])
def test_an_encrypted_input(site: Path, span: list[SshHost], kind: str) -> None:
    path = site / "encrypted.yaml"
    written = profile_of(kind).model_dump_json(by_alias=True, exclude_unset=True)
    path.write_text(written, encoding="utf-8")
    (run,) = benched(site, "--engine", "sink", "--no-freshness", path)
    assert run["delivery"]["indexed"] > 0


def test_an_engine_that_runs_already(
    site: Path, span: list[SshHost], elasticsearch: EngineClient
) -> None:
    with span[0].sees(elasticsearch.url):
        (run,) = benched(site, "--elasticsearch", elasticsearch.url, "--no-freshness", PROFILE)
    assert run["delivery"]["indexed"] > 0
    assert owned.indices(elasticsearch, owned.PREFIX) == ()


@pytest.mark.alone
def test_a_slow_network_is_the_bottleneck(site: Path, span: list[SshHost]) -> None:
    """Each load host can send half a megabyte a second."""
    slow = "tc qdisc add dev eth0 root tbf rate 4mbit burst 32kb latency 100ms"
    for one in span[1:]:
        assert one.run(*slow.split()).returncode == 0
    bench = ("bench", "--cluster", "--engine", "sink", "--window", "5s", "--no-freshness")
    done = tune(*bench, "--output", "json", PROFILE, folder=site)
    assert done.code == 0, done.err
    (run,) = (one["result"] for one in json.loads(done.out)["runs"])
    assert run["verdict"]["bottleneck"] == "network"
    assert run["delivery"]["lost"] == 0
