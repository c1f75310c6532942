"""Lint for the way to the engine: credentials, requests, retries."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from urllib.parse import urlsplit

from tuner.profile.finding import Complaint, error, warning
from tuner.profile.message_sizes import LONGEST_MESSAGE_BYTES
from tuner.profile.model import Profile, Tier
from tuner.profile.outputs import OmelasticsearchOutput
from tuner.profile.parameter import since
from tuner.profile.placement import action_queue, main_queue
from tuner.profile.units import size_bytes
from tuner.profile.workload import Workload

# omelasticsearch's own maxbytes, and what the engine takes (http.max_content_length, 100mb): a
# larger request is answered with 413, and rsyslog drops the batch in silence (F1).
_LARGEST_REQUEST = "100m"
# A document with its action line against the message it is made of: 244 bytes give about 500.
_DOCUMENT = 2
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


def remote_servers(output: OmelasticsearchOutput) -> list[tuple[int, str]]:
    """The servers of an output that are on other machines, with their numbers."""
    return [(i, server) for i, server in enumerate(output.servers) if not is_loopback(server)]


def _password_in_the_clear(profile: Profile) -> Iterator[Complaint]:
    for number, output in enumerate(profile.outputs):
        if not output.has_secrets:
            continue
        for i, server in remote_servers(output):
            if server.startswith("http:"):
                yield Complaint(
                    ("outputs", number, "servers", i),
                    "the secret would cross the network in the clear: use https, with tls.cacert",
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


def _split_batches(profile: Profile) -> Iterator[Complaint]:
    """F4: what a split batch has sent off already is lost when the connection fails.

    The messages of a batch are many: their sum is close to that of as many mean ones.
    """
    most = size_bytes(_LARGEST_REQUEST)
    for number, output in enumerate(profile.outputs):
        queue = action_queue(profile, number)
        queue = main_queue(profile) if queue.is_direct else queue
        event = profile.workload.message_bytes.mean * _DOCUMENT
        wanted = queue.batch * event
        limit = size_bytes(output.maxbytes or _LARGEST_REQUEST)
        parts = "and are then sent in parts, which loses events when the connection fails"
        if wanted > most:
            yield Complaint(
                (*queue.path, "dequeueBatchSize"),
                f"batches of {queue.batch} events can exceed the {most} bytes that the engine "
                f"takes in one request (http.max_content_length): use at most {most // event}",
            )
        elif wanted > limit:
            yield Complaint(
                ("outputs", number, "maxbytes"),
                f"batches of {queue.batch} events can exceed {limit} bytes {parts}: "
                f"use at least {_kib(wanted)}",
            )


def _message_above_maxbytes(profile: Profile) -> Iterator[Complaint]:
    """Seen on 8.2302: such a document goes out alone although it is too long, and when it is the
    first of a batch an empty request goes before it, which the engine refuses with 400."""
    longest = _longest_message(profile.workload)
    for number, output in enumerate(profile.outputs):
        limit = size_bytes(output.maxbytes or _LARGEST_REQUEST)
        if longest * _DOCUMENT > limit:
            yield Complaint(
                ("outputs", number, "maxbytes"),
                f"one message of {longest} bytes can exceed {limit} bytes as a document: rsyslog "
                "sends it nevertheless, and an empty request before it, which the engine refuses; "
                f"use at least {_kib(longest * _DOCUMENT)}",
            )


def _longest_message(workload: Workload) -> int:
    """The lines of a replayed file can be as long as rsyslog lets them be."""
    replays = workload.replay is not None
    return LONGEST_MESSAGE_BYTES if replays else workload.message_bytes.sizes.longest


def _kib(size: int) -> str:
    return f"{-(-size // 1024)}k"


def _waits_for_ever(profile: Profile) -> Iterator[Complaint]:
    """indexTimeout is libcurl's limit for one bulk; rsyslog's own default is none."""
    came = since(OmelasticsearchOutput.model_fields["index_timeout"])
    for number, output in enumerate(profile.outputs):
        if output.index_timeout == 0 and profile.release.rsyslog_number >= came:
            yield Complaint(
                ("outputs", number, "indexTimeout"),
                "with 0, which is rsyslog's default, an engine that hangs blocks its worker for "
                "ever: use 60000, well above the longest time that a bulk takes (too low a limit "
                "repeats batches that were indexed)",
            )


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
    error("RT204", _password_in_the_clear),
    warning("RT205", _tls_unused),
    error("RT206", _half_a_certificate),
    warning("RT207", _split_batches),
    error("RT208", _gives_up),
    warning("RT209", _gives_up_later),
    error("RT210", _filter_path),
    warning("RT212", _message_above_maxbytes),
    warning("RT213", _waits_for_ever),
)
