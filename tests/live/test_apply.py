"""apply, confirm and recover over a real ssh, with a real rsyslogd."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.live.conftest import COMMAND, Done
from tests.live.hosts import NEEDS_HOSTS, SshHost, hosts, inventory, passed
from tests.live.test_fragment import awaited
from tests.profile.examples import SMALL
from tests.safety.scorecard import LATE_S, control, row
from tuner.cli.commands import app
from tuner.errors import TuneError
from tuner.host.process import wait_until
from tuner.lab.entrances import free_ports
from tuner.profile.edit import edit

RUN = CliRunner()
Record = Callable[[str, object], None]
pytestmark = [pytest.mark.live, NEEDS_HOSTS]
# The first of them is run by `make test`.
_ROLLBACKS = int(os.environ.get("RSYSLOG_TUNE_ROLLBACKS", "3"))
RUNS = [0, *(pytest.param(run, marks=pytest.mark.full) for run in range(1, _ROLLBACKS))]
SYSTEMD = shutil.which("systemd-analyze")
# A wait of the tests, for what comes by itself.
_PATIENCE_S = 120


class Site:
    """A controller's folder with a profile and an inventory of one host or several."""

    def __init__(self, folder: Path, **hosts: SshHost) -> None:
        self.folder, self.hosts = folder, hosts
        self.host = next(iter(hosts.values()))
        self.inventory = inventory(folder / "hosts.yaml", **hosts)
        self.profile = folder / "prod.yaml"
        self.environment = {"XDG_STATE_HOME": str(folder / "mine")}
        self.write()

    def write(self, changes: dict[str, object] | None = None) -> None:
        """The profile, with an output that needs no engine."""
        plain: dict[str, object] = {
            "inputs[0].port": free_ports(1),
            "outputs": [{"name": "all", "type": "omfile", "file": f"{self.folder}/all.log"}],
        }
        self.write_plain(plain | (changes or {}))

    def write_plain(self, changes: dict[str, object]) -> None:
        """The small profile with changes."""
        self.profile.write_text(edit(SMALL, changes), encoding="utf-8")

    def tune(self, *words: object) -> Done:
        """A command, in this process."""
        done = RUN.invoke(app, [*map(str, words)], env=self.environment)
        error = done.exception
        code = error.exit_code if isinstance(error, TuneError) else done.exit_code
        return Done(code, done.stdout, f"{done.stderr}{error or ''}")

    @property
    def words(self) -> list[str]:
        return [
            "apply", str(self.profile), "--inventory", str(self.inventory), "--take-over", "--yes"
        ]  # fmt: skip

    def apply(self, *more: object) -> Done:
        return self.tune(*self.words, *more)

    def killed(self, *more: str, command: Sequence[str] = COMMAND) -> int:
        """The same in a process of its own, which is killed once the file `kill` is there; how it
        ended."""
        process = subprocess.Popen(
            [*command, *self.words, *more],
            cwd=self.folder, env={**os.environ, **self.environment},
        )  # fmt: skip
        sign = self.folder / "kill"
        assert wait_until(lambda: sign.exists() or process.poll() is not None, _PATIENCE_S)
        process.kill()
        process.wait()
        sign.unlink(missing_ok=True)
        return process.returncode

    def nothing_left(self) -> bool:
        return not list(self.folder.glob("mine/**/*.jsonl")) and not any(
            host.is_pending() for host in self.hosts.values()
        )


@pytest.fixture
def site(tmp_path: Path, nothing_left_behind: None) -> Iterator[Site]:
    with hosts(tmp_path / "hosts", "collector1") as (host,):
        yield Site(tmp_path, collector1=host)


def test_a_profile_is_applied_once_and_then_nothing_is_left_to_do(site: Site) -> None:
    before, pid = site.host.tree(), site.host.pid
    shown = site.apply("--diff")
    assert shown.code == 2, shown.err
    assert '+module(load="imptcp"' in shown.out
    assert site.apply("--check").code == 2
    assert site.host.tree() == before
    done = site.apply()
    assert done.code == 0, done.err
    mode, owner, group, content = site.host.tree()[str(site.host.conf)]
    assert (mode & 0o777, owner, group) == (0o640, 0, 4), "as the file before"
    assert b"Rendered by rsyslog-tune" in content
    assert site.host.pid != pid
    again = site.apply()
    assert (again.code, again.out) == (0, ""), again.err
    assert "nothing to do: collector1" in again.err
    assert site.host.restarts == 1
    assert site.nothing_left()


