"""What a host says of itself, and how its refusals are told, by what the script there prints."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tuner.deploy.inventory import InventoryHost, Paths, Service
from tuner.deploy.plan import digest_of
from tuner.deploy.target import Candidate, Facts, RemoteHost, Undone
from tuner.errors import JobFailed, Locked, Refused, TuneError, Unreachable

LIVE = "/etc/rsyslog.conf"
BEGIN, END = "rsyslog-tune begins", "rsyslog-tune ends"
SAID = """\
rsyslogd 8.2302.0
live /etc/rsyslog.conf b2xkIQ==
live /etc/rsyslog.d/a.conf bmV3
pid 77
pending ann, pid 3, run r0
open tcp:10514
open udp:514
taken tcp:601
"""
MORE = """\
accepted
stale /etc/rsyslog.conf
uid 104
files 1024
rmem 212992
missing /etc/a b
missing /etc/c
ends /etc/cert.pem
mode 640 /etc/a secret
"""
FACTS = Facts(
    "8.2302.0",
    {LIVE: b"old!", "/etc/rsyslog.d/a.conf": b"new"},
    "ann, pid 3, run r0", 77,
    frozenset({"tcp:10514", "udp:514"}), frozenset({"tcp:601"}),
)  # fmt: skip


@dataclass
class Host:
    """A host that answers so, between what our script prints first and last unless it is `bare`;
    `scripts` are what it was sent."""

    out: str = ""
    code: int = 0
    err: str = ""
    bare: bool = False
    scripts: list[str] = field(default_factory=list)

    def run(self, _words: list[str], script: bytes, _limit_s: float) -> object:
        self.scripts.append(script.decode())
        out = self.out if self.bare else f"{BEGIN}\n{self.out}{END}\n"
        return SimpleNamespace(code=self.code, out=out.encode(), err=self.err)


Reached = Callable[..., tuple[RemoteHost, Host]]


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> Reached:
    def make(
        out: str = "", code: int = 0, err: str = "", *, bare: bool = False
    ) -> tuple[RemoteHost, Host]:
        host = Host(out, code, err, bare)
        hosts = {("a", "ssh://a"): host}
        monkeypatch.setattr("tuner.deploy.target.connect", lambda *given: hosts[given])
        return RemoteHost(InventoryHost("a", "ssh://a"), (LIVE, f"{LIVE[:-5]}.d/a.conf")), host

    return make


def test_what_a_host_has_and_runs(reached: Reached) -> None:
    target, _ = reached(SAID)
    assert target.facts(("tcp:10514",)) == FACTS
    bare, _ = reached("rsyslogd \npid 0\n")
    assert bare.facts(()) == Facts("", {}, None, 0, frozenset(), frozenset())


def test_what_was_examined(reached: Reached) -> None:
    target, host = reached(SAID + MORE)
    needed = ("file /etc/a b", "file /etc/c", "secret /etc/a secret", "certificate /etc/cert.pem")
    seen = target.examined(("tcp:10514",), needed)
    assert seen.facts == FACTS
    assert (seen.accepted, seen.included, seen.stale) == (True, False, (LIVE,))
    assert (seen.uid, seen.open_files, seen.rmem_bytes) == (104, 1024, 212_992)
    assert seen.missing == ("/etc/a b", "/etc/c")
    assert seen.ends == ("/etc/cert.pem",)
    assert seen.modes == {"/etc/a secret": "640"}
    assert "file /etc/a b" in host.scripts[0]
    without_limit, _ = reached(SAID + "includes\nfiles unlimited\n")
    other = without_limit.examined((), ())
    assert (other.accepted, other.included, other.stale) == (False, True, ())
    assert other.open_files is None


@pytest.mark.parametrize(("code", "kind"), [(1, JobFailed), (5, Refused), (75, Locked)])
def test_what_a_host_refuses_is_told_with_the_last_words_first(
    reached: Reached, code: int, kind: type[TuneError]
) -> None:
    target, _ = reached(code=code, err="one\n\n  two\nit did not work\n")
    with pytest.raises(kind) as caught:
        target.keep("r1")
    assert type(caught.value) is kind
    assert str(caught.value) == "a: it did not work: one; two"
    brief, _ = reached(code=code, err="it did not work\n")
    with pytest.raises(kind, match=r"a: it did not work$"):
        brief.keep("r1")
    silent, _ = reached(code=code)
    with pytest.raises(kind, match=f"a: its answer breaks off, with exit code {code}"):
        silent.keep("r1")


@pytest.mark.parametrize(
    ("out", "undone"),
    [
        ("restored\n", Undone.RESTORED),
        ("kept\n", Undone.KEPT),
        ("before\n", Undone.NONE),
        ("others\n", Undone.OTHERS),
    ],
)
def test_what_became_of_a_change_that_is_undone(reached: Reached, out: str, undone: Undone) -> None:
    target, _ = reached(out)
    assert target.restore(print, "r1") is undone


@pytest.mark.parametrize("call", ["restore", "keep"])
def test_each_step_is_told_the_run_the_files_and_the_service(reached: Reached, call: str) -> None:
    target, host = reached("before\n")
    target.paths = (LIVE,)
    target.keep("run77") if call == "keep" else target.restore(print, "run77")
    (script,) = host.scripts
    told = script[: script.index("\n", script.index("run="))].splitlines()
    assert dict(line.split("=", 1) for line in told) == {
        "state": "/var/lib/rsyslog-tune/deploy", "lives": LIVE, "main": LIVE,
        "folder": "/etc/rsyslog.d", "stage": "/etc/rsyslog.d/.rsyslog-tune",
        "unit": "rsyslog", "restart_with": "''", "pid_file": "''", "patience_s": "20",
        "wait_s": "60", "most_bytes": "4194304", "sockets": "''", "run": "run77",
        "absent": "''",
    }  # fmt: skip
    assert f"\nsay '{BEGIN}'; {{ {call}; }} </dev/null; say '{END}'" in script


def test_a_change_takes_its_undoing_with_it(reached: Reached) -> None:
    """A host that loses us restores itself: what does that is there before anything changes."""
    target, host = reached()
    target.apply(Candidate(((LIVE, "new text"),), "600", ("tcp:10514",)), "run77", 60)
    target.send_event("127.0.0.1", 10514, "tcp", "mark me")
    change, event = host.scripts
    content = base64.encodebytes(b"new text").decode()
    lines = ("run=run77", "confirm_within_s=60", "mode=600", "sockets=tcp:10514", content)
    for line in (*lines, "lives='/etc/rsyslog.conf\n"):
        assert line in change
    framed = f"\nsay '{BEGIN}'; {{ %s; }} </dev/null; say '{END}' </dev/null\n"
    assert change.endswith(framed % "apply")
    undo = change.partition("undo() { base64 -d <<'END'\n")[2].partition("END\n")[0]
    restoring = base64.b64decode(undo).decode()
    assert "run=run77\n" in restoring
    assert restoring.endswith("\nrestore </dev/null\n")
    assert event.endswith(framed % "event 127.0.0.1 10514 tcp 'mark me'")


@pytest.mark.parametrize("code", [0, 1], ids=["/bin/true", "/bin/false"])
def test_a_login_shell_that_runs_nothing_is_named(reached: Reached, code: int) -> None:
    for out in ("", "no login here\n"):
        target, _ = reached(out, code=code, bare=True)
        with pytest.raises(Unreachable, match=r"a: sh did not begin there.*/bin/false") as caught:
            target.facts(())
        assert f"ended with {code};" in str(caught.value)


def test_what_a_shell_says_by_itself_is_no_answer(reached: Reached) -> None:
    target, _ = reached(f"welcome\npid 1\n{BEGIN}\nkept\n{END}\nbye\n", bare=True)
    assert target.restore(print, "r1") is Undone.KEPT
    cut, _ = reached(f"{BEGIN}\nkept\n", bare=True)
    with pytest.raises(JobFailed, match="a: its answer has no end"):
        cut.restore(print, "r1")


@pytest.mark.parametrize(
    "said",
    [
        "", "pid 77\n", "rsyslogd 8.2302.0\n", "rsyslogd 8\x1b[2J\npid 1\n",
        "rsyslogd 8.2302.0\npid x\n", f"rsyslogd 8.2302.0\npid {'9' * 5000}\n",
        f"{SAID}live /etc/shadow b2xkIQ==\n", f"{SAID}live {LIVE} b2*\n",
        f"{SAID}live {LIVE} 640 b2xk\n",
    ],
)  # fmt: skip
def test_an_answer_of_another_form_is_refused(reached: Reached, said: str) -> None:
    target, _ = reached(said)
    with pytest.raises(JobFailed, match="a: it does not answer as our script does") as caught:
        target.facts(())
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "said",
    ["missing /etc/b\n", "stale /etc/b\n", "ends /x\n", "mode 640 /x\n", "rmem x\n",
     "uid -\n", "mode 9 /etc/a b\n"],
)  # fmt: skip
def test_what_was_not_asked_for_is_not_taken(reached: Reached, said: str) -> None:
    target, _ = reached(SAID + said)
    with pytest.raises(JobFailed, match="a: it does not answer as our script does"):
        target.examined((), ("file /etc/a b",))


def test_long_words_of_a_host_are_cut(reached: Reached) -> None:
    target, _ = reached(code=1, err="x" * 100_000)
    with pytest.raises(JobFailed) as caught:
        target.keep("r1")
    assert len(str(caught.value)) < 400


@pytest.fixture
def here(tmp_path: Path) -> RemoteHost:
    """This machine, with files of its own below a folder."""
    (tmp_path / "state" / "deploy" / "pending").mkdir(parents=True)
    (tmp_path / "conf.d").mkdir()
    paths = Paths(
        configuration=str(tmp_path / "conf"),
        fragments=str(tmp_path / "conf.d"),
        state=str(tmp_path / "state"),
    )
    service = Service(restart=("true",), pid_file=str(tmp_path / "pid"))
    machine = InventoryHost("here", "local://", paths=paths, service=service)
    return RemoteHost(machine, (str(tmp_path / "conf"),))


def test_a_host_says_which_configuration_it_has(here: RemoteHost, tmp_path: Path) -> None:
    state = tmp_path / "state" / "deploy"
    pending = state / "pending"
    assert here.restore(print, "none").value == "restored"
    assert here.restore(print) is here.restore(print, "r1") is Undone.NONE
    pending.mkdir()
    (pending / "run").write_text("r2\n")
    assert here.restore(print, "r1") is Undone.OTHERS
    assert here.restore(print, "r2") is Undone.RESTORED
    assert here.restore(print, "r2") is here.restore(print) is Undone.NONE
    (state / "previous").mkdir()
    (state / "previous/run").write_text("r3\n")
    assert here.restore(print, "r3") is Undone.KEPT
    assert here.restore(print, "r2") is here.restore(print) is Undone.NONE


def begun(here: RemoteHost, now: str, before: str | None = "before\n") -> Path:
    """The pending folder of a change on this machine that put "put" into a file and did not end."""
    live, state = Path(here.paths[0]), Path(here.machine.paths.state) / "deploy"
    pending = state / "pending"
    live.write_text(now)
    put, journal = digest_of(b"put\n"), "replace\nrestart"
    noted = {"run": "r1", "files": str(live), "put-1": f"{put}  -", "journal": journal}
    for name, text in noted.items():
        (pending / name).write_text(f"{text}\n")
    if before is not None:
        (pending / "backup-1").write_text(before)
    return pending


def with_service(here: RemoteHost, *restart: str) -> RemoteHost:
    service = here.machine.service.model_copy(update={"restart": restart})
    return RemoteHost(replace(here.machine, service=service), here.paths)


def test_a_host_whose_service_does_not_come_back_is_tried_again(here: RemoteHost) -> None:
    """Whoever mends its files meanwhile is not undone by that."""
    live, pending = Path(here.paths[0]), begun(here, "put\n")
    failing = with_service(here, "sh", "-c", "echo port 514; echo is taken; exit 1")
    for _ in range(2):
        with pytest.raises(JobFailed, match=r"the service does not start: port 514; is taken"):
            failing.restore(print, "r1")
        assert (live.read_text(), pending.is_dir()) == ("before\n", True)
    with pytest.raises(JobFailed, match="was restored already"):
        failing.keep("r1")
    live.write_text("mended\n")
    pid = Path(str(here.machine.service.pid_file))
    mended = with_service(here, "sh", "-c", f"echo {os.getpid()} >{pid}")
    assert mended.restore(print, "r1") is Undone.RESTORED
    assert (live.read_text(), pending.is_dir()) == ("mended\n", False)
    assert mended.restore(print, "r1") is Undone.NONE


def test_a_host_whose_service_did_not_run_before_is_not_held_by_a_change(
    here: RemoteHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What kept its rsyslogd from starting keeps it from that after the restore, too."""
    live, said = Path(here.paths[0]), list[str]()
    live.write_text("broken\n")
    (tmp_path / "state" / "deploy" / "pending").rmdir()
    (tmp_path / "rsyslogd").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    failing = with_service(here, "sh", "-c", "echo port 514 is taken; exit 1")
    with pytest.raises(JobFailed, match=r"the service did not restart: port 514 is taken"):
        failing.apply(Candidate(((str(live), "# nothing\n"),), "600", ()), "r1", 0)
    assert live.read_text() == "# nothing\n"
    assert failing.restore(said.append, "r1") is Undone.RESTORED
    assert (live.read_text(), failing.facts(()).pending) == ("broken\n", None)
    assert said == ["here: rsyslogd does not start, as before the change"]


