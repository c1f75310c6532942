"""From a profile that is bound to a lab to the flood of its first input."""

from __future__ import annotations

from typing import assert_never

from tuner.flood.spec import FloodSpec, Format, framings
from tuner.flood.transport import Credentials, Kind, Transport, loopback
from tuner.modules.inputs import (
    ImfileInput,
    ImptcpInput,
    ImrelpInput,
    ImtcpInput,
    ImudpInput,
    ImuxsockInput,
    Input,
)
from tuner.profile.bind_inputs import files_of, flooded
from tuner.profile.certificates import certificates_of
from tuner.profile.model import Profile
from tuner.profile.placement import ports_of


def flood_spec(bound: Profile, run_id: str, count: int | None = None) -> FloodSpec:
    """The flood that the workload of a bound profile describes; its rate is for the pace, not for
    the messages, and its framing for transports that have none themselves."""
    load = bound.workload
    sizes = load.message_bytes
    transport = transport_for(bound)
    fitting = framings(transport)
    return FloodSpec(
        transport=transport,
        connections=load.connections,
        message_bytes_mean=sizes.mean,
        seed=load.seed,
        run_id=run_id,
        count=count,
        format=format_for(bound),
        framing=load.framing if load.framing in fitting else fitting[0],
        distribution=sizes.distribution,
        min_bytes=sizes.min,
        max_bytes=sizes.max,
        replay=load.replay,
    )


def transport_for(bound: Profile) -> Transport:
    """How to reach the first input of a bound profile, on every port that it has."""
    source = flooded(bound)
    ports = tuple(loopback(port) for port in ports_of(bound, source))
    match source:
        case ImptcpInput():
            return Transport(ports)
        case ImtcpInput():
            kind: Kind = "tls" if source.is_encrypted else "tcp"
            return Transport(ports, kind, _credentials(source))
        case ImudpInput():
            return Transport(ports, "udp")
        case ImrelpInput():
            return Transport(ports, "relp", _credentials(source))
        case ImuxsockInput():
            return Transport((source.socket,), "unix")
        case ImfileInput():
            return Transport(files_of(source, bound.workload.connections), "file")
        case _:
            assert_never(source)


def format_for(bound: Profile) -> Format:
    """How messages are written so that the first input finds the text of each where it looks.

    imfile takes the whole line for the text unless told to parse it.  imuxsock's own parser knows
    what syslog(3) writes, RFC 3164 without a host, and the others look for a host there only when
    told to.
    """
    source = flooded(bound)
    if isinstance(source, ImfileInput) and not source.need_parse:
        return "bare"
    if isinstance(source, ImuxsockInput):
        own = source.use_special_parser is not False
        if own or (bound.workload.format == "rfc3164" and not source.parse_hostname):
            return "local"
    return bound.workload.format


def _credentials(source: Input) -> Credentials | None:
    made = certificates_of(source)
    if made is None:
        return None
    return Credentials(made.authority, made.sender, made.sender_key)
