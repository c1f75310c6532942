"""Limits by name in a real rsyslogd: their files change without a restart, and an input whose limit
there is not stays closed."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.live.outputs import daemon, lines, wait
from tests.shipped import release_at_hand
from tuner.lab.check import check
from tuner.lab.entrances import TcpPort, free_port, is_listening
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder

HERE = 0 if shutil.which("rsyslogd") is None else release_at_hand()
pytestmark = [
    pytest.mark.live,
    pytest.mark.each_rsyslogd("inputs"),
    pytest.mark.skipif(not HERE, reason="rsyslogd is not installed"),
    pytest.mark.skipif(HERE < 2604, reason="not possible: policyWatch is known since 8.2604"),
]
FEW, ALL = "interval: 600\nburst: 10\n", "interval: 0\nburst: 10\n"
SENT = 50


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with scratch(tmp_path) as below:
        yield subfolder(below, "limits")


def configuration(folder: Path, port: int, limit: str, *, has_watch: bool = True) -> str:
    watch = ' policyWatch="on" policyWatchDebounce="100ms"' if has_watch else ""
    return (
        f'module(load="imtcp")\nratelimit(name="few" policy="{folder}/few.yaml"{watch})\n'
        f'input(type="imtcp" address="127.0.0.1" port="{port}" rateLimit.name="{limit}")\n'
        f'action(type="omfile" file="{folder}/out")\n'
    )


@contextmanager
def running(folder: Path, *, has_watch: bool) -> Iterator[tuple[Rsyslogd, Callable[[str], int]]]:
    """rsyslogd with a limit of 10 events, and what sends some and counts those that came."""
    (folder / "few.yaml").write_text(FEW, encoding="utf-8")
    port = free_port()
    config = configuration(folder, port, "few", has_watch=has_watch)

    def passing(word: str) -> int:
        TcpPort(port).send([f"<13>Nov 21 06:30:00 h t: {word}".encode()] * SENT, "127.0.0.1")
        wait(lambda: _count(folder, word) == SENT, 1.5)
        return _count(folder, word)

    with daemon(config, folder, [TcpPort(port)]) as rsyslogd:
        yield rsyslogd, passing


def _count(folder: Path, word: str) -> int:
    return sum(line.endswith(word) for line in lines(folder / "out"))


def in_place(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def renamed(path: Path, text: str) -> None:
    """As what writes a file whole does."""
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.rename(path)


@pytest.mark.parametrize("write", [in_place, renamed])
def test_a_policy_that_is_watched_holds_as_soon_as_it_changes(
    write: Callable[[Path, str], None], folder: Path
) -> None:
    with running(folder, has_watch=True) as (_, passing):
        assert passing("before") == 10
        write(folder / "few.yaml", ALL)
        time.sleep(1.5)
        assert passing("after") == SENT


def test_a_policy_that_cannot_be_read_leaves_the_one_before(folder: Path) -> None:
    with running(folder, has_watch=True) as (_, passing):
        assert passing("before") == 10
        in_place(folder / "few.yaml", "interval: [\n")
        time.sleep(1.5)
        assert passing("after") == 0


def test_a_policy_that_nothing_watches_holds_after_a_hup(folder: Path) -> None:
    with running(folder, has_watch=False) as (rsyslogd, passing):
        assert passing("before") == 10
        in_place(folder / "few.yaml", ALL)
        time.sleep(1.5)
        assert passing("unread") == 0
        os.kill(rsyslogd.pid, signal.SIGHUP)
        time.sleep(1.0)
        assert passing("after") == SENT


@pytest.mark.parametrize(("limit", "policy", "is_open"), [
    ("few", FEW, True), ("Few", FEW, False), ("few", f"scope: output\nmode: drop\n{FEW}", False),
])  # fmt: skip
def test_an_input_whose_limit_there_is_not_stays_closed_and_n1_does_not_say_so(
    limit: str, policy: str, is_open: bool, folder: Path
) -> None:
    """RT420."""
    (folder / "few.yaml").write_text(policy, encoding="utf-8")
    port, other = free_port(), free_port()
    config = configuration(folder, port, limit)
    config += f'input(type="imtcp" address="127.0.0.1" port="{other}")\n'
    assert check(config).complaints == ()
    with daemon(config, folder, [TcpPort(other)]):
        wait(lambda: is_listening(port), 1.0)
        assert is_listening(port) is is_open
