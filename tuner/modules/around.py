"""What stands around an output: what takes over from it, what waits with it, whose events are lost.

rsyslog runs the actions of an event one after the other in the thread of the queue before them
(action.c, doSubmitToActionQ): one with action.execOnlyWhenPreviousIsSuspended looks at the action
that was run last, and one that waits stops all the others.
"""

from __future__ import annotations

from dataclasses import dataclass

LOCAL_SOURCES = frozenset({"imuxsock", "imklog", "imkmsg"})
HASTY = LOCAL_SOURCES | {"imudp", "imdtls"}
"""Inputs that cannot make their senders wait without a loss: datagrams and the kernel's buffer are
overwritten, and the local programs behind imuxsock may stop the whole machine."""


@dataclass(frozen=True)
class Around:
    """What stands around an output, or around a queue that other threads fill, by names: the
    outputs that `take_over` while it is suspended, and those `before` that it takes over from; the
    outputs `beside`, which wait while it makes the thread before it wait; and the inputs whose
    events are lost, `hasty`, once the queues before it are full."""

    take_over: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    hasty: tuple[str, ...] = ()
