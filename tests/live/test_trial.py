"""A trial on a host over a real ssh, with a real rsyslogd and impstats, under real traffic."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.live.conftest import COMMAND, Done, tune
from tests.live.engines import running
from tests.live.hosts import NEEDS_HOSTS, SshHost, hosts, inventory, passed
from tuner.engines.versions import DEFAULT
from tuner.host.process import wait_until
from tuner.lab.sink import Sink
from tuner.profile.edit import edit

pytestmark = [
    pytest.mark.live,
    NEEDS_HOSTS,
    pytest.mark.usefixtures("nothing_left_behind"),
]
PORT, PER_SECOND = 10514, 4000
CONF = """\
module(load="imuxsock" SysSock.Name="/run/devlog")
module(load="imtcp")
module(load="impstats" interval="1" format="json" log.file="/var/log/impstats.log" log.syslog="off")
module(load="omelasticsearch")
input(type="imtcp" port="{port}")
action(name="es" type="omelasticsearch" server="{url}" searchIndex="logs" searchType=""
       bulkmode="on" action.resumeRetryCount="-1" queue.type="LinkedList" queue.size="50000"
       queue.dequeueBatchSize="16" queue.workerThreads="1")
"""
BLOCKS = ("--block", "8s", "--burn-in", "3s")


@contextmanager
def collector(
    folder: Path, changes: Mapping[str, object], url: str = ""
) -> Iterator[tuple[SshHost, Path]]:
    """A host that indexes into an engine, or a sink, here, with a candidate on top of what it
    has."""
    with ExitStack() as stack:
        engine = url or stack.enter_context(Sink()).url
        (host,) = stack.enter_context(hosts(folder / "hosts", "collector"))
        stack.enter_context(host.sees(engine))
        host.write("/etc/rsyslog.conf", CONF.format(port=PORT, url=engine))
        passed(host.run("systemctl", "restart", "rsyslog"))
        inventory(folder / "hosts.yaml", collector=host)
        done = tune(
            "import", "--host", "collector", "--inventory", "hosts.yaml", "-o", "best.yaml",
            folder=folder,
        )  # fmt: skip
        assert done.code == 0, done.err
        profile = folder / "best.yaml"
        written = profile.read_text(encoding="utf-8")
        profile.write_text(edit(written, {"changes": dict(changes)}), encoding="utf-8")
        yield host, profile


@contextmanager
def traffic(host: SshHost, per_second: int = PER_SECOND) -> Iterator[None]:
    """Messages to the host at a rate, by a sender that connects again where it was cut off."""
    over = threading.Event()

    def send() -> None:
        lines = (
            b"<13>Nov 29 12:00:00 web1 app[77]: a message of the usual length, 100 bytes or so\n"
        )
        tick_s = 0.02
        while not over.is_set():
            with contextlib.suppress(OSError), socket.create_connection((host.ip, PORT), 1) as to:
                while not over.wait(tick_s):
                    to.sendall(lines * round(per_second * tick_s))
            over.wait(0.1)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


WORDS = ("--host", "collector", "--inventory", "hosts.yaml", *BLOCKS, "--yes", "--run-dir", "trial")
BATCHES: Mapping[str, object] = {"action[es].queue.dequeueBatchSize": 2000}
PATIENCE_S = 240


def tried(profile: Path, *words: str) -> Done:
    """A trial with short blocks."""
    return tune("trial", profile, *WORDS, *words, folder=profile.parent)


@contextmanager
def begun(host: SshHost, profile: Path) -> Iterator[subprocess.Popen[str]]:
    """The command of a trial in a process of its own, once the host has B."""
    with subprocess.Popen(
        [*COMMAND, "trial", str(profile), *WORDS, "--for", "8m"],
        cwd=profile.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as command:  # fmt: skip
        try:
            assert wait_until(lambda: has_b(host) or command.poll() is not None, PATIENCE_S)
            assert command.poll() is None, command.communicate()
            yield command
        finally:
            command.kill()


def has_b(host: SshHost) -> bool:
    """Whether its configuration is the candidate, and runs."""
    return b'"2000"' in host.conf.read_bytes() and host.is_pending()


@pytest.mark.full
def test_larger_batches_cost_less_cpu_and_nothing_stays(tmp_path: Path) -> None:
    with collector(tmp_path, BATCHES) as (host, profile), traffic(host):
        before = host.tree()[str(host.conf)]
        done = tried(profile, "--for", "5m", "--seed", "1")
        assert done.code == 0, done.err
        # Whether ten pairs show it depends on what else the machine does.
        assert re.search(r"CPU per event:? -\d", done.out), done.out
        assert "10 pairs" in done.out
        assert host.tree()[str(host.conf)] == before
        assert not host.is_pending()
        again = tune("trial", "--resume", "trial", "--yes", folder=tmp_path)
        assert re.search(r"CPU per event:? -\d", again.out), again.err


@pytest.mark.full
def test_a_queue_that_is_too_small_ends_its_blocks_and_the_trial(tmp_path: Path) -> None:
    small = {"action[es].queue.size": 100, "action[es].queue.workerThreads": 1}
    with collector(tmp_path, small) as (host, profile), traffic(host):
        before = host.tree()[str(host.conf)]
        done = tried(profile, "--for", "5m")
        assert done.code == 6, done.err
        assert "the candidate failed" in done.out
        assert host.tree()[str(host.conf)] == before


@pytest.mark.full
def test_ctrl_c_puts_back_what_was_there(tmp_path: Path) -> None:
    with collector(tmp_path, BATCHES) as (host, profile), traffic(host):
        before = host.tree()[str(host.conf)]
        with begun(host, profile) as command:
            command.send_signal(signal.SIGINT)
            _, said = command.communicate(timeout=PATIENCE_S)
        assert command.returncode == 130, said
        assert host.tree()[str(host.conf)] == before
        assert not host.is_pending()
        assert not list(tmp_path.glob("**/*.jsonl"))


@pytest.mark.full
def test_the_host_restores_itself_when_the_command_is_killed(tmp_path: Path) -> None:
    with collector(tmp_path, BATCHES) as (host, profile), traffic(host):
        before = host.tree()[str(host.conf)]
        with begun(host, profile) as command:
            command.kill()
            command.communicate()
        assert wait_until(lambda: not host.is_pending(), 8 + 60 + 60)
        assert host.tree()[str(host.conf)] == before
        refused = tried(profile, "--for", "8m", "--run-dir", "other")
        assert refused.code == 75, refused.err
        stopped = tune("trial", "--stop", "trial", folder=tmp_path)
        assert stopped.code == 0, stopped.err
        assert "collector: " in stopped.out


@pytest.mark.full
def test_what_somebody_else_writes_meanwhile_stays(tmp_path: Path) -> None:
    with collector(tmp_path, BATCHES) as (host, profile), traffic(host):
        with begun(host, profile) as command:
            theirs = host.conf.read_text(encoding="utf-8") + "# by hand\n"
            host.write("/etc/rsyslog.conf", theirs)
            out, said = command.communicate(timeout=PATIENCE_S)
        assert command.returncode == 1, said
        assert "somebody changed /etc/rsyslog.conf on collector" in out
        assert "collector: left as it is" in said
        assert host.conf.read_text(encoding="utf-8") == theirs
        assert not host.is_pending()


@pytest.mark.full
def test_marks_are_found_in_the_engine_one_by_one_and_its_cpu_is_compared(tmp_path: Path) -> None:
    with (
        running(DEFAULT.release, tmp_path) as client,
        collector(tmp_path, BATCHES, client.url) as (host, profile),
        traffic(host, 100),
    ):
        marks = ("--mark", "5", "--elasticsearch", client.url)
        done = tried(profile, "--for", "190s", "--output", "json", *marks)
        assert done.code == 0, done.err
        found = json.loads(done.out)
        for side, figures in zip("AB", found["marks"], strict=True):
            assert figures["side"] == side
            assert figures["sent"] > 100
            assert figures["doubled"] == 0
            # What waits in a socket when rsyslogd ends is gone.
            assert figures["lost"] <= 5 * len(found["restarts"])
            assert figures["pending"] == 0
            assert 0 < figures["median_s"] <= figures["p99_s"] < 10
        assert len(found["engine"]) == 2 * found["pairs_begun"]
        assert found["engine_ratio"] is not None


@pytest.mark.full
def test_marks_that_no_search_finds_end_the_trial_before_it_begins(tmp_path: Path) -> None:
    with (
        running(DEFAULT.release, tmp_path) as client,
        collector(tmp_path, BATCHES, client.url) as (host, profile),
    ):
        client.request("PUT", "/logs", {"mappings": {"enabled": False}})
        restarts = host.restarts
        done = tried(profile, "--for", "3m", "--mark", "5", "--elasticsearch", client.url)
        assert done.code == 1, done.err
        assert "a mark that collector took is in no index of logs" in done.err
        assert host.restarts == restarts
        wrong = tried(profile, "--mark", "5")
        assert wrong.code == 64
        assert "add --elasticsearch URL" in wrong.err


@pytest.mark.full
def test_a_duet_runs_both_at_once_with_two_restarts(tmp_path: Path) -> None:
    with collector(tmp_path, BATCHES) as (host, profile), traffic(host):
        before, restarts = host.tree()[str(host.conf)], host.restarts
        done = tried(profile, "--duet", "--for", "3m", "--output", "json")
        assert done.code == 0, done.err
        found = json.loads(done.out)
        # A block in which impstats was seldom read is left out.
        assert 6 <= found["ratio"]["pairs"] <= found["pairs_planned"]
        # Half of 4,000 a second for each.
        for block in found["blocks"]:
            if block["pair"] is not None:
                assert 1500 < block["figures"]["events"] / block["figures"]["seconds"] < 2500
        assert host.restarts == restarts + 2
        assert host.tree()[str(host.conf)] == before
        assert not host.is_pending()


def test_the_plan_is_shown_and_nothing_done(tmp_path: Path) -> None:
    with collector(tmp_path, BATCHES) as (host, profile):
        restarts = host.restarts
        done = tune(
            "trial", profile, "--host", "collector", "--inventory", "hosts.yaml", "--dry-run",
            folder=tmp_path,
        )  # fmt: skip
        assert done.code == 0, done.err
        assert "4 blocks of A alone, then 21 pairs of A and B, each block 10 min" in done.out
        assert "42 restarts of rsyslogd on each host" in done.out
        assert host.restarts == restarts


def test_what_stands_against_a_trial_is_said_at_once(tmp_path: Path) -> None:
    kept = {"action[es].queue.timeoutEnqueue": 10, "input[1].port": 1514}
    with collector(tmp_path, kept) as (_, profile):
        done = tried(profile)
        assert done.code == 5
        for name in kept:
            assert f"collector: {name} is a promise or a place" in done.err
