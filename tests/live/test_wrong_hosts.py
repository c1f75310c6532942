"""Hosts and engines that are not the ones that were meant: nothing is changed, nothing is sent."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.live.hosts import SSHD, ssh_host
from tests.live.test_apply import Site

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.geteuid() != 0 or not SSHD, reason="root, and openssh-server"),
]
Wrong = Callable[[Site, list[str]], None]
CASES: dict[str, Wrong] = {}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "controller").mkdir()
    with ssh_host(folder / "host") as host:
        yield Site(folder / "controller", collector1=host)


def case(says: str) -> Callable[[Wrong], Wrong]:
    def add(wrong: Wrong) -> Wrong:
        CASES[says] = wrong
        return wrong

    return add


@case("host key is unknown")
def _unknown_key(site: Site, _: list[str]) -> None:
    (site.host.folder / "known_hosts").write_text("")


@case("another than before")
def _changed_key(site: Site, _: list[str]) -> None:
    key = (site.host.folder / "id.pub").read_text()
    (site.host.folder / "known_hosts").write_text(f"[127.0.0.1]:{site.host.port} {key}")


@case("rsyslog.conf is a symbolic link")
def _link(site: Site, _: list[str]) -> None:
    site.host.conf.rename(site.host.conf.with_name("real.conf"))
    site.host.conf.symlink_to("real.conf")


@case("/etc is a symbolic link")
def _linked_folder(site: Site, _: list[str]) -> None:
    etc = site.host.conf.parent
    etc.rename(etc.with_name("real"))
    etc.symlink_to("real")


@case("rsyslog.d is not there")
def _no_drop_ins(site: Site, _: list[str]) -> None:
    (site.host.conf.parent / "rsyslog.d").rmdir()


@case("is not rendered by rsyslog-tune")
def _foreign(_: Site, words: list[str]) -> None:
    words.remove("--take-over")


@case("the profile is for rsyslog 8.2608 or newer")
def _too_old(site: Site, _: list[str]) -> None:
    site.write({"release.rsyslog": "8.2608"})


@case("others can write to")
def _open_state(site: Site, _: list[str]) -> None:
    (site.host.folder / "state").joinpath("deploy").mkdir(mode=0o777)
    (site.host.folder / "state" / "deploy").chmod(0o777)


@case("is not in the inventory")
def _unknown_host(_: Site, words: list[str]) -> None:
    words += ["--host", "collector9"]


@case("is of the role engine")
def _engine(site: Site, words: list[str]) -> None:
    text = site.inventory.read_text().replace('"address"', '"role": "engine", "address"')
    site.inventory.write_text(text)
    words += ["--host", "collector1"]


@case("can be written by others")
def _open_inventory(site: Site, _: list[str]) -> None:
    site.inventory.chmod(0o666)


@case("is on collector1 itself")
def _its_own_loopback(site: Site, _: list[str]) -> None:
    server, index = ["http://127.0.0.1:9"], {"name": "syslog"}
    logs = {"name": "logs", "type": "omelasticsearch", "servers": server, "index": index}
    site.write({"outputs": [logs]})


@case("is not the name or address of a host")
def _option(_: Site, words: list[str]) -> None:
    del words[words.index("--inventory") : words.index("--inventory") + 2]
    words.append("--host=ssh://-oProxyCommand=false")


@case("nobody is there to be asked")
def _nobody(_: Site, words: list[str]) -> None:
    words.remove("--yes")


@pytest.mark.parametrize("says", CASES)
def test_a_wrong_target_is_refused(site: Site, says: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(site.host.folder / "etc", copy / "etc", symlinks=True)
    known = (site.host.folder / "known_hosts").read_text()
    text, hosts = site.profile.read_text(), site.inventory.read_text()
    words = site.words
    CASES[says](site, words)
    before = site.host.tree()
    try:
        done = site.tune(*words)
        assert (done.code, says in done.err) == (5, True), done
        assert site.host.tree() == before
        assert (site.host.restarts, site.nothing_left()) == (0, True)
    finally:
        etc = site.host.folder / "etc"
        etc.unlink() if etc.is_symlink() else shutil.rmtree(etc)
        shutil.rmtree(site.host.folder / "real", ignore_errors=True)
        shutil.copytree(copy / "etc", etc, symlinks=True)
        shutil.rmtree(site.host.folder / "state" / "deploy", ignore_errors=True)
        (site.host.folder / "known_hosts").write_text(known)
        site.profile.write_text(text)
        site.inventory.write_text(hosts)
        site.inventory.chmod(0o600)


def test_a_port_that_another_program_has_is_refused(site: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        site.write({"inputs[0].port": taken.getsockname()[1]})
        done = site.apply()
        assert (done.code, "is taken by another program" in done.err) == (5, True), done
        taken.settimeout(0)
        with pytest.raises(BlockingIOError):
            taken.accept()
