"""Where `rsyslog-tune flood` sends to, as a user asks for it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.here import here
from tests.flood.receiver import Receiver
from tests.flood.test_transports import relp, serving, udp, wait
from tuner.cli.traffic import flood_command
from tuner.flood.spec import Credentials, Transport

COMMAND = str(Path(sys.executable).with_name("rsyslog-tune"))


def flood(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [COMMAND, "flood", "--count", "500", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_help_names_every_transport() -> None:
    done = flood("--help")
    assert done.returncode == 0
    for word in ("tcp", "tls", "udp", "unix", "file", "relp", "--target", "--ca"):
        assert word in done.stdout


def test_udp_and_relp_reach_a_port() -> None:
    with udp() as (target, receiver):
        done = flood("--transport", "udp", "--target", target, "--output", "json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["sent"] == 500
        assert wait(lambda: len(receiver.kept) == 500)
    kept: list[bytes] = []
    with serving(relp(kept)) as target:
        done = flood("--transport", "relp", "--port", target.partition(":")[2])
    assert done.returncode == 0, done.stderr
    assert len(kept) == 500


def test_a_file_gets_lines_without_a_header(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    done = flood("--transport", "file", "--target", log)
    assert done.returncode == 0, done.stderr
    lines = log.read_text(encoding="ascii").splitlines()
    assert len(lines) == 500
    assert all(line.startswith("run=") for line in lines)


def test_a_socket_gets_what_syslog_writes(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(str(path))
        done = flood("--transport", "unix", "--target", path, "--count", 5)
        assert done.returncode == 0, done.stderr
        header, _, rest = bound.recv(65536).decode().partition(": ")
    assert len(header.partition(">")[2].split(" ", 3)[3].split()) <= 2
    assert rest.startswith("run=")


def test_targets_are_flooded_in_turn() -> None:
    with Receiver() as first, Receiver() as second:
        done = flood(
            "--target", f"127.0.0.1:{first.port}", "--target", f"127.0.0.1:{second.port}",
            "--connections", 4,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert sorted(first.numbers() + second.numbers()) == list(range(500))
        assert (len(first.streams), len(second.streams)) == (2, 2)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 64, "give either --port or --target"),
        (("--port", 9, "--target", "127.0.0.1:9"), 64, "either --port or --target"),
        (("--transport", "unix", "--port", 9), 64, "unix needs a path: use --target PATH"),
        (("--transport", "udp", "--target", "/run/s"), 64, "/run/s is not HOST:PORT"),
        (("--transport", "file", "--target", "app.log"), 64, "app.log is not an absolute path"),
        (("--target", "127.0.0.1:9", "--ca", __file__), 64, "tcp is not encrypted"),
        (("--transport", "udp", "--port", 9, "--framing", "octet-counted"), 64,
         "framing octet-counted does not go with udp"),
        (("--transport", "tls", "--port", 9, "--key", __file__), 64, "go together"),
        (("--transport", "sctp", "--port", 9), 64, "sctp"),
        (("--target", "192.0.2.1:514"), 5, "192.0.2.1 is not local and not in allow-targets"),
        (("--transport", "unix", "--target", "/nowhere/s"), 1, "no such file"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_sentence(
    arguments: tuple[object, ...], code: int, said: str
) -> None:
    done = here("flood", "--count", 500, *arguments)
    assert done.code == code, done.err
    assert said in " ".join(done.err.split())
    assert "Traceback" not in done.err


def test_the_command_of_a_lab_is_one_that_this_understands() -> None:
    ours = Credentials("/lab dir/ca.pem", "/c.pem", "/k.pem")
    assert flood_command(Transport(("127.0.0.1:1",))) == "rsyslog-tune flood --target 127.0.0.1:1"
    assert flood_command(Transport(("127.0.0.1:1", "127.0.0.1:2"), "tls", ours)) == (
        "rsyslog-tune flood --transport tls --target 127.0.0.1:1 --target 127.0.0.1:2 "
        "--ca '/lab dir/ca.pem' --certificate /c.pem --key /k.pem"
    )
