"""Turning signals into an orderly end."""

from __future__ import annotations

import contextlib
import signal
import threading
import warnings
from collections.abc import Iterator
from types import FrameType

from tuner.errors import Interrupted

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_orderly() -> None:
    """From now on the first SIGINT, SIGTERM or SIGHUP raises Interrupted in the main thread.

    Those that follow are ignored: what is started is being ended already, within seconds.  Under
    nohup SIGHUP stays ignored.
    """
    for number in ending_signals():
        signal.signal(number, _raise)


def ending_signals() -> tuple[signal.Signals, ...]:
    """Those that end us: SIGHUP only where it is not ignored."""
    is_detached = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return tuple(number for number in _ENDING if number is not signal.SIGHUP or not is_detached)


def finish_first() -> None:
    """From now on signals are ignored, as far as they would end the command orderly: it has what it
    was started for, and ends by itself within seconds, with all of it written."""
    for number in _ENDING:
        if signal.getsignal(number) is _raise:
            signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def unbroken() -> Iterator[None]:
    """What is done in it is done to its end: a signal that comes meanwhile raises Interrupted
    after it."""
    waiting: list[int] = []
    held: tuple[signal.Signals, ...] = ()
    if threading.current_thread() is threading.main_thread():
        held = tuple(ending for ending in _ENDING if signal.getsignal(ending) is _raise)
    for ending in held:
        signal.signal(ending, lambda number, _frame: waiting.append(number))
    try:
        yield
    finally:
        for ending in held:
            signal.signal(ending, _raise)
        if waiting:
            _raise(waiting[0], None)


_RECEIVED: list[Interrupted] = []


def received() -> Interrupted | None:
    """What the first signal raised, None before; for whoever meets an error that it may have
    caused in a library."""
    return _RECEIVED[0] if _RECEIVED else None


def _raise(number: int, _frame: FrameType | None) -> None:
    for ending in _ENDING:
        signal.signal(ending, signal.SIG_IGN)
    # While pydantic serializes a union it catches any exception, tries the other members and then
    # only warns (pydantic-core, serializers/type_serializers/union.rs; seen with 2.12). As an
    # error the warning ends the command all the same.
    warnings.filterwarnings("error", "Pydantic serializer warnings")
    _RECEIVED.append(Interrupted(number))
    raise _RECEIVED[0]
