"""F12: a host that is cut off in the midst of an apply restores itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.live.conftest import COMMAND
from tests.live.hosts import NEEDS_HOSTS, hosts
from tests.live.test_apply import STEPS, Site
from tests.safety.scorecard import LATE_S, control, row
from tuner.host.process import wait_until

pytestmark = [pytest.mark.live, pytest.mark.full, NEEDS_HOSTS]
_PATIENCE_S = 120


@pytest.fixture
def remote(site: Path) -> Iterator[Site]:
    with hosts(site / "hosts", "collector1") as (host,):
        yield Site(site, collector1=host)


def cut_off(remote: Site, step: str) -> tuple[int, str]:
    """Apply, to be confirmed, with the network gone from that step on: how it ended, and the last
    line that it said."""
    flag = remote.folder / "cut"
    remote.host.at_step(STEPS.index(step) + 1, flag)
    with subprocess.Popen(
        [*COMMAND, *remote.words, "--confirm-within", "4s"],
        env={**os.environ, **remote.environment}, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert wait_until(flag.exists, _PATIENCE_S)
        remote.host.cut()
        flag.unlink()
        err = process.communicate(timeout=_PATIENCE_S)[1]
    return process.returncode, err


@row("F12")
@pytest.mark.parametrize("step", ["its content", "applied"])
def test_f12_a_host_that_is_cut_off_restores_itself(
    remote: Site, step: str, run: int, record_property: Callable[[str, object], None]
) -> None:
    before = remote.host.tree()
    code, err = cut_off(remote, step)
    assert (code, "collector1 cannot be reached" in err) == (4, True), err
    assert "rsyslog-tune recover tries again" in err
    record_property(LATE_S, remote.host.require_restored(before))
    remote.host.heal()
    done = remote.tune("recover")
    assert (done.code, "nothing is under way there" in done.out) == (0, True), done
    assert remote.tune("recover").out == "no unfinished apply was started from this machine\n"
    assert remote.nothing_left()


@control("F12")
def test_control_f12(remote: Site) -> None:
    """A host whose timer does not start."""
    before = remote.host.tree()
    remote.host.program("setsid", "exit 0")
    cut_off(remote, "applied")
    with pytest.raises(AssertionError, match="no timer restored it"):
        remote.host.require_restored(before, 1)
    remote.host.heal()
    assert remote.tune("recover").code == 0
    assert remote.host.tree() == before
