"""Lint for requests: bulks that a node refuses, batches that make every failure expensive,
and what weakens them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from tuner.lint.each import Placed, each, engine_outputs, where_durable
from tuner.lint.rules.settings import SETTINGS
from tuner.lint.rules.transport import REMOTE, remote_servers
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.refused_bulks import WAITS_ON_ERRORS
from tuner.profile.model import Profile, Tier
from tuner.profile.placement import PlacedQueue, action_queue, working_queue
from tuner.rule import Complaint, Cure, advice, error, loss, warning
from tuner.schema.units import engine_bytes, seconds, size_bytes

_LARGEST_HEAP = "31g"
_SHORTEST_REFRESH_S = 0.001


@error(
    "RT301",
    why="async acknowledges before anything is on disk: a crash of the engine, or a kill, loses "
    "acknowledged events since the last synchronisation.",
    source="Elasticsearch, index modules: translog",
    bad={f"{SETTINGS}.translog.durability": "async"},
    good={f"{SETTINGS}.translog.durability": "request"},
)
@each(engine_outputs, "index", "settings", "translog.durability")
def _async_translog(output: OmelasticsearchOutput, profile: Profile) -> Iterator[str]:
    durability = output.index.settings.translog_durability
    if durability == "async" and profile.guardrails.tier is Tier.DURABLE:
        yield (
            "async loses acknowledged events when the engine crashes, which the durable tier "
            "forbids: use request, or set guardrails.tier to relaxed"
        )


@loss(
    "RT302",
    why="A shard without a replica is lost with its disk.",
    source="Elasticsearch, reliability",
    bad={**REMOTE, f"{SETTINGS}.number_of_replicas": 0},
    good={f"{SETTINGS}.number_of_replicas": 1},
)
@each(where_durable(engine_outputs), "index", "settings", "number_of_replicas")
def _no_replicas(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    if output.index.settings.number_of_replicas == 0 and remote_servers(output):
        yield (
            "without a replica a lost disk loses its events, which the durable tier forbids: use 1"
        )


@warning(
    "RT307",
    why="A search finds an event only after a refresh, so a long interval breaks the promised "
    "freshness.",
    source="Elasticsearch, index.refresh_interval",
    bad={"guardrails.freshness_p99_s": 45, f"{SETTINGS}.refresh_interval": "60s"},
    good={f"{SETTINGS}.refresh_interval": "30s"},
)
@each(engine_outputs, "index", "settings", "refresh_interval")
def _refresh_beyond_freshness(output: OmelasticsearchOutput, profile: Profile) -> Iterator[str]:
    """Below a millisecond an engine schedules no refresh, as with -1."""
    bound_s, interval = profile.guardrails.freshness_p99_s, output.index.settings.refresh_interval
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


@advice(
    "RT308",
    why="Near 32 GB Java stops compressing object pointers, and every reference takes 8 bytes "
    "instead of 4.",
    source="Elasticsearch, heap size settings",
    bad={"node.heap": "31745m"},
    good={"node.heap": _LARGEST_HEAP},
)
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


@warning(
    "RT338",
    why="No node holds two copies of a shard, so the lab measures with fewer replicas.",
    source="Elasticsearch, SameShardAllocationDecider",
    bad={f"{SETTINGS}.number_of_replicas": 2, "lab.nodes": 2},
    good={"lab.nodes": 3},
)
def _too_few_lab_nodes(profile: Profile) -> Iterator[Complaint]:
    nodes = profile.lab.nodes
    copies = 1 + max((one.index.settings.number_of_replicas for one in profile.indexed), default=0)
    if 1 < nodes < copies:
        yield Complaint(
            ("lab", "nodes"),
            f"{nodes} nodes hold {nodes} copies of a shard, number_of_replicas asks for {copies}: "
            f"the lab measures with {nodes - 1} replicas; use {copies} nodes",
        )


@error(
    "RT334",
    why="The node does not start.",
    source="Elasticsearch, thread pools: write has at most the number of processors + 1",
    bad={"node.node.processors": 4, "node.thread_pool.write.size": 6},
    good={"node.thread_pool.write.size": 5},
)
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


@loss(
    "RT207",
    why="F4: if a batch is sent in parts and the connection fails, events are lost, 38 of 100. "
    "F1: the engine answers 413 to a request above its limit, and rsyslog silently drops it; "
    "errorfile does not get it.",
    source="rsyslog plugins/omelasticsearch; seen on 8.2302",
    bad={"outputs[logs].maxbytes": "500k"},
    good={"outputs[logs].maxbytes": "2m"},
)
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


@loss(
    "RT212",
    why="rsyslog sends a document above maxbytes anyway, after an empty request which the engine "
    "refuses with 400.",
    source="rsyslog plugins/omelasticsearch; seen on 8.2302",
    bad={
        "workload.message_bytes": {
            "distribution": "lognormal",
            "mean": 244,
            "min": 120,
            "max": 8000,
        },
        "outputs[logs].queue.dequeueBatchSize": 10,
        "outputs[logs].maxbytes": "8k",
    },
    good={"outputs[logs].maxbytes": "32k"},
)
@each(engine_outputs, "maxbytes")
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


@loss(
    "RT214",
    why="F1: the engine answers a request above http.max_content_length with 413 and no body, and "
    "every release of rsyslog silently drops such a batch; errorfile does not get it.",
    source="Elasticsearch 8.19, http.max_content_length; seen on rsyslog 8.2102 to 8.2610",
    bad={"outputs[logs].maxbytes": "200m"},
    good={"outputs[logs].maxbytes": "100m"},
)
@each(engine_outputs)
def _above_the_engines(output: OmelasticsearchOutput, profile: Profile) -> Iterator[Complaint]:
    most = largest_request_bytes(profile)
    if output.maxbytes is not None and size_bytes(output.maxbytes) > most:
        yield Complaint(
            ("maxbytes",),
            f"the engine takes at most {most} bytes in one request (http.max_content_length) "
            f"and answers larger ones with 413, which loses the batch: use at most {most // 1024}k",
            Cure(f"{most // 1024}k", f"batches of more than {most} bytes are lost"),
        )


@warning(
    "RT218",
    why="F2: by default nginx answers a request of more than 1 MiB with 413 and a page of HTML. "
    "Every release of rsyslog then sends the batch again, each time with one event more, and the "
    "output blocks.",
    source="nginx, client_max_body_size; seen on rsyslog 8.2102 to 8.2610",
    bad={
        **REMOTE,
        "outputs[logs].servers": ["https://es.example:443"],
        "outputs[logs].queue.dequeueBatchSize": 5000,
    },
    good={"outputs[logs].queue.dequeueBatchSize": 2000},
)
@each(bulks, "dequeueBatchSize")
def _above_a_proxys(bulk: Requests, _: Profile) -> Iterator[str]:
    """Engines listen on 9200: on the ports of the web something else answers for them."""
    servers = remote_servers(bulk.output)
    behind = next((one for _, one in servers if urlsplit(one).port in _WEB), None)
    if behind is not None and not bulk.output.maxbytes and bulk.batch_bytes > _NGINX_BODY:
        yield (
            f"batches of {bulk.queue.batch} events can exceed 1 MiB, nginx's default limit of "
            f"a request, and {behind} looks like a proxy: if it refuses them, the output blocks "
            f"and doubles events; use at most {_NGINX_BODY // bulk.event_bytes}, or set "
            "maxbytes to what the proxy takes"
        )


@warning(
    "RT215",
    why="Bulks in flight take memory of the node until they are indexed. Above a tenth of the heap"
    " it answers 429 to whole bulks, which rsyslog before 8.2606 drops (F1).",
    source="Elasticsearch and OpenSearch, indexing_pressure.memory.limit",
    bad={"node.indexing_pressure.memory.limit": "2mb"},
    good={"node.indexing_pressure.memory.limit": "64mb"},
    at="outputs[logs].queue.dequeueBatchSize",
)
def _under_pressure(profile: Profile) -> Iterator[Complaint]:
    limit = pressure_bytes(profile)
    room = int(limit * _SHARE_OF_PRESSURE)
    every = [bulk for _, bulk in bulks(profile)]
    under_way = sum(one.under_way_bytes for one in every)
    if under_way > room:
        largest = max(every, key=lambda one: one.under_way_bytes)
        others = under_way - largest.under_way_bytes
        workers = largest.queue.copies * largest.queue.workers
        fits = max(1, (room - others) // workers // largest.event_bytes)
        yield _batch(
            largest,
            f"can have {under_way} bytes in flight at once, and one node with the heap of "
            f"node.heap answers 429 above {limit} (indexing_pressure.memory.limit)",
            fits,
        )


def _batch(requests: Requests, what: str, fits: int) -> Complaint:
    return Complaint(
        (*requests.queue.path, "dequeueBatchSize"),
        f"batches of {requests.queue.batch} events {what}: use at most {fits}",
    )


@advice(
    "RT216",
    why="F3: a batch that could not be sent is tried again one event at a time: 100 events made "
    f"101 requests. From 8.{WAITS_ON_ERRORS} that is so after 429 and 5xx too. A large batch "
    "keeps its worker busy for minutes.",
    source="rsyslog action.c, actionTryRemoveHardErrorsFromBatch; seen on 8.2302 and 8.2610",
    bad={
        **REMOTE,
        "outputs[logs].queue.dequeueBatchSize": 12_000,
        "outputs[logs].queue.workerThreadMinimumMessages": 5000,
    },
    good={"outputs[logs].queue.dequeueBatchSize": 5000},
)
@each(where_durable(bulks), "dequeueBatchSize")
def _expensive_failures(bulk: Requests, _: Profile) -> Iterator[str]:
    batch = bulk.queue.batch
    if batch > _LARGEST_BATCH and remote_servers(bulk.output):
        yield (
            f"when the connection fails, rsyslog sends the batch again as {batch} requests of one "
            f"event each: use at most {_LARGEST_BATCH}"
        )
