"""Lint for inputs: sockets, sessions, framing."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from tuner.profile.finding import Complaint, error, warning
from tuner.profile.inputs import ImptcpInput, ImtcpInput
from tuner.profile.model import Profile


def _imptcp_disagree(profile: Profile) -> Iterator[Complaint]:
    first: ImptcpInput | None = None
    for number, source in enumerate(profile.inputs):
        if not isinstance(source, ImptcpInput):
            continue
        if first is None:
            first = source
            continue
        pairs = {
            "threads": (first.threads, source.threads),
            "processOnPoller": (first.process_on_poller, source.process_on_poller),
        }
        for key, (wanted, value) in pairs.items():
            if wanted != value:
                yield Complaint(
                    ("inputs", number, key),
                    f"{key} belongs to the imptcp module, so every imptcp input must agree on it",
                )


def _same_port(profile: Profile) -> Iterator[Complaint]:
    taken: dict[int, list[str]] = {}
    for number, source in enumerate(profile.inputs):
        others = taken.setdefault(source.port, [])
        if any(_overlap(source.address, other) for other in others):
            yield Complaint(
                ("inputs", number, "port"),
                f"port {source.port} of {source.address} is taken by another input: "
                "give each its own",
            )
        others.append(source.address)


def _overlap(one: str, other: str) -> bool:
    """Whether two listening addresses can meet: the same, or one stands for all of them."""
    return one == other or any(_is_every_address(address) for address in (one, other))


def _is_every_address(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_unspecified
    except ValueError:
        return False


def _refused_connections(profile: Profile) -> Iterator[Complaint]:
    wanted = profile.workload.connections
    for number, source in enumerate(profile.inputs):
        if isinstance(source, ImtcpInput) and source.max_sessions < wanted:
            yield Complaint(
                ("inputs", number, "maxSessions"),
                f"imtcp refuses connections above {source.max_sessions}, but the workload opens "
                f"{wanted}: raise maxSessions or lower workload.connections",
            )


def _framing(profile: Profile) -> Iterator[Complaint]:
    """Seen on 8.2302: without line feeds imtcp makes one event of many messages, and imptcp
    discards all that it has when the connection ends.  Measurements flood the first input."""
    first = profile.inputs[0]
    counted = profile.workload.framing == "octet-counted"
    if counted and not first.support_octet_counted_framing:
        yield Complaint(
            ("inputs", 0, "supportOctetCountedFraming"),
            "the workload sends octet-counted frames, which this input would take for one long "
            "line and merge or discard: set it to true, or workload.framing to lf",
        )


RULES = (
    error("RT201", _imptcp_disagree),
    error("RT202", _same_port),
    warning("RT203", _refused_connections),
    error("RT211", _framing),
)
