"""omkafka: a Kafka topic.

None means not set in the profile: rsyslog's default applies.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tuner.modules.kafka import Brokers, KafkaHeader, KafkaParameters, KafkaTopic
from tuner.modules.output import BuiltinTemplate, Lines
from tuner.modules.secrets import SecretRef
from tuner.schema.parameter import Doc, Since
from tuner.schema.scalars import MatchText, NonNegative, Positive, Switch, WordPath


class OmkafkaOutput(Lines):
    """omkafka: a Kafka topic; from the package rsyslog-kafka.  Times in milliseconds."""

    type: Annotated[Literal["omkafka"], Doc("A Kafka topic.")]
    topic: Annotated[KafkaTopic, Doc("The topic that events are written to.")]
    broker: Annotated[Brokers | None, Doc("Brokers of the cluster, each host:port.")] = None
    key: Annotated[
        MatchText | None,
        Doc("The key of every message; Kafka chooses the partition by it."),
    ] = None
    kafka_header: Annotated[
        Annotated[tuple[KafkaHeader, ...], Field(min_length=1)] | None,
        Since(2510),
        Doc("Headers of every message, each name=value."),
    ] = None
    conf_param: KafkaParameters = None
    topic_conf_param: Annotated[
        KafkaParameters, Doc("The same for the topic, such as compression.codec=snappy.")
    ] = None
    partitions_auto: Annotated[
        Switch | None,
        Doc("Whether librdkafka chooses the partition, by the key.", default="off"),
    ] = Field(None, alias="partitions.auto")
    partitions_number: Annotated[
        Positive | None, Doc("How many partitions take turns where partitions.auto is off.")
    ] = Field(None, alias="partitions.number")
    partitions_use_fixed: Annotated[
        NonNegative | None, Doc("The one partition that all events go to.")
    ] = Field(None, alias="partitions.useFixed")
    error_file: Annotated[
        WordPath | None, Doc("The file for events that Kafka refused, as JSON.")
    ] = None
    stats_file: Annotated[WordPath | None, Doc("The file for librdkafka's own statistics.")] = None
    stats_name: Annotated[
        Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")] | None,
        Since(2108),
        Doc("The name of its counters in impstats.", default="omkafka"),
    ] = None
    close_timeout: Annotated[
        Positive | None,
        Doc("Milliseconds in which a stop waits for Kafka.", default="2000"),
    ] = None
    reopen_on_hup: Annotated[
        Switch | None, Doc("Whether a HUP opens the connection again.", default="on")
    ] = None
    resubmit_on_failure: Annotated[
        Switch | None,
        Doc(
            "Whether events that could not be sent are sent again.",
            default="off",
            traps=(
                "omkafka hands a batch to librdkafka and calls it done: if off, what fails "
                "later is lost, whatever action.resumeRetryCount says.",
            ),
        ),
    ] = None
    keep_failed_messages: Annotated[
        Switch | None,
        Doc("Whether what could not be sent waits in failedMsgFile over a stop.", default="off"),
    ] = None
    failed_msg_file: Annotated[WordPath | None, Doc("The file for keepFailedMessages.")] = None

    package: ClassVar[str] = "rsyslog-kafka"
    own_format: ClassVar[BuiltinTemplate] = "RSYSLOG_FileFormat"

    @property
    def secrets(self) -> tuple[SecretRef, ...]:
        """The parameters of librdkafka that stand elsewhere."""
        every = (*(self.conf_param or ()), *(self.topic_conf_param or ()))
        return tuple(one for one in every if isinstance(one, SecretRef))
