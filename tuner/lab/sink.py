"""The handle of the sink: our own `_bulk` endpoint, which counts exactly and stores nothing."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import tempfile
from contextlib import suppress
from types import TracebackType
from typing import IO, Self

from tuner.errors import JobFailed

START_TIMEOUT_S = 15.0
STOP_TIMEOUT_S = 5.0


class Sink:
    """A sink in a process of its own on loopback, for a `with` statement; port 0 takes a free one.

    Its process ends with the statement, and when we die.
    """

    def __init__(self, port: int = 0) -> None:
        self._complaints: IO[bytes] = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tuner.lab.sink_server", "--port", str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            process_group=0,
        )
        try:
            self.port = self._first_port()
        except BaseException:
            self.stop()
            raise

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End the process; a second call does nothing."""
        for pipe in (self._process.stdin, self._process.stdout, self._complaints):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _first_port(self) -> int:
        """Read the port that the process announces."""
        stdout = self._process.stdout
        if stdout is not None and select.select([stdout], [], [], START_TIMEOUT_S)[0]:
            line = stdout.readline()
            if line:
                return int(json.loads(line)["port"])
        self._complaints.seek(0)
        said = self._complaints.read().decode(errors="replace").strip().split("\n")[-1]
        raise JobFailed(f"the sink did not start: {said or 'it gave no reason'}")
