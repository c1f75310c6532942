"""mmkubernetes: what Kubernetes says of the pod that wrote an event.

None means not set in the profile: rsyslog's default applies.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tuner.modules.step import StreamStep
from tuner.schema.parameter import Doc, Since
from tuner.schema.scalars import AbsolutePath, MatchText, NonNegative, Server, Switch

_MetadataPath = Annotated[str, Field(pattern=r"^![A-Za-z@_][A-Za-z0-9@_!-]{0,199}$")]
_Rules = Annotated[tuple[MatchText, ...], Field(min_length=1, max_length=50)]


class MmkubernetesStep(StreamStep):
    """mmkubernetes: what Kubernetes says of the pod that wrote an event, as JSON; the pod is known
    by the name of its log file (imfile's metadata) or by the journal's CONTAINER_NAME."""

    type: Annotated[Literal["mmkubernetes"], Doc("What Kubernetes says of an event's pod.")]
    kubernetes_url: Annotated[
        Server | None,
        Doc(
            "The address of Kubernetes' API.",
            default="https://kubernetes.default.svc.cluster.local",
        ),
    ] = None
    token_file: Annotated[
        AbsolutePath | None, Doc("The file of the token that logs in, as service accounts have it.")
    ] = Field(None, alias="tokenFile")
    token_reload_interval: Annotated[
        NonNegative | None,
        Since(2608),
        Doc(
            "Seconds after which the token is read again; 0 means only after the API refused it.",
            default="3600",
        ),
    ] = Field(None, alias="tokenReloadInterval")
    include_namespace_metadata: Annotated[
        Switch | None,
        Since(2608),
        Doc("Whether the API is asked for the pod's namespace too.", default="on"),
    ] = None
    tls_ca_cert: Annotated[
        AbsolutePath | None, Doc("The CA certificates for the API, a path on rsyslog's host.")
    ] = Field(None, alias="tls.caCert")
    tls_my_cert: Annotated[
        AbsolutePath | None, Doc("A certificate of rsyslog's own, for mutual TLS.")
    ] = Field(None, alias="tls.myCert")
    tls_my_priv_key: Annotated[
        AbsolutePath | None, Doc("The path of the private key of that certificate.")
    ] = Field(None, alias="tls.myPrivKey")
    allow_unsigned_certs: Annotated[
        Switch | None,
        Doc(
            "Whether certificates are accepted that no known authority signed.",
            traps=("Anyone on the network path can then read the token.",),
        ),
    ] = None
    skip_verify_host: Annotated[
        Switch | None, Doc("Whether a certificate for another host is accepted.")
    ] = None
    src_metadata_path: Annotated[
        _MetadataPath | None,
        Doc("Where the name of the log file stands.", default="$!metadata!filename"),
    ] = Field(None, alias="srcMetadataPath")
    dst_metadata_path: Annotated[
        _MetadataPath | None,
        Doc("Where what it finds is put, kubernetes and docker.", default="$!"),
    ] = Field(None, alias="dstMetadataPath")
    annotation_match: Annotated[
        _Rules | None, Doc("Regular expressions of the annotations that are kept.")
    ] = Field(None, alias="annotation_match")
    de_dot: Annotated[
        Switch | None, Doc("Whether dots in labels become de_dot_separator.", default="on")
    ] = Field(None, alias="de_dot")
    de_dot_separator: Annotated[
        Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,16}$")] | None,
        Doc("What stands for a dot in labels.", default="_"),
    ] = Field(None, alias="de_dot_separator")
    filename_rules: Annotated[
        _Rules | None, Doc("Rules of liblognorm for names of log files, in place of its own.")
    ] = Field(None, alias="filenameRules")
    filename_rulebase: Annotated[AbsolutePath | None, Doc("The file of such rules.")] = Field(
        None, alias="filenameRulebase"
    )
    container_rules: Annotated[
        _Rules | None, Doc("Rules of liblognorm for names of containers, in place of its own.")
    ] = Field(None, alias="containerRules")
    container_rulebase: Annotated[AbsolutePath | None, Doc("The file of such rules.")] = Field(
        None, alias="containerRulebase"
    )
    busy_retry_interval: Annotated[
        NonNegative | None,
        Doc("Seconds after which an API that was busy is asked again.", default="5"),
    ] = None
    cache_entry_ttl: Annotated[
        NonNegative | None,
        Doc("Seconds for which an answer is kept.", default="3600"),
    ] = Field(None, alias="cacheEntryTTL")
    cache_expire_interval: Annotated[
        Annotated[int, Field(ge=-1, strict=True)] | None,
        Doc("Seconds between two looks for old answers; -1 keeps them.", default="-1"),
    ] = None

    package: ClassVar[str] = "rsyslog-kubernetes"
    gives_json: ClassVar[bool] = True
    lab_runs: ClassVar[bool] = False
