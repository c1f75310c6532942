"""A real rsyslogd, owned by us: its own configuration, work folder, pid file and counters; alone,
or with the copy of a configuration, as it is measured, learnt from, or left running."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tuner.errors import JobFailed
from tuner.host.process import Daemon, open_given, own_environment, wait_until
from tuner.host.programs import rsyslogd
from tuner.host.usage import Usage, usage_of
from tuner.lab.bind import Bound
from tuner.lab.copy import LabCopy
from tuner.lab.entrances import EventSource, entrances, furnish
from tuner.lab.receiver import Receiver
from tuner.modules.pstats import Snapshot, snapshots
from tuner.script.printing import printed
from tuner.script.quoting import Emitted, quote
from tuner.script.tokens import SURROGATES

INTERVAL_S = 1
_ROUND_S = 2.5
# "internal message (6,-2439): action-0-omelasticsearch queue:Reg: worker thread terminated": while
# it ends, rsyslogd prints what is no error too, with its severity, and that an idle worker did not
# end in time ("some data may be lost", which the account of the events would show); of a parameter
# that it takes and does nothing with it says so as it starts.
_TOLD = re.compile(
    r"internal message \([5-7],|need to do cooperative cancellation|"
    r"omelasticsearch: program error, non-handled param"
)


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


def await_round(path: Path, since_s: float) -> None:
    """Wait until the last round in the file began after a time, a little longer than one takes."""
    wait_until(lambda: any(snapshot.at > since_s for snapshot in read(path)[-1:]), _ROUND_S)


START_TIMEOUT_S = 10.0
_POLL_S = 0.02


class RsyslogdDied(JobFailed):
    """rsyslogd rejected its configuration, crashed on it, or died under it."""


class Rsyslogd(Daemon):
    """A running rsyslogd that takes events at all of `entrances`; `stop` ends it.

    It gets `folder`, which is new, for its own, and the usual environment, or one with secrets that
    `config` refers to, or with another time zone.  It may wait `start_checks_s` for servers that do
    not answer before it opens an entrance.
    """

    def __init__(
        self,
        config: str,
        folder: Path,
        entrances: Sequence[EventSource],
        environment: Mapping[str, str] | None = None,
        dies_with_us: bool = True,
        start_checks_s: float = 0.0,
    ) -> None:
        for entrance in entrances:
            entrance.require_free()
        path = folder / "rsyslog.conf"
        path.touch(mode=0o600, exist_ok=False)
        path.write_bytes(config.encode("utf-8", SURROGATES))
        super().__init__(
            arguments=[rsyslogd(), "-n", "-f", str(path), "-i", str(folder / "rsyslogd.pid")],
            log=folder / "rsyslogd.log",
            folder=folder,
            environment=own_environment() if environment is None else environment,
            dies_with_us=dies_with_us,
        )
        try:
            for entrance in entrances:
                patience_s = START_TIMEOUT_S + start_checks_s
                if not wait_until(partial(self._is_open, entrance), patience_s, _POLL_S):
                    raise RsyslogdDied(f"rsyslogd does not {entrance}: {self._reason()}")
        except BaseException:
            self.stop()
            raise

    def check(self) -> None:
        """Raise RsyslogdDied when the process has exited, also by a signal."""
        ending = self.ending()
        if ending is not None:
            raise RsyslogdDied(f"rsyslogd died with {ending}: {self._reason()}")

    def usage(self) -> Usage:
        """CPU time and peak memory so far."""
        self.check()
        return usage_of(self.pid)

    def finish(self, grace_s: float) -> str | None:
        """End the process, which delivers what it still holds; what it could not do, if anything.

        With empty queues it ends within milliseconds.  What it prints of omelasticsearch are
        requests that failed, but for what is known to be none.
        """
        self.stop(grace_s)
        lines = (line for line in self.last_lines(1000) if not _TOLD.search(line))
        failed = next((line for line in lines if "omelasticsearch" in line), None)
        if failed is None and self.ending() == "SIGKILL":
            return f"it did not end within {grace_s:g} s: it still held events"
        return failed

    def _is_open(self, entrance: EventSource) -> bool:
        self.check()
        return entrance.is_open(self.pid)

    def _reason(self) -> str:
        lines = self.last_lines(50)
        errors = [line for line in lines if "rror" in line]
        return " | ".join((errors or lines)[:3]) or "it printed nothing"


@dataclass(frozen=True)
class LabDaemon:
    """rsyslogd, which writes its own counters to `stats` once a second, and what takes the messages
    that it forwards, where it does."""

    rsyslogd: Rsyslogd
    stats: Path
    receiver: Receiver | None = None


def start(bound: Bound, config: str, folder: Path, *, dies_with_us: bool = True) -> Rsyslogd:
    """rsyslogd with a configuration for what is bound, and what its inputs need on disk.  Raises
    JobFailed."""
    furnish(bound.profile)
    return Rsyslogd(
        config,
        folder,
        entrances(bound.profile),
        own_environment(*bound.text.written.variables),
        dies_with_us=dies_with_us,
        start_checks_s=bound.profile.start_checks_s,
    )


@contextlib.contextmanager
def running(bound: Bound, copy: LabCopy, folder: Path) -> Iterator[LabDaemon]:
    """rsyslogd with a copy of what is bound, and a receiver where it forwards; both are gone
    afterwards.  Raises JobFailed."""
    stats = folder / "impstats.log"
    receiving = Receiver(copy.site.receiver_port) if copy.forwards else contextlib.nullcontext()
    with receiving as receiver:
        rsyslogd = start(bound, printed(copy.block) + impstats_section(stats), folder)
        try:
            yield LabDaemon(rsyslogd, stats, receiver)
        finally:
            rsyslogd.stop()
