"""Hosts and engines that are not the ones that were meant: nothing is changed, nothing is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.live.hosts import NEEDS_HOSTS, hosts
from tests.live.test_apply import Site

pytestmark = [pytest.mark.live, NEEDS_HOSTS]
Wrong = Callable[[Site, list[str]], None]
CASES: dict[str, Wrong] = {}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with hosts(tmp_path / "hosts", "collector1") as (host,):
        yield Site(tmp_path, collector1=host)


def case(says: str) -> Callable[[Wrong], Wrong]:
    def add(wrong: Wrong) -> Wrong:
        CASES[says] = wrong
        return wrong

    return add


@case("host key is unknown")
def _unknown_key(site: Site, _: list[str]) -> None:
    site.host.known_hosts.write_text("")


@case("another than before")
def _changed_key(site: Site, _: list[str]) -> None:
    key = site.host.known_hosts.with_name("id.pub").read_text()
    site.host.known_hosts.write_text(f"{site.host.ip} {key}")


@case("rsyslog.conf is a symbolic link")
def _link(site: Site, _: list[str]) -> None:
    site.host.conf.rename(site.host.conf.with_name("real.conf"))
    site.host.conf.symlink_to("real.conf")


@case("/var/lib/rsyslog-tune is a symbolic link")
def _linked_folder(site: Site, _: list[str]) -> None:
    site.host.path("/var/lib/rsyslog-tune").symlink_to("elsewhere")


@case("rsyslog.d is not there")
def _no_drop_ins(site: Site, _: list[str]) -> None:
    site.host.path("/etc/rsyslog.d").rmdir()


@case("is not rendered by rsyslog-tune")
def _foreign(_: Site, words: list[str]) -> None:
    words.remove("--take-over")


@case("the profile is for rsyslog 8.2608 or newer")
def _too_old(site: Site, _: list[str]) -> None:
    site.write({"release.rsyslog": "8.2608"})


@case("'s alone: chown it to")
def _open_state(site: Site, _: list[str]) -> None:
    site.host.deployed.mkdir(parents=True)
    site.host.deployed.chmod(0o777)


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


@case("no terminal to ask on")
def _nobody(_: Site, words: list[str]) -> None:
    words.remove("--yes")


@case("is taken by another program")
def _taken(site: Site, _: list[str]) -> None:
    site.write({"inputs[0].port": 22})


# What is decided before a host is asked has tests in tests/deploy too.
DECIDED_HERE = {
    "is not in the inventory", "is of the role engine", "can be written by others",
    "is not the name or address of a host", "no terminal to ask on",
}  # fmt: skip


@pytest.mark.parametrize(
    "says",
    [pytest.param(one, marks=pytest.mark.full) if one in DECIDED_HERE else one for one in CASES],
)
def test_a_wrong_target_is_refused(site: Site, says: str) -> None:
    words = site.words
    CASES[says](site, words)
    before = site.host.tree()
    done = site.tune(*words)
    assert (done.code, says in done.err) == (5, True), done
    assert site.host.tree() == before
    assert (site.host.restarts, site.nothing_left()) == (0, True)


HOSTILE = {
    "a shell like /bin/true": ("exit 0", 4, "sh did not begin there, which ended with 0"),
    "a shell like /bin/false": ("exit 1", 4, "sh did not begin there, which ended with 1"),
    "no end": ("exec yes", 1, "sh answers with more than 16 MiB"),
    "no end of complaints": ("exec yes >&2", 1, "sh answers with more than 16 MiB"),
    "another form": (
        r"echo rsyslog-tune begins; printf 'rsyslogd \033[2J\npid 1\n'; echo rsyslog-tune ends",
        1,
        "it does not answer as our script does",
    ),
    "an answer that is cut": ("echo rsyslog-tune begins; echo pid 1", 1, "its answer has no end"),
    "steering a terminal": (r"echo rsyslog-tune begins; printf '\033[2J' >&2; exit 3", 1, ""),
}


QUICK = {"a shell like /bin/true", "no end"}


@pytest.mark.parametrize(
    "kind", [one if one in QUICK else pytest.param(one, marks=pytest.mark.full) for one in HOSTILE]
)
def test_a_hostile_host_ends_the_step_with_one_message(site: Site, kind: str) -> None:
    program, code, says = HOSTILE[kind]
    site.host.program("sh", program)
    before = site.host.tree()
    done = site.tune(*site.words)
    assert (done.code, says in done.err) == (code, True), done
    assert len(done.err) < 2000
    assert site.host.tree() == before
    assert site.nothing_left()
