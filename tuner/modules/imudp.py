"""imudp: datagrams.

None means not set in the profile: rsyslog's default applies.
"""

from collections.abc import Iterator, Sequence
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
from tuner.rule import Complaint, InProfile, loss
from tuner.schema.scalars import Device, MemorySize, NonNegative, Positive
from tuner.schema.section import Doc, parameter
from tuner.schema.units import size_bytes

# imudp takes no more than 32.
Threads = Annotated[int, Field(ge=1, le=32, strict=True)]


class ImudpInput(Listener):
    """imudp: datagrams, which cannot be slowed down; threads read the same sockets."""

    type: Annotated[Literal["imudp"], Doc("Datagrams, which cannot be slowed down.")]
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


# Linux gives a socket 212,992 bytes (net.core.rmem_default) unless it asks for more.
_SMALL_BUFFER_BYTES = 212_992


@loss("RT221")
def _loses(asked: InProfile[ImudpInput]) -> Iterator[Complaint]:
    if asked.durable:
        yield Complaint(
            ("type",),
            "UDP loses datagrams without a trace when the network, the kernel or a full queue "
            "drops them, whatever the tier promises: use imtcp, imptcp or imrelp for senders "
            "that can, or guardrails.tier relaxed",
        )


@loss("RT222")
def _small_buffer(asked: InProfile[ImudpInput]) -> Iterator[Complaint]:
    """imudp.c: 0 leaves the size to the system."""
    if size_bytes(asked.section.rcvbuf_size or "0") <= _SMALL_BUFFER_BYTES:
        yield Complaint(
            ("rcvbufSize",),
            "the default buffer of 208 KiB fills within milliseconds, and the kernel drops what "
            "comes then: set rcvbufSize to 4m or more, and net.core.rmem_max where rsyslogd "
            "does not start as root",
        )
