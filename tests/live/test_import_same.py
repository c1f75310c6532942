"""What leaves the importer does what went in: each difference that nobody was told of, on a real
rsyslogd."""

from __future__ import annotations

import shutil

import pytest

from tests.live.imported import both_ways

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
