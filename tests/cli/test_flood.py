"""`rsyslog-tune flood` as a user calls it, against a receiver."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.cli.here import here
from tests.flood.receiver import Receiver

COMMAND = str(Path(sys.executable).with_name("rsyslog-tune"))


def flood(port: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [COMMAND, "flood", "--port", str(port), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_kept_pace_is_reported_in_json() -> None:
    with Receiver() as receiver:
        done = flood(receiver.port, "--count", 1000, "--rate", 2000, "--output", "json")
        assert receiver.numbers() == list(range(1000))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["sent"] == report["offered"] == 1000
    assert report["max_late_s"] >= 0
    assert report["kept_pace"] is (report["late"] <= 10)
    assert report["achieved_per_second"] == pytest.approx(2000, rel=0.2)
    assert 0 < report["cpu_share"] < 1


def test_as_fast_as_it_goes_promises_no_pace() -> None:
    with Receiver() as receiver:
        done = flood(receiver.port, "--count", 5000, "--output", "json")
    report = json.loads(done.stdout)
    assert (report["offered"], report["late"], report["kept_pace"]) == (None, None, None)


def test_formats_framing_sizes_and_seed_reach_the_wire() -> None:
    received = []
    for _ in range(2):
        with Receiver() as receiver:
            done = flood(
                receiver.port, "--count", 2000, "--connections", 1, "--format", "rfc5424",
                "--framing", "octet-counted", "--distribution", "lognormal", "--min-bytes", 137,
                "--max-bytes", 2133, "--message-bytes", 400, "--seed", 9,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            assert receiver.numbers() == list(range(2000))
            received.append(bytes(receiver.streams[0]))
    lengths = []
    for data in received:
        left = data
        while left:
            length, _, rest = left.partition(b" ")
            lengths.append(int(length))
            assert rest[: lengths[-1]].split(b" ")[0].endswith(b">1")
            left = rest[lengths[-1] :]
    assert sum(lengths) == 400 * 4000
    assert lengths[:2000] == lengths[2000:]


def test_a_file_is_replayed(tmp_path: Path) -> None:
    log = tmp_path / "own.log"
    log.write_text("one of mine\nanother of mine\n")
    with Receiver() as receiver:
        done = flood(receiver.port, "--count", 4, "--connections", 1, "--replay", log)
        lines = bytes(receiver.streams[0]).decode().splitlines()
    assert done.returncode == 0, done.stderr
    assert [line.partition(" seq=")[2][13:] for line in lines] == [
        "one of mine",
        "another of mine",
    ] * 2


def test_a_pace_that_was_not_kept_is_said_plainly() -> None:
    with Receiver() as receiver:
        done = flood(receiver.port, "--count", 2_000_000, "--rate", 200_000_000)
    assert done.returncode == 0, done.stderr
    assert "The rate was not kept: " in done.stdout
    assert "of 2,000,000 messages were more than 50 ms late, by up to " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 64, "--count is missing"),
        (("--count", 5, "--distribution", "lognormal"), 64, "lognormal sizes need min and max"),
        (("--count", 5, "--replay", "/nowhere.log"), 64, "nowhere.log"),
        (("--count", 5, "--replay", "/dev/null"), 1, "/dev/null, the file to replay, has no lines"),
        (("--count", 5, "--runs", "3"), 64, "use N:PAUSE"),
    ],
)
def test_wrong_options_are_one_sentence(
    arguments: tuple[object, ...], code: int, said: str
) -> None:
    done = here("flood", "--port", 9, *arguments)
    assert done.code == code
    assert said in done.err
    assert "Traceback" not in done.err


def test_on_a_cluster_the_file_to_replay_is_that_of_each_load_host() -> None:
    words = ("--cluster", "--target", "127.0.0.1:9", "--count", 5, "--replay", "some.log")
    done = here("flood", *words)
    assert done.code == 64
    assert "--replay some.log: with --cluster an absolute path" in done.err


@pytest.mark.parametrize("options", [["--rate", "1000"], ["--runs", "2:60"], ["--burst", "1:60"]])
def test_ctrl_c_ends_it_long_before_its_messages_and_leaves_nothing(options: list[str]) -> None:
    with Receiver() as receiver:
        count = ["--count", "1000000"] if options[0] == "--rate" else ["--count", "10"]
        command = [COMMAND, "flood", "--port", str(receiver.port), *count, *options]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            deadline_s = time.monotonic() + 30
            while not receiver.numbers() and time.monotonic() < deadline_s:
                time.sleep(0.02)
            children = psutil.Process(process.pid).children()
            process.send_signal(signal.SIGINT)
            process.wait(10)
            assert process.stderr is not None
            assert "interrupted" in process.stderr.read()
        assert process.returncode == 130
        assert len(children) == 1
        assert not children[0].is_running()
