"""Lint for inputs: where events are lost before any queue has them."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.modules.imudp import ImudpInput
from tuner.modules.input import BURST
from tuner.profile.model import Profile, Tier
from tuner.profile.placement import entry_queue
from tuner.rule import Complaint, warning

# A pause of the engine or of the host that the main queue should outlast for UDP.
_HEADROOM_S = 5

_UDP = {"type": "imudp", "port": 10514, "rcvbufSize": "4m"}


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


@warning(
    "RT224",
    why="A rate limit drops what exceeds it; rsyslog says so in its log, once.",
    source="rsyslog runtime/ratelimit.c",
    bad={"inputs[0].rateLimit.interval": 2, "workload.rate": BURST // 2 + 1},
    good={"workload.rate": BURST // 2},
    at="inputs[0].rateLimit.interval",
)
def _rate_limits(profile: Profile) -> Iterator[Complaint]:
    rate = profile.workload.rate
    for number, source in enumerate(profile.inputs):
        limit = source.rate_limit
        if limit is not None and (rate == "max" or rate * limit.interval_s > limit.burst):
            yield Complaint(
                ("inputs", number, "rateLimit.interval"),
                f"this input drops what comes beyond {limit.burst} messages in {limit.interval_s} "
                "s, and the workload brings more: raise rateLimit.burst, or set "
                "rateLimit.interval to 0 for no limit",
            )


@warning(
    "RT233",
    why="A message that is not slowed down and finds the queue full is dropped after "
    "timeoutEnqueue.",
    source="rsyslog runtime/queue.c: messages without flow control",
    bad={"inputs[0].flowControl": False},
    good={"inputs[0].flowControl": True},
)
def _not_slowed_down(profile: Profile) -> Iterator[Complaint]:
    """imuxsock is not, unless told so; imtcp, imptcp and imrelp are, unless told otherwise."""
    if profile.guardrails.tier is not Tier.DURABLE:
        return
    for number, source in enumerate(profile.inputs):
        if source.missing_flow_control is not None:
            yield Complaint(
                ("inputs", number, "flowControl"),
                f"{source.type} does not wait when the main queue fills up, and what finds no room "
                f"is dropped: set flowControl to {source.missing_flow_control}",
            )
