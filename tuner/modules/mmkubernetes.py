"""mmkubernetes: what Kubernetes says of the pod that wrote an event.

None means not set in the profile: rsyslog's default applies.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tuner.modules.step import StreamStep
from tuner.schema.parameter import Doc, parameter
from tuner.schema.scalars import AbsolutePath, MatchText, NonNegative, RegexText, Server, Switch

_MetadataPath = Annotated[str, Field(pattern=r"^![A-Za-z@_][A-Za-z0-9@_!-]{0,199}$")]
_Rules = Annotated[tuple[MatchText, ...], Field(min_length=1, max_length=50)]


class MmkubernetesStep(StreamStep):
    """mmkubernetes: what Kubernetes says of the pod that wrote an event, as JSON; the pod is known
    by the name of its log file (imfile's metadata) or by the journal's CONTAINER_NAME."""

    type: Annotated[Literal["mmkubernetes"], Doc("What Kubernetes says of an event's pod.")]
    kubernetes_url: Server | None = parameter(
        "The address of Kubernetes' API.", default="https://kubernetes.default.svc.cluster.local"
    )
    token_file: AbsolutePath | None = parameter(
        "The file of the token that logs in, as service accounts have it.", alias="tokenFile"
    )
    token_reload_interval: NonNegative | None = parameter(
        "Seconds after which the token is read again; 0 means only after the API refused it.",
        since=2608,
        default="3600",
        alias="tokenReloadInterval",
    )
    include_namespace_metadata: Switch | None = parameter(
        "Whether the API is asked for the pod's namespace too.", since=2608, default="on"
    )
    tls_ca_cert: AbsolutePath | None = parameter(
        "The CA certificates for the API, a path on rsyslog's host.", alias="tls.caCert"
    )
    tls_my_cert: AbsolutePath | None = parameter(
        "A certificate of rsyslog's own, for mutual TLS.", alias="tls.myCert"
    )
    tls_my_priv_key: AbsolutePath | None = parameter(
        "The path of the private key of that certificate.", alias="tls.myPrivKey"
    )
    allow_unsigned_certs: Switch | None = parameter(
        "Whether certificates are accepted that no known authority signed.",
        "Anyone on the network path can then read the token.",
    )
    skip_verify_host: Switch | None = parameter(
        "Whether a certificate for another host is accepted."
    )
    src_metadata_path: _MetadataPath | None = parameter(
        "Where the name of the log file stands.",
        default="$!metadata!filename",
        alias="srcMetadataPath",
    )
    dst_metadata_path: _MetadataPath | None = parameter(
        "Where what it finds is put, kubernetes and docker.", default="$!", alias="dstMetadataPath"
    )
    annotation_match: (
        Annotated[tuple[RegexText, ...], Field(min_length=1, max_length=50)] | None
    ) = parameter(
        "Regular expressions of the annotations that are kept.",
        "rsyslogd 8.2302 crashes at start-up on an invalid expression.",
        alias="annotation_match",
    )
    de_dot: Switch | None = parameter(
        "Whether dots in labels become de_dot_separator.", default="on", alias="de_dot"
    )
    de_dot_separator: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,16}$")] | None = parameter(
        "What stands for a dot in labels.", default="_", alias="de_dot_separator"
    )
    filename_rules: _Rules | None = parameter(
        "Rules of liblognorm for names of log files, in place of its own.", alias="filenameRules"
    )
    filename_rulebase: AbsolutePath | None = parameter(
        "The file of such rules.", alias="filenameRulebase"
    )
    container_rules: _Rules | None = parameter(
        "Rules of liblognorm for names of containers, in place of its own.", alias="containerRules"
    )
    container_rulebase: AbsolutePath | None = parameter(
        "The file of such rules.", alias="containerRulebase"
    )
    busy_retry_interval: NonNegative | None = parameter(
        "Seconds after which an API that was busy is asked again.", default="5"
    )
    cache_entry_ttl: NonNegative | None = parameter(
        "Seconds for which an answer is kept.", default="3600", alias="cacheEntryTTL"
    )
    cache_expire_interval: Annotated[int, Field(ge=-1, strict=True)] | None = parameter(
        "Seconds between two looks for old answers; -1 keeps them.", default="-1"
    )

    package: ClassVar[str] = "rsyslog-kubernetes"
    gives_json: ClassVar[bool] = True
    lab_runs: ClassVar[bool] = False
