"""Where events come from; each input is spelled as rsyslog's module spells it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tuner.profile.queue import Positive, Switch
from tuner.profile.scalars import Address, Port
from tuner.profile.section import RsyslogSection


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
