"""omhttp: a server that takes events over HTTP, such as Loki or Splunk.

None means not set in the profile: rsyslog's default applies.
"""

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from tuner.modules.field import DocumentField, FieldType
from tuner.modules.output import Lines
from tuner.modules.ratelimit import NamedLimit
from tuner.modules.secrets import Auth, HttpTls, SecretRef, without_secret
from tuner.modules.text_source import EVERYTHING, NamingProperty
from tuner.schema.scalars import Address, MemorySize, NonNegative, Port, Positive, Switch, WordPath
from tuner.schema.section import OfProfile, Section, parameter

HttpServer = Annotated[
    str, Field(pattern=r"^(https?://)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?$")
]
UrlPath = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.~%!*+,;:@=&?-][A-Za-z0-9_.~%!*+,;:@=&?/-]*$")]
UrlPart = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.~%!*+,;:@=&?/-]{1,200}$")]
Status = Annotated[int, Field(ge=100, le=599, strict=True)]
Statuses = Annotated[tuple[Status, ...], Field(min_length=1)]
_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONFIDENTIAL = r"authorization|cookie|token|secret|passw|credential|(api|auth|access).?key"
_CERTIFICATES = frozenset({"cacert", "mycert", "myprivkey"})
PACKAGED = 2512


Header = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_-]{1,100}: ?[^\x00-\x1f\x7f]{0,1000}$"),
    without_secret(": ", _CONFIDENTIAL),
]


class RestPath(Section):
    """A path for each value of a property: `before`, the value, `after`.

    The value comes from the network: only letters, digits, `.`, `_` and `-` pass, 64 at most, and
    they become small.
    """

    before: UrlPart | None = parameter("What comes before the value, such as logs-.")
    property: NamingProperty = parameter(
        "The property whose value stands in the path, in small letters.", value=...
    )
    after: UrlPart | None = parameter("What comes after the value, such as /_bulk.")
    fallback: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")] = parameter(
        "What stands there instead of a value with other characters, or of none.", value="other"
    )


