"""An engine of ours on hosts of its own: a node on each, whatever becomes of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.live.conftest import tune
from tests.live.hosts import SshHost, passed
from tests.live.test_cluster import PROFILE, require_exact, run_until
from tests.live.test_several_nodes import ELASTICSEARCH, profile, text
from tests.live.test_span import ALLOW, site, spanning
from tuner.cluster.engine_hosts import ENGINE_HOST, RemoteNodeHosts
from tuner.engine.probe import node_count
from tuner.engines.versions import distribution_for
from tuner.errors import Unreachable
from tuner.host.process import wait_until
from tuner.lab.nodes import Nodes, plan_for
from tuner.profile.edit import edit
from tuner.search.journal import read

pytestmark = [pytest.mark.live, pytest.mark.full]

__all__ = ["site"]

NAMES = ("east", "middle", "west")

# Elasticsearch wants 65,535 open files and 262,144 memory areas where hosts are several.  A host of
# the test has those of this machine, and root may not raise them in every container: its programs
# are told of more.
_LIMITS = """\
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int getrlimit(int what, struct rlimit *limit)
{
    int failed = syscall(SYS_prlimit64, 0, what, 0, limit);
    if (!failed && what == RLIMIT_NOFILE && limit->rlim_max < 65536)
        limit->rlim_cur = limit->rlim_max = 65536;
    return failed;
}

int getrlimit64(int what, struct rlimit *limit) __attribute__((alias("getrlimit")));
"""


class Machines:
    """The processes of engine hosts, each at a loopback address of its own."""

    def __init__(self, folder: Path) -> None:
        self.hosts = RemoteNodeHosts(self._say)
        self._processes = {name: self._started(folder / name) for name in NAMES}
        self.nodes = self.hosts.at({name: f"127.0.0.{n}" for n, name in enumerate(NAMES, start=2)})
        self._listeners = [threading.Thread(target=self._listen, args=(one,)) for one in NAMES]
        for one in self._listeners:
            one.start()

    def engine(self, name: str) -> psutil.Process:
        """The JVM of a node."""
        children = psutil.Process(self._processes[name].pid).children(recursive=True)
        (found,) = (one for one in children if one.name() == "java" and one.net_connections())
        return found

    def kill(self, name: str) -> None:
        """Kill the process of ours there."""
        self._processes[name].kill()

    def end(self) -> None:
        """End their input."""
        for one in self._processes.values():
            assert one.stdin is not None
            one.stdin.close()
            one.wait(60)
        for each in self._listeners:
            each.join()
        for one in self._processes.values():
            assert one.stdout is not None
            one.stdout.close()

    def _started(self, state: Path) -> subprocess.Popen[bytes]:
        state.mkdir()
        return subprocess.Popen(
            [sys.executable, "-m", ENGINE_HOST], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "XDG_STATE_HOME": str(state)},
        )  # fmt: skip

    def _say(self, name: str, line: bytes) -> None:
        stdin = self._processes[name].stdin
        assert stdin is not None
        stdin.write(line)
        stdin.flush()

    def _listen(self, name: str) -> None:
        stdout = self._processes[name].stdout
        assert stdout is not None
        for line in stdout:
            self.hosts.hear(name, line)
        self.hosts.lose(name, "it is gone")


@pytest.fixture
def machines(tmp_path: Path, nothing_left_behind: None) -> Iterator[Machines]:
    found = Machines(tmp_path)
    try:
        yield found
    finally:
        found.end()


def test_three_hosts_make_one_engine_which_outlives_a_node_and_not_a_host(
    machines: Machines,
) -> None:
    wanted = profile(ELASTICSEARCH, 1)
    for one in machines.nodes:
        one.prepare(distribution_for(wanted.release))
        one.prepared()
    nodes = Nodes(plan_for(wanted, machines.nodes), machines.nodes)
    client = nodes.client()
    assert client.urls == tuple(
        f"http://127.0.0.{2 + n}:{one.port}" for n, one in enumerate(machines.nodes)
    )
    assert node_count(client) == 3
    assert nodes.run_with("384m", nodes.plan.settings) > 0
    assert nodes.plan.heap == "384m"
    machines.engine("middle").kill()
    assert wait_until(lambda: nodes.ending() is not None, 60)
    assert "(SIGKILL) of its node lab-2" in str(nodes.ending())
    assert "(on middle)" in str(nodes.ending())
    nodes.start_again(300)
    assert nodes.ending() is None
    assert node_count(client) == 3
    engine = machines.engine("west")
    machines.kill("west")
    assert wait_until(lambda: nodes.ending() is not None, 60)
    assert nodes.ending() == "no answer from west (it is gone)"
    assert wait_until(lambda: not engine.is_running(), 60), "its node dies with it"
    with pytest.raises(Unreachable, match="west: it is gone"):
        nodes.start_again(300)
    client.close()


@contextmanager
def span_with_engine(site: Path) -> Iterator[list[SshHost]]:
    """A collector that may send to the engine's host, a load host and that."""
    roles = {"front": "collector", "north": "load", "south": "engine"}
    with spanning(site, roles) as machines:
        machines[0].write(ALLOW, f"{machines[2].ip}\n")
        yield machines


