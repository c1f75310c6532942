"""Lint for inputs: modules, sockets, sessions, framing."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from tuner.modules.imfile import ImfileInput
from tuner.modules.imptcp import ImptcpInput
from tuner.modules.imtcp import ImtcpInput
from tuner.modules.imuxsock import ImuxsockInput
from tuner.modules.input import Input, Listener
from tuner.profile.model import Profile
from tuner.profile.placement import ports_of
from tuner.rule import Complaint, error, warning
from tuner.schema.parameter import of_module

# imtcp's own maxSessions; imptcp has no limit of its own.
_MOST_SESSIONS = {"imtcp": 200}


@error(
    "RT201",
    why="Such parameters belong to the module, which is loaded once: rsyslog would take the first "
    "and ignore the other.",
    source="rsyslog's manual of that module",
    bad={
        "inputs": [
            {"type": "imptcp", "port": 10514, "threads": 2},
            {"type": "imptcp", "port": 10515, "threads": 4},
        ]
    },
    good={"inputs[1].threads": 2},
)
def _modules_disagree(profile: Profile) -> Iterator[Complaint]:
    firsts: dict[str, Input] = {}
    for number, source in enumerate(profile.inputs):
        first = firsts.setdefault(source.type, source)
        for key, name in of_module(type(source)).items():
            if getattr(first, name) != getattr(source, name):
                yield Complaint(
                    ("inputs", number, key),
                    f"{key} belongs to the {source.type} module, so every {source.type} input "
                    "must agree on it",
                )


@error(
    "RT202",
    why="Only one input can listen there: the other would not start, and rsyslogd would go on "
    "without it.",
    source="bind(2)",
    bad={"inputs": [{"type": "imptcp", "port": 10514}, {"type": "imtcp", "port": 10514}]},
    good={"inputs[1].port": 10515},
)
def _same_port(profile: Profile) -> Iterator[Complaint]:
    taken: dict[tuple[bool, int], list[str]] = {}
    for number, source in enumerate(profile.inputs):
        if not isinstance(source, Listener):
            continue
        datagrams = source.transport == "udp"
        ports = {
            port: taken.setdefault((datagrams, port), []) for port in ports_of(profile, source)
        }
        clash = [port for port, others in ports.items() if _any_overlap(source.address, others)]
        if clash:
            yield Complaint(
                ("inputs", number, "port"),
                f"port {clash[0]} of {source.address} is taken by another input: give each its own",
            )
        for others in ports.values():
            others.append(source.address)


def _any_overlap(address: str, others: list[str]) -> bool:
    return any(_overlap(address, other) for other in others)


def _overlap(one: str, other: str) -> bool:
    """Whether two listening addresses can meet: the same, or one stands for all of them."""
    return one == other or any(_is_every_address(address) for address in (one, other))


def _is_every_address(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_unspecified
    except ValueError:
        return False


@error(
    "RT220",
    why="Two inputs on one socket take it away from each other; two on one file deliver every line"
    " twice.",
    source="rsyslog plugins/imuxsock, plugins/imfile",
    bad={
        "inputs": [
            {"type": "imuxsock", "socket": "/run/app.sock", "flowControl": True},
            {"type": "imuxsock", "socket": "/run/app.sock", "flowControl": True},
        ]
    },
    good={"inputs[1].socket": "/run/other.sock"},
)
def _same_place(profile: Profile) -> Iterator[Complaint]:
    """Two inputs on one socket: the second takes it away.  Two on one file: every line twice."""
    taken: set[str] = set()
    for number, source in enumerate(profile.inputs):
        if not isinstance(source, ImfileInput | ImuxsockInput):
            continue
        key = "file" if isinstance(source, ImfileInput) else "socket"
        place = source.file if isinstance(source, ImfileInput) else source.socket
        if place in taken:
            yield Complaint(
                ("inputs", number, key), f"{place} is read by another input already: remove one"
            )
        taken.add(place)


@warning(
    "RT203",
    why=f"imtcp closes the connections above maxSessions at once, {_MOST_SESSIONS['imtcp']} by "
    "default: those senders deliver nothing.",
    source="rsyslog runtime/tcpsrv.c",
    bad={
        "inputs": [{"type": "imtcp", "port": 10514}],
        "workload.connections": _MOST_SESSIONS["imtcp"] + 1,
    },
    good={"workload.connections": _MOST_SESSIONS["imtcp"]},
    at="inputs[0].maxSessions",
)
def _refused_connections(profile: Profile) -> Iterator[Complaint]:
    wanted = profile.workload.connections
    for number, source in enumerate(profile.inputs):
        if not isinstance(source, ImtcpInput | ImptcpInput):
            continue
        most = source.max_sessions or _MOST_SESSIONS.get(source.type)
        if most is not None and most < wanted:
            yield Complaint(
                ("inputs", number, "maxSessions"),
                f"{source.type} refuses connections above {most}, but the workload "
                f"opens {wanted}: raise maxSessions or lower workload.connections",
            )


@error(
    "RT211",
    why="The input takes messages apart in another way than the workload puts them together: it "
    "makes one event of many, or discards them.",
    source="RFC 6587; seen on 8.2302",
    bad={"workload.framing": "octet-counted", "inputs[0].supportOctetCountedFraming": False},
    good={"inputs[0].supportOctetCountedFraming": True},
)
def _framing(profile: Profile) -> Iterator[Complaint]:
    """Seen on 8.2302: without line feeds imtcp makes one event of many messages, and imptcp
    discards all that it has when the connection ends.  Measurements flood the first input."""
    first = profile.inputs[0]
    if not isinstance(first, ImtcpInput | ImptcpInput):
        return
    counted = profile.workload.framing == "octet-counted"
    if counted and not first.support_octet_counted_framing:
        yield Complaint(
            ("inputs", 0, "supportOctetCountedFraming"),
            "the workload sends octet-counted frames, which this input would take for one long "
            "line and merge or discard: set it to true, or workload.framing to lf",
        )
    if not counted and isinstance(first, ImtcpInput) and first.disable_lf_delimiter:
        yield Complaint(
            ("inputs", 0, "disableLFDelimiter"),
            "the workload ends its messages with line feeds, which this input would not look for: "
            "set it to false, or workload.framing to octet-counted",
        )
