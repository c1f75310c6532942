"""Lint for inputs: modules, sockets, sessions, framing, and what is lost before any queue."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from tuner.lint.sections import (
    Placed,
    flooded_inputs,
    for_each,
    inputs,
    inputs_of,
    outputs,
    where_durable,
)
from tuner.modules.imfile import ImfileInput
from tuner.modules.imptcp import ImptcpInput
from tuner.modules.imtcp import ImtcpInput
from tuner.modules.imudp import ImudpInput
from tuner.modules.imuxsock import ImuxsockInput
from tuner.modules.input import BURST, EVERY_ADDRESS, Framing, Input, Listener, rate_limit
from tuner.modules.output import Output
from tuner.modules.ratelimit import named_limits
from tuner.profile.model import Profile
from tuner.profile.placement import entry_queue, ports_of
from tuner.rule import Complaint, Cure, error, loss
from tuner.schema.section import of_module

# imtcp's own maxSessions; imptcp has no limit of its own.
_MOST_SESSIONS = {"imtcp": 200}


@error("RT201")
def _modules_disagree(profile: Profile) -> Iterator[Complaint]:
    """What a module has once, where two of its sections say it differently; what is of the system's
    socket its own input says, and none beside it."""
    firsts: dict[tuple[str, bool], Input | Output] = {}
    sections: tuple[Placed[Input | Output], ...] = (*inputs(profile), *outputs(profile))
    for place, section in sections:
        is_module = isinstance(section, Input) and not section.has_statement
        first = firsts.setdefault((section.type, is_module), section)
        for key, name in of_module(type(section)).items():
            if getattr(first, name) != getattr(section, name):
                noun = "input" if isinstance(section, Input) else "output"
                yield Complaint(
                    (*place, key),
                    f"{key} belongs to the {section.type} module, so every {section.type} {noun} "
                    "must agree on it",
                )


@error("RT202")
def _same_port(profile: Profile) -> Iterator[Complaint]:
    addresses: dict[tuple[bool, int], list[str]] = {}
    for number, source in enumerate(profile.inputs):
        if not isinstance(source, Listener):
            continue
        datagrams = source.transport == "udp"
        ports = {
            port: addresses.setdefault((datagrams, port), []) for port in ports_of(profile, source)
        }
        clash = [
            port
            for port, in_use in ports.items()
            if any(_overlap(source.address, address) for address in in_use)
        ]
        if clash:
            yield Complaint(
                ("inputs", number, "port"),
                f"port {clash[0]} of {source.address} is used by another input: give each its own",
            )
        for in_use in ports.values():
            in_use.append(source.address)


def _overlap(first: str, second: str) -> bool:
    """Whether two listening addresses can meet: the same, or one stands for all of them.  rsyslog's
    sockets for IPv6 take nothing of IPv4 (IPV6_V6ONLY)."""
    if first == second or EVERY_ADDRESS in {first, second}:
        return True
    addresses = [address for address in map(_ip_address, (first, second)) if address is not None]
    is_all = any(address.is_unspecified for address in addresses)
    return is_all and len({address.version for address in addresses}) == 1


def _ip_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """None for the name of a host."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


@error("RT220")
def _same_place(profile: Profile) -> Iterator[Complaint]:
    places: set[str] = set()
    for number, source in enumerate(profile.inputs):
        if not isinstance(source, ImfileInput | ImuxsockInput):
            continue
        key = "file" if isinstance(source, ImfileInput) else "socket"
        place = source.file if isinstance(source, ImfileInput) else source.place
        if place in places:
            yield Complaint(
                ("inputs", number, key), f"another input already reads {place}: remove one"
            )
        places.add(place)


@loss("RT203")
@for_each(inputs, "maxSessions")
def _refused_connections(source: Input, profile: Profile) -> Iterator[str]:
    connections = profile.workload.connections
    if not isinstance(source, ImtcpInput | ImptcpInput):
        return
    most = source.max_sessions or _MOST_SESSIONS.get(source.type)
    if most is not None and most < connections:
        yield (
            f"{source.type} refuses connections above {most}, but the workload "
            f"opens {connections}: raise maxSessions or lower workload.connections"
        )


