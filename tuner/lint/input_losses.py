"""Lint for inputs: where events are lost before any queue has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from tuner.modules.imfile import ImfileInput
from tuner.modules.imrelp import ImrelpInput
from tuner.modules.imudp import ImudpInput
from tuner.modules.imuxsock import ImuxsockInput
from tuner.modules.registry import AnyInput
from tuner.profile.model import Profile, Tier
from tuner.profile.placement import entry_queue
from tuner.rule import Complaint, warning

# A pause of the engine or of the host that the main queue should outlast for UDP.
_HEADROOM_S = 5
# rsyslog's bursts for a rate limit without one (imuxsock.c, and the others alike).
_BURST = 10_000
_UNIX_BURST = 200

_UDP = {"type": "imudp", "port": 10514, "rcvbufSize": "4m"}


class _RateLimited(Protocol):
    @property
    def rate_limit_interval(self) -> int | None: ...

    @property
    def rate_limit_burst(self) -> int | None: ...


def _udp(profile: Profile) -> Iterator[tuple[int, ImudpInput]]:
    for number, source in enumerate(profile.inputs):
        if isinstance(source, ImudpInput):
            yield number, source


@warning(
    "RT223",
    why="imudp cannot be slowed down, so that a pause must fit into the main queue.",
    source="rsyslog plugins/imudp: messages without flow control",
    bad={"guardrails.tier": "relaxed", "inputs": [_UDP], "workload.rate": 20_001},
    good={"workload.rate": 20_000},
    at="main_queue.size",
)
def _udp_headroom(profile: Profile) -> Iterator[Complaint]:
    """imudp is never delayed: what does not fit into the main queue is dropped."""
    queue = entry_queue(profile)
    if queue.is_direct or not any(_udp(profile)):
        return
    others = any(not isinstance(source, ImudpInput) for source in profile.inputs)
    mark = queue.resolved.light_delay_mark
    if others and not mark:
        yield Complaint(
            (*queue.path, "lightDelayMark"),
            f"with lightDelayMark 0 the other inputs may fill {queue.label}, and UDP, which cannot "
            f"be slowed down, is dropped then: use {queue.size // 100 * 70}",
        )
        return
    room = queue.size - mark if others and mark else queue.size
    rate = profile.workload.rate
    if rate != "max" and room < _HEADROOM_S * rate:
        yield Complaint(
            (*queue.path, "size"),
            f"UDP cannot be slowed down, and {queue.label} has room for {room} messages of it: "
            f"{_HEADROOM_S} s at workload.rate take {_HEADROOM_S * rate}",
        )


def _limited(source: AnyInput) -> _RateLimited | None:
    return None if isinstance(source, ImfileInput) else source


@warning(
    "RT224",
    why="A rate limit drops what exceeds it; rsyslog says so in its log, once.",
    source="rsyslog runtime/ratelimit.c",
    bad={"inputs[0].rateLimit.interval": 2, "workload.rate": _BURST // 2 + 1},
    good={"workload.rate": _BURST // 2},
    at="inputs[0].rateLimit.interval",
)
def _rate_limits(profile: Profile) -> Iterator[Complaint]:
    rate = profile.workload.rate
    for number, source in enumerate(profile.inputs):
        limited = _limited(source)
        if limited is None or not limited.rate_limit_interval:
            continue
        burst = limited.rate_limit_burst
        if burst is None:
            burst = _UNIX_BURST if isinstance(source, ImuxsockInput) else _BURST
        if rate == "max" or rate * limited.rate_limit_interval > burst:
            yield Complaint(
                ("inputs", number, "rateLimit.interval"),
                f"this input drops what comes beyond {burst} messages in "
                f"{limited.rate_limit_interval} s, and the workload brings more: raise "
                "rateLimit.burst, or set rateLimit.interval to 0 for no limit",
            )


@warning(
    "RT233",
    why="What is not slowed down and finds no room is dropped after timeoutEnqueue.",
    source="rsyslog runtime/queue.c: messages without flow control",
    bad={"inputs[0].flowControl": False},
    good={"inputs[0].flowControl": True},
)
def _not_slowed_down(profile: Profile) -> Iterator[Complaint]:
    """imuxsock is not, unless told so; imtcp, imptcp and imrelp are, unless told otherwise."""
    if profile.guardrails.tier is not Tier.DURABLE:
        return
    for number, source in enumerate(profile.inputs):
        if isinstance(source, ImfileInput | ImudpInput):
            continue
        flows = source.flow_control
        unset = flows is None and isinstance(source, ImuxsockInput)
        if unset or flows is False or flows == "none":
            wanted = "light" if isinstance(source, ImrelpInput) else "true"
            yield Complaint(
                ("inputs", number, "flowControl"),
                f"{source.type} does not wait when the main queue fills up, and what finds no room "
                f"is dropped: set flowControl to {wanted}",
            )
