"""A Python module of ours in a process of its own, told and heard through pipes."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from itertools import dropwhile
from pathlib import Path
from typing import IO, Self, cast

from tuner.host.process import KILLED_S, describe_exit, ended_within, own_environment

_GRACE_S = 5.0


class Child:
    """`python -m MODULE ARGUMENTS`, in its own process group; `stop` it when done, or have a `with`
    statement do so.

    It must end by itself when its input does: that is how it dies with us.
    """

    def __init__(self, module: str, arguments: Sequence[str] = ()) -> None:
        with ExitStack() as opened:
            self._complaints = opened.enter_context(tempfile.TemporaryFile())
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                process_group=0,
                env=_environment(),
            )
            self._opened = opened.pop_all()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def stdin(self) -> IO[bytes]:
        """What the process reads."""
        return cast(IO[bytes], self._process.stdin)

    @property
    def stdout(self) -> IO[bytes]:
        """What the process writes."""
        return cast(IO[bytes], self._process.stdout)

    def tell(self, line: bytes) -> None:
        """Write a line to it; nothing happens where it has ended."""
        # Of a closed pipe Python says ValueError.
        with suppress(BrokenPipeError, ValueError):
            self.stdin.write(line)
            self.stdin.flush()

    def ending(self) -> str | None:
        """How the process ended ("exit code 1", "SIGKILL"), or None while it runs."""
        code = self._process.poll()
        return None if code is None else describe_exit(code)

    def complaint(self) -> str:
        """Why the process ended, by what it wrote to its error output: the words of an exception,
        else the last line; not to be asked once closed."""
        self._complaints.seek(0)
        return complaint_in(self._complaints.read().decode(errors="replace"))

    def wait(self, timeout_s: float) -> bool:
        """Wait for the end of the process; False when `timeout_s` seconds pass first."""
        return ended_within(self._process, timeout_s)

    def end(self, grace_s: float = 0.0) -> None:
        """End its input, and the process itself when it is still there `grace_s` seconds later."""
        with suppress(OSError):
            self.stdin.close()
        if not self.wait(grace_s):
            self._process.kill()
            self.wait(KILLED_S)

    def close(self) -> None:
        """Close what is left of the pipes; nobody may be reading any more."""
        self.stdout.close()
        self._opened.close()

    def stop(self) -> None:
        """End it, with some time to do so by itself, and close; a second call does nothing."""
        self.end(_GRACE_S)
        self.close()

    def answer(self, timeout_s: float) -> bytes | None:
        """The next line that it writes, empty where it has ended; None where none comes in time.
        For one that writes a line when it is asked for it."""
        is_there, _, _ = select.select([self.stdout], [], [], timeout_s)
        return self.stdout.readline() if is_there else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def complaint_in(errors: str) -> str:
    """The words of the last exception in what a Python wrote, else its last line.

    Where Python aborts as it ends ("Fatal Python error"), an exception before that is the reason.
    """
    text = errors.partition("Fatal Python error")[0] if "Traceback" in errors else errors
    _, has_frames, frames = text.rpartition("Traceback (most recent call last):\n")
    lines = [line for line in frames.split("\n") if line.strip()]
    if has_frames:
        words = dropwhile(lambda line: line.startswith(" "), lines)
        return " ".join(line.strip() for line in words)[:_LONGEST]
    return lines[-1] if lines else "it gave no reason"


# Of an exception's words.
_LONGEST = 500
# What a Python that runs already goes by, and so must one that it starts.
_INTERPRETER = ("PYTHON", "LD_", "OPENBLAS_")


def _environment() -> dict[str, str]:
    """Small, with the package findable: `-P` keeps the working directory from shadowing it."""
    places = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    names = (name for name in os.environ if name.startswith(_INTERPRETER))
    return own_environment(*names) | {"PYTHONPATH": os.pathsep.join(filter(None, places))}
