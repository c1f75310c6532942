"""The sink as a process: how it starts, and when it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tuner.engine.client import EngineClient
from tuner.engine.status import answers as engine_answers
from tuner.errors import JobFailed
from tuner.lab.sink import Sink


def answers(sink: Sink) -> bool:
    client = EngineClient(sink.url)
    try:
        return engine_answers(client)
    finally:
        client.close()


def wait_gone(pid: int) -> bool:
    deadline_s = time.monotonic() + 30
    while time.monotonic() < deadline_s:
        try:
            if "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text():
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.01)
    return False


def test_it_ignores_sigint_and_ends_with_its_statement() -> None:
    with Sink() as sink:
        os.kill(sink.pid, signal.SIGINT)
        time.sleep(0.05)
        assert answers(sink)
        pid = sink.pid
    assert wait_gone(pid)


@pytest.mark.parametrize("handle", ["tuner.lab.sink.Sink", "tuner.lab.probe.Probe"])
def test_a_dead_parent_ends_it(handle: str) -> None:
    module, _, name = handle.rpartition(".")
    code = (
        f"import time; from {module} import {name}\n"
        f"with {name}() as child: print(child.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    assert wait_gone(pid)


def test_a_port_that_is_taken_is_said_in_words() -> None:
    with Sink() as sink:
        with pytest.raises(JobFailed, match=f"cannot listen on 127.0.0.1:{sink.port}"):
            Sink(sink.port)
        assert answers(sink)


def test_it_takes_a_port_that_it_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
    with Sink(port) as sink:
        assert sink.url == f"http://127.0.0.1:{port}"
        assert answers(sink)


def test_one_that_takes_too_long_to_start_is_told_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuner.lab.sink.START_TIMEOUT_S", 0.0)
    with pytest.raises(JobFailed, match="did not start within 0 s: this machine is very busy"):
        Sink()
