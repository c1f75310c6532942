"""Files of a host that are read and listed, here by programs of this machine."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tuner.deploy.host_files import HostFiles
from tuner.errors import JobFailed, Unreachable
from tuner.host.remote import connect
from tuner.script.configuration import MAX_BYTES

BEGIN = b"rsyslog-tune begins\n"


@pytest.fixture
def here() -> HostFiles:
    return HostFiles(connect("here", "local://"))


def test_a_file_is_read_to_just_beyond_the_most_that_a_configuration_may_have(
    here: HostFiles, tmp_path: Path
) -> None:
    path = tmp_path / "-n"
    path.write_bytes(b"\xff\n\0")
    assert here.read(str(path)) == b"\xff\n\0"
    path.write_bytes(b"x" * (MAX_BYTES + 5))
    assert len(here.read(str(path))) == MAX_BYTES + 1


@pytest.mark.parametrize(
    ("said", "why"),
    [("head: cannot open '/x' for reading: Permission denied\n", "Permission denied"),
     ("", "Input/output error")],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_told_in_the_words_of_the_host(said: str, why: str) -> None:
    with pytest.raises(OSError, match=why) as refused:
        HostFiles(host(BEGIN + b"half", 1, said)).read("/x")
    assert (refused.value.errno, refused.value.strerror) == (errno.EIO, why)


def test_a_folder_is_listed_once_with_what_is_no_folder(here: HostFiles, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/inner").touch()
    for name in ("a\nb", ".hidden"):
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to(tmp_path / "d")
    listed = {"d": False, "link": False, "a\nb": True, ".hidden": True}
    assert here.listed(str(tmp_path)) == listed
    (tmp_path / "later").touch()
    assert here.listed(str(tmp_path)) == listed
    assert here.listed(str(tmp_path / "d")) == {"inner": True}
    assert here.listed(str(tmp_path / "gone")) == {}


def host(out: bytes, code: int = 0, err: str = "") -> Any:
    answer = SimpleNamespace(code=code, out=out, err=err)
    return SimpleNamespace(name="a", run=lambda *_: answer)


@pytest.mark.parametrize("name", [b"../../root/.ssh/authorized_keys", b"a/b", b"..", b"."])
def test_what_is_no_name_in_a_folder_is_refused(name: bytes) -> None:
    files = HostFiles(host(b"fa.conf\0f" + name + b"\0"))
    with pytest.raises(JobFailed, match=r"a: /etc/rsyslog\.d holds '.*', no name"):
        files.listed("/etc/rsyslog.d")


def test_the_reason_of_a_host_is_cut() -> None:
    with pytest.raises(OSError, match=r"x{300}") as caught:
        HostFiles(host(BEGIN, 1, "x" * 100_000)).read("/etc/rsyslog.conf")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("out", "code"), [(b"", 0), (b"", 1), (b"This account is not available.\n", 1)]
)
def test_a_login_shell_that_runs_nothing_has_no_empty_file(out: bytes, code: int) -> None:
    with pytest.raises(Unreachable, match=r"a: sh did not begin there.*/bin/false"):
        HostFiles(host(out, code)).read("/etc/rsyslog.conf")


def test_a_file_that_breaks_off_is_none() -> None:
    with pytest.raises(JobFailed, match="a: its answer has no end"):
        HostFiles(host(BEGIN + b"*.* /var/lo")).read("/etc/rsyslog.conf")
    assert HostFiles(host(b"hello\n" + BEGIN + b"x\nrsyslog-tune ends\n")).read("/x") == b"x\n"
