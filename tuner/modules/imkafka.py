"""imkafka: the messages of a Kafka topic.

None means not set in the profile: rsyslog's default applies.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tuner.modules.input import Input
from tuner.modules.kafka import Brokers, KafkaParameters, KafkaTopic
from tuner.modules.secrets import SecretRef
from tuner.schema.parameter import Doc, parameter
from tuner.schema.scalars import MatchText, Switch


class ImkafkaInput(Input):
    """imkafka: the messages of a Kafka topic; from the package rsyslog-kafka."""

    type: Annotated[Literal["imkafka"], Doc("The messages of a Kafka topic.")]
    topic: Annotated[
        KafkaTopic,
        Doc(
            "The topic; one for each input.",
            traps=(
                "A topic that is not there when rsyslogd starts is looked for again after minutes: "
                "confParam topic.metadata.refresh.interval.ms.",
            ),
        ),
    ]
    broker: Brokers | None = parameter("Brokers of the cluster, each host:port.")
    consumer_group: MatchText | None = parameter(
        "The group of consumers that share the topic.",
        "Without it each start begins at the end of the topic.",
        alias="consumerGroup",
    )
    conf_param: KafkaParameters = Field(None, alias="confParam")
    split_json_records: Switch | None = parameter(
        'Whether each member of a message {"records": [...]} becomes an event, as Azure Event '
        "Hubs need it.",
        since=2602,
        default="off",
        alias="split.json.records",
    )
    parse_hostname: Switch | None = parameter(
        "Whether the messages are syslog with a host name, which parsers then read."
    )

    package: ClassVar[str] = "rsyslog-kafka"
    thread_names: ClassVar[tuple[str, ...]] = ("in:imkafka",)

    @property
    def secrets(self) -> tuple[SecretRef, ...]:
        """The parameters of librdkafka that stand elsewhere."""
        return tuple(one for one in self.conf_param or () if isinstance(one, SecretRef))