def test_a_fragment_leaves_the_hosts_own_configuration_alone(site: Site) -> None:
    before = site.host.tree()
    done = site.tune("apply", site.profile, "--inventory", site.inventory, "--yes", "--fragment")
    assert done.code == 0, done.err
    after = site.host.tree()
    (new,) = after.keys() - before.keys()
    assert new.endswith("/rsyslog.d/small.conf")
    assert {path: after[path] for path in before} == before
    passed(site.host.run("logger", "--socket", "/run/devlog", "own"))
    awaited(site.host.path("/var/log/messages"), " own")


def test_a_saved_plan_does_exactly_what_it_shows_or_nothing(site: Site) -> None:
    assert site.apply("--plan-out", site.folder / "plan.json").code == 0
    planned = json.loads((site.folder / "plan.json").read_text(encoding="utf-8"))
    site.write({"name": "other"})
    done = site.tune("apply", site.folder / "plan.json", "--yes")
    assert done.code == 0, done.err
    assert site.host.conf.read_text() == planned["hosts"][0]["candidate"]["files"][0][1]
    refused = site.tune("apply", site.folder / "plan.json", "--yes")
    assert (refused.code, "changed since the plan" in refused.err) == (5, True), refused.err


@row("F22")
@pytest.mark.parametrize("run", RUNS)
def test_a_configuration_that_its_rsyslogd_refuses_is_rolled_back(site: Site, run: int) -> None:
    before, pid = site.host.tree(), site.host.pid
    site.host.program("rsyslogd", _REFUSING)
    done = site.apply()
    assert (done.code, "rejects the configuration: it is Monday" in done.err) == (1, True), done
    assert site.host.tree() == before
    assert site.host.pid == pid, "rsyslogd was left alone"
    assert site.nothing_left()


# Refuses to read anything; starts as ever.
_REFUSING = """\
case "$1" in
-N1) echo "it is Monday" >&2; exit 1 ;;
*) exec /usr/sbin/rsyslogd "$@" ;;
esac
"""


@pytest.mark.full
@row("F22")
@pytest.mark.parametrize("run", RUNS)
def test_a_configuration_that_opens_no_port_is_rolled_back(site: Site, run: int) -> None:
    """rsyslogd accepts an address that the host does not have, and runs on without the input."""
    before, pid = site.host.tree(), site.host.pid
    site.write({"inputs[0].address": "192.0.2.77"})
    done = site.apply()
    assert (done.code, "does not listen on tcp:" in done.err) == (1, True), done
    assert site.host.tree() == before
    assert site.host.pid != pid
    assert site.nothing_left()


@row("F22")
@pytest.mark.parametrize("run", RUNS)
def test_hosts_restore_themselves_when_nobody_confirms(
    site: Site, run: int, record_property: Record
) -> None:
    """Every other time it is a file that was not there before."""
    before = site.host.tree()
    done = site.apply("--confirm-within", "3s", *(["--fragment"] if run % 2 else []))
    assert done.code == 0, done.err
    assert "waiting to be confirmed" in done.out
    record_property(LATE_S, site.host.require_restored(before))
    late = site.tune("confirm")
    assert (late.code, "restored already" in late.err) == (1, True), late.err
    assert site.tune("recover").code == 0
    assert site.nothing_left()


@pytest.mark.full
@control("F22")
def test_control_f22(site: Site) -> None:
    """A host whose timer does not start."""
    before = site.host.tree()
    site.host.program("setsid", "exit 0")
    assert site.apply("--confirm-within", "1s").code == 0
    with pytest.raises(AssertionError, match="no timer restored it"):
        site.host.require_restored(before, 5)
    assert site.tune("recover").code == 0
    assert (site.host.tree(), site.nothing_left()) == (before, True)


def test_what_is_confirmed_stays(site: Site) -> None:
    assert site.apply("--confirm-within", "1h").code == 0
    applied, restarts = site.host.tree(), site.host.restarts
    timer = int((site.host.deployed / "pending/timer").read_text())
    assert site.host.is_alive(timer)
    locked = site.apply()
    assert (locked.code, "unfinished change" in locked.err) == (75, True), locked.err
    assert site.tune("confirm").code == 0
    assert not site.host.is_alive(timer)
    assert (site.host.tree(), site.host.restarts) == (applied, restarts)
    assert site.nothing_left()
    assert site.tune("confirm").code == 1


@row("F22")
@pytest.mark.parametrize("run", RUNS)
def test_a_killed_controller_leaves_a_host_that_restores_itself(
    site: Site, run: int, record_property: Record
) -> None:
    before = site.host.tree()
    site.host.at_step(STEPS.index("applied") + 1, site.folder / "kill")
    assert site.killed("--confirm-within", "2s") == -signal.SIGKILL
    record_property(LATE_S, site.host.require_restored(before))
    assert site.tune("recover").code == 0
    assert site.tune("recover").out == "no unfinished apply was started from this machine\n"
    assert (site.host.tree(), site.nothing_left()) == (before, True)


