"""omelasticsearch: documents into Elasticsearch or OpenSearch.

None means not set in the profile: rsyslog's default applies.
"""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from tuner.engines.index import Index
from tuner.engines.release import Engine
from tuner.modules.field import DocumentField, Preset
from tuner.modules.output import Output
from tuner.modules.secrets import Auth, SecretRef, Tls
from tuner.modules.text_source import PropertyName
from tuner.schema.scalars import (
    AbsolutePath,
    FieldName,
    FilterPath,
    NonNegative,
    PipelineName,
    Positive,
    Server,
    Switch,
    WordPath,
)
from tuner.schema.section import RsyslogSection, Section, parameter

FILTER_PATH = "filter_path"
"""The key of a profile that rides on `timeout`, which is pasted into the URL (F16)."""
BULK_TIMEOUT = "1m"
"""Elasticsearch's own timeout of a bulk."""
ASKS_AT_START = 2510
"""The first rsyslog that asks each server for its version when it starts (F14)."""
# What becomes of a bulk that the engine, or a proxy before it, refuses is a table of tests
# (tests/modules/refused_bulks.py), which tests/live/test_refused_bulks.py has happen to the
# rsyslogd at hand and docs are compared with.  Where between two of those a release changed is in
# rsyslog's commits a5c4d2694, 2f29b1ccb and a8b706c5c.
WAITS_WITHOUT_RIGHTS = 2508
"""The first release that waits when a whole bulk is answered with 401 or 403."""
WAITS_ON_ERRORS = 2606
"""The same for 429 and 5xx."""

TYPE_CAN_GO, TYPE_GONE = 2206, 2510
"""The first releases that leave `_type` out where searchType is empty, and where it is not set."""
_TAKES_TYPE = {Engine.ELASTICSEARCH: 7, Engine.OPENSEARCH: 1}
"""The last version of each engine that takes a bulk with `_type`; later ones answer 400 to all."""


def refuses_type(engine: Engine, major: int) -> bool:
    """Whether an engine of that major version refuses every bulk with `_type`."""
    return major > _TAKES_TYPE[engine]


def sends_type(release: int, search_type: str | None, engine_major: str | None) -> bool:
    """Whether a release sends `_type` (F15), by searchType and esVersion.major as they are written,
    None where they are not."""
    if release < TYPE_CAN_GO:
        return True
    if search_type is None:
        return release < TYPE_GONE and (engine_major is None or engine_major in _WITH_TYPES)
    return search_type != ""


_WITH_TYPES = frozenset("01234567")


def lost_whole(release: int) -> str:
    """The answers to a whole bulk after which this release loses it and a newer one waits, in
    words, such as `401, 403, 429 or 5xx`; empty if there are none."""
    rights = "401, 403, " if release < WAITS_WITHOUT_RIGHTS else ""
    return f"{rights}429 or 5xx" if release < WAITS_ON_ERRORS else ""


_WriteOperation = Literal["index", "create"]
DEFAULT_INDEX = "system"
"""Where documents go without a searchIndex (omelasticsearch.c)."""


class RetryFailures(RsyslogSection):
    """What happens to documents that the engine refuses one by one: those that it may accept later
    are sent again, the others are written to `file`, one JSON object a line."""

    file: AbsolutePath = parameter(
        "The file for documents that the engine will never accept, one JSON object a line.",
        value=...,
    )


class DocumentId(Section):
    """The id of a document: a value of the event of 1 to 512 visible ASCII characters without
    quotes and backslashes, else a new one."""

    property: PropertyName | None = parameter("The property of the event.")
    json_path: FieldName | None = parameter("The path into the event's JSON.", alias="json")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.property is None) == (self.json_path is None):
            raise ValueError("give exactly one of property and json")
        return self


