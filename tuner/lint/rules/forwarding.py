"""Lint for forwarding: what gets lost on the way, who may read it, and what comes back."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from tuner.lint.sections import Placed, for_each, outputs_of, where_durable
from tuner.modules.imfile import ImfileInput
from tuner.modules.input import Input, Listener
from tuner.modules.omfwd import OmfwdOutput
from tuner.modules.omkafka import OmkafkaOutput
from tuner.modules.omrelp import OmrelpOutput
from tuner.profile.model import Profile
from tuner.profile.placement import ports_of
from tuner.rule import Complaint, Cure, error, loss, warning

_POOLS = 2408
_OF_TCP = (
    "TCP_Framing", "TCP_FrameDelimiter", "TCP_User_Timeout", "keepAlive", "conErrSkip",
    "resendLastMSGOnReconnect", "extendedConnectionCheck", "streamDriver", "streamDriverMode",
)  # fmt: skip
_OF_UDP = ("address", "udp.sendToAll", "udp.sendDelay", "udp.sendBuf")
# What has no effect without another parameter.
_NEED = {
    "keepAlive": ("keepAlive.time", "keepAlive.interval", "keepAlive.probes"),
    "compression.mode": ("zipLevel", "compression.driver", "compression.stream.flushOnTXEnd"),
    "rateLimit.interval": ("rateLimit.burst",),
    "tls": (
        "tls.authMode", "tls.permittedPeer", "tls.caCert", "tls.myCert", "tls.myPrivKey",
        "tls.compression", "tls.priorityString",
    ),
}  # fmt: skip


def _forwards(profile: Profile) -> Iterator[Placed[OmfwdOutput | OmrelpOutput]]:
    """The outputs to other syslog servers."""
    yield from outputs_of(OmfwdOutput)(profile)
    yield from outputs_of(OmrelpOutput)(profile)


@error("RT272")
@for_each(_forwards, "target")
def _comes_back(output: OmfwdOutput | OmrelpOutput, profile: Profile) -> Iterator[str]:
    for source in profile.inputs:
        meets = _speaks(output, source) and output.port in ports_of(profile, source)
        if meets and any(_is_here(target, source) for target in output.targets):
            yield (
                f"this is the profile's own {source.type} input on port {output.port}, so "
                "every event comes back forever: forward to another host or port"
            )


def _speaks(output: OmfwdOutput | OmrelpOutput, source: Input) -> bool:
    if isinstance(output, OmrelpOutput):
        return source.transport == "relp"
    return source.transport in ({"udp"} if output.protocol == "udp" else {"tcp", "tls"})


def _is_here(target: str, source: Input) -> bool:
    address = source.address if isinstance(source, Listener) else ""
    return target in {"localhost", address} or _is_own(target)


def _is_own(target: str) -> bool:
    try:
        found = ipaddress.ip_address(target)
    except ValueError:
        return False
    return found.is_loopback or found.is_unspecified


@warning("RT273")
@for_each(_forwards, "queue")
def _blocks_all(output: OmfwdOutput | OmrelpOutput, profile: Profile) -> Iterator[str]:
    """Lanes have queues of their own, and a failover's ruleset has its leader's."""
    blocks_others = len(profile.outputs) > 1 and profile.lanes is None
    waits = output.action_resume_retry_count != 0
    waits &= not (isinstance(output, OmfwdOutput) and output.protocol == "udp")
    waits &= not output.exec_only_when_previous_is_suspended
    if blocks_others and waits and output.is_direct:
        yield (
            "without a queue of its own this output stops the main queue, and every other "
            "output with it, while its target is down: add queue: {type: LinkedList}"
        )


@loss("RT298")
@for_each(where_durable(outputs_of(OmkafkaOutput)))
def _not_sent_again(output: OmkafkaOutput, _: Profile) -> Iterator[Complaint]:
    if not output.resubmit_on_failure:
        yield Complaint(
            ("resubmitOnFailure",),
            "events that librdkafka could not deliver are dropped, which the durable tier forbids: "
            "set resubmitOnFailure to true",
            Cure(True, "events that Kafka does not take in time are lost"),
        )


@warning("RT274")
@for_each(outputs_of(OmfwdOutput), "TCP_Framing")
def _many_lines(output: OmfwdOutput, profile: Profile) -> Iterator[str]:
    """imfile escapes line ends in events of several lines unless escapeLF is off."""
    files = [one for one in profile.inputs if isinstance(one, ImfileInput)]
    raw = output.document is None and any(one.escape_lf is False for one in files)
    if raw and output.protocol == "tcp" and output.tcp_framing != "octet-counted":
        yield (
            "imfile with escapeLF off keeps line ends inside events, and the receiver takes "
            "each line for an event: set TCP_Framing to octet-counted"
        )


@error("RT275")
@for_each(outputs_of(OmfwdOutput), "target")
def _several_targets(output: OmfwdOutput, profile: Profile) -> Iterator[str]:
    release = profile.release
    if isinstance(output.target, str | None):
        return
    if release.rsyslog_number < _POOLS:
        yield (
            f"omfwd takes several targets since rsyslog 8.{_POOLS}, and release.rsyslog is "
            f"{release.rsyslog}: name one, or raise the release once every host runs it"
        )
    elif output.protocol == "udp":
        yield "over UDP only the first of several targets gets events: use tcp"


@error("RT276")
@for_each(_forwards)
def _without_effect(output: OmfwdOutput | OmrelpOutput, _: Profile) -> Iterator[Complaint]:
    written = output.model_dump(by_alias=True, exclude_none=True)
    needed_by = ((needed, key) for needed, keys in _NEED.items() for key in keys)
    for needed, key in needed_by:
        if key in written and not written.get(needed):
            yield Complaint((key,), f"{key} has no effect without {needed}: add it")
    if isinstance(output, OmfwdOutput):
        for key in _OF_TCP if output.protocol == "udp" else _OF_UDP:
            if key in written:
                message = f"{key} has no effect over {output.protocol.upper()}: remove it"
                yield Complaint((key,), message)
