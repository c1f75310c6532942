"""imudp: datagrams.

None means not set in the profile: rsyslog's default applies.
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
from tuner.modules.ratelimit import NamedLimit
from tuner.schema.scalars import Device, MemorySize, NonNegative, Positive
from tuner.schema.section import parameter

# imudp takes no more than 32.
Threads = Annotated[int, Field(ge=1, le=32, strict=True)]


class ImudpInput(Listener):
    """imudp: datagrams, which cannot be slowed down; threads read the same sockets."""

    type: Literal["imudp"] = parameter("Datagrams, which cannot be slowed down.", value=...)
    threads: Threads | None = parameter(
        "Readers of the same sockets, at most 32. A parameter of the module.",
        "Several readers change the order of events.",
        of_module=True,
    )
    batch_size: Positive | None = parameter(
        "How many datagrams one system call reads; memory is threads times this times "
        "the longest message.",
        alias="batchSize",
        of_module=True,
    )
    time_requery: NonNegative | None = parameter(
        "How many reads share one reading of the clock; more is cheaper but makes receive "
        "times coarser.",
        of_module=True,
    )
    rcvbuf_size: MemorySize | None = parameter(
        "The socket's receive buffer; 0 keeps the system's default.",
        "UDP is never slowed down: what the buffer cannot hold is lost, and only "
        "the kernel counts it.",
    )
    device: Device | None = parameter("The network device to listen on.")
    rate_limit_interval: RateInterval = None
    rate_limit_burst: RateBurst = None
    rate_limit_name: NamedLimit = parameter(since=2602)
    allowed_sender: AllowedSenders = None
    default_tz: DefaultZone = None

    thread_names: ClassVar[tuple[str, ...]] = ("in:imudp", r"imudp\(w")
    transport: ClassVar[TransportKind] = "udp"

    @classmethod
    def threads_of(cls, sources: Sequence[Self], _release: int, /) -> int:
        """Its readers, which all inputs share."""
        return max(source.threads or 1 for source in sources)

    def in_lab(self, port: int, spool: str, /) -> Self:
        """On any device, and open to the flood."""
        open_to_all = {"allowed_sender": None, "device": None}
        return super().in_lab(port, spool).model_copy(update=open_to_all)