@pytest.mark.parametrize(
    ("reads", "restart", "why"),
    [
        ("false", ">{0}/ran", "its rsyslogd rejects the configuration"),
        ("true", ":", "rsyslogd does not run, or does not listen"),
        ("true", "echo {1} >{0}/pid", "does not listen on tcp:1"),
    ],
    ids=["is refused", "does not run", "does not listen"],
)
def test_an_apply_looks_whether_its_configuration_is_read_and_runs(
    here: RemoteHost, monkeypatch: pytest.MonkeyPatch, reads: str, restart: str, why: str
) -> None:
    """What its rsyslogd refuses is never put there, and nothing is restarted for it."""
    live = Path(here.paths[0])
    tmp_path = live.parent
    live.write_text("before\n")
    (tmp_path / "state" / "deploy" / "pending").rmdir()
    (tmp_path / "rsyslogd").symlink_to(f"/bin/{reads}")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("tuner.deploy.target._PATIENCE_S", 0)
    target = with_service(here, "sh", "-c", restart.format(tmp_path, os.getpid()))
    with pytest.raises(JobFailed, match=why):
        target.apply(Candidate(((str(live), "after\n"),), "600", ("tcp:1",)), "r1", 0)
    is_refused = reads == "false"
    assert live.read_text() == ("before\n" if is_refused else "after\n")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("before", ["before\n", None])
@pytest.mark.parametrize("now", ["before\n", "put\n", "theirs\n"])
def test_what_somebody_else_put_there_meanwhile_is_kept_and_said(
    here: RemoteHost, before: str | None, now: str
) -> None:
    pending, said = begun(here, now, before), list[str]()
    (pending / "journal").write_text("replace\n")
    assert here.restore(said.append, "r1") is Undone.RESTORED
    live = Path(here.paths[0])
    assert (live.read_text() if live.exists() else None) == before
    others = now not in ("put\n", before)
    kept = [path.read_text() for path in pending.parent.glob("changed-meanwhile-r1-1-conf")]
    assert (kept, len(said)) == (([now], 1) if others else ([], 0))
    for one in said:
        assert one.startswith(f"here: somebody else changed {live} meanwhile: what it held is kept")


def test_a_file_too_large_to_be_a_configuration_is_not_sent(
    here: RemoteHost, tmp_path: Path
) -> None:
    with (tmp_path / "conf").open("wb") as file:
        file.truncate(5 << 20)
    with pytest.raises(Refused, match=r"conf is larger than 4 MiB"):
        here.facts(())
