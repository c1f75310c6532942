"""The profile: what the user asked for, as frozen validated data.

Keys are each parameter's own name in its own system, so that searching for a key finds its
documentation; aliases spell them as rsyslog and Elasticsearch do.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Literal

from pydantic import Field, model_validator

from tuner.profile.field import DocumentField, Preset
from tuner.profile.queue import NonNegative, Place, Positive, Queue, Switch, resolve
from tuner.profile.scalars import (
    AbsolutePath,
    Address,
    ByteSize,
    Duration,
    FilterPath,
    Heap,
    IndexName,
    Name,
    Percentage,
    Port,
    Server,
)
from tuner.profile.section import RsyslogSection, Section
from tuner.profile.workload import Workload as Workload


class Engine(Enum):
    """What indexes the documents."""

    ELASTICSEARCH = "elasticsearch"
    OPENSEARCH = "opensearch"


class Release(Section):
    """The oldest rsyslog, and the engine version, that must accept the output."""

    rsyslog: Annotated[str, Field(pattern=r"^8\.\d{2,4}$")] = "8.2302"
    elasticsearch: Annotated[str, Field(pattern=r"^\d+\.\d+$")] | None = None
    opensearch: Annotated[str, Field(pattern=r"^\d+\.\d+$")] | None = None

    @model_validator(mode="after")
    def _one_engine(self) -> Release:
        if (self.elasticsearch is None) == (self.opensearch is None):
            raise ValueError("name exactly one engine: elasticsearch or opensearch")
        return self

    @property
    def engine(self) -> Engine:
        """Which engine the profile is for."""
        return Engine.OPENSEARCH if self.elasticsearch is None else Engine.ELASTICSEARCH

    @property
    def engine_version(self) -> tuple[int, int]:
        """(major, minor) of the engine."""
        major, minor = (self.elasticsearch or self.opensearch or "").split(".")
        return int(major), int(minor)

    @property
    def rsyslog_number(self) -> int:
        """The part after `8.`, for comparing releases: 8.2302 gives 2302, 8.39 gives 39."""
        return int(self.rsyslog.split(".")[1])


class ImptcpInput(RsyslogSection):
    """imptcp: plain TCP, a poller and helper threads.  `threads` and `processOnPoller` are
    parameters of the module, so every imptcp input of a profile must agree on them."""

    type: Literal["imptcp"]
    address: Address = "127.0.0.1"
    port: Port
    threads: Positive = 2
    process_on_poller: Switch = True
    socket_backlog: Positive = 64
    support_octet_counted_framing: Switch = True


class ImtcpInput(RsyslogSection):
    """imtcp: TCP with a static pool of four workers before rsyslog 8.2504."""

    type: Literal["imtcp"]
    address: Address = "127.0.0.1"
    port: Port
    max_sessions: Positive = 200
    support_octet_counted_framing: Switch = True


Input = Annotated[ImptcpInput | ImtcpInput, Field(discriminator="type")]


class SecretRef(Section):
    """Where a secret is kept; the secret itself never enters a profile or a rendered file."""

    file: AbsolutePath | None = None
    env: Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]*$")] | None = None

    @model_validator(mode="after")
    def _one_place(self) -> SecretRef:
        if (self.file is None) == (self.env is None):
            raise ValueError("name exactly one place: {file: /path} or {env: NAME}")
        return self


class Auth(Section):
    """Basic authentication towards the engine."""

    uid: Annotated[str, Field(pattern=r"^[^\x00-\x20:`]+$", max_length=200)]
    pwd: SecretRef


class Tls(RsyslogSection):
    """TLS towards the engine; the paths are on the host that runs rsyslog."""

    cacert: AbsolutePath | None = None
    mycert: AbsolutePath | None = None
    myprivkey: AbsolutePath | None = None


class MappingStyle(Enum):
    """`explicit`: the leanest mapping that serves the uses; `dynamic`: the engine guesses."""

    EXPLICIT = "explicit"
    DYNAMIC = "dynamic"


class Rotate(Enum):
    """How the index name grows a date."""

    NONE = "none"
    DAILY = "daily"


class IndexSettings(Section):
    """Index settings, without their `index.` prefix; None leaves the engine's default."""

    number_of_shards: Annotated[int, Field(ge=1, le=1024, strict=True)] = 1
    number_of_replicas: Annotated[int, Field(ge=0, le=10, strict=True)] = 1
    refresh_interval: Duration | None = None
    codec: Literal["default", "best_compression"] | None = None
    translog_durability: Literal["request", "async"] | None = Field(
        None, alias="translog.durability"
    )
    translog_sync_interval: Duration | None = Field(None, alias="translog.sync_interval")
    translog_flush_threshold_size: ByteSize | None = Field(
        None, alias="translog.flush_threshold_size"
    )
    translog_flush_threshold_age: Duration | None = Field(
        None, alias="translog.flush_threshold_age"
    )
    merge_scheduler_max_thread_count: Positive | None = Field(
        None, alias="merge.scheduler.max_thread_count"
    )
    mapping_total_fields_limit: Positive | None = Field(None, alias="mapping.total_fields.limit")


