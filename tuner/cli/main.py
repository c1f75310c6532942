"""The entry point of rsyslog-tune: it imports the commands once a signal no longer shows how."""

from __future__ import annotations

import gc
import os
import signal
from types import FrameType


def main() -> None:
    """Run the command line; Ctrl-C ends it orderly from the first import on."""
    signal.signal(signal.SIGINT, _leave)
    # numpy's linear algebra would start a thread for each core, beside the pipeline that is being
    # measured on them; our matrices are small.  It reads this when it is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # pydantic would look for plugins in every package that is installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # What a command imports stays: looking for garbage among it took a twentieth of a render.
    gc.set_threshold(100_000)
    from tuner.cli.commands import run

    run()


def _leave(number: int, _frame: FrameType | None) -> None:
    """End at once: nothing was started yet, and an import that is interrupted may go on."""
    os.write(2, b"rsyslog-tune: interrupted\n")
    os._exit(128 + number)
