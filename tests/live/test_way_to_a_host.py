"""From a configuration that a host runs to the host itself: every command of that way, in turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.conftest import QUICK, Done, tune
from tests.live.hosts import NEEDS_HOSTS, SshHost, hosts, inventory, passed
from tuner.lab.sink import Sink

pytestmark = [pytest.mark.live, pytest.mark.full, NEEDS_HOSTS]

CONFIGURATIONS = Path(__file__).with_name("configurations")


@pytest.fixture
def host(tmp_path: Path, nothing_left_behind: None) -> Iterator[SshHost]:
    """A host with a /dev of its own, as Debian's configuration makes /dev/log."""
    with hosts(tmp_path / "hosts", "collector") as (one,):
        above, work = tmp_path / "dev", tmp_path / "dev-work"
        above.mkdir()
        work.mkdir()
        layers = f"lowerdir=/dev,upperdir={above},workdir={work}"
        passed(one.run("mount", "-t", "overlay", "own", "-o", layers, "/dev"))
        yield one


@pytest.mark.parametrize("name", ["debian-12", "manual-3"])
def test_what_a_host_runs_is_imported_tuned_and_brought_back(
    name: str, host: SshHost, tmp_path: Path
) -> None:
    def step(code: int, *words: object) -> Done:
        done = tune(*words, folder=tmp_path, command=QUICK)
        assert done.code == code, done.out + done.err
        assert "Traceback" not in done.err
        return done

    with Sink() as sink, host.sees(sink.url):
        text = (CONFIGURATIONS / f"{name}.conf").read_text(encoding="utf-8")
        here = text.replace("9200", str(sink.port)).replace("myserver.local", "localhost")
        host.write("/etc/rsyslog.conf", here)
        passed(host.run("systemctl", "restart", "rsyslog"))
        known = inventory(tmp_path / "hosts.yaml", collector=host)
        there: tuple[str | Path, ...] = ("--inventory", known)
        step(0, "import", "--host", "collector", *there, "-o", "p.yaml")
        step(0, "search", "p.yaml", "--engine", "sink", "--budget", "60s", "--run-dir", "run")
        assert step(2, "diff", "p.yaml", "run/best.yaml").out
        step(0, "validate", "run/best.yaml")
        step(0, "render", "run/best.yaml", "-o", "rendered")
        measured = ("--engine", "sink", "--pairs", 6, "--window", "2s", "--no-freshness")
        step(0, "compare", "p.yaml", "run/best.yaml", *measured)
        # Without base.template nothing says what the engine should have.
        step(5, "verify", "run/best.yaml", *there, "--elasticsearch", sink.url)
        step(2, "verify", "run/best.yaml", *there)
        step(0, "apply", "run/best.yaml", *there, "--yes")
        step(0, "verify", "run/best.yaml", *there)
