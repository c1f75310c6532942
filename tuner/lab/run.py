"""rsyslogd with the copy of a configuration, as it is measured, learnt from, or left running."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tuner.host.process import own_environment
from tuner.lab.bind import Bound
from tuner.lab.copy import LabCopy
from tuner.lab.entrances import entrances, furnish
from tuner.lab.receiver import Receiver, receiver_for
from tuner.lab.rsyslogd import Rsyslogd, impstats_section
from tuner.script.printing import printed


@dataclass(frozen=True)
class LabDaemon:
    """rsyslogd, which writes its own counters to `stats` once a second, and what takes the messages
    that it forwards, where it does."""

    rsyslogd: Rsyslogd
    stats: Path
    receiver: Receiver | None


def start(bound: Bound, config: str, folder: Path, *, dies_with_us: bool = True) -> Rsyslogd:
    """rsyslogd with a configuration for what is bound, and what its inputs need on disk.  Raises
    JobFailed."""
    furnish(bound.profile)
    return Rsyslogd(
        config,
        folder,
        entrances(bound.profile),
        own_environment(*bound.text.variables),
        dies_with_us=dies_with_us,
        start_checks_s=bound.profile.start_checks_s,
    )


@contextlib.contextmanager
def running(bound: Bound, copy: LabCopy, folder: Path) -> Iterator[LabDaemon]:
    """rsyslogd with a copy of what is bound, and a receiver where it forwards; both are gone
    afterwards.  Raises JobFailed."""
    stats = folder / "impstats.log"
    with receiver_for(copy) as receiver:
        rsyslogd = start(bound, printed(copy.block) + impstats_section(stats), folder)
        try:
            yield LabDaemon(rsyslogd, stats, receiver)
        finally:
            rsyslogd.stop()