def kill_engine(host: SshHost) -> None:
    """Kill the node of a host."""
    for pid, command in host.processes().items():
        if "org.elasticsearch" in command:
            psutil.Process(pid).kill()


def as_for_production(host: SshHost) -> None:
    """Give a host the limits that Elasticsearch checks."""
    host.write("/usr/local/src/limits.c", _LIMITS)
    library = "/usr/local/lib/limits.so"
    passed(host.run("cc", "-shared", "-fPIC", "-o", library, "/usr/local/src/limits.c"))
    host.write("/etc/ld.so.preload", f"{library}\n")
    areas = "/proc/sys/vm/max_map_count"
    host.write("/run/max_map_count", "262144\n")
    passed(host.run("mount", "--bind", "/run/max_map_count", areas))


@pytest.mark.skipif(shutil.which("cc") is None, reason="a C compiler")
def test_a_search_on_an_engine_of_three_hosts_of_which_one_loses_its_node(site: Path) -> None:
    three = site / "three.yaml"
    three.write_text(text(ELASTICSEARCH, 1), encoding="utf-8")
    roles = {"front": "collector", "north": "load"} | dict.fromkeys(NAMES, "engine")
    with spanning(site, roles) as (front, _, *engines):
        front.write(ALLOW, "".join(f"{one.ip}\n" for one in engines))
        bench = ("bench", "--cluster", "--window", "2s", "--repeat", 1, "--no-freshness", three)
        refused = tune(*bench, folder=site)
        assert refused.code == 1, refused.err
        assert "max file descriptors" in refused.err
        for one in engines:
            as_for_production(one)
        done = tune(*bench, folder=site)
        assert done.code == 0, done.err
        code, said = run_until(site, "trial   5", lambda: kill_engine(engines[1]), *SEARCH, three)
        assert code == 0, said
        assert "(on middle)" in said, said
        runs = [one.measurement for one in require_exact(site / "run")]
        assert "its engine on east, middle, west" in read(site / "run").header.machine
        for stages in (one.verdict.stages for one in runs if one and one.verdict):
            assert [one.name for one in stages.engine_hosts] == [*NAMES]
            assert all(one.machine_cpu > 0 and one.speed for one in stages.engine_hosts)
        assert all(one.speed is not None for one in runs if one), "the collector's"


SEARCH = ("search", "--cluster", "--no-effects", "--budget", "60s", "--run-dir", "run")


def test_a_search_whose_engine_dies_on_its_host(site: Path) -> None:
    with span_with_engine(site) as (front, _, south):
        three = site / "three.yaml"
        three.write_text(edit(PROFILE.read_text("utf-8"), {"lab.nodes": 3}), encoding="utf-8")
        refused = tune("bench", "--cluster", three, folder=site)
        assert refused.code == 5, refused.err
        assert "lab.nodes), and the cluster has 1 of the role engine (south)" in refused.err
        code, said = run_until(site, "trial   5", lambda: kill_engine(south), *SEARCH, PROFILE)
        assert code == 0, said
        assert "(on south)" in said, said
        require_exact(site / "run")
        assert "its engine on south" in read(site / "run").header.machine
        front.write(ALLOW, "# nobody\n")
        guarded = tune("bench", "--cluster", PROFILE, folder=site)
        assert guarded.code == 5, guarded.err
        assert f"front: {south.ip} is not local and not in allow-targets" in guarded.err
