"""The undo of an apply that was finished: on this machine, below a folder, with a service that only
says that it runs."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.deploy.fleet import AFTER, BEFORE, TEMPLATE, Fleet, Holding
from tests.profile.examples import SMALL
from tuner.cli.commands import app
from tuner.deploy.objects import EngineChange
from tuner.deploy.plan import objects_before
from tuner.errors import JobFailed, Locked, Refused
from tuner.profile.edit import edit

INCLUDES = "include(file='{}/conf.d/*.conf')\n"
# Says its release, and reads what it is given unless that is not to be read.
RSYSLOGD = """\
#!/bin/sh
[ "$1" != -v ] || { echo "rsyslogd  8.2302.0 (aka 2023.02)"; exit 0; }
[ "$1" != -N1 ] || ! grep -rqs "not to be read" "$(dirname "$3")" || { echo bad >&2; exit 1; }
"""
# Another process than the one before, which is there.
RESTART = "p={0}/pid; if grep -qx {1} $p; then echo {2} >$p; else echo {1} >$p; fi"


@dataclass(frozen=True)
class Here:
    """This machine, its files below a folder."""

    folder: Path

    @property
    def conf(self) -> Path:
        return self.folder / "conf"

    @property
    def inventory(self) -> Path:
        return self.folder / "hosts.yaml"

    def tune(self, *words: object) -> Result:
        """A command, in this process."""
        return CliRunner().invoke(app, [*map(str, words)])

    def apply(self, *more: object, **changes: object) -> None:
        """The small profile with changes, as a drop-in."""
        plain: dict[str, object] = {
            "inputs": [{"type": "imuxsock", "socket": "/run/x.sock"}],
            "outputs": [{"name": "all", "type": "omfile", "file": "/var/log/all.log"}],
        }
        profile = self.folder / "small.yaml"
        profile.write_text(edit(SMALL, plain | changes), encoding="utf-8")
        hosts = ("--inventory", self.inventory)
        done = self.tune("apply", profile, *hosts, "--take-over", "--yes", *more)
        assert done.exit_code == 0, (done.exception, done.stderr)

    def undo(self, *more: object) -> Result:
        return self.tune("recover", "--previous", "--yes", *more)

    def tree(self) -> dict[str, tuple[str, int]]:
        files = [self.conf, *sorted((self.folder / "conf.d").glob("*"))]
        return {one.name: (one.read_text("utf-8"), one.stat().st_mode) for one in files}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "rsyslogd").write_text(RSYSLOGD, encoding="utf-8")
    (tmp_path / "rsyslogd").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "mine"))
    (tmp_path / "pid").write_text(f"{os.getpid()}\n", encoding="ascii")
    restart = RESTART.format(tmp_path, os.getpid(), os.getppid())
    paths = {"configuration": "conf", "fragments": "conf.d", "state": "state"}
    host = {
        "address": "local://",
        "service": {"restart": ["sh", "-c", restart], "pid_file": f"{tmp_path}/pid"},
        "paths": {name: f"{tmp_path}/{path}" for name, path in paths.items()},
    }
    (tmp_path / "hosts.yaml").write_text(json.dumps({"hosts": {"a": host}}), encoding="utf-8")
    one = Here(tmp_path)
    one.conf.write_text(INCLUDES.format(tmp_path), encoding="utf-8")
    one.conf.chmod(0o640)
    return one


@pytest.mark.parametrize("words", [(), ("--fragment",)], ids=["replaced", "new"])
def test_an_undo_brings_what_was_there_before_and_another_one_what_was_applied(
    here: Here, words: tuple[str, ...]
) -> None:
    before = here.tree()
    here.apply(*words)
    after = here.tree()
    assert after != before
    for expected in (before, after, before):
        done = here.undo()
        assert done.exit_code == 0, (done.exception, done.stderr)
        assert here.tree() == expected
    assert "rsyslogd runs the previous configuration" in done.stderr
    assert not (here.folder / "state/deploy/pending").exists()


def test_a_file_that_tells_a_password_comes_back_for_its_owner_alone(here: Here) -> None:
    action = 'action(type="omelasticsearch" name="es" uid="me" pwd="s3cret" queue.size="2000")'
    (here.folder / "own.conf").write_text(action + "\n", encoding="utf-8")
    profile = here.folder / "prod.yaml"
    changes = "changes: {'action[es].queue.size': 5000}"
    profile.write_text(f"name: prod\nbase: {{rsyslog: own.conf}}\n{changes}\n", encoding="utf-8")
    done = here.tune("apply", profile, "--inventory", here.inventory, "--fragment", "--take-over",
                     "--yes")  # fmt: skip
    assert done.exit_code == 0, (done.exception, done.stderr)
    drop_in = here.folder / "conf.d/own.conf"
    assert here.undo().exit_code == 0
    assert not drop_in.exists()
    assert here.undo().exit_code == 0
    assert 's3cret" queue.size="5000"' in drop_in.read_text("utf-8")
    assert drop_in.stat().st_mode & 0o777 == 0o600


def test_only_the_last_of_several_applies_is_undone(here: Here) -> None:
    here.apply()
    first = here.tree()
    here.apply(**{"outputs[all].file": "/var/log/more.log"})
    assert here.tree() != first
    assert here.undo().exit_code == 0
    assert here.tree() == first


def test_who_is_asked_first_sees_the_difference_and_may_decline(here: Here) -> None:
    here.apply("--fragment")
    applied = here.tree()
    done = here.tune("recover", "--previous")
    assert isinstance(done.exception, Refused)
    assert "+++ /dev/null" in done.stdout
    assert here.tree() == applied


def test_what_somebody_changed_since_is_not_undone(here: Here) -> None:
    here.apply()
    here.conf.write_text("*.* /var/log/x\n", encoding="utf-8")
    done = here.undo()
    assert isinstance(done.exception, Refused)
    assert f"{here.conf} changed since that apply" in str(done.exception)
    assert here.conf.read_text("utf-8") == "*.* /var/log/x\n"
    kept = here.folder / "state/deploy/previous/backup-1"
    assert kept.read_text("utf-8") == INCLUDES.format(here.folder)


def test_what_rsyslogd_does_not_read_any_more_is_not_put_back(here: Here) -> None:
    here.conf.write_text(INCLUDES.format(here.folder) + "# not to be read\n", encoding="utf-8")
    here.apply()
    applied = here.tree()
    done = here.undo()
    assert isinstance(done.exception, JobFailed)
    assert "its rsyslogd rejects the configuration: bad" in str(done.exception)
    assert here.tree() == applied


def test_an_undo_waits_to_be_confirmed_and_is_itself_undone_without_that(here: Here) -> None:
    here.apply()
    applied = here.tree()
    assert here.undo("--confirm-within", "1h").exit_code == 0
    assert here.tree() != applied
    again = here.undo()
    assert isinstance(again.exception, Locked)
    assert here.tune("recover").exit_code == 0
    assert here.tree() == applied
    before = here.undo("--confirm-within", "1h")
    assert (before.exit_code, here.tune("confirm").stdout) == (0, "a: confirmed\n")
    assert here.tree() != applied


def test_whoever_applied_a_host_that_is_named_is_undone(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = here.tree()
    here.apply()
    monkeypatch.setenv("XDG_STATE_HOME", str(here.folder / "others"))
    unknown = here.undo()
    assert "no apply was finished from this machine" in str(unknown.exception)
    done = here.undo("--inventory", here.inventory)
    assert done.exit_code == 0, (done.exception, done.stderr)
    assert "the engine stays as it is" in done.stderr
    assert here.tree() == before


def test_a_host_with_a_later_apply_of_another_machine_is_left_alone(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.apply()
    monkeypatch.setenv("XDG_STATE_HOME", str(here.folder / "others"))
    here.apply(**{"outputs[all].file": "/var/log/more.log"})
    theirs = here.tree()
    monkeypatch.setenv("XDG_STATE_HOME", str(here.folder / "mine"))
    done = here.undo()
    assert "a: left alone: the last apply that it kept is another one" in done.stderr
    assert (str(done.exception), here.tree()) == ("nothing can be put back", theirs)


def test_the_engines_objects_are_brought_back_unless_they_are_new_or_changed() -> None:
    said: list[str] = []
    puts = [
        EngineChange(TEMPLATE, BEFORE, AFTER),
        EngineChange("/_index_template/logs", None, AFTER),
    ]
    engine = Holding(Fleet(), {TEMPLATE: AFTER, "/_index_template/logs": AFTER})
    (change,) = objects_before(puts, engine, said.append)
    assert (change.path, change.body, change.before) == (TEMPLATE, BEFORE, AFTER)
    assert '+  "priority": "1"' in change.diff
    assert said == [
        "engine: _index_template/logs was new, and stays: delete it when no index needs it"
    ]
    engine.objects[TEMPLATE] = {"index_patterns": ["syslog"], "priority": 9}
    with pytest.raises(Refused, match="_index_template/syslog changed since that apply"):
        objects_before(puts, engine, said.append)
