"""From a profile that is bound to a lab to the flood of its inputs."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from tuner.flood.heads import STYLES
from tuner.flood.replayed import replayed_file
from tuner.flood.spec import RUN_S, Credentials, FloodSpec, Transport
from tuner.modules.input import LOOPBACK, Input, Listener
from tuner.profile.model import Profile
from tuner.profile.placement import ports_of


def flood_spec(bound: Profile, run_id: str, count: int | None = None) -> FloodSpec:
    """The flood that the workload of a bound profile describes; its rate is for the pace, not for
    the messages, and its framing for transports that have none themselves.  The time of each
    message is its number, which stands before a line without a head."""
    load = bound.workload
    transports = transports_for(bound)
    fitting = [framing for transport in transports for framing in transport.facts.framings]
    return FloodSpec(
        transport=transports[0],
        connections=load.connections,
        sizes=load.message_bytes.sizes,
        seed=load.seed,
        run_id=run_id,
        count=count,
        format=bound.flooded_format,
        framing=load.framing if load.framing in fitting else fitting[0],
        replay=load.replay,
        sample=None if load.learnt is None else load.learnt.sample.model_dump_json(),
        begins_s=int(time.time()) // RUN_S * RUN_S,
        longest_bytes=bound.longest_message_bytes,
        beside=transports[1:],
    )


def transports_for(bound: Profile) -> tuple[Transport, ...]:
    """How to reach each input of a bound profile that is flooded."""
    return tuple(_transport(bound, source) for source in bound.flooded)


def _transport(bound: Profile, source: Input) -> Transport:
    """How to reach an input, on every port that it has."""
    kind = source.transport or "tcp"
    at = source.address if isinstance(source, Listener) else LOOPBACK
    host = f"[{at}]" if ":" in at else at
    ports = tuple(f"{host}:{port}" for port in ports_of(bound, source))
    places = ports or source.paths(bound.workload.connections)
    sender = _SENDER if ports and at == LOOPBACK and _tells_senders_apart(bound) else None
    return Transport(places, kind, _credentials(source), sender)


# What a host's own events come from is 127.0.0.1; others come from elsewhere.
_SENDER = "127.0.0.2"
_WITHOUT_OWN = re.compile(
    r"""fromhost-ip["']?\s*(?:
        (?:!=|<>|,\s*!\w+\s*,)\s*["']127\.0\.0\.1["'] |
        (?:==|,\s*\w+\s*,)\s*["']127\.0\.0\.1["']\s*(?:then)?\s*\{?\s*(?:stop\b|~)
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def _tells_senders_apart(bound: Profile) -> bool:
    """Whether a base leaves out the events of its own host."""
    base = bound.base
    return base is not None and any(_WITHOUT_OWN.search(text) for _, text in base.kept.written.text)


def _credentials(source: Input) -> Credentials | None:
    certificates = source.certificates
    if certificates is None:
        return None
    return Credentials(certificates.authority, certificates.sender, certificates.sender_key)


def require_traffic(profile: Profile) -> None:
    """Raise JobFailed where the file that a profile replays is not here, or has nothing to send."""
    if profile.workload.replay is not None:
        replayed_file(profile.workload.replay)


def remarks_on(profile: Profile) -> Iterator[str]:
    """What a flood does not send as it is of the file that a profile replays, or what the sample of
    its traffic was learnt from; raises JobFailed."""
    load, base = profile.workload, profile.base
    if load.learnt is not None and load.learnt.origin:
        yield f"{load.learnt.path}: {load.learnt.origin}"
    if load.replay is None:
        return
    repairs = all(output.mmutf8fix for output in profile.indexed)
    if base is not None:
        actions = base.kept.changed.of_kind("action")
        repairs = any(action.type == "mmutf8fix" for _, action in actions)
    style, longest_bytes = STYLES[profile.flooded_format], profile.longest_message_bytes
    yield from replayed_file(load.replay).remarks(style, longest_bytes, repairs_utf8=repairs)
