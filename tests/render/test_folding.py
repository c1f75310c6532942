"""What rsyslogd would cut, it gets in lines that it joins again."""

from __future__ import annotations

import shutil
import socket
import tempfile
from pathlib import Path

import pytest

from tests.profile.examples import at_hand, small
from tests.render.test_rsyslogd_accepts import verdict_on
from tests.render.tokens import parse
from tuner.host.process import wait_until
from tuner.lab.entrances import TcpPort, free_port
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.profile.model import Profile
from tuner.render.artefacts import rsyslog_conf
from tuner.script.parser import parse as read_script
from tuner.script.printing import printed
from tuner.script.quoting import fold

LONG = ("x" * 30_000, " " * 30_000, "\\" * 9000, "\u20ac " * 9000, ("a" * 1999 + " ") * 9)


def of_constants(value: str) -> Profile:
    """A profile whose document is one stretch of text, many times that long."""
    pieces = [value[at : at + 1000] for at in range(0, len(value), 1000)]
    fields = [{"constant": one, "name": f"field{n}"} for n, one in enumerate(pieces)]
    return small({"outputs[logs].document": fields})


def test_short_lines_stay_as_they_are() -> None:
    assert fold("a  b\n\n  c\n") == "a  b\n\n  c\n"


@pytest.mark.parametrize("value", LONG)
def test_a_long_value_arrives_whole(value: str) -> None:
    profile = of_constants(value)
    text = rsyslog_conf(profile)
    assert max(len(line.encode()) for line in text.splitlines()) < 10_000
    (template,) = [one for one in parse(text) if one.kind == "template"]
    assert len(template.body) == 1
    shown = str(template.body[0].parameters["value"])
    assert shown.startswith('{"field0":"')
    assert "\n" not in shown


def test_a_long_list_in_an_object_of_many_parameters_arrives_whole() -> None:
    servers = [f"http://server-{n}.example.org:9200" for n in range(2000)]
    found = parse(rsyslog_conf(small({"outputs[logs].servers": servers})))
    (ruleset,) = [one for one in found if one.kind == "ruleset"]
    assert ruleset.body[-1].parameters["server"] == servers


HOSTS = [f"host{n:05d}.example.com" for n in range(600)]
LIST = ",\n".join(f'"{host}"' for host in HOSTS)
OF_MANY_LINES = f"""if $hostname == [
{LIST}] then stop
template(name="t" type="list") {{
    constant(value="{"x" * 30_000}")
}}
action(type="omelasticsearch" template="t" server=[
{LIST}])
"""


def test_what_is_printed_of_many_lines_means_the_same() -> None:
    """A list with one name a line, which is printed as one line."""
    branch, template, action = parse(printed(read_script(OF_MANY_LINES, "x.conf")[0]))
    assert [text for kind, text in branch.expression if kind == "string"] == HOSTS
    assert template.body[0].parameters["value"] == "x" * 30_000
    assert action.parameters["server"] == HOSTS


@pytest.mark.live
@pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed")
def test_rsyslogd_reads_folded_objects(tmp_path: Path) -> None:
    # Since 8.2510 -N1 asks each of them: these refuse at once.
    servers = [f"http://127.9.{n // 200}.{n % 200}:9" for n in range(2000)]
    assert verdict_on(at_hand({"outputs[logs].servers": servers}), tmp_path) == ""
    assert verdict_on(of_constants("x" * 30_000), tmp_path) == ""


@pytest.mark.live
@pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed")
def test_rsyslogd_finds_each_host_of_a_printed_list() -> None:
    port = free_port()
    with tempfile.TemporaryDirectory() as parent, scratch(Path(parent)) as folder:
        stored = subfolder(folder, "own") / "stored"
        conf = f"""
            module(load="imtcp")
            input(type="imtcp" address="127.0.0.1" port="{port}")
            template(name="line" type="list") {{
                constant(value="{"x" * 12_000}") property(name="hostname") constant(value="\\n")
            }}
            if not ($hostname == [
            {LIST}]) then action(type="omfile" file="{stored}" template="line")
        """
        text = printed(read_script(conf, "x.conf")[0])
        rsyslogd = Rsyslogd(text, stored.parent, [TcpPort(port)])
        try:
            with socket.create_connection(("127.0.0.1", port)) as sender:
                for host in (*HOSTS, "other"):
                    sender.sendall(f"<13>1 2026-01-01T00:00:00Z {host} p - - - text\n".encode())
            assert wait_until(stored.is_file, 60)
        finally:
            rsyslogd.stop(60)
        assert stored.read_text("utf-8") == "x" * 12_000 + "other\n"
