"""`import --verify`: the original and the rendered configuration on real daemons."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tuner.cli.commands import app
from tuner.errors import DifferencesFound, JobFailed
from tuner.lab.ports import has_ipv6
from tuner.lab.scratch import scratch
from tuner.rainerscript.parser import parse
from tuner.validate.delivery import delivered, listening
from tuner.validate.equality import discrepancies
from tuner.validate.varied import EVENTS, varied_events

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

RUN = CliRunner()
GOLDEN = Path(__file__).parents[1] / "importer/golden"


# Nothing of it depends on what the profile does another way.
SAME = """\
global(net.enableDNS="off")
module(load="imtcp") module(load="omelasticsearch")
input(type="imtcp" address="127.0.0.1" port="10514")
template(name="path" type="string" string="/srv/log/%hostname%.log")
template(name="doc" type="list") {
    constant(value="{\\"m\\":\\"") property(name="msg" format="json")
    constant(value="\\",\\"host\\":\\"") property(name="hostname" format="json")
    constant(value="\\"}")
}
if $syslogseverity <= 4 then
    action(type="omelasticsearch" server="es1" template="doc" searchIndex="logs" bulkmode="on")
action(type="omfile" dynaFile="path")
action(type="omfwd" target="up.example" port="514")
"""


def verified(text: str, folder: Path) -> Result:
    path = folder / "site.conf"
    path.write_text(text, encoding="utf-8")
    return RUN.invoke(app, ["import", "--convert", str(path), "--verify"])


def test_a_profile_delivers_what_the_configuration_did(tmp_path: Path) -> None:
    done = verified(SAME, tmp_path)
    assert done.exit_code == 0, done.exception or done.stderr
    same = re.search(
        r"the same: (\d+) documents, with their indices and ids, and (\d+) lines in (\d+) places, "
        r"of 300 events",
        done.stderr,
    )
    assert same is not None, done.stderr
    documents, lines, places = map(int, same.groups())
    assert 100 < documents < 300, "some events are filtered out"
    assert lines >= 600
    assert places > 5


@pytest.mark.full
def test_a_configuration_without_an_engine_is_compared_by_its_files(tmp_path: Path) -> None:
    without = SAME.replace('module(load="omelasticsearch")', "").replace(
        'type="omelasticsearch" server="es1" template="doc" searchIndex="logs" bulkmode="on"',
        'type="omfile" file="/var/log/all"',
    )
    done = verified(without, tmp_path)
    assert done.exit_code == 0, done.exception or done.stderr
    assert re.search(r"the same: \d+ lines in \d+ places?, of 300 events", done.stderr)


@pytest.mark.full
def test_nothing_to_compare_is_no_success(tmp_path: Path) -> None:
    none = SAME[: SAME.index("if $sys")] + 'if $msg == "x" then stop\naction(type="ommail")\n'
    done = verified(none, tmp_path)
    assert isinstance(done.exception, JobFailed)
    assert "--verify has nothing to compare: of 300 events neither" in str(done.exception)


@pytest.mark.full
def test_lines_files_servers_and_sockets_that_differ_are_told() -> None:
    other = SAME.replace('address="127.0.0.1"', 'address="0.0.0.0"').replace('"es1"', '"es2"')
    other = other.replace('target="up.example"', 'target="down.example"')
    other = other.replace("%hostname%.log", "%hostname%")
    events = varied_events({})
    one, two = (delivered(parse(text, "f")[0], events) for text in (SAME, other))
    told = {each.what: str(each) for each in discrepancies(one, two)}
    assert {"/srv/log/web1.log", "/srv/log/web1", "omfwd:udp:up.example:514"} <= told.keys()
    assert told["servers"].endswith(
        "http://es1:9200 of the original alone; http://es2:9200 of the profile alone"
    )
    if one.sockets is not None:
        assert told["listening sockets"].endswith(
            "tcp 127.0.0.1:10514 of the original alone; tcp 0.0.0.0:10514 of the profile alone"
        )


@pytest.mark.full
@pytest.mark.usefixtures("nothing_left_behind")
def test_an_rsyslogd_whose_sockets_take_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a load of 20 two of a hundred imports left one."""
    monkeypatch.setattr("tuner.validate.delivery._SOCKETS_S", 2.0)
    # A port that imtcp never opens, as its module is not loaded, is waited for.
    text = SAME.replace('module(load="imtcp")', "") + 'input(type="imtcp" port="10515")\n'
    assert listening(parse(text, "f")[0]) is None


LOCAL = """\
module(load="imfile" mode="polling" pollingInterval="20")
module(load="imuxsock" sysSock.name="/run/devlog" sysSock.rateLimit.interval="5")
module(load="omelasticsearch")
global(workDirectory="/tmp")
input(type="imfile" file="/var/log/nginx/access*.log" tag="nginx:" addMetadata="on" ruleset="web")
template(name="doc" type="list") {
  constant(value="{\\"m\\":\\"") property(name="msg" format="json")
  constant(value="\\",\\"file\\":\\"") property(name="$!metadata!filename" format="json")
  constant(value="\\"}")
}
ruleset(name="web") {
  action(type="omelasticsearch" server="es1" template="doc" searchIndex="web" bulkmode="on")
}
action(type="omfile" file="/var/log/all" template="RSYSLOG_FileFormat")
"""


_OPENS_ONE_LATE = """#!/usr/bin/python3
import socket, time
one = socket.create_server(("127.0.0.1", 514))
time.sleep(2)
two = socket.create_server(("127.0.0.1", 10514))
time.sleep(60)
"""


@pytest.mark.full
@pytest.mark.skipif(not has_ipv6() or os.geteuid() != 0, reason="it makes a network of its own")
def test_a_socket_that_an_input_opens_late_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """imtcp with TLS took a second longer than imudp, and was said not to listen."""
    inputs = "".join(f'input(type="imtcp" port="{port}")\n' for port in (514, 10514))
    with scratch(Path(tempfile.gettempdir())) as folder:
        daemon = folder / "rsyslogd"
        daemon.write_text(_OPENS_ONE_LATE, encoding="utf-8")
        daemon.chmod(0o755)
        monkeypatch.setattr("tuner.validate.delivery.rsyslogd", lambda: str(daemon))
        found = listening(parse(inputs, "f")[0])
    assert found == frozenset({"tcp 127.0.0.1:514", "tcp 127.0.0.1:10514"})


@pytest.mark.full
def test_what_comes_from_files_and_local_sockets_is_compared(tmp_path: Path) -> None:
    done = verified(LOCAL, tmp_path)
    assert done.exit_code == 0, done.exception or done.stderr
    assert re.search(r"the same: 300 documents, .* and 3\d\d lines in 1 place, of", done.stderr)


@pytest.mark.full
def test_files_that_differ_in_what_is_read_are_told() -> None:
    events, other = varied_events({}), LOCAL.replace("nginx/access*", "nginx/error*")
    one, two = (delivered(parse(text, "f")[0], events) for text in (LOCAL, other))
    told = {each.what: str(each) for each in discrepancies(one, two)}
    assert told["files and sockets that are read"].endswith(
        "imfile /var/log/nginx/access*.log of the original alone; "
        "imfile /var/log/nginx/error*.log of the profile alone"
    )
    (name,) = {str((each.fields or {}).get("file")) for each in one.at("")}
    assert name == "/var/log/nginx/accessx.log"


@pytest.mark.full
@pytest.mark.skipif(not has_ipv6(), reason="this machine has no loopback address of IPv6")
def test_senders_of_ipv6_are_among_the_events() -> None:
    text = (
        'module(load="imudp") module(load="imtcp")\n'
        'input(type="imudp" port="514") input(type="imtcp" port="514")\n'
        'if $fromhost-ip == "::1" then action(type="omfile" file="/six")\n'
        'action(type="omfile" file="/all")\n'
    )
    made = delivered(parse(text, "f")[0], varied_events({}))
    six, every = len(made.at("/six")), len(made.at("/all"))
    assert six > 500
    assert abs(every - 2 * six) < 20


@pytest.mark.full
def test_a_condition_of_which_nothing_is_left_does_no_harm() -> None:
    """rsyslogd 8.2302 crashed on one with `continue` alone, first in a ruleset that is called."""
    text = (
        'module(load="imuxsock")\nruleset(name="starter") {\n'
        '    if prifilt("*.emerg") then { action(type="omusrmsg" users="*") }\n'
        '    action(type="omfile" file="/all")\n}\ncall starter\n'
    )
    made = delivered(parse(text, "f")[0], varied_events({}))
    assert len(made.at("/all")) >= EVENTS


def test_what_differs_is_named_by_its_field() -> None:
    conf = (
        'module(load="omelasticsearch") module(load="imtcp")\n'
        'template(name="t" type="string" '
        'string="{\\"m\\":\\"%msg:::json%\\",\\"s\\":\\"%NAME%\\"}")\n'
        'input(type="imtcp" port="514")\n'
        'if $syslogseverity <= LEVEL then action(type="omelasticsearch" template="t")\n'
    )
    events = varied_events({})
    one, other = (
        delivered(parse(conf.replace("NAME", name).replace("LEVEL", level), "f")[0], events)
        for name, level in (("programname", "7"), ("procid", "6"))
    )
    found = {each.what: each for each in discrepancies(one, other)}
    assert found.keys() == {"documents", "s"}
    # Some events come from IPv6 as well.
    assert found["documents"].example.endswith(" of the original, 0 of the profile")
    assert all(0 < found[what].events <= EVENTS for what in ("documents", "s"))


@pytest.mark.full
def test_a_configuration_of_the_old_form_delivers_the_same_json() -> None:
    """It does not escape its messages: what is no JSON there is JSON here, and nothing else."""
    done = RUN.invoke(app, ["import", "--convert", str(GOLDEN / "old.conf"), "--verify"])
    assert isinstance(done.exception, DifferencesFound)
    told = [line for line in done.stderr.splitlines() if " differ" in line]
    assert [line.partition(": different for ")[0] for line in told] == ["JSON"]
