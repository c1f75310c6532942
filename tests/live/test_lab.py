"""A lab that stays until told, and a measurement that uses it."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.live.conftest import tune, tune_and_signal
from tuner.engine.client import EngineClient
from tuner.engine.status import indexed

pytestmark = [pytest.mark.live, pytest.mark.full]

ROOT = Path(__file__).parents[2]
DEFAULT = ROOT / "profiles" / "default.yaml"


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    folder = tmp_path_factory.mktemp("lab")
    done = tune("lab", "up", DEFAULT, "--output", "json", folder=folder)
    assert done.code == 0, done.err
    yield json.loads(done.out)
    assert tune("lab", "down", folder=folder).code == 0


def pid(standing: dict[str, object], name: str) -> int:
    process = standing[name]
    assert isinstance(process, dict)
    return int(process["pid"])


def test_it_indexes_what_is_sent_to_it(standing: dict[str, object], tmp_path: Path) -> None:
    flooded = tune("flood", "--target", standing["syslog"], "--count", 5000, folder=tmp_path)
    assert flooded.code == 0, flooded.err
    client = EngineClient(str(standing["url"]))
    deadline = time.monotonic() + 20
    while indexed(client, str(standing["index"])) < 5000 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert indexed(client, str(standing["index"])) == 5000


def test_a_second_one_is_refused_and_status_finds_the_first(
    standing: dict[str, object], tmp_path: Path
) -> None:
    again = tune("lab", "up", folder=tmp_path)
    assert again.code == 1
    assert str(standing["url"]) in again.err
    status = tune("lab", "status", folder=tmp_path)
    assert status.code == 0
    assert str(standing["url"]) in status.out


def test_an_interrupted_measurement_used_it_and_leaves_it_up(
    standing: dict[str, object], tmp_path: Path
) -> None:
    done = tune_and_signal("bench", DEFAULT, "--no-freshness", folder=tmp_path,
                           number=signal.SIGINT, after_line="warming up the engine")  # fmt: skip
    assert done.code == 130, done.err
    assert f"using the running lab at {standing['url']}" in done.err
    assert psutil.pid_exists(pid(standing, "engine"))
    assert psutil.pid_exists(pid(standing, "rsyslogd"))


@pytest.mark.full
def test_a_whole_measurement_uses_it_and_leaves_it_up(
    standing: dict[str, object], tmp_path: Path
) -> None:
    done = tune("bench", DEFAULT, "--window", "3s", "--repeat", 1, "--no-freshness",
                folder=tmp_path)  # fmt: skip
    assert done.code == 0, done.err
    assert f"using the running lab at {standing['url']}" in done.err
    assert psutil.pid_exists(pid(standing, "engine"))
    assert psutil.pid_exists(pid(standing, "rsyslogd"))


def test_down_ends_its_processes(standing: dict[str, object], tmp_path: Path) -> None:
    assert tune("lab", "down", folder=tmp_path).code == 0
    for name in ("engine", "rsyslogd"):
        number = pid(standing, name)
        gone = not psutil.pid_exists(number)
        assert gone or psutil.Process(number).status() == psutil.STATUS_ZOMBIE
    assert tune("lab", "status", folder=tmp_path).code == 1
