"""What rsyslog must read in what a flood sends; tests/live holds it against the real one."""

from __future__ import annotations

import pytest

from tests.profile.examples import small
from tuner.errors import JobFailed
from tuner.validate.event import read_as

IMPTCP = small().inputs[0]
FILE = {"type": "imfile", "file": "/var/log/app.log", "tag": "app:", "severity": "err"}
IMFILE = small({"inputs": [FILE], "global.workDirectory": "/var/lib/rsyslog"}).inputs[0]


def test_rfc3164() -> None:
    text = "<38>Nov  1 01:02:03 web-01 sshd[123]: run=00000000 seq=000000000000 hello"
    found = read_as(text, "rfc3164", IMPTCP)
    assert found["hostname"] == "web-01"
    assert (found["programname"], found["procid"]) == ("sshd", "123")
    assert found["syslogtag"] == "sshd[123]:"
    assert (found["syslogfacility-text"], found["syslogseverity-text"]) == ("auth", "info")
    assert found["msg"] == " run=00000000 seq=000000000000 hello"


def test_rfc5424() -> None:
    data = '[origin ip="10.1.1.1" software="app"]'
    text = f"<131>1 2026-11-01T01:02:03.000000+00:00 db-01 app 7 LOGIN {data} run=0 hello"
    found = read_as(text, "rfc5424", IMPTCP)
    assert (found["hostname"], found["msgid"], found["msg"]) == ("db-01", "LOGIN", "run=0 hello")
    assert (found["syslogfacility"], found["syslogseverity"]) == ("16", "3")
    assert found["timereported"] is None


def test_a_line_of_a_file_has_the_head_that_the_profile_gives_it() -> None:
    found = read_as("run=0 seq=0 <13>hello", "bare", IMFILE)
    assert found["msg"] == "run=0 seq=0 <13>hello"
    assert (found["programname"], found["syslogtag"]) == ("app", "app:")
    assert (found["syslogfacility-text"], found["syslogseverity-text"]) == ("local0", "err")


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(JobFailed, match="not a message in the format rfc3164"):
        read_as("hello", "rfc3164", IMPTCP)