class Index(Section):
    """Where the documents of an output go."""

    name: IndexName
    rotate: Rotate = Rotate.NONE
    mapping: MappingStyle = MappingStyle.EXPLICIT
    settings: IndexSettings = IndexSettings()


class OmelasticsearchOutput(RsyslogSection):
    """An omelasticsearch action with its own queue; `bulkmode` is always on.

    `mmutf8fix` repairs invalid UTF-8 in messages first: the engine rejects such documents.
    """

    name: Name
    type: Literal["omelasticsearch"]
    servers: Annotated[tuple[Server, ...], Field(min_length=1)]
    auth: Auth | None = None
    tls: Tls | None = None
    document: Preset | Annotated[tuple[DocumentField, ...], Field(min_length=1)] = Preset.ECS
    queue: Queue | None = None
    mmutf8fix: Switch = Field(True, alias="mmutf8fix")
    index: Index
    timeout: Annotated[str, Field(pattern=r"^\d+(ms|s|m)$")] | None = None
    filter_path: Annotated[tuple[FilterPath, ...], Field(min_length=1)] | None = Field(
        None, alias="filter_path"
    )
    maxbytes: Annotated[str, Field(pattern=r"^\d+[km]?$")] | None = None
    index_timeout: NonNegative = 0
    health_check_timeout: Positive = Field(3500, alias="healthCheckTimeout")
    action_resume_retry_count: Annotated[int, Field(ge=-1, strict=True)] = Field(
        -1, alias="action.resumeRetryCount"
    )
    action_resume_interval: Positive = Field(30, alias="action.resumeInterval")


class Node(Section):
    """Settings of the engine's nodes; they need a restart."""

    heap: Heap = "2g"
    index_buffer_size: Percentage | None = Field(None, alias="indices.memory.index_buffer_size")

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """What belongs into the node's settings file: names and values."""
        if self.index_buffer_size is None:
            return ()
        return (("indices.memory.index_buffer_size", self.index_buffer_size),)


class Tier(Enum):
    """The durability the user demands of the engine side; never traded by the search."""

    DURABLE = "durable"
    RELAXED = "relaxed"
    BERSERK = "berserk"


class Guardrails(Section):
    """What a recommendation must not breach."""

    tier: Tier = Tier.DURABLE
    lost: Literal[0] = 0
    duplicated: Literal[0] = 0
    freshness_p99_s: Annotated[float, Field(gt=0)] = 45.0
    rss_bytes: Annotated[str, Field(pattern=r"^[1-9]\d*[kmg]?$")] | None = None


class Search(Section):
    """Narrows the space that the search derives from the profile."""

    freeze: tuple[str, ...] = ()


class Profile(Section):
    """One pipeline from syslog senders through rsyslog into the engine."""

    name: Name
    release: Release = Release(elasticsearch="8.19")
    inputs: Annotated[tuple[Input, ...], Field(min_length=1)]
    main_queue: Queue | None = None
    outputs: Annotated[tuple[OmelasticsearchOutput, ...], Field(min_length=1, max_length=1)]
    node: Node = Node()
    workload: Workload = Workload()
    guardrails: Guardrails = Guardrails()
    search: Search = Search()


def resolve_main(profile: Profile) -> Queue:
    """The main queue with every default written out; rsyslog's defaults for a configuration
    without main_queue() when the profile has none."""
    place = Place.IMPLICIT_MAIN if profile.main_queue is None else Place.MAIN
    return resolve(profile.main_queue, place)