STEPS = ("stage", "backup", "arm", "replace", "its content", "restart", "applied")


@pytest.mark.full
@pytest.mark.parametrize("step", [*STEPS, "kept"])
def test_recover_after_a_kill_at_each_step_on_the_host(site: Site, step: str) -> None:
    """Both ends are killed.  What was noted as kept is the only step that is finished instead."""
    before = site.host.tree()
    kept = step == "kept"
    at = len(STEPS) if kept else STEPS.index(step) + 1
    site.host.at_step(at, site.folder / "kill", "kill -9 $PPID")
    assert site.killed(*(() if kept else ("--confirm-within", "1h"))) == -signal.SIGKILL
    assert site.host.is_pending()
    done = site.tune("recover")
    assert done.code == 0, done.err
    after = site.host.tree()
    assert (after != before) if kept else (after == before)
    assert site.tune("recover").out == "no unfinished apply was started from this machine\n"
    assert (site.host.tree(), site.nothing_left()) == (after, True)


# Kills itself when it has written the Nth line of its journal.
DYING = """\
import os, signal, sys
real, left = os.fsync, [int(sys.argv.pop(1))]
def fsync(handle):
    real(handle)
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
os.fsync = fsync
from tuner.cli.main import main
main()
"""


@pytest.mark.full
@pytest.mark.parametrize("line", ["beginning", "host"])
def test_recover_after_a_kill_at_each_line_of_the_journal(site: Site, line: str) -> None:
    before = site.host.tree()
    number = str(["beginning", "host"].index(line) + 1)
    command = (sys.executable, "-c", DYING, number)
    assert site.killed(command=command) == -signal.SIGKILL
    blocked = site.apply()
    assert (blocked.code, "did not end: rsyslog-tune recover" in blocked.err) == (75, True)
    assert site.tune("recover").code == 0
    assert site.host.tree() == before
    assert site.tune("recover").out == "no unfinished apply was started from this machine\n"
    assert (site.host.tree(), site.nothing_left()) == (before, True)


# Takes its time to read a configuration.
_SLOW = """\
[ "$1" != -N1 ] || {{ touch {folder}/reading; sleep 2; }}
exec /usr/sbin/rsyslogd "$@"
"""


@pytest.mark.full
def test_ctrl_c_in_the_midst_restores_the_host(site: Site) -> None:
    """The script there goes on without its connection; what it still does is undone after it."""
    before = site.host.tree()
    site.host.program("rsyslogd", _SLOW.format(folder=site.host.folder))
    command = [*COMMAND, *site.words]
    environment = {**os.environ, **site.environment}
    process = subprocess.Popen(command, cwd=site.folder, env=environment)
    assert wait_until((site.host.folder / "reading").exists, _PATIENCE_S)
    process.send_signal(signal.SIGINT)
    assert process.wait(_PATIENCE_S) == 130
    assert (site.host.tree(), site.nothing_left()) == (before, True)


def require_sound_units(host: SshHost, timer: str) -> None:
    """systemd has nothing to say against a timer and its service, and would say it if it had."""
    paths = [f"/run/systemd/transient/{Path(timer).stem}.{kind}" for kind in ("timer", "service")]
    assert verified(host, paths) == ""
    for path, right, wrong in zip(paths, ("Accuracy", "/bin/"), ("Acuracy", "/no/"), strict=True):
        text = host.path(path).read_text(encoding="utf-8")
        host.write(path, text.replace(right, wrong))
        assert wrong in verified(host, paths)
        host.write(path, text)


def verified(host: SshHost, units: Sequence[str]) -> str:
    """What systemd says of units; it succeeds even where it ignores what it does not know."""
    done = host.run(str(SYSTEMD), "verify", *units)
    return done.stdout + done.stderr


