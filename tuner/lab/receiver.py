"""The handle of the receiver: what a configuration forwards to others goes there in a lab."""

from __future__ import annotations

import contextlib
import json
import select
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from tuner.errors import JobFailed
from tuner.host.child import Child
from tuner.host.usage import usage_of
from tuner.lab.copy import LabCopy

RECEIVER_PORTS = 2
"""It takes syslog over TCP and UDP at the first, RELP at the second."""
_PATIENCE_S = 60.0
_STOP_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Received:
    """What came: messages over TCP (lines, or frames that count their bytes), UDP and RELP, and
    bytes of all."""

    tcp: int = 0
    udp: int = 0
    relp: int = 0
    bytes: int = 0

    @property
    def messages(self) -> int:
        """All messages."""
        return self.tcp + self.udp + self.relp


@contextlib.contextmanager
def receiver_for(copy: LabCopy) -> Iterator[Receiver | None]:
    """A receiver where a configuration needs one."""
    if not copy.forwards:
        yield None
        return
    with Receiver(copy.site.receiver_port) as receiver:
        yield receiver


class Receiver:
    """A receiver of syslog in a process of its own on loopback, for a `with` statement: it counts
    what comes and keeps nothing.  Its process ends with the statement, and when we die."""

    def __init__(self, port: int) -> None:
        self._child = Child("tuner.lab.receiver_server", [str(port)])
        try:
            self._answer()
        except BaseException:
            self.stop()
            raise

    @property
    def cpu_s(self) -> float:
        """CPU seconds so far."""
        return usage_of(self._child.pid).cpu_s

    def received(self) -> Received:
        """What came so far.  Raises JobFailed when the process is gone."""
        self._child.tell(b"?\n")
        return self._answer()

    def stop(self) -> None:
        """End the process; a second call does nothing."""
        self._child.end(_STOP_TIMEOUT_S)
        self._child.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _answer(self) -> Received:
        stdout = self._child.stdout
        if select.select([stdout], [], [], _PATIENCE_S)[0]:
            line = stdout.readline()
            if line:
                return Received(**json.loads(line))
        reason = self._child.complaint()
        raise JobFailed(f"the receiver for what is forwarded does not answer: {reason}")
