"""Lint for requests: bulks that a node refuses, and batches that make every failure expensive."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.lint.request_sizes import (
    DOCUMENT,
    MAXBYTES,
    Requests,
    largest_request_bytes,
    pressure_bytes,
    requests_of,
)
from tuner.lint.rule import warning
from tuner.lint.transport import remote_servers
from tuner.profile.message_sizes import LONGEST_MESSAGE_BYTES
from tuner.profile.model import Profile, Tier
from tuner.profile.workload import Workload
from tuner.rule import Complaint
from tuner.schema.units import size_bytes

# Bulks above four fifths of the limit leave no room for what else the node has to hold.
_SHARE_OF_PRESSURE = 0.8
_LARGEST_BATCH = 10_000


def _split_batches(profile: Profile) -> Iterator[Complaint]:
    """F4: what a split batch has sent off already is lost when the connection fails.  F1: what a
    node finds too large is answered with 413, and rsyslog drops the batch in silence."""
    most = largest_request_bytes(profile)
    for number, output in profile.enumerated:
        made = requests_of(profile, number)
        limit = size_bytes(output.maxbytes or MAXBYTES)
        if made.batch_bytes > most:
            yield _batch(
                made,
                f"can exceed the {most} bytes that the engine takes in one request "
                "(http.max_content_length)",
                most // made.event_bytes,
            )
        elif made.batch_bytes > limit:
            yield Complaint(
                ("outputs", number, "maxbytes"),
                f"batches of {made.queue.batch} events can exceed {limit} bytes and are then sent "
                "in parts, which loses events when the connection fails: "
                f"use at least {_kib(made.batch_bytes)}",
            )


def _message_above_maxbytes(profile: Profile) -> Iterator[Complaint]:
    """Seen on 8.2302: such a document goes out alone although it is too long, and when it is the
    first of a batch an empty request goes before it, which the engine refuses with 400."""
    longest = _longest_message(profile.workload)
    for number, output in profile.enumerated:
        limit = size_bytes(output.maxbytes or MAXBYTES)
        if longest * DOCUMENT > limit:
            yield Complaint(
                ("outputs", number, "maxbytes"),
                f"one message of {longest} bytes can exceed {limit} bytes as a document: rsyslog "
                "sends it nevertheless, and an empty request before it, which the engine refuses; "
                f"use at least {_kib(longest * DOCUMENT)}",
            )


def _longest_message(workload: Workload) -> int:
    """The lines of a replayed file can be as long as rsyslog lets them be."""
    replays = workload.replay is not None
    return LONGEST_MESSAGE_BYTES if replays else workload.message_bytes.sizes.longest


def _kib(size: int) -> str:
    return f"{-(-size // 1024)}k"


def _above_the_engines(profile: Profile) -> Iterator[Complaint]:
    most = largest_request_bytes(profile)
    for number, output in profile.enumerated:
        if output.maxbytes is not None and size_bytes(output.maxbytes) > most:
            yield Complaint(
                ("outputs", number, "maxbytes"),
                f"the engine takes at most {most} bytes in one request (http.max_content_length) "
                "and answers larger ones with 413, which loses the batch: use at most "
                f"{most // 1024}k",
            )


def _under_pressure(profile: Profile) -> Iterator[Complaint]:
    """What is sent counts until it is indexed; above the limit a node answers 429 (F1)."""
    limit = pressure_bytes(profile)
    room = int(limit * _SHARE_OF_PRESSURE)
    made = [requests_of(profile, number) for number, _ in profile.enumerated]
    under_way = sum(one.under_way_bytes for one in made)
    if under_way > room:
        largest = max(made, key=lambda one: one.under_way_bytes)
        others = under_way - largest.under_way_bytes
        workers = largest.queue.copies * largest.queue.workers
        fits = max(1, (room - others) // workers // largest.event_bytes)
        yield _batch(
            largest,
            f"can have {under_way} bytes under way at once, and one node with the heap of "
            f"node.heap answers 429 above {limit} (indexing_pressure.memory.limit)",
            fits,
        )


def _batch(made: Requests, what: str, fits: int) -> Complaint:
    return Complaint(
        (*made.queue.path, "dequeueBatchSize"),
        f"batches of {made.queue.batch} events {what}: use at most {fits}",
    )


def _expensive_failures(profile: Profile) -> Iterator[Complaint]:
    """F3: a batch that could not be sent is tried again one event at a time."""
    if profile.guardrails.tier is not Tier.DURABLE:
        return
    for number, output in profile.enumerated:
        queue = requests_of(profile, number).queue
        if queue.batch > _LARGEST_BATCH and remote_servers(output):
            yield Complaint(
                (*queue.path, "dequeueBatchSize"),
                f"when the connection fails, rsyslog sends the batch again as {queue.batch} "
                f"requests of one event each: use at most {_LARGEST_BATCH}",
            )


RULES = (
    warning("RT207", _split_batches),
    warning("RT212", _message_above_maxbytes),
    warning("RT214", _above_the_engines),
    warning("RT215", _under_pressure),
    warning("RT216", _expensive_failures),
)