@pytest.mark.full
@pytest.mark.skipif(SYSTEMD is None, reason="make managers")
@pytest.mark.parametrize("confirms", [True, False])
def test_a_host_with_systemd_has_unit_and_timer(site: Site, confirms: bool) -> None:
    before = site.host.tree()
    every = json.loads(site.inventory.read_text())
    every["hosts"]["collector1"]["service"] = {"unit": "rsyslog.service"}
    site.inventory.write_text(json.dumps(every))
    site.host.with_timers()
    done = site.apply("--confirm-within", "1h" if confirms else "3s")
    assert done.code == 0, done.err
    if confirms:
        (unit,) = site.host.path("/run").glob("rsyslog-tune-restore-*.timer")
        timer = int(unit.read_text())
        require_sound_units(site.host, unit.name)
        assert site.host.is_alive(timer)
        assert site.tune("confirm").code == 0
        assert not site.host.is_alive(timer)
        assert b"Rendered by rsyslog-tune" in site.host.conf.read_bytes()
    else:
        site.host.require_restored(before)
        assert site.tune("recover").code == 0
    assert site.nothing_left()


UNIT = "/etc/systemd/system/rsyslog-tune-restore.service"
WANTED = "/etc/systemd/system/multi-user.target.wants/rsyslog-tune-restore.service"


def test_a_host_that_starts_anew_before_anybody_confirms_restores_itself(site: Site) -> None:
    """A boot ends its timer; what systemd starts then is in a unit."""
    before = site.host.tree()
    site.host.path("/run/systemd/system").mkdir(parents=True)
    assert site.apply("--confirm-within", "1h").code == 0
    unit = site.host.path(UNIT)
    assert unit.is_file()
    assert str(site.host.path(WANTED).readlink()) == UNIT
    if SYSTEMD is not None:
        assert verified(site.host, [UNIT]) == ""
    timer = int((site.host.deployed / "pending/timer").read_text())
    passed(site.host.run("kill", "-KILL", "--", f"-{timer}", str(site.host.pid)))
    assert wait_until(lambda: not site.host.is_alive(timer), _PATIENCE_S)
    passed(site.host.run("systemctl", "restart", "rsyslog"))
    (start,) = re.findall(r"^ExecStart=(.*)$", unit.read_text(encoding="utf-8"), re.MULTILINE)
    passed(site.host.run("sh", "-c", start))
    assert (site.host.tree(), site.host.is_pending()) == (before, False)
    assert not unit.exists()
    assert not site.host.path(WANTED).is_symlink()
    assert site.tune("recover").code == 0
    assert site.apply("--confirm-within", "1h").code == 0
    assert site.tune("confirm").code == 0
    assert not unit.exists()
    assert site.nothing_left()


FULL = """
    cp -a /etc /run/etc
    mount -t tmpfs -o size=64m,mode=0755 tmpfs /etc
    cp -a /run/etc/. /etc/
    mkdir -p /var/lib/rsyslog-tune
    mount -t tmpfs -o size=1m,mode=0700 tmpfs /var/lib/rsyslog-tune
"""


def test_a_host_whose_disks_fill_up_before_anybody_confirms_restores_itself(site: Site) -> None:
    passed(site.host.run("sh", "-ec", FULL))
    before = site.host.tree()
    assert site.apply("--confirm-within", "3s").code == 0
    for folder in ("/etc", "/var/lib/rsyslog-tune"):
        site.host.run("sh", "-c", f"cat /dev/zero >{folder}/full")
        assert site.host.run("sh", "-c", f"echo more >{folder}/more").returncode != 0
    site.host.require_restored(before)
    assert not [*site.host.path("/etc").glob(".rsyslog-tune*")]
    passed(site.host.run("rm", "/etc/full", "/var/lib/rsyslog-tune/full"))
    assert site.tune("recover").code == 0
    assert site.nothing_left()


@pytest.mark.full
@pytest.mark.parametrize("all_or_none", [False, True])
def test_a_wave_stops_at_the_first_host_that_refuses(tmp_path: Path, all_or_none: bool) -> None:
    names = ("one", "two", "three")
    with hosts(tmp_path / "hosts", *names) as every:
        site = Site(tmp_path, **dict(zip(names, every, strict=True)))
        before = [host.tree() for host in every]
        every[1].program("rsyslogd", _REFUSING)
        done = site.apply(*(["--all-or-none"] if all_or_none else []))
        assert done.code == 1, done.err
        assert "two: its rsyslogd rejects the configuration: it is Monday" in done.err
        first = "restored" if all_or_none else "applied"
        assert done.out.split("\n")[:3] == [
            f"{first:<9}  one", "restored   two", "not begun  three"
        ]  # fmt: skip
        after = [host.tree() for host in every]
        assert after[1:] == before[1:]
        assert (after[0] == before[0]) is all_or_none
        assert [host.restarts for host in every] == [2 if all_or_none else 1, 0, 0]
        assert site.nothing_left()


