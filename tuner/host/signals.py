"""Turning signals into an orderly end."""

from __future__ import annotations

import signal
from types import FrameType

from tuner.errors import Interrupted


def end_orderly() -> None:
    """From now on the first SIGINT, SIGTERM or SIGHUP raises Interrupted in the main thread.

    Those that follow are ignored: what is started is being ended already, within seconds.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _raise)


def _raise(number: int, _frame: FrameType | None) -> None:
    for every in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(every, signal.SIG_IGN)
    raise Interrupted(number)
