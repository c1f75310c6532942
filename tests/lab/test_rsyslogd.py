"""What a rsyslogd prints while it ends, and which of it is a complaint."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tuner.host.process import wait_until
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder

_TOLD = (
    "rsyslogd: rsyslog internal message (6,-2439): action-0-omelasticsearch queue:Reg: worker "
    "thread 55683453f3b0 terminated, now 2 active worker threads [v8.2302.0 ]"
)
_IGNORED = "rsyslogd: omelasticsearch: program error, non-handled param 'asyncrepl' [v8.2302.0 ]"
_CANCELLED = (
    "rsyslogd: rsyslog internal message (4,-3000): action-0-omelasticsearch queue: need to do "
    "cooperative cancellation - some data may be lost, increase timeout? [v8.2302.0 ]"
)
_FAILED = (
    "rsyslogd: omelasticsearch: checkConn failed after 3 attempts. [v8.2302.0 ]",
    "rsyslogd: rsyslog internal message (3,-2007): action 'omelasticsearch' suspended [v8.2302.0 ]",
)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [(_TOLD, None), (_IGNORED, None), (_CANCELLED, None), *((one, one) for one in _FAILED)],
)
def test_what_is_no_error_is_no_complaint(
    line: str, complaint: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory() as parent, scratch(Path(parent)) as folder:
        program = folder / "rsyslogd"
        program.write_text(f'#!/bin/sh\necho "{line}"\n', encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("RSYSLOG_TUNE_RSYSLOGD", str(program))
        running = Rsyslogd("", subfolder(folder, "own"), ())
        assert wait_until(lambda: running.ending() is not None, 60)
        assert running.finish(0.0) == complaint


def test_a_configuration_that_is_no_utf_8_is_written_byte_for_byte(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with tempfile.TemporaryDirectory() as parent, scratch(Path(parent)) as folder:
        monkeypatch.setenv("RSYSLOG_TUNE_RSYSLOGD", "/bin/true")
        own = subfolder(folder, "own")
        running = Rsyslogd(':msg, contains, "\udce9" stop\n', own, ())
        assert wait_until(lambda: running.ending() is not None, 60)
        assert b':msg, contains, "\xe9" stop\n' in (own / "rsyslog.conf").read_bytes()
