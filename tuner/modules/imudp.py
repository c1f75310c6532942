"""imudp: datagrams.

None means: not written in the profile, and left to rsyslog.
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from tuner.modules.input import (
    AllowedSenders,
    DefaultZone,
    Listener,
    RateBurst,
    RateInterval,
    TransportKind,
)
from tuner.schema.parameter import Doc, OfModule
from tuner.schema.scalars import Device, MemorySize, NonNegative, Positive

# imudp takes no more than 32.
Threads = Annotated[int, Field(ge=1, le=32, strict=True)]


class ImudpInput(Listener):
    """imudp: datagrams, which nothing can slow down; threads read the same sockets."""

    type: Annotated[Literal["imudp"], Doc("Datagrams, which nothing can slow down.")]
    threads: Annotated[
        Threads | None,
        OfModule(),
        Doc(
            "Readers of the same sockets, at most 32. A parameter of the module.",
            traps=("Readers change the order of events.",),
        ),
    ] = None
    batch_size: Annotated[
        Positive | None,
        OfModule(),
        Doc(
            "How many datagrams one system call reads; memory is threads times this times "
            "the longest message."
        ),
    ] = None
    time_requery: Annotated[
        NonNegative | None,
        OfModule(),
        Doc(
            "Every so many reads the clock is asked; more is cheaper and makes receive "
            "times coarser."
        ),
    ] = None
    rcvbuf_size: Annotated[
        MemorySize | None,
        Doc(
            "The socket's receive buffer; 0 leaves the system's.",
            traps=(
                (
                    "UDP is never slowed down: what the buffer cannot hold is lost, and only "
                    "the kernel counts it."
                ),
            ),
        ),
    ] = None
    device: Annotated[Device | None, Doc("The network device to listen on.")] = None
    rate_limit_interval: RateInterval = None
    rate_limit_burst: RateBurst = None
    allowed_sender: AllowedSenders = None
    default_tz: DefaultZone = None

    thread_names: ClassVar[tuple[str, ...]] = ("in:imudp", "imudp(w")

    @classmethod
    def threads_of(cls, sources: Sequence[Self], _release: int, /) -> int:
        """Its readers, which all inputs share."""
        return max(source.threads or 1 for source in sources)

    @property
    def transport(self) -> TransportKind:
        """Datagrams."""
        return "udp"

    def in_lab(self, port: int, spool: str, /) -> Self:
        """On any device, and open to the flood."""
        open_to_all = {"allowed_sender": None, "device": None}
        return super().in_lab(port, spool).model_copy(update=open_to_all)
