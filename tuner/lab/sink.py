"""The handle of the sink: our own `_bulk` endpoint, which counts exactly and stores nothing."""

from __future__ import annotations

import json
import select
from collections.abc import Sequence
from typing import Self

from tuner.errors import JobFailed
from tuner.host.child import Child
from tuner.lab.faults import Fault

# At a load of 20 on two cores 15 s were not enough.
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 5.0


class Sink:
    """A sink in a process of its own on loopback, for a `with` statement; port 0 takes a free one.

    Its process ends with the statement, and when we die.  It goes wrong in the ways of `faults`,
    and keeps the first `keep` documents as they came, but no more than 64 MiB of them.
    """

    def __init__(self, port: int = 0, faults: Sequence[Fault] = (), keep: int = 0) -> None:
        options = [word for fault in faults for word in ("--fault", str(fault))]
        self._options = [*options, "--keep", str(keep)]
        self._start(port)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process id."""
        return self._child.pid

    def ending(self) -> str | None:
        """How the process ended ("exit code 0", "SIGKILL"), or None while it runs."""
        return self._child.ending()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start_again(self) -> None:
        """Another process on the same port, whatever has become of the last."""
        self.stop()
        self._start(self.port)

    def stop(self) -> None:
        """End the process; a second call does nothing."""
        self._child.end(STOP_TIMEOUT_S)
        self._child.close()

    def _start(self, port: int) -> None:
        self._child = Child("tuner.lab.sink_server", ["--port", str(port), *self._options])
        try:
            self.port = self._first_port()
        except BaseException:
            self.stop()
            raise

    def _first_port(self) -> int:
        """Read the port that the process announces."""
        stdout = self._child.stdout
        if not select.select([stdout], [], [], START_TIMEOUT_S)[0]:
            raise JobFailed(
                f"the sink did not start within {START_TIMEOUT_S:g} s: this machine is very busy"
            )
        line = stdout.readline()
        if line:
            return int(json.loads(line)["port"])
        raise JobFailed(f"the sink did not start: {self._child.complaint()}")
