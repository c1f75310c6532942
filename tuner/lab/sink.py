"""The handle of the sink: our own `_bulk` endpoint, which counts exactly and stores nothing."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tuner.errors import JobFailed
from tuner.lab.faults import Fault

START_TIMEOUT_S = 15.0
STOP_TIMEOUT_S = 5.0


class Sink:
    """A sink in a process of its own on loopback, for a `with` statement; port 0 takes a free one.

    Its process ends with the statement, and when we die.  It goes wrong in the ways of `faults`.
    """

    def __init__(self, port: int = 0, faults: Sequence[Fault] = ()) -> None:
        wanted = [word for fault in faults for word in ("--fault", str(fault))]
        with tempfile.TemporaryFile() as complaints:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "tuner.lab.sink_server", "--port", str(port), *wanted],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                process_group=0,
                env=_environment(),
            )
            try:
                self.port = self._first_port(complaints)
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

    def ending(self) -> int | None:
        """The exit code of the process, None while it runs."""
        return self._process.poll()

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
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _first_port(self, complaints: IO[bytes]) -> int:
        """Read the port that the process announces."""
        stdout = self._process.stdout
        if stdout is not None and select.select([stdout], [], [], START_TIMEOUT_S)[0]:
            line = stdout.readline()
            if line:
                return int(json.loads(line)["port"])
        complaints.seek(0)
        said = complaints.read().decode(errors="replace").strip().split("\n")[-1]
        raise JobFailed(f"the sink did not start: {said or 'it gave no reason'}")


def _environment() -> dict[str, str]:
    """Ours, with the package findable: `-P` keeps the working directory from shadowing it."""
    places = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
