"""imptcp: plain TCP.

None means not set in the profile: rsyslog's default applies.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from tuner.modules.input import TransportKind
from tuner.modules.tcp import NotifyOnOpen, OctetCounted, Tcp
from tuner.schema.scalars import Positive, Switch
from tuner.schema.section import parameter


class ImptcpInput(Tcp):
    """imptcp: plain TCP, a poller and helper threads."""

    type: Literal["imptcp"] = parameter("Plain TCP: a poller and helper threads.", value=...)
    threads: Positive = parameter(
        "Helpers beside the poller. A parameter of the module.",
        "One connection is never read in parallel.",
        value=2,
        of_module=True,
    )
    process_on_poller: Switch = parameter(
        "Whether imptcp's poller processes the last ready connection itself. If off, the "
        "helpers do all work, which is better with four or more busy connections.",
        value=True,
        of_module=True,
    )
    socket_backlog: Positive = parameter(
        "How many connections may wait to be accepted.",
        value=64,
        default="rsyslog's default for imptcp: 5 before 8.2502, 64 since",
    )
    support_octet_counted_framing: OctetCounted = True
    max_sessions: Positive | None = parameter(
        "How many connections may be open at once.", default="no limit"
    )
    notify_on_connection_open: NotifyOnOpen = None
    thread_names: ClassVar[tuple[str, ...]] = ("in:imptcp", "imptcp/w")
    transport: ClassVar[TransportKind] = "tcp"

    @classmethod
    def threads_of(cls, sources: Sequence[Self], _release: int, /) -> int:
        """Its helpers, which all inputs share."""
        return max(source.threads for source in sources)