class OmhttpOutput(Lines):
    """omhttp: a server that takes events over HTTP; from the package rsyslog-http.

    `labels` are for Loki, whose batch.format lokirest needs them with a `line`; `bulk` is for the
    `_bulk` of Elasticsearch and OpenSearch.  Both write around an event what the server expects.
    """

    type: Literal["omhttp"] = parameter(
        "A server that takes events over HTTP: Loki, Splunk, a proxy before an engine.",
        "What is answered with 3xx or 4xx is dropped, 429 left aside; after 429, 5xx and "
        "a broken connection rsyslog waits (8.2610).",
        "After a batch that has to wait, its events are sent again one by one (8.2610).",
        "No lab has a server for it: measurements are those of the pipeline without.",
        "Without proxyhost rsyslogd's variable http_proxy names a proxy.",
        value=...,
    )
    server: Annotated[tuple[HttpServer, ...], Field(min_length=1)] = parameter(
        "The servers, names or addresses of the form https://name:port; of several each "
        "request goes to the next.",
        "Without checkpath a server that is down gets its turn like the others.",
        value=...,
    )
    serverport: Port | None = parameter(
        "The port of servers whose address names none.",
        "443 stands for http:// too.",
        default="443",
    )
    use_https: Switch | None = parameter(
        "Whether https is spoken to servers whose address does not say.", default="on"
    )
    tls: HttpTls | None = parameter(
        "TLS towards the server: certificates, and what is not checked."
    )
    auth: Auth | None = parameter("Basic authentication towards the server.")
    token: SecretRef | None = parameter(
        "Where the token for Splunk is kept, which a profile of hec:splunk needs.",
        "Without such a profile rsyslog ignores it.",
        since=2512,
    )
    profile: Literal["loki", "hec:splunk:event", "hec:splunk:raw"] | None = parameter(
        "Sets rsyslog's own values for such a server where nothing else is written: path, "
        "batch and its format, checkpath, compress.",
        "loki switches compress on, whatever the profile says.",
        "rsyslog's own templates for events are not used: document or line says them.",
        since=2510,
    )
    httpheaders: Annotated[tuple[Header | SecretRef, ...], Field(min_length=1)] | None = parameter(
        "Headers of each request, each name: value; one with a secret by reference: "
        "{file: /path} holds Authorization: ... and no newline."
    )
    httpheaderkey: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,100}$")] | None = parameter(
        "The name of one more header."
    )
    httpheadervalue: SecretRef | None = parameter(
        "Where the value of the header httpheaderkey is kept."
    )
    httpcontenttype: Annotated[str, Field(pattern=r"^[A-Za-z0-9/.+;=_-]{1,200}$")] | None = (
        parameter(
            "The content type of requests.",
            default="text/plain for newline, application/json for the other formats and for "
            "single events",
        )
    )
    restpath: UrlPath | None = parameter(
        "The path that events are posted to, without a slash before it."
    )
    dynrestpath: RestPath | None = parameter(
        "A path for each value of a property, in place of restpath.",
        "A batch ends where the path changes.",
    )
    checkpath: UrlPath | None = parameter(
        "The path that is asked whether a server is there, before it is tried again.",
        "Any answer will do, 503 too.",
    )
    healthchecktimeout: Positive | None = parameter(
        "Milliseconds that a server may take to answer the health check.", default="3500"
    )
    healthchecktimedelay: Positive | None = parameter(
        "Seconds between two health checks, and that a server is left alone after 429.",
        "Has an effect with checkpath only.",
        since=2602,
        default="30 after 429, 1 after other failures",
    )
    restpathtimeout: NonNegative | None = parameter(
        "Milliseconds that a request may take; 0 means no limit.",
        "A batch that is answered later is sent again: its events arrive twice.",
        since=2404,
        default="30000",
    )
    proxyhost: Address | None = parameter(
        "The HTTP proxy.", since=2404, default="the variable http_proxy"
    )
    proxyport: Port | None = parameter("The HTTP proxy's port.", since=2404)
    batch: Switch | None = parameter(
        "Whether several events share a request.", default="off: a request for each event"
    )
    batch_format: Literal["newline", "jsonarray", "kafkarest", "lokirest"] | None = parameter(
        "How the events of a batch stand in a request: newline, one after the other with a "
        "newline between them; jsonarray; kafkarest, for Kafka's REST proxy; lokirest, for "
        "Loki.",
        "All but newline leave out what is not JSON: it is lost.",
        default="newline",
    )
    batch_maxsize: Positive | None = parameter(
        "The most events of a batch.",
        "Below the queue's dequeueBatchSize events arrive twice after a failure.",
        default="100",
    )
    batch_maxbytes: MemorySize | None = parameter(
        "The most bytes of a batch before compression; a larger event is sent alone.",
        "A batch of the queue that makes two of these arrives twice in part after a failure.",
        default="10m, 1m for Splunk",
    )
    labels: Annotated[
        Annotated[tuple[DocumentField, ...], Field(min_length=1)] | None, OfProfile()
    ] = parameter(
        "The labels of an event for Loki, each a text; the event's own text is line, its "
        "time when rsyslog received it.",
        "Each set of values is a stream of its own in Loki: take few.",
    )
    bulk: Annotated[Literal["index", "create"] | None, OfProfile()] = parameter(
        "Each document comes as _bulk expects it, after a line with this action; data streams "
        "need create.",
        "omhttp reads the status of a reply only: a document that is refused inside of a "
        "200 is lost. omelasticsearch has retryfailures for it.",
        "An empty line stands between two documents, which engines skip.",
    )
    compress: Switch | None = parameter(
        "Whether requests are compressed, with gzip.", default="off"
    )
    compress_level: Annotated[int, Field(ge=-1, le=9, strict=True)] | None = parameter(
        "The level of compress; -1 is zlib's own.", default="-1"
    )
    errorfile: WordPath | None = parameter(
        "The file for requests that failed, with the replies.",
        "What was sent again, and arrived, stands there too.",
    )
    httpretrycodes: Statuses | None = parameter(
        "Statuses after which events wait, besides 429 and 5xx, such as 401 and 403.",
        "What is answered so for good, such as 400 or 413, blocks the output.",
        since=2404,
    )
    httpignorablecodes: Statuses | None = parameter(
        "Statuses of refusals that count as success: the events are gone.", since=2404
    )
    retry: Switch | None = parameter(
        "Whether events that have to wait go to retry.ruleset; needs one.", default="off"
    )
    retry_ruleset: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{1,99}$")] | None = (
        parameter(
            "The ruleset, of a snippet, for events that have to wait; msg there is what was sent.",
            "After a broken connection the output sends them again too.",
        )
    )
    retry_addmetadata: Switch | None = parameter(
        "Whether $!omhttp!response holds status and reply there.", since=2404, default="off"
    )
    ratelimit_interval: NonNegative | None = parameter(
        "Seconds in which retry.ruleset takes ratelimit.burst events; 0 means no limit.",
        "What exceeds the limit is dropped.",
        default="600",
    )
    ratelimit_burst: NonNegative | None = parameter(
        "How many events retry.ruleset takes in each ratelimit.interval.", default="20000"
    )
    ratelimit_name: NamedLimit = parameter(since=2604)
    replymaxbytes: MemorySize | None = parameter(
        "The most bytes of a reply that are read; 0 means no limit.",
        "A longer reply counts as a broken connection: the batch is sent again.",
        since=2602,
        default="1m",
    )
    reloadonhup: Switch | None = parameter(
        "Whether a HUP opens connections anew, with new certificates.", default="off"
    )
    statsbysenders: Switch | None = parameter(
        "Whether impstats counts each server for itself.", since=2512, default="off"
    )

    @model_validator(mode="after")
    def _shape(self) -> Self:
        if (self.batch_format == "lokirest") != (self.labels is not None):
            raise ValueError("labels and batch.format: lokirest belong together")
        if self.labels is not None and self.line is None:
            raise ValueError("labels need line, the text of an event")
        for label in self.labels or ():
            plain = label.type is FieldType.STRING and label.json_path != EVERYTHING
            if not plain or not _LABEL.fullmatch(label.name):
                raise ValueError(
                    f"the label {label.name} is not what Loki takes: a text under a name of "
                    "letters, digits and underscores"
                )
        if self.bulk is not None and (self.document is None or not self._joins_by_newline):
            raise ValueError("bulk needs document, and batch.format: newline")
        return self

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.restpath is not None and self.dynrestpath is not None:
            raise ValueError("name restpath or dynrestpath, not both")
        if (self.httpheaderkey is None) != (self.httpheadervalue is None):
            raise ValueError("httpheaderkey and httpheadervalue belong together")
        if self._is_hec != (self.token is not None):
            raise ValueError("token and a profile of hec:splunk belong together")
        return self

    @property
    def _is_hec(self) -> bool:
        return (self.profile or "").startswith("hec:")

    @property
    def _joins_by_newline(self) -> bool:
        return self.batch_format in {None, "newline"} and self.profile != "loki"

    @property
    def batches(self) -> bool:
        """Whether several events share a request."""
        return self.batch is True or self.profile in {"loki", "hec:splunk:event"}

    @property
    def addresses(self) -> tuple[str, ...]:
        """The servers with their schemes."""
        scheme = "http://" if self.use_https is False else "https://"
        return tuple(server if "://" in server else scheme + server for server in self.server)

    @property
    def secrets(self) -> tuple[SecretRef, ...]:
        """What it logs in with."""
        values = (
            None if self.auth is None else self.auth.pwd,
            self.token,
            self.httpheadervalue,
            *(self.httpheaders or ()),
        )
        return tuple(value for value in values if isinstance(value, SecretRef))

    package: ClassVar[str] = "rsyslog-http"
    packaged_since: ClassVar[int] = PACKAGED

    @property
    def names_template(self) -> str:
        """The name of the template for its paths."""
        return f"{self.name}-path"

    def spelled(self) -> Mapping[str, str | int | tuple[str, ...] | SecretRef]:
        """`auth` is uid and pwd; `dynrestpath` has restpath name a template; rsyslog reads statuses
        as texts."""
        made: dict[str, str | int | tuple[str, ...] | SecretRef] = {}
        if self.auth is not None:
            made |= {"uid": self.auth.uid, "pwd": self.auth.pwd}
        if self.dynrestpath is not None:
            made |= {"restpath": self.names_template, "dynrestpath": True}
        if self.tls is not None:
            for key, value in self.tls.model_dump(exclude_none=True).items():
                made[f"tls.{key}" if key in _CERTIFICATES else key] = value
        for key in ("httpretrycodes", "httpignorablecodes"):
            codes = getattr(self, key)
            if codes is not None:
                made[key] = tuple(map(str, codes))
        return made
