"""F23: what nobody allowed gets not one packet."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.live.conftest import COMMAND
from tests.safety.invariants import require_one_cause
from tests.safety.scorecard import control, row
from tests.safety.searches import tune, unguarded

pytestmark = [
    pytest.mark.live,
    pytest.mark.full,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("ip") is None, reason="root makes a network, with ip(8)"
    ),
]

# A network of its own, whose only way out counts what goes there.
NETWORK = """\
ip link set lo up
ip link add v0 type veth peer name v1
sysctl -qw net.ipv6.conf.v0.disable_ipv6=1 net.ipv6.conf.v1.disable_ipv6=1
ip addr add 192.0.2.2/24 dev v0
ip link set v0 up
ip link set v1 up
ip route add default via 192.0.2.1
ip neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 dev v0
"$@"
code=$?
grep v0: /proc/net/dev > packets
exit $code
"""
SENT = 10  # of the numbers in a line of /proc/net/dev: packets sent
FLOOD = ("flood", "--count", "10", "--target")
SEARCH = ("search", "--budget", "5m", "--elasticsearch")
BENCH = ("bench", str(Path(__file__).parents[2] / "profiles" / "default.yaml"), "--elasticsearch")
CASES = (
    (FLOOD, "192.0.2.1:514", 5),
    (FLOOD, "logs.example.org:514", 5),
    (FLOOD, "localhost.example.org:514", 5),
    (FLOOD, "0.0.0.0:514", 5),
    (FLOOD, "[::ffff:192.0.2.1]:514", 5),
    ((*FLOOD[:-1], "--transport", "udp", "--target"), "192.0.2.1:514", 5),
    ((*FLOOD[:-1], "--transport", "relp", "--target"), "192.0.2.1:2514", 5),
    (SEARCH, "http://192.0.2.1:9200", 5),
    (SEARCH, "http://es.example.org:9200", 5),
    (SEARCH, "http://127.0.0.1.example.org:9200", 5),
    (SEARCH, "http://3221225985:9200", 5),
    (SEARCH, "http://127.0.0.1@192.0.2.1:9200", 64),
    (BENCH, "https://192.0.2.1:9200", 5),
    (BENCH, "http://[2001:db8::1]:9200", 5),
)


def aimed(
    site: Path, arguments: tuple[str, ...], code: int, command: tuple[str, ...] = COMMAND
) -> None:
    """The exit code and a cause, and nothing on the wire."""
    alone = ("unshare", "--net", "sh", "-c", NETWORK, "sh")
    done = tune(site, *arguments, command=(*alone, *command))
    counted = re.findall(r"\d+", (site / "packets").read_text("ascii").partition(":")[2])
    packets = int(counted[SENT - 1])
    assert packets == 0, f"{packets} packets were sent"
    require_one_cause(done.code, code, done.err, "rsyslog-tune: ")
    assert not (site / "rsyslog-tune-runs").exists()


@row("F23")
@pytest.mark.parametrize(("arguments", "target", "code"), CASES, ids=str)
def test_f23_a_target_that_is_not_allowed_is_refused(
    site: Path, arguments: tuple[str, ...], target: str, code: int, run: int
) -> None:
    aimed(site, (*arguments, target), code)


@control("F23")
def test_control_f23(site: Path) -> None:
    arguments = ("flood", "--count", "10", "--transport", "udp", "--target", "192.0.2.1:514")
    with pytest.raises(AssertionError, match="packets were sent"):
        aimed(site, arguments, 5, unguarded("allow_every_target"))
