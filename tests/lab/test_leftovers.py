"""What killed runs left in an engine that outlives them is removed, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tuner.engine.client import EngineClient
from tuner.engine.owned import Owner, create_index, created, indices, put_template
from tuner.lab.lab import attached_lab, record_kept, remove_leftovers
from tuner.lab.sink import Sink

KILLED, LIVING, ELSEWHERE = "0a1b2c3d", "11111111", "22222222"

KILLS_ITSELF = """
import os, signal, sys
from tuner.lab.lab import record_kept
with record_kept(sys.argv[1]):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EngineClient]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Sink() as sink:
        client = EngineClient(sink.url)
        yield client
        client.close()


def create(client: EngineClient, owner: Owner, meta: object | None = None) -> None:
    """A template and an index, as a trial has them."""
    name = f"{owner.prefix}t1-syslog"
    mappings = {"_meta": owner.meta if meta is None else meta}
    body = {
        "index_patterns": [f"{name}*"],
        "_meta": mappings["_meta"],
        "template": {"mappings": mappings},
    }
    put_template(client, owner, name, body)
    create_index(client, owner, name)


def test_only_what_a_run_left_that_was_killed_here_is_removed(engine: EngineClient) -> None:
    for run_id in (KILLED, LIVING, ELSEWHERE):
        create(engine, Owner(run_id))
    foreign = Owner("33333333")
    create(engine, foreign, {"managed_by": "somebody else", "run_id": KILLED})
    killed = subprocess.run([sys.executable, "-c", KILLS_ITSELF, KILLED], check=False)
    assert killed.returncode == -9
    with record_kept(LIVING):
        told = list(remove_leftovers(engine))
    assert set(created(engine)) == {LIVING, ELSEWHERE}
    assert indices(engine, foreign.prefix) == (f"{foreign.prefix}t1-syslog",)
    removed, unknown = told
    name = f"rsyslog-tune-{KILLED}-t1-syslog"
    assert (
        removed
        == f"removed /{name}, /_index_template/{name} from {engine.url}, left by a killed run"
    )
    assert f"another run, {ELSEWHERE}" in unknown
    assert f"curl -X DELETE {engine.url}/rsyslog-tune-{ELSEWHERE}-t1-syslog;" in unknown
    assert list(remove_leftovers(engine))[1] == unknown, "a run that could not remove it by itself"
    assert set(created(engine)) == {ELSEWHERE}


def test_a_run_that_ends_leaves_no_record(engine: EngineClient, tmp_path: Path) -> None:
    with attached_lab(engine, tmp_path, KILLED, None) as lab:
        create(lab.client, lab.owner)
        assert [path.name for path in (tmp_path / "state").rglob(KILLED)] == [KILLED]
    assert created(engine) == {}
    assert list((tmp_path / "state").rglob(KILLED)) == []


def test_a_name_of_a_run_that_is_no_run_reaches_no_file(engine: EngineClient) -> None:
    create(engine, Owner(".."))
    (line,) = remove_leftovers(engine)
    assert "another run, .., which" in line