@pytest.mark.full
def test_a_finished_apply_is_undone_on_every_host_that_has_it(tmp_path: Path) -> None:
    """Two hosts over ssh; an undo that nobody confirms is itself undone by the hosts' timers."""
    with hosts(tmp_path / "hosts", "one", "two") as both:
        site = Site(tmp_path, **dict(zip(("one", "two"), both, strict=True)))
        before, pids = [host.tree() for host in both], [host.pid for host in both]
        assert site.apply().code == 0
        after = [host.tree() for host in both]
        shown = site.tune("recover", "--previous")
        assert (shown.code, "-# Rendered by rsyslog-tune" in shown.out) == (5, True), shown
        done = site.tune(
            "recover", "--previous", "--yes", "--serial", "2", "--confirm-within", "3s"
        )
        assert done.code == 0, done.err
        for host, applied in zip(both, after, strict=True):
            host.require_restored(applied)
        assert site.tune("recover").code == 0
        assert [host.tree() for host in both] == after
        done = site.tune("recover", "--previous", "--inventory", site.inventory, "--yes")
        assert done.code == 0, done.err
        assert [host.tree() for host in both] == before
        assert not set(pids) & {host.pid for host in both}, "with an rsyslogd that read it"
        passed(both[1].run("logger", "--socket", "/run/devlog", "own"))
        awaited(both[1].path("/var/log/messages"), " own")
        assert site.nothing_left()


INPUT = 'module(load="imtcp")\ninput(type="imtcp" address="127.0.0.1" port="{port}")\n'
KEPT = 'action(type="omfile" name="all" file="/var/log/all" queue.type="LinkedList")  # ours\n'


@pytest.fixture
def imported(site: Site) -> Site:
    """A host whose configuration is in two files that differ by a drop-in, and a profile that
    changes both."""
    site.host.write("/etc/rsyslog.d/10-input.conf", INPUT.format(port=free_ports(1)))
    site.host.write("/etc/rsyslog.d/20-all.conf", KEPT)
    site.profile.unlink()
    asked = ("--host", "collector1", "--inventory", site.inventory, "-o", site.profile)
    done = site.tune("import", *asked)
    assert done.code == 0, done.err
    text = site.profile.read_text(encoding="utf-8")
    changes = "changes:\n  action[all].queue.size: 5000\n  main_queue.size: 70000\n"
    site.profile.write_text(f"{text}{changes}", encoding="utf-8")
    return site


def on_top(site: Site, command: str, *more: object) -> Done:
    return site.tune(command, site.profile, "--inventory", site.inventory, *more)


def test_an_imported_host_gets_the_changes_in_its_own_files_and_nothing_else(
    imported: Site,
) -> None:
    site, before = imported, imported.host.tree()
    check = on_top(site, "apply", "--check")
    assert check.code == 2, check.err
    done = on_top(site, "apply", "--yes")
    assert done.code == 0, done.err
    assert (verified := on_top(site, "verify")).code == 0, verified
    after = site.host.tree()
    changed = {path for path in after if after[path] != before.get(path)}
    drop_in = str(site.host.path("/etc/rsyslog.d/20-all.conf"))
    assert changed & {path for path in after if "/etc/" in path} == {str(site.host.conf), drop_in}
    assert (
        after[drop_in][3]
        == KEPT.replace('"LinkedList")', '"LinkedList" queue.size="5000")').encode()
    )
    assert site.nothing_left()
    site.host.write("/etc/rsyslog.d/20-all.conf", KEPT + "*.* /var/log/more\n")
    foreign = on_top(site, "apply", "--yes")
    assert (foreign.code, "in more than the parameters" in foreign.err) == (5, True), foreign


@pytest.mark.full
@pytest.mark.parametrize("step", STEPS)
def test_several_files_are_restored_together_after_a_kill_at_each_step(
    imported: Site, step: str
) -> None:
    """By whoever asks for the host, too, who knows of no files."""
    site, before = imported, imported.host.tree()
    site.host.at_step(STEPS.index(step) + 1, site.folder / "kill", "kill -9 $PPID")
    assert site.killed("--confirm-within", "1h") == -signal.SIGKILL
    shutil.rmtree(site.folder / "mine")
    done = site.tune("recover", "--inventory", site.inventory)
    assert (done.code, "collector1: restored" in done.out) == (0, True), done
    assert (site.host.tree(), site.nothing_left()) == (before, True)


def test_what_others_began_with_a_drop_in_is_restored_there(site: Site) -> None:
    before = site.host.tree()
    assert site.apply("--fragment", "--confirm-within", "1h").code == 0
    shutil.rmtree(site.folder / "mine")
    assert site.tune("recover", "--inventory", site.inventory).code == 0
    assert (site.host.tree(), site.nothing_left()) == (before, True)
