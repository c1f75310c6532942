"""Lint for inputs and for the way to the engine: sockets, credentials, requests."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from urllib.parse import urlsplit

from tuner.profile.finding import Complaint, error, warning
from tuner.profile.model import ImptcpInput, ImtcpInput, OmelasticsearchOutput, Profile, Tier
from tuner.profile.placement import action_queue, main_queue

# omelasticsearch's own flush threshold when maxbytes is not set.
_DEFAULT_MAXBYTES = 100 * 1024**2
_UNITS = {"k": 1024, "m": 1024**2}
_STATUS = frozenset({"*", "items", "items.*", "items.*.status"})
_ERRORS = frozenset({"*", "errors"})


def is_loopback(server: str) -> bool:
    """Whether a server address stays on this machine."""
    host = urlsplit(server).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _overlap(one: str, other: str) -> bool:
    """Whether two listening addresses can meet: the same, or one stands for all of them."""
    return one == other or any(_is_every_address(address) for address in (one, other))


def _is_every_address(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_unspecified
    except ValueError:
        return False


def remote_servers(output: OmelasticsearchOutput) -> list[tuple[int, str]]:
    """The servers of an output that are on other machines, with their numbers."""
    return [(i, server) for i, server in enumerate(output.servers) if not is_loopback(server)]


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


def _refused_connections(profile: Profile) -> Iterator[Complaint]:
    wanted = profile.workload.connections
    for number, source in enumerate(profile.inputs):
        if isinstance(source, ImtcpInput) and source.max_sessions < wanted:
            yield Complaint(
                ("inputs", number, "maxSessions"),
                f"imtcp refuses connections above {source.max_sessions}, but the workload opens "
                f"{wanted}: raise maxSessions or lower workload.connections",
            )


def _password_in_the_clear(profile: Profile) -> Iterator[Complaint]:
    for number, output in enumerate(profile.outputs):
        if output.auth is None:
            continue
        for i, server in remote_servers(output):
            if server.startswith("http:"):
                yield Complaint(
                    ("outputs", number, "servers", i),
                    "the password would cross the network in the clear: use https, with tls.cacert",
                )


def _tls_unused(profile: Profile) -> Iterator[Complaint]:
    for number, output in enumerate(profile.outputs):
        if output.tls is not None and all(s.startswith("http:") for s in output.servers):
            yield Complaint(
                ("outputs", number, "tls"),
                "tls has no effect with http servers: write https, or remove tls",
            )


def _half_a_certificate(profile: Profile) -> Iterator[Complaint]:
    for number, output in enumerate(profile.outputs):
        tls = output.tls
        if tls is not None and (tls.mycert is None) != (tls.myprivkey is None):
            yield Complaint(
                ("outputs", number, "tls"),
                "a client certificate needs both tls.mycert and tls.myprivkey",
            )


def _maxbytes(profile: Profile) -> Iterator[Complaint]:
    """F4: what a split batch has sent off already is lost when the connection fails."""
    for number, output in enumerate(profile.outputs):
        queue = action_queue(profile, number)
        batch = (main_queue(profile) if queue.is_direct else queue).batch
        wanted = batch * profile.workload.message_bytes.mean * 2
        limit = _bytes(output.maxbytes)
        if limit < wanted:
            yield Complaint(
                ("outputs", number, "maxbytes"),
                f"batches of {batch} events can exceed {limit} bytes and are then sent in parts, "
                f"which loses events when the connection fails: use at least {_kib(wanted)}",
            )


def _bytes(maxbytes: str | None) -> int:
    if maxbytes is None:
        return _DEFAULT_MAXBYTES
    unit = _UNITS.get(maxbytes[-1])
    return int(maxbytes[:-1]) * unit if unit else int(maxbytes)


def _kib(size: int) -> str:
    return f"{-(-size // 1024)}k"


def _gives_up(profile: Profile) -> Iterator[Complaint]:
    """F8: rsyslog's own default drops everything seconds after the engine goes away."""
    for number, output in enumerate(profile.outputs):
        if output.action_resume_retry_count == 0 and profile.guardrails.tier is Tier.DURABLE:
            yield Complaint(
                ("outputs", number, "action.resumeRetryCount"),
                "0 drops events as soon as the engine is away, against the durable tier: use -1",
            )


def _gives_up_later(profile: Profile) -> Iterator[Complaint]:
    for number, output in enumerate(profile.outputs):
        count = output.action_resume_retry_count
        if count > 0 and profile.guardrails.tier is Tier.DURABLE:
            yield Complaint(
                ("outputs", number, "action.resumeRetryCount"),
                f"events are dropped after {count} retries, against the durable tier: use -1",
            )


def _filter_path(profile: Profile) -> Iterator[Complaint]:
    for number, output in enumerate(profile.outputs):
        wanted = set(output.filter_path or ())
        if not wanted:
            continue
        path = ("outputs", number, "filter_path")
        missing = [
            name
            for name, covering in (("errors", _ERRORS), ("items.*.status", _STATUS))
            if not wanted & covering
        ]
        if missing:
            yield Complaint(
                path,
                f"omelasticsearch reads {' and '.join(missing)} of each reply and would take "
                "every batch for failed: add what is missing",
            )
        if any(part.startswith("-") for part in wanted):
            yield Complaint(path, "name what to keep; exclusions with - are not supported")


RULES = (
    error("RT201", _imptcp_disagree),
    error("RT202", _same_port),
    warning("RT203", _refused_connections),
    error("RT204", _password_in_the_clear),
    warning("RT205", _tls_unused),
    error("RT206", _half_a_certificate),
    warning("RT207", _maxbytes),
    error("RT208", _gives_up),
    warning("RT209", _gives_up_later),
    error("RT210", _filter_path),
)
