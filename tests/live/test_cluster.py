"""Several machines as one: over real ssh, on hosts with addresses of their own."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from tests.live.conftest import QUICK, follow, started, tune, tune_and_signal
from tests.live.hosts import SshHost, hosts
from tuner.cluster import standing
from tuner.cluster.access import connected, new_certificate
from tuner.errors import Unreachable
from tuner.host.process import wait_until
from tuner.search.journal import read
from tuner.search.study import Ending, Phase, Trial

pytestmark = [pytest.mark.live, pytest.mark.full]

PROFILE = Path(__file__).parents[2] / "profiles" / "default.yaml"
COMMAND = str(Path(sys.executable).with_name("rsyslog-tune"))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose commands know a cluster of their own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def inventory(site: Path, machines: list[SshHost], **more: object) -> Path:
    """hosts.yaml of labs."""
    entries = {
        one.name: {"address": one.address, "role": "lab", "rsyslog_tune": COMMAND, **more}
        for one in machines
    }
    path = site / "hosts.yaml"
    path.write_text(json.dumps({"hosts": entries}), encoding="utf-8")
    path.chmod(0o600)
    return path


@pytest.fixture
def machines(site: Path) -> Iterator[list[SshHost]]:
    with hosts(site / "hosts", "north", "south") as both:
        yield both


def left(machines: list[SshHost]) -> list[str]:
    """What still runs of ours on the hosts."""
    return [line for one in machines for line in one.processes().values()]


def test_up_status_down(site: Path, machines: list[SshHost]) -> None:
    path = inventory(site, machines)
    up = tune("cluster", "up", "--inventory", path, folder=site)
    assert up.code == 0, up.err
    assert "lab        north\nlab        south\n" in up.out
    again = tune("cluster", "up", "--inventory", path, folder=site)
    assert again.code == 1
    assert "already up" in again.err
    assert tune("cluster", "status", folder=site).out == up.out
    require_closed_to_strangers()
    other = ("search", "--cluster", "--elasticsearch", "http://127.0.0.1:9", PROFILE)
    refused = tune(*other, folder=site)
    assert refused.code == 64
    assert "each machine of the role lab has its own engine" in refused.err
    for one in machines:
        assert not list(one.path("/var/lib/rsyslog-tune/cluster").rglob("key.pem"))
    down = tune("cluster", "down", folder=site)
    assert down.code == 0, down.err
    assert not left(machines)
    for one in machines:
        assert not one.path("/var/lib/rsyslog-tune/cluster").exists()
    assert tune("cluster", "status", folder=site).code == 1
    assert not [path for path in (site / "state").rglob("*") if path.is_file()]


def labs(machines: list[SshHost]) -> list[str]:
    """What runs on the hosts for a command."""
    return [line for line in left(machines) if "cluster member" not in line]


@pytest.fixture
def up(site: Path, machines: list[SshHost]) -> Iterator[list[SshHost]]:
    """A cluster of two labs."""
    begun = tune("cluster", "up", "--inventory", inventory(site, machines), folder=site)
    assert begun.code == 0, begun.err
    try:
        yield machines
    finally:
        ended = tune("cluster", "down", folder=site)
    assert ended.code == 0, ended.err
    assert not left(machines)


SEARCH = ("search", "--cluster", "--engine", "sink", "--no-effects", "--budget", "60s")


def require_exact(run: Path) -> list[Trial]:
    """Every event of every trial arrived once, no trial was counted twice, and the search came to
    its end; the trials."""
    study = read(run)
    assert study.ending is Ending.FINISHED
    numbers = [one.number for one in study.trials if one.phase is not Phase.WARM_UP]
    assert len(numbers) == len(set(numbers))
    runs = [one.measurement for one in study.trials]
    assert {(one.delivery.lost, one.delivery.duplicated) for one in runs if one} == {(0, 0)}
    return list(study.trials)


def run_until(
    site: Path, line: str, do: Callable[[], None], *arguments: object, times: int = 1
) -> tuple[int, str]:
    """A search in the middle of which something happens, once it has said that so many times; its
    exit code and what it said."""
    with started(*arguments, folder=site, command=QUICK) as process:
        said = "".join(each for _ in range(times) for each in follow(process, line))
        do()
        assert process.stderr is not None
        said += process.stderr.read()
        return process.wait(120), said


def worker(machine: SshHost) -> int:
    """The process that makes it a member of the cluster."""
    (found,) = (pid for pid, line in machine.processes().items() if "cluster member" in line)
    return found


def test_a_search_on_two_machines_of_which_one_dies(site: Path, up: list[SshHost]) -> None:
    north, _ = up
    first = (*SEARCH, "--run-dir", "run", PROFILE)
    code, said = run_until(
        site, "trial   5", lambda: os.kill(worker(north), signal.SIGKILL), *first
    )
    assert code == 0, said
    assert "north" in said, said
    assert wait_until(lambda: not north.processes(), 60), "its lab ends with it"
    trials = require_exact(site / "run")
    assert {one.machine for one in trials if one.number <= 5} == {"north", "south"}
    assert {one.machine for one in trials[-6:]} == {"south"}
    status = tune("cluster", "status", folder=site)
    assert "lab        south\nlab        north: does not take part\n" in status.out
    again = tune("cluster", "up", "--inventory", site / "hosts.yaml", folder=site)
    assert again.code == 0, again.err
    assert "lab        north\nlab        south\n" in again.out, "the worker that died is back"


def test_a_farm_of_real_engines_searches_to_its_end(site: Path, up: list[SshHost]) -> None:
    search = ("search", "--cluster", "--no-effects", "--budget", "60s", "--run-dir", "run", PROFILE)
    done = tune(*search, folder=site, command=QUICK)
    assert done.code == 0, done.err
    trials = require_exact(site / "run")
    assert {one.machine for one in trials if one.phase is Phase.CONFIRM} == {"north", "south"}
    assert "elasticsearch 8.19" in read(site / "run").header.engine


def test_a_machine_that_is_cut_off_is_given_up(site: Path, up: list[SshHost]) -> None:
    _, south = up
    code, said = run_until(site, "trial   5", south.cut, *SEARCH, "--run-dir", "run", PROFILE)
    assert code == 0, said
    require_exact(site / "run")
    south.heal()
    assert wait_until(lambda: not left([south]), 90), "the worker ends without its scheduler"


def test_after_the_death_of_the_scheduler_another_cluster_goes_on(
    site: Path, up: list[SshHost]
) -> None:
    (record,) = (site / "state").rglob("cluster/*/pid")
    scheduler = int(record.read_text(encoding="ascii").split()[0])
    first = (*SEARCH, "--run-dir", "run", PROFILE)
    code, said = run_until(site, "trial   5", lambda: os.kill(scheduler, signal.SIGKILL), *first)
    assert code in {1, 4}, said
    assert "--resume run --cluster" in said, said
    assert wait_until(lambda: not left(up), 90), "workers end with their scheduler"
    assert tune("cluster", "up", "--inventory", site / "hosts.yaml", folder=site).code == 0
    resumed = tune("search", "--resume", "run", "--cluster", folder=site, command=QUICK)
    assert resumed.code == 0, resumed.err
    require_exact(site / "run")


def test_ctrl_c_ends_the_labs(site: Path, up: list[SshHost]) -> None:
    arguments = (*SEARCH, "--run-dir", "run", PROFILE)
    done = tune_and_signal(
        *arguments, folder=site, number=signal.SIGINT, after_line="trial   2", command=QUICK
    )
    assert done.code == 130, done.err
    assert "--resume run --cluster" in done.err
    assert not labs(up)


def test_labs_end_with_a_command_that_is_killed(site: Path, up: list[SshHost]) -> None:
    with started(*SEARCH, "--run-dir", "run", PROFILE, folder=site, command=QUICK) as process:
        follow(process, "trial   2")
        process.kill()
    assert wait_until(lambda: not labs(up), 90), labs(up)
    resumed = tune("search", "--resume", "run", "--cluster", folder=site, command=QUICK)
    assert resumed.code == 0, resumed.err
    require_exact(site / "run")


SHORT = ("--cluster", "--engine", "sink", "--window", "1s")


def test_a_sites_templates_write_what_the_labs_are_given(site: Path, up: list[SshHost]) -> None:
    (site / "own").mkdir()
    template = site / "own/rsyslog.conf.j2"
    block = '{% extends "shipped/rsyslog.conf.j2" %}{% block site %}\nTEXT\n{% endblock %}'
    bench = ("bench", "--templates", "own", *SHORT, "--repeat", 2, "--no-freshness", PROFILE)
    template.write_text(block.replace("TEXT", 'module(load="mmanon")'), encoding="utf-8")
    done = tune(*bench, folder=site)
    assert done.code == 0, done.err
    wrong = 'global(abortOnUncleanConfig="on")\nmodule(load="nowhere")'
    template.write_text(block.replace("TEXT", wrong), encoding="utf-8")
    done = tune(*bench, folder=site)
    assert done.code == 1, done.err
    assert "nowhere" in done.err


def lost_and_doubled(results: list[dict[str, Any]]) -> set[tuple[int, int]]:
    """What runs lost and doubled."""
    accounts = [one["delivery"] for one in results]
    return {(one["lost"], one["duplicated"]) for one in accounts}


def test_a_pair_is_on_one_machine_and_measured_again_where_that_dies(
    site: Path, up: list[SshHost]
) -> None:
    """North has finished a pair, and dies in the second run of another."""
    north, _ = up
    code, said = run_until(
        site, "on north: ", lambda: os.kill(worker(north), signal.SIGKILL),
        "compare", PROFILE, PROFILE, *SHORT, "--pairs", 6, "--export-json", "found.json", times=3,
    )  # fmt: skip
    assert code == 0, said
    assert "north is dropped: " in said, said
    assert "; 1 machine is left" in said, said
    assert "was lost on north: " in said, said
    assert "it does not count" in said, said
    found = json.loads((site / "found.json").read_text("utf-8"))
    runs = found["runs"]
    assert [run["block"] for run in runs] == [block for block in range(1, 7) for _ in "AB"]
    pairs = {
        block: {(run["arm"], run["machine"]) for run in runs if run["block"] == block}
        for block in range(1, 7)
    }
    both = [{("A", machine), ("B", machine)} for machine in ("north", "south")]
    assert all(pair in both for pair in pairs.values()), pairs
    assert list(pairs.values()).count(both[0]) == 1, pairs
    assert lost_and_doubled([run["result"] for run in runs]) == {(0, 0)}
    assert found["metrics"]["eps"]["to_the_first"]["B"]["pairs"] == 6
    assert found["phases_on"] == [["freshness", "south"]]
    assert wait_until(lambda: not north.processes(), 60), "its lab ends with it"


def test_a_comparison_whose_scheduler_dies_shows_the_pairs_it_has(
    site: Path, up: list[SshHost]
) -> None:
    (record,) = (site / "state").rglob("cluster/*/pid")
    scheduler = int(record.read_text(encoding="ascii").split()[0])
    code, said = run_until(
        site, ", B over A", lambda: os.kill(scheduler, signal.SIGKILL),
        "compare", PROFILE, PROFILE, *SHORT, "--pairs", 6, "--export-json", "found.json",
    )  # fmt: skip
    assert code == 4, said
    assert said.count("the scheduler of the cluster does not answer any more") == 1, said
    assert "is dropped" not in said, said
    found = json.loads((site / "found.json").read_text("utf-8"))
    assert lost_and_doubled([run["result"] for run in found["runs"]]) == {(0, 0)}
    assert found["difference"] == "too few pairs"
    assert wait_until(lambda: not left(up), 90), "workers end with their scheduler"


SWEEP = """\
name: two
title: Two of the same
profile: {profile}
engine: sink
variants: [{{name: one}}, {{name: other}}]
repeats: 4
window: 1s
metrics: [eps]
"""


def test_runs_and_blocks_are_spread_over_machines(site: Path, up: list[SshHost]) -> None:
    bench = tune("bench", PROFILE, *SHORT, "--repeat", 4, "--overload", "--export-json", "b.json",
                 folder=site)  # fmt: skip
    assert bench.code == 0, bench.err
    found = json.loads((site / "b.json").read_text("utf-8"))
    assert {run["machine"] for run in found["runs"]} == {"north", "south"}
    assert found["summary"]["valid"] == len(found["runs"]) == 4
    assert found["phases_on"] == [["freshness", "north"], ["overload", "north"]]
    results = [run["result"] for run in found["runs"]]
    results += [found["variants"][0]["freshness"], found["overload"]["measurement"]]
    assert lost_and_doubled(results) == {(0, 0)}
    assert "each on one machine: freshness on north, overload on north" in bench.out
    (site / "two.yaml").write_text(SWEEP.format(profile=PROFILE), "utf-8")
    sweep = tune("sweep", "two.yaml", "--cluster", "--run-dir", "run", folder=site)
    assert sweep.code == 0, sweep.err
    runs = json.loads((site / "run/sweep.json").read_text("utf-8"))["runs"]
    blocks = {(run["block"], run["machine"]) for run in runs}
    assert len(blocks) == 4
    assert {machine for _, machine in blocks} == {"north", "south"}
    assert lost_and_doubled([run["result"] for run in runs]) == {(0, 0)}


def require_closed_to_strangers() -> None:
    """Whoever has no certificate, or another one, can neither join nor submit nor read."""
    cluster = standing.read()
    assert cluster is not None
    with pytest.raises(Exception, match=r"certificate|TLS|ssl"):
        Client(cluster.address, timeout=5)
    # One that failed and is given up while another starts waits for that for good (LoopRunner).
    gc.collect()
    with pytest.raises(OSError, match=r"reset|closed"):
        Client(cluster.address.replace("tls:", "tcp:"), timeout=5)
    gc.collect()
    with (
        pytest.raises(Unreachable, match="another certificate"),
        connected(cluster.address, new_certificate()),
    ):
        pass
