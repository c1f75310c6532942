"""The entry point of rsyslog-tune: handles Ctrl-C before it imports the commands."""

from __future__ import annotations

import gc
import os
import signal
from types import FrameType


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback, also while it still imports."""
    signal.signal(signal.SIGINT, _exit)
    # OpenBLAS, which numpy uses, would start a thread for each core and disturb what is measured on
    # them; our matrices are small.  It reads this when it is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # pydantic would look for plugins in every package that is installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Imported objects are never freed: looking for garbage among them took 5 % of a render.
    gc.set_threshold(100_000)
    from tuner.cli.commands import run

    run()


def _exit(number: int, _frame: FrameType | None) -> None:
    """Exit at once: nothing was started yet, and an import could swallow an exception."""
    os.write(2, b"rsyslog-tune: interrupted\n")
    os._exit(128 + number)
