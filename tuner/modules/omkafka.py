"""omkafka: a Kafka topic.

None means not set in the profile: rsyslog's default applies.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tuner.modules.output import BuiltinTemplate, Lines
from tuner.modules.secrets import SecretRef, without_secret
from tuner.schema.scalars import MatchText, NonNegative, Positive, Switch, WordPath
from tuner.schema.section import Doc, parameter

Broker = Annotated[
    str, Field(pattern=r"^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$", max_length=253)
]
Brokers = Annotated[tuple[Broker, ...], Field(min_length=1)]
KafkaTopic = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")]
KafkaHeader = Annotated[str, Field(pattern=r"^[^=\x00-\x1f\x7f]{1,200}=[^\x00-\x1f\x7f]{0,1000}$")]
# The parameters of librdkafka that are secrets.
_CONFIDENTIAL = r"(password|secret|oauthbearer\.config|key\.pem)$"
Setting = Annotated[
    str,
    Field(pattern=r"^[a-z][a-z0-9._]{0,99}=[^\x00-\x1f\x7f]{0,1000}$"),
    without_secret("=", _CONFIDENTIAL),
]
KafkaParameters = Annotated[
    Annotated[tuple[Setting | SecretRef, ...], Field(min_length=1)] | None,
    Doc(
        "Parameters of librdkafka, each name=value, such as security.protocol=sasl_ssl; a secret "
        "by reference: {file: /path} holds sasl.password=... and no newline."
    ),
]


class OmkafkaOutput(Lines):
    """omkafka: a Kafka topic; from the package rsyslog-kafka.  Times in milliseconds."""

    type: Literal["omkafka"] = parameter("A Kafka topic.", value=...)
    topic: KafkaTopic = parameter("The topic that events are written to.", value=...)
    broker: Brokers | None = parameter("Brokers of the cluster, each host:port.")
    key: MatchText | None = parameter(
        "The key of every message; Kafka chooses the partition by it."
    )
    kafka_header: Annotated[tuple[KafkaHeader, ...], Field(min_length=1)] | None = parameter(
        "Headers of every message, each name=value.", since=2510
    )
    conf_param: KafkaParameters = None
    topic_conf_param: KafkaParameters = parameter(
        "The same for the topic, such as compression.codec=snappy."
    )
    partitions_auto: Switch | None = parameter(
        "Whether librdkafka chooses the partition, by the key.", default="off"
    )
    partitions_number: Positive | None = parameter(
        "How many partitions take turns where partitions.auto is off."
    )
    partitions_use_fixed: NonNegative | None = parameter("The one partition that all events go to.")
    error_file: WordPath | None = parameter("The file for events that Kafka refused, as JSON.")
    stats_file: WordPath | None = parameter("The file for librdkafka's own statistics.")
    stats_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")] | None = parameter(
        "The name of its counters in impstats.", since=2108, default="omkafka"
    )
    close_timeout: Positive | None = parameter(
        "Milliseconds in which a stop waits for Kafka.", default="2000"
    )
    reopen_on_hup: Switch | None = parameter(
        "Whether a HUP opens the connection again.", default="on"
    )
    resubmit_on_failure: Switch | None = parameter(
        "Whether events that could not be sent are sent again.",
        "omkafka hands a batch to librdkafka and calls it done: if off, what fails "
        "later is lost, whatever action.resumeRetryCount says.",
        default="off",
    )
    keep_failed_messages: Switch | None = parameter(
        "Whether what could not be sent waits in failedMsgFile over a stop.", default="off"
    )
    failed_msg_file: WordPath | None = parameter("The file for keepFailedMessages.")

    package: ClassVar[str] = "rsyslog-kafka"
    own_format: ClassVar[BuiltinTemplate] = "RSYSLOG_FileFormat"

    @property
    def secrets(self) -> tuple[SecretRef, ...]:
        """The parameters of librdkafka that stand elsewhere."""
        values = (*(self.conf_param or ()), *(self.topic_conf_param or ()))
        return tuple(value for value in values if isinstance(value, SecretRef))
