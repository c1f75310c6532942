"""Keep-alive probes, which find connections whose other end is gone."""

from typing import Annotated

from pydantic import Field

from tuner.schema.parameter import Doc
from tuner.schema.scalars import NonNegative, Switch
from tuner.schema.section import RsyslogSection

KeepAlive = Annotated[
    Switch | None,
    Doc("Whether TCP keep-alives find connections whose other end is gone.", default="off"),
]
KeepAliveTime = Annotated[
    NonNegative | None,
    Field(alias="keepAlive.time"),
    Doc("Seconds of silence before the first keep-alive; 0 means the system's default."),
]
KeepAliveInterval = Annotated[
    NonNegative | None,
    Field(alias="keepAlive.interval"),
    Doc("Seconds between keep-alives; 0 means the system's default."),
]
KeepAliveProbes = Annotated[
    NonNegative | None,
    Field(alias="keepAlive.probes"),
    Doc("How many keep-alives may go unanswered; 0 means the system's default."),
]


class KeepsAlive(RsyslogSection):
    """Keep-alive probes, which find senders that are gone; times in seconds."""

    keep_alive: KeepAlive = None
    keep_alive_time: KeepAliveTime = None
    keep_alive_interval: KeepAliveInterval = None
    keep_alive_probes: KeepAliveProbes = None
