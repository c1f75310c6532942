"""rsyslog's own counters: switched on in a lab's configuration, and read back from its file."""

from __future__ import annotations

from pathlib import Path

from tuner.host.process import open_given
from tuner.modules.pstats import Snapshot, snapshots
from tuner.render.quoting import Emitted, quote

INTERVAL_S = 1


def impstats_section(path: Path) -> Emitted:
    """The statement that makes rsyslogd append its counters to `path` once a second.

    It can stand at the end of a configuration.  The interval is the shortest there is.
    """
    return Emitted(
        f'module(load="impstats" interval={quote(INTERVAL_S)} format="json" resetCounters="off"'
        f' log.syslog="off" log.file={quote(str(path))} bracketing="on")\n'
    )


def read(path: Path) -> tuple[Snapshot, ...]:
    """The complete rounds in the file, oldest first; none when there is no file yet."""
    try:
        with open_given(path) as file:
            text = file.read().decode(errors="replace")
    except OSError:
        return ()
    return snapshots(text)
