"""Signal handlers that end a command in order."""

from __future__ import annotations

import contextlib
import signal
import threading
import warnings
from collections.abc import Iterator
from types import FrameType

from tuner.errors import Interrupted

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def install_handlers() -> None:
    """From now on the first SIGINT, SIGTERM or SIGHUP raises Interrupted in the main thread.

    Later signals are ignored, as the command is already shutting down, within seconds.  Under nohup
    SIGHUP stays ignored.
    """
    for number in ending_signals():
        signal.signal(number, _raise)


def ending_signals() -> tuple[signal.Signals, ...]:
    """The signals that end the command: SIGHUP only if it is not ignored."""
    is_detached = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return tuple(number for number in _ENDING if number is not signal.SIGHUP or not is_detached)


def ignore_signals() -> None:
    """From now on ignore the signals that `install_handlers` handles: the job is complete, and the
    command ends within seconds, once its results are written."""
    for number in _ENDING:
        if signal.getsignal(number) is _raise:
            signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def signals_deferred() -> Iterator[None]:
    """Defer signals until the end of the block: one that arrives within it raises Interrupted
    afterwards."""
    arrived_numbers: list[int] = []
    deferred: tuple[signal.Signals, ...] = ()
    if threading.current_thread() is threading.main_thread():
        deferred = tuple(number for number in _ENDING if signal.getsignal(number) is _raise)
    for number in deferred:
        signal.signal(number, lambda arrived, _frame: arrived_numbers.append(arrived))
    try:
        yield
    finally:
        for number in deferred:
            signal.signal(number, _raise)
        if arrived_numbers:
            _raise(arrived_numbers[0], None)


_RECEIVED: list[Interrupted] = []


def received() -> Interrupted | None:
    """The Interrupted that the first signal raised, or None.  A library may have replaced it by an
    error of its own."""
    return _RECEIVED[0] if _RECEIVED else None


def _raise(number: int, _frame: FrameType | None) -> None:
    for handled in _ENDING:
        signal.signal(handled, signal.SIG_IGN)
    # While pydantic serializes a union it catches any exception, tries the other members and then
    # only warns (pydantic-core, serializers/type_serializers/union.rs; seen with 2.12). As an
    # error the warning ends the command all the same.
    warnings.filterwarnings("error", "Pydantic serializer warnings")
    _RECEIVED.append(Interrupted(number))
    raise _RECEIVED[0]
