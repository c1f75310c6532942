"""What leaves the importer does what went in: each difference that nobody was told of, on a real
rsyslogd."""

from __future__ import annotations

import shutil
from subprocess import run

import pytest

from tests.live.imported import both_ways
from tuner.lab.ports import free_port
from tuner.lab.rsyslogd import Rsyslogd

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

UDP = 'module(load="imudp")\ninput(type="imudp" address="127.0.0.1" port="PORT")\n'
ENGINE = 'module(load="omelasticsearch")\n'
INTO = 'action(type="omelasticsearch" server="127.0.0.1" serverport="ENGINE" bulkmode="on" '


def test_names_of_senders_are_looked_up_as_before() -> None:
    """In filters, names of files, and for the host of messages that name none."""
    text = (
        f'{UDP}{ENGINE}template(name="d" type="string" '
        'string="{\\"host\\":\\"%hostname:::json%\\",\\"m\\":\\"%msg:::json%\\"}")\n'
        'template(name="f" type="string" string="/FOLDER/%fromhost%.log")\n'
        f'if $fromhost == "localhost" then {INTO}searchIndex="local" template="d")\n'
        'action(type="omfile" dynaFile="f")\n'
    )
    both = both_ways(text, [b"<13>Oct 11 22:14:15 su: x"])
    assert both.original.documents == (("local", b'{"host":"localhost","m":" x"}'),)
    assert both.profile == both.original
    assert both.original.files.keys() == {"localhost.log"}


def test_inputs_without_an_address_listen_on_all_of_both_kinds() -> None:
    listening: list[list[str]] = []

    def look(rsyslogd: Rsyslogd, port: int) -> None:
        said = run(["ss", "-lntuHp"], capture_output=True, text=True, check=True).stdout
        own = (line.split() for line in said.splitlines() if f"pid={rsyslogd.pid}," in line)
        listening.append(sorted(f"{one[0]} {one[4]}" for one in own))

    second = free_port()
    text = (
        'module(load="imudp") module(load="imtcp") module(load="imptcp")\n'
        'input(type="imudp" port="PORT") input(type="imtcp" port="PORT")\n'
        f'input(type="imptcp" port="{second}")\naction(type="omfile" file="/FOLDER/all.log")\n'
    )
    both = both_ways(text, [b"<13>Oct 11 22:14:15 h su: x"], look=look)
    original, profile = listening
    assert profile == original
    assert len(original) == 6
    assert both.profile == both.original
