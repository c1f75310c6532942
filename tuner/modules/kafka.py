"""What imkafka and omkafka have in common: how a Kafka cluster is reached."""

from typing import Annotated

from pydantic import AfterValidator, Field

from tuner.modules.secrets import SecretRef
from tuner.schema.parameter import Doc

Broker = Annotated[
    str, Field(pattern=r"^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$", max_length=253)
]
Brokers = Annotated[tuple[Broker, ...], Field(min_length=1)]
KafkaTopic = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")]
KafkaHeader = Annotated[str, Field(pattern=r"^[^=\x00-\x1f\x7f]{1,200}=[^\x00-\x1f\x7f]{0,1000}$")]
_SECRET = ("password", "secret", "oauthbearer.config", "key.pem")


def _no_secret(text: str) -> str:
    """`text`; raises ValueError where it gives a password away."""
    name = text.partition("=")[0]
    if name.lower().endswith(_SECRET):
        raise ValueError(
            f"{name} is a secret: write {{file: /path}} or {{env: NAME}}, which holds {name}=..."
        )
    return text


Setting = Annotated[
    str,
    Field(pattern=r"^[a-z][a-z0-9._]{0,99}=[^\x00-\x1f\x7f]{0,1000}$"),
    AfterValidator(_no_secret),
]
KafkaParameters = Annotated[
    Annotated[tuple[Setting | SecretRef, ...], Field(min_length=1)] | None,
    Doc(
        "Parameters of librdkafka, each name=value, such as security.protocol=sasl_ssl; a secret "
        "by reference: {file: /path} holds sasl.password=... and no newline."
    ),
]
