"""Lint for requests: bulks that a node refuses, batches that make every failure expensive,
and what weakens them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from tuner.engines.index_settings import IndexSettings
from tuner.lint.rules.connections import remote_servers
from tuner.lint.sections import Placed, engine_outputs, index_settings, where_durable
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.profile.model import Profile
from tuner.profile.placement import PlacedQueue, action_queue, working_queue
from tuner.rule import Complaint, Cure, advice, error, loss, warning
from tuner.schema.units import engine_bytes, seconds, size_bytes

_LARGEST_HEAP = "31g"
_SHORTEST_REFRESH_S = 0.001


@error("RT301").for_each(where_durable(index_settings), "translog.durability")
def _async_translog(settings: IndexSettings, _: Profile) -> Iterator[str]:
    if settings.translog_durability == "async":
        yield (
            "async loses acknowledged events when the engine crashes, which the durable tier "
            "forbids: use request, or set guardrails.tier to relaxed"
        )


@loss("RT302").for_each(where_durable(engine_outputs), "index", "settings", "number_of_replicas")
def _no_replicas(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    if output.index.settings.number_of_replicas == 0 and remote_servers(output):
        yield (
            "without a replica a lost disk loses its events, which the durable tier forbids: use 1"
        )


@warning("RT307").for_each(index_settings, "refresh_interval")
def _refresh_beyond_freshness(settings: IndexSettings, profile: Profile) -> Iterator[str]:
    """Below a millisecond an engine schedules no refresh, as with -1."""
    bound_s, interval = profile.guardrails.freshness_p99_s, settings.refresh_interval
    waits_s = seconds(interval)
    if interval == "-1" or (waits_s is not None and waits_s < _SHORTEST_REFRESH_S):
        yield (
            f"with {interval} the engine never refreshes by itself, so searches do not find new "
            f"events: use 1s or more, below guardrails.freshness_p99_s ({bound_s:g} s)"
        )
    elif waits_s is not None and waits_s >= bound_s:
        yield (
            f"{interval} hides events from searches for longer than guardrails.freshness_p99_s "
            f"allows ({bound_s:g} s): use less, or allow more"
        )


@advice("RT308")
def _large_heap(profile: Profile) -> Iterator[Complaint]:
    """Elasticsearch sizes its own heap to 31 GB at most."""
    heap = profile.node.heap
    if size_bytes(heap) > size_bytes(_LARGEST_HEAP):
        yield Complaint(
            ("node", "heap"),
            f"a heap of {heap} loses Java's compressed object pointers and holds less than one of "
            f"{_LARGEST_HEAP}: use at most {_LARGEST_HEAP}, the rest of the memory serves as page "
            "cache",
        )


@warning("RT338")
def _too_few_lab_nodes(profile: Profile) -> Iterator[Complaint]:
    nodes = profile.lab.nodes
    copies = 1 + max(
        (output.index.settings.number_of_replicas for output in profile.indexed), default=0
    )
    if 1 < nodes < copies:
        yield Complaint(
            ("lab", "nodes"),
            f"{nodes} nodes hold {nodes} copies of a shard, number_of_replicas asks for {copies}: "
            f"the lab measures with {nodes - 1} replicas; use {copies} nodes",
        )


@error("RT334")
def _too_many_threads(profile: Profile) -> Iterator[Complaint]:
    node = profile.node
    if node.node_processors is None or node.thread_pool_write_size is None:
        return
    most = node.node_processors + 1
    if node.thread_pool_write_size > most:
        yield Complaint(
            ("node", "thread_pool.write.size"),
            f"a node with {node.node_processors} processors does not start with more than {most} "
            f"write threads: use at most {most}",
        )


# A document with its action line against the message it is made of: 244 bytes give about 500.
DOCUMENT = 2
# omelasticsearch's own maxbytes.
MAXBYTES = "100m"
# http.max_content_length and indexing_pressure.memory.limit of every engine, unless set.
_LARGEST_REQUEST = "100mb"
_PRESSURE = "10%"
# Bulks above four fifths of the limit leave no room for what else the node must hold.
_SHARE_OF_PRESSURE = 0.8
_LARGEST_BATCH = 10_000
# nginx's client_max_body_size, unless set; and where engines do not listen.
_NGINX_BODY = 1024 * 1024
_WEB = frozenset({80, 443})


class Requests(NamedTuple):
    """The bulks of one output: the queue that makes them, and the bytes of an event in them."""

    output: OmelasticsearchOutput
    queue: PlacedQueue
    event_bytes: int

    @property
    def batch_bytes(self) -> int:
        """A full batch: of its many messages the sum is close to that of as many mean ones."""
        return self.queue.batch * self.event_bytes

    @property
    def limit_bytes(self) -> int:
        """Above this omelasticsearch sends a batch in parts."""
        return size_bytes(self.output.maxbytes or MAXBYTES)

    @property
    def under_way_bytes(self) -> int:
        """What all workers send at once."""
        largest = min(self.batch_bytes, self.limit_bytes)
        return self.queue.copies * self.queue.workers * largest


def bulks(profile: Profile) -> Iterator[Placed[Requests]]:
    """The bulks of each output into the engine, with the place of the queue that makes them."""
    event_bytes = profile.workload.message_bytes.mean * DOCUMENT
    for number, output in profile.enumerated:
        queue = action_queue(profile, number)
        queue = working_queue(profile, number) if queue.is_direct else queue
        yield queue.path, Requests(output, queue, event_bytes)


def largest_request_bytes(profile: Profile) -> int:
    """What a node takes in one request."""
    return engine_bytes(profile.node.http_max_content_length or _LARGEST_REQUEST) or 0


def pressure_bytes(profile: Profile) -> int:
    """The most memory that a node allows for all bulks in flight."""
    limit = profile.node.indexing_pressure_memory_limit or _PRESSURE
    if limit.endswith("%"):
        return int(size_bytes(profile.node.heap) * float(limit[:-1]) / 100)
    return engine_bytes(limit) or 0


@loss("RT207")
def _split_batches(profile: Profile) -> Iterator[Complaint]:
    most = largest_request_bytes(profile)
    for (number, _), (_, bulk) in zip(profile.enumerated, bulks(profile), strict=True):
        if bulk.batch_bytes > most:
            yield _batch(
                bulk,
                f"can exceed the {most} bytes that the engine takes in one request "
                "(http.max_content_length)",
                most // bulk.event_bytes,
            )
        elif bulk.batch_bytes > bulk.limit_bytes:
            yield Complaint(
                ("outputs", number, "maxbytes"),
                f"batches of {bulk.queue.batch} events can exceed {bulk.limit_bytes} bytes and are "
                "then sent in parts, which loses events when the connection fails: use at least "
                f"{_kib(bulk.batch_bytes)}",
            )


@loss("RT212").for_each(engine_outputs, "maxbytes")
def _message_above_maxbytes(output: OmelasticsearchOutput, profile: Profile) -> Iterator[str]:
    """The empty request goes out only where that document is the first of a batch."""
    longest, limit = _longest_message(profile), size_bytes(output.maxbytes or MAXBYTES)
    if longest * DOCUMENT > limit:
        yield (
            f"one message of {longest} bytes can exceed {limit} bytes as a document: rsyslog "
            "sends it anyway, after an empty request that the engine refuses; use at least "
            f"{_kib(longest * DOCUMENT)}"
        )


def _longest_message(profile: Profile) -> int:
    """The lines of a replayed file can be as long as rsyslog lets them be."""
    workload = profile.workload
    replays = workload.mean_message_bytes is None
    return profile.longest_message_bytes if replays else workload.message_bytes.sizes.longest


def _kib(size: int) -> str:
    return f"{-(-size // 1024)}k"


@loss("RT214").for_each(engine_outputs)
def _above_the_engines(output: OmelasticsearchOutput, profile: Profile) -> Iterator[Complaint]:
    most = largest_request_bytes(profile)
    if output.maxbytes is not None and size_bytes(output.maxbytes) > most:
        yield Complaint(
            ("maxbytes",),
            f"the engine takes at most {most} bytes in one request (http.max_content_length) "
            f"and answers larger ones with 413, which loses the batch: use at most {most // 1024}k",
            Cure(f"{most // 1024}k", f"batches of more than {most} bytes are lost"),
        )


@warning("RT218").for_each(bulks, "dequeueBatchSize")
def _above_a_proxys(bulk: Requests, _: Profile) -> Iterator[str]:
    """Engines listen on 9200: on the ports of the web something else answers for them."""
    servers = remote_servers(bulk.output)
    proxy = next((server for _, server in servers if urlsplit(server).port in _WEB), None)
    if proxy is not None and not bulk.output.maxbytes and bulk.batch_bytes > _NGINX_BODY:
        yield (
            f"batches of {bulk.queue.batch} events can exceed 1 MiB, nginx's default limit of "
            f"a request, and {proxy} looks like a proxy: if it refuses them, the output blocks "
            f"and doubles events; use at most {_NGINX_BODY // bulk.event_bytes}, or set "
            "maxbytes to what the proxy takes"
        )


@warning("RT215")
def _under_pressure(profile: Profile) -> Iterator[Complaint]:
    limit = pressure_bytes(profile)
    room = int(limit * _SHARE_OF_PRESSURE)
    all_bulks = [bulk for _, bulk in bulks(profile)]
    under_way = sum(bulk.under_way_bytes for bulk in all_bulks)
    if under_way > room:
        largest = max(all_bulks, key=lambda bulk: bulk.under_way_bytes)
        others_bytes = under_way - largest.under_way_bytes
        workers = largest.queue.copies * largest.queue.workers
        fits = max(1, (room - others_bytes) // workers // largest.event_bytes)
        yield _batch(
            largest,
            f"can have {under_way} bytes in flight at once, and one node with the heap of "
            f"node.heap answers 429 above {limit} (indexing_pressure.memory.limit)",
            fits,
        )


def _batch(requests: Requests, reason: str, fits: int) -> Complaint:
    return Complaint(
        (*requests.queue.path, "dequeueBatchSize"),
        f"batches of {requests.queue.batch} events {reason}: use at most {fits}",
    )


@advice("RT216").for_each(where_durable(bulks), "dequeueBatchSize")
def _expensive_failures(bulk: Requests, _: Profile) -> Iterator[str]:
    batch = bulk.queue.batch
    if batch > _LARGEST_BATCH and remote_servers(bulk.output):
        yield (
            f"when the connection fails, rsyslog sends the batch again as {batch} requests of one "
            f"event each: use at most {_LARGEST_BATCH}"
        )


@error("RT342")
def _above_max_message_size(profile: Profile) -> Iterator[Complaint]:
    longest, most = profile.workload.message_bytes.sizes.longest, profile.longest_message_bytes
    accepts = profile.global_.oversizemsg_input_mode == "accept"
    if profile.workload.mean_message_bytes is not None and longest > most and not accepts:
        yield Complaint(
            ("workload", "message_bytes"),
            f"messages of up to {longest} bytes are longer than the {most} that rsyslog takes: "
            "make them shorter, or raise global.maxMessageSize",
        )
