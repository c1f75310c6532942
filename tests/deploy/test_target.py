"""What a host says of itself, and how its refusals are told, by what the script there prints."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from tuner.deploy.inventory import InventoryHost
from tuner.deploy.target import Candidate, Facts, LiveFile, RemoteHost, Undone
from tuner.errors import JobFailed, Locked, Refused, TuneError

LIVE = "/etc/rsyslog.conf"
SAID = """\
rsyslogd 8.2302.0
live /etc/rsyslog.conf 640 root:adm b2xkIQ==
live /etc/rsyslog.d/a.conf 644 root:root bmV3
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
    {LIVE: LiveFile(b"old!", "640", "root:adm"),
     "/etc/rsyslog.d/a.conf": LiveFile(b"new", "644", "root:root")},
    "ann, pid 3, run r0", 77,
    frozenset({"tcp:10514", "udp:514"}), frozenset({"tcp:601"}),
)  # fmt: skip


@dataclass
class Host:
    """A host that answers so; `scripts` are what it was sent."""

    out: str = ""
    code: int = 0
    err: str = ""
    scripts: list[str] = field(default_factory=list)

    def run(self, _words: list[str], script: bytes, _limit_s: float) -> object:
        self.scripts.append(script.decode())
        return SimpleNamespace(code=self.code, out=self.out.encode(), err=self.err)


Reached = Callable[..., tuple[RemoteHost, Host]]


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> Reached:
    def make(out: str = "", code: int = 0, err: str = "") -> tuple[RemoteHost, Host]:
        host = Host(out, code, err)
        hosts = {("a", "ssh://a"): host}
        monkeypatch.setattr("tuner.deploy.target.connect", lambda *given: hosts[given])
        return RemoteHost(InventoryHost("a", "ssh://a"), (LIVE,)), host

    return make


def test_what_a_host_has_and_runs(reached: Reached) -> None:
    target, _ = reached(SAID)
    assert target.facts(("tcp:10514",)) == FACTS
    bare, _ = reached("rsyslogd \npid 0\n")
    assert bare.facts(()) == Facts("", {}, None, 0, frozenset(), frozenset())


def test_what_was_examined(reached: Reached) -> None:
    target, host = reached(SAID + MORE)
    seen = target.examined(("tcp:10514",), ("file /etc/a b", "secret /etc/a secret"))
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
    with pytest.raises(kind, match="a: no reason"):
        silent.keep("r1")


@pytest.mark.parametrize(
    ("out", "undone"),
    [("restored\n", Undone.RESTORED), ("kept\n", Undone.KEPT), ("", Undone.NONE)],
)
def test_what_became_of_a_change_that_is_undone(reached: Reached, out: str, undone: Undone) -> None:
    target, _ = reached(out)
    assert target.restore("r1") is undone


@pytest.mark.parametrize("call", ["restore", "keep"])
def test_each_step_is_told_the_run_the_files_and_the_service(reached: Reached, call: str) -> None:
    target, host = reached()
    getattr(target, call)("run77")
    (script,) = host.scripts
    told = script[: script.index("\n", script.index("run="))].splitlines()
    assert dict(line.split("=", 1) for line in told) == {
        "state": "/var/lib/rsyslog-tune/deploy", "lives": LIVE, "main": LIVE,
        "folder": "/etc/rsyslog.d", "stage": "/etc/rsyslog.d/.rsyslog-tune",
        "unit": "rsyslog", "restart_with": "''", "pid_file": "''", "patience_s": "20",
        "wait_s": "60", "sockets": "''", "run": "run77",
    }  # fmt: skip
    assert script.endswith(f"\n{call} </dev/null\n")


def test_a_change_takes_its_undoing_with_it(reached: Reached) -> None:
    """A host that loses us restores itself: what does that is there before anything changes."""
    target, host = reached()
    target.apply(Candidate(((LIVE, "new text"),), "600", ("tcp:10514",)), "run77", 60)
    target.send_event("127.0.0.1", 10514, "tcp", "mark me")
    change, event = host.scripts
    for line in ("run=run77", "confirm_within_s=60", "mode=600", "sockets=tcp:10514",
                 "lives=/etc/rsyslog.conf", base64.encodebytes(b"new text").decode()):  # fmt: skip
        assert line in change
    assert change.endswith("\napply </dev/null\n")
    undo = change.partition("undo() { base64 -d <<'END'\n")[2].partition("END\n")[0]
    restoring = base64.b64decode(undo).decode()
    assert "run=run77\n" in restoring
    assert restoring.endswith("\nrestore </dev/null\n")
    assert event.endswith("\nevent 127.0.0.1 10514 tcp 'mark me' </dev/null\n")