@error("RT211")
def _framing(profile: Profile) -> Iterator[Complaint]:
    """Seen on 8.2302: without line feeds imtcp makes one event of many messages, and imptcp
    discards all that it has when the connection ends."""
    for number in profile.flooded_numbers:
        source = profile.inputs[number]
        if isinstance(source, ImtcpInput | ImptcpInput):
            yield from _framing_of(number, source, profile.workload.framing)


def _framing_of(
    number: int, source: ImtcpInput | ImptcpInput, framing: Framing
) -> Iterator[Complaint]:
    counted = framing == "octet-counted"
    if counted and not source.support_octet_counted_framing:
        yield Complaint(
            ("inputs", number, "supportOctetCountedFraming"),
            "the workload sends octet-counted frames, which this input would read as one long "
            "line and merge or discard: set it to true, or workload.framing to lf",
        )
    if not counted and isinstance(source, ImtcpInput) and source.disable_lf_delimiter:
        yield Complaint(
            ("inputs", number, "disableLFDelimiter"),
            "the workload ends its messages with line feeds, which this input would not "
            "recognise: set it to false, or workload.framing to octet-counted",
        )


# A pause of the engine or of the host that the main queue should outlast for UDP.
_HEADROOM_S = 5


@loss("RT223")
def _udp_headroom(profile: Profile) -> Iterator[Complaint]:
    queue = entry_queue(profile)
    if queue.is_direct or not any(inputs_of(ImudpInput)(profile)):
        return
    is_shared = any(not isinstance(source, ImudpInput) for source in profile.inputs)
    mark = queue.resolved.light_delay_mark
    if is_shared and not mark:
        yield Complaint(
            (*queue.path, "lightDelayMark"),
            f"with lightDelayMark 0 the other inputs can fill {queue.label}, and UDP, which "
            f"cannot be slowed down, is then dropped: use {queue.size // 100 * 70}",
        )
        return
    room = queue.size - mark if is_shared and mark else queue.size
    rate = profile.workload.rate
    if rate != "max" and room < _HEADROOM_S * rate:
        yield Complaint(
            (*queue.path, "size"),
            f"UDP cannot be slowed down, and {queue.label} has room for {room} messages of it: "
            f"{_HEADROOM_S} s at workload.rate need {_HEADROOM_S * rate}",
        )


@loss("RT224")
@for_each(flooded_inputs)
def _rate_limits(source: Input, profile: Profile) -> Iterator[Complaint]:
    """What comes to other inputs is not known."""
    rate, limits, off = profile.workload.rate, source.rate_limits, ""
    for named, name in named_limits(source).items():
        policy = profile.ratelimits.get(name)
        if policy is not None:
            limit = rate_limit(policy.interval, policy.burst, BURST, named)
            limits, off = () if limit is None else (limit,), f"the interval of {name}"
    for limit in limits:
        size = profile.workload.message_bytes.mean if limit.is_of_bytes else 1
        if rate == "max" or rate * size * limit.interval_s > limit.burst:
            yield Complaint(
                (limit.key,),
                f"this input drops everything above {limit.burst} "
                f"{'bytes' if limit.is_of_bytes else 'messages'} in {limit.interval_s} s, and the "
                f"workload sends more: raise the limit, or set {off or limit.key} to 0 for none",
            )


@loss("RT233")
@for_each(where_durable(inputs))
def _not_slowed_down(source: Input, _: Profile) -> Iterator[Complaint]:
    """imuxsock slows senders down only if flowControl is on; imtcp, imptcp and imrelp unless it is
    off."""
    value = source.missing_flow_control
    if value is None:
        return
    # A local program that has to wait for rsyslog may stop the whole machine: that is for its
    # administrator to decide.
    is_local = isinstance(source, ImuxsockInput)
    loss = f"events of {source.type} are lost when the main queue is full"
    yield Complaint(
        ("flowControl",),
        f"{source.type} does not wait when the main queue fills up, and events that do "
        f"not fit are dropped: set flowControl to {'true' if value is True else value}",
        None if is_local else Cure(value, loss),
    )
