"""Lint for what goes to other servers, over syslog, to Kafka and over HTTP: what gets lost on the
way, who may read it, what comes back, and what a server refuses."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from tuner.lint.sections import Placed, outputs_of, where_durable
from tuner.modules.imfile import ImfileInput
from tuner.modules.input import Input, Listener
from tuner.modules.omfwd import OmfwdOutput
from tuner.modules.omhttp import PACKAGED, OmhttpOutput
from tuner.modules.omkafka import OmkafkaOutput
from tuner.modules.omrelp import OmrelpOutput
from tuner.profile.model import Profile
from tuner.profile.placement import action_queue, ports_of, working_queue
from tuner.rule import Complaint, Cure, advice, error, loss, warning

_POOLS = 2408


def _forwards(profile: Profile) -> Iterator[Placed[OmfwdOutput | OmrelpOutput]]:
    """The outputs to other syslog servers."""
    yield from outputs_of(OmfwdOutput)(profile)
    yield from outputs_of(OmrelpOutput)(profile)


@error("RT272").for_each(_forwards, "target")
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
        address = ipaddress.ip_address(target)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


@loss("RT270").for_each(where_durable(outputs_of(OmfwdOutput)), "protocol")
def _unacknowledged(output: OmfwdOutput, _: Profile) -> Iterator[str]:
    """Seen on 8.2302: a receiver that hung for half a second and died took 5,000 events of TCP with
    it, with resendLastMSGOnReconnect too; over RELP, none."""
    lost = "when the connection breaks, what is in flight is lost without a trace"
    if output.protocol == "udp":
        lost = "what the network or the receiver drops is lost without a trace"
    yield (
        f"events over {output.protocol.upper()} are not acknowledged: {lost}, which the durable "
        "tier forbids; use omrelp where the receiver speaks it, or guardrails.tier relaxed"
    )


@loss("RT271").for_each(outputs_of(OmfwdOutput), "rateLimit.interval")
def _limited(output: OmfwdOutput, _: Profile) -> Iterator[str]:
    if output.rate_limit_interval:
        yield (
            f"what exceeds {output.rate_limit_burst or 200} events in "
            f"{output.rate_limit_interval} s is dropped: remove it, or raise rateLimit.burst"
        )


# librelp's default window, how often it is acknowledged, and above which size that no longer shows.
_RELP_WINDOW = 128
_WINDOWS_PER_SECOND = 5
_WIDE_WINDOW = 1000


@advice("RT277").for_each(outputs_of(OmrelpOutput), "windowSize")
def _small_window(output: OmrelpOutput, profile: Profile) -> Iterator[str]:
    """Seen over loopback with 8.2302, events a second by windowSize: 128: 660, 300: 1,440, 1000:
    21,600, 5000: 135,000.  It looks as if a full window waits for the kernel's delayed
    acknowledgement of small segments."""
    window, rate = output.window_size or _RELP_WINDOW, profile.workload.rate
    if window < _WIDE_WINDOW and (rate == "max" or rate > window * _WINDOWS_PER_SECOND):
        yield (
            f"a window of {window} events carries about {window * _WINDOWS_PER_SECOND} events "
            "a second, whatever the network can do: use 5000; as many may arrive twice when "
            "the connection breaks, and are lost when this host does"
        )


@loss("RT298").for_each(where_durable(outputs_of(OmkafkaOutput)))
def _not_sent_again(output: OmkafkaOutput, _: Profile) -> Iterator[Complaint]:
    if not output.resubmit_on_failure:
        yield Complaint(
            ("resubmitOnFailure",),
            "events that librdkafka could not deliver are dropped, which the durable tier forbids: "
            "set resubmitOnFailure to true",
            Cure(True, "events that Kafka does not take in time are lost"),
        )


@warning("RT274").for_each(outputs_of(OmfwdOutput), "TCP_Framing")
def _many_lines(output: OmfwdOutput, profile: Profile) -> Iterator[str]:
    """imfile escapes line ends in events of several lines unless escapeLF is off."""
    files = [source for source in profile.inputs if isinstance(source, ImfileInput)]
    raw = output.document is None and any(source.escape_lf is False for source in files)
    if raw and output.protocol == "tcp" and output.tcp_framing != "octet-counted":
        yield (
            "imfile with escapeLF off keeps line ends inside events, and the receiver takes "
            "each line for an event: set TCP_Framing to octet-counted"
        )


@error("RT275").for_each(outputs_of(OmfwdOutput), "target")
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


# The formats that read each event as JSON, and leave out what is not JSON.
_OF_JSON = frozenset({"jsonarray", "kafkarest"})
_BATCH = 100


@error("RT290").for_each(outputs_of(OmhttpOutput), "document")
def _no_json(output: OmhttpOutput, _: Profile) -> Iterator[str]:
    if output.batch_format in _OF_JSON and output.document is None:
        yield (
            f"batch.format {output.batch_format} drops every event that is not JSON: add document"
        )


@loss("RT291").for_each(where_durable(outputs_of(OmhttpOutput)), "errorfile")
def _lost_on_refusal(output: OmhttpOutput, _: Profile) -> Iterator[str]:
    if output.errorfile is None:
        yield (
            "a batch that the server, or a proxy before it, answers with 3xx or 4xx (429 left "
            "aside) is dropped: set errorfile, which then holds what was dropped, and "
            "httpretrycodes for what passes, such as [401, 403]"
        )


@warning("RT292")
def _sent_in_parts(profile: Profile) -> Iterator[Complaint]:
    for number, output in enumerate(profile.outputs):
        if not isinstance(output, OmhttpOutput):
            continue
        queue = action_queue(profile, number)
        batch = (working_queue(profile, number) if queue.is_direct else queue).batch
        if batch == 1:
            continue
        again = (
            "when one fails, what was accepted before it is sent again, and its events arrive twice"
        )
        if not output.batches:
            yield Complaint(
                ("outputs", number, "batch"),
                f"each event is a request of its own, {batch} to a batch of the queue: {again}; "
                f"set batch: on and batch.maxsize: {batch}",
            )
        elif (output.batch_maxsize or _BATCH) < batch:
            yield Complaint(
                ("outputs", number, "batch.maxsize"),
                f"the queue hands over {batch} events at a time, which make several requests: "
                f"{again}; use {batch} or more",
            )
        elif output.dynrestpath is not None:
            yield Complaint(
                ("outputs", number, "dynrestpath"),
                f"the events of a batch go to several paths, each a request: {again}; only "
                "queue.dequeueBatchSize: 1 prevents it",
            )


@loss("RT293").for_each(outputs_of(OmhttpOutput), "retry.ruleset")
def _retried_elsewhere(output: OmhttpOutput, _: Profile) -> Iterator[str]:
    if not output.retry or output.retry_ruleset is None:
        return
    drops = ", and what exceeds ratelimit.burst is dropped"
    yield (
        "a batch whose connection breaks arrives twice"
        f"{drops if output.ratelimit_interval != 0 else ''}: remove retry and retry.ruleset, "
        "the output's own queue waits for the server"
    )


@advice("RT295").for_each(outputs_of(OmhttpOutput), "type")
def _not_packaged(_: OmhttpOutput, profile: Profile) -> Iterator[str]:
    if profile.release.rsyslog_number < PACKAGED:
        yield (
            f"no Debian with rsyslog {profile.release.rsyslog} has omhttp, which comes as "
            f"rsyslog-http since 8.{PACKAGED}: name that release, or get the module from "
            "rsyslog's own repository"
        )


@loss("RT296").for_each(outputs_of(OmhttpOutput), "labels")
def _no_label(output: OmhttpOutput, _: Profile) -> Iterator[str]:
    if output.labels is not None and not any(label.constant for label in output.labels):
        yield (
            "Loki refuses a whole batch for one event without any label: add one that is "
            "always there, such as {constant: syslog, name: job}"
        )


@loss("RT297").for_each(where_durable(outputs_of(OmhttpOutput)), "httpignorablecodes")
def _ignored(output: OmhttpOutput, _: Profile) -> Iterator[str]:
    if output.httpignorablecodes is not None:
        yield (
            "what is answered so is lost without a trace: remove it; errorfile holds what was "
            "dropped"
        )