class OmelasticsearchOutput(Output):
    """An omelasticsearch action with its own queue; `bulkmode` is always on.

    `mmutf8fix` repairs invalid UTF-8 in messages first, but not in their heads: the engine rejects
    such documents.
    `bulkid: uuid` gives each event an id of its own, so that what is sent twice is kept once;
    `retryfailures` needs one, and `writeoperation: create`, and sets both.  With
    `dynPipelineName` the name of the pipeline comes from the event's property of that name.
    """

    type: Literal["omelasticsearch"] = parameter(
        "Documents into Elasticsearch or OpenSearch.", "F18", value=...
    )
    servers: Annotated[tuple[Server, ...], Field(min_length=1)] = parameter(
        "The engine's addresses.",
        "An address without a port means port 9200, with https too; one of IPv6 means "
        "80, or 443 with https.",
        "F2",
        "F3",
        "With several, rsyslog switches servers after each bulk and checks a "
        "server's health before each bulk.",
        "F14",
        value=...,
    )
    auth: Auth | None = parameter("Basic authentication towards the engine.", "F1")
    apikey: SecretRef | None = parameter("Where the API key is kept; excludes auth.", since=2512)
    tls: Tls | None = parameter(
        "TLS towards the engine, on when the servers' addresses begin with https."
    )
    document: Preset | Annotated[tuple[DocumentField, ...], Field(min_length=1)] = parameter(
        "What a document holds: a preset by name, or a list of fields.",
        "F5",
        "F6",
        value=Preset.ECS,
    )
    mmutf8fix: Switch = parameter(
        "Whether invalid UTF-8 in messages is repaired first.",
        "The engine rejects documents with invalid UTF-8.",
        "Only msg is repaired: an event whose host or program is not UTF-8 is "
        "refused and goes to retryfailures.file.",
        value=True,
    )
    index: Index = parameter("Where the documents go, and the settings of the indices.", value=...)
    writeoperation: _WriteOperation | None = parameter(
        "index replaces a document of the same id, create refuses it; data streams need create.",
        "F14",
        "create without bulkid is an error unless the recipe names the engine's version.",
    )
    bulkid: Literal["uuid"] | DocumentId | None = parameter(
        "uuid gives each event an id of its own, so that what is sent twice is kept once; a "
        "property or a path into JSON makes the event's own value the id.",
        "The engine must look for the id: indexing is slower.",
        "Of events with the same value one document is kept: the last one, or with "
        "writeoperation: create the first. Senders choose the value.",
    )
    retryfailures: RetryFailures | None = parameter(
        "Single documents that the engine refuses are sent again, or written to a file if it "
        "will never accept them. Sets bulkid and create.",
        "F1",
        "F5",
        default="off: refused documents are lost",
    )
    errorfile: WordPath | None = parameter(
        "The file for requests that failed, with the engine's replies.",
        "F5",
        "By default whole bulks are written: it grows fast.",
    )
    erroronly: Switch | None = parameter(
        "Whether errorfile gets only the documents that failed.", "F5"
    )
    interleaved: Switch | None = parameter(
        "Whether errorfile shows each document next to its reply.", "F5"
    )
    pipeline_name: PipelineName | None = parameter(
        "The ingest pipeline that documents pass; costs CPU time in the engine."
    )
    dyn_pipeline_name: Switch | None = parameter(
        "Whether pipelineName names a property of the event that holds the pipeline's name.",
        "A name that is not ASCII, or has a quote or a backslash, counts as empty.",
    )
    skip_pipeline_if_empty: Switch | None = parameter(
        "Whether an empty pipeline name is left out instead of being an error."
    )
    timeout: Annotated[str, Field(pattern=r"^[0-9]{1,15}(ms|s|m)$")] | None = parameter(
        "How long the engine may wait for its shards; it is added to the URL of the bulk.", "F16"
    )
    filter_path: Annotated[tuple[FilterPath, ...], Field(min_length=1)] | None = parameter(
        "What the engine leaves in its replies; rsyslog reads errors, items.*.status "
        "and items.*.error only.",
        "F16",
        "Without items.*.status rsyslog cannot see which documents failed.",
        alias="filter_path",
    )
    maxbytes: Annotated[str, Field(pattern=r"^[0-9]{1,15}[km]?$")] | None = parameter(
        "The most bytes of one bulk request.",
        "F4",
        "F1",
        "Above the engine's http.max_content_length the bulk is refused with 413.",
        default="100m",
    )
    index_timeout: NonNegative = parameter(
        "Milliseconds that a bulk may take; 0 means no limit.",
        "With 0 a hung engine blocks a worker forever; a value that is too low sends events twice.",
        "F3",
        value=0,
        since=2204,
    )
    health_check_timeout: Positive = parameter(
        "Milliseconds that a server may take to answer the health check.", "F14", value=3500
    )
    rebindinterval: Positive | None = parameter(
        "After this many bulks the connection is opened again, for load balancers; -1 means never.",
        "Small values leave many closed connections behind.",
    )

    @property
    def url_timeout(self) -> str | None:
        """The parameter `timeout`, with the filter of replies behind it."""
        if self.filter_path is None:
            return self.timeout
        return f"{self.timeout or BULK_TIMEOUT}&{FILTER_PATH}={','.join(self.filter_path)}"

    @property
    def creates(self) -> bool:
        """Whether documents are created, never overwritten; data streams accept nothing else."""
        streams = self.index.data_stream is not None
        return streams or self.retryfailures is not None or self.writeoperation == "create"

    @property
    def has_ids(self) -> bool:
        """Whether each document gets its id from rsyslog: create needs one on all releases."""
        return self.creates or self.bulkid is not None

    @property
    def start_checks_s(self) -> float:
        """How long rsyslog 8.2510 and later wait for servers that do not answer, when they start
        and for -N1: one server after the other, and again for the action of the retries."""
        actions = 1 if self.retryfailures is None else 2
        return actions * len(self.servers) * self.health_check_timeout / 1000

    @property
    def secrets(self) -> tuple[SecretRef, ...]:
        """What it logs in with."""
        password = () if self.auth is None else (self.auth.pwd,)
        return password if self.apikey is None else (*password, self.apikey)

    @property
    def has_secrets(self) -> bool:
        """Whether the rendered action refers to a password or a key."""
        return self.auth is not None or self.apikey is not None

    package: ClassVar[str] = "rsyslog-elasticsearch"
