"""Lint for the connection to the engine: credentials, replies, retries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from tuner.lint.sections import Placed, engine_outputs, for_each, outputs_of, where_durable
from tuner.lint.waiting import waiting_output
from tuner.modules.omelasticsearch import ASKS_AT_START, OmelasticsearchOutput
from tuner.modules.omhttp import OmhttpOutput
from tuner.profile.model import Profile
from tuner.profile.placement import around_output
from tuner.rule import Complaint, Cure, error, loss, warning
from tuner.schema.parameter import since
from tuner.schema.scalars import is_loopback

_ERRORS = frozenset({"*", "errors"})
# Two thirds of what systemd allows: rsyslogd has queues to read, too.
_START_S = 60.0


def remote_servers(output: OmelasticsearchOutput) -> list[tuple[int, str]]:
    """The servers of an output that are on other machines, with their numbers."""
    return _remote(output.servers)


def _remote(servers: Sequence[str]) -> list[tuple[int, str]]:
    return [
        (i, server)
        for i, server in enumerate(servers)
        if not is_loopback(urlsplit(server).hostname or "")
    ]


def _http_outputs(profile: Profile) -> Iterator[Placed[OmelasticsearchOutput | OmhttpOutput]]:
    """The outputs that speak HTTP."""
    yield from outputs_of(OmelasticsearchOutput)(profile)
    yield from outputs_of(OmhttpOutput)(profile)


def _servers(output: OmelasticsearchOutput | OmhttpOutput) -> tuple[str, Sequence[str]]:
    """The key of an output's servers, and the servers."""
    if isinstance(output, OmhttpOutput):
        return "server", output.addresses
    return "servers", output.servers


@error("RT204")
@for_each(_http_outputs)
def _password_in_the_clear(
    output: OmelasticsearchOutput | OmhttpOutput, profile: Profile
) -> Iterator[Complaint]:
    if profile.guardrails.secrets_in_clear or not output.secrets:
        return
    key, servers = _servers(output)
    for i, server in _remote(servers):
        if server.startswith("http:"):
            yield Complaint(
                (key, i),
                "the secret would cross the network in the clear: use https, with tls.cacert; "
                "where something else encrypts the way, set guardrails.secrets_in_clear: on",
            )


@warning("RT217")
@for_each(engine_outputs)
def _no_port(output: OmelasticsearchOutput, _: Profile) -> Iterator[Complaint]:
    for i, server in enumerate(output.servers):
        if server.startswith("https:") and urlsplit(server).port is None:
            yield Complaint(
                ("servers", i),
                "rsyslog goes to port 9200 here, not to 443, the usual port of https: write the "
                f"port that is meant, {server.rstrip('/')}:443 or {server.rstrip('/')}:9200",
            )


@warning("RT205")
@for_each(_http_outputs, "tls")
def _tls_unused(output: OmelasticsearchOutput | OmhttpOutput, _: Profile) -> Iterator[str]:
    _key, servers = _servers(output)
    if output.tls is not None and all(server.startswith("http:") for server in servers):
        yield "tls has no effect with http servers: write https, or remove tls"


@error("RT206")
@for_each(_http_outputs, "tls")
def _half_a_certificate(output: OmelasticsearchOutput | OmhttpOutput, _: Profile) -> Iterator[str]:
    tls = output.tls
    if tls is not None and (tls.mycert is None) != (tls.myprivkey is None):
        yield "a client certificate needs both tls.mycert and tls.myprivkey"


@warning("RT213")
@for_each(engine_outputs, "indexTimeout")
def _waits_for_ever(output: OmelasticsearchOutput, profile: Profile) -> Iterator[str]:
    came = since(OmelasticsearchOutput.model_fields["index_timeout"])
    if output.index_timeout == 0 and profile.release.rsyslog_number >= came:
        yield (
            "indexTimeout 0, rsyslog's default, means no timeout: a hung engine blocks the worker "
            "forever; use 60000, well above the longest time that a bulk takes (a limit that "
            "is too low repeats batches that were indexed)"
        )


@warning("RT219")
def _slow_start(profile: Profile) -> Iterator[Complaint]:
    if profile.release.rsyslog_number < ASKS_AT_START or profile.start_checks_s <= _START_S:
        return
    number, output = max(profile.enumerated, key=lambda one: one[1].start_checks_s)
    yield Complaint(
        ("outputs", number, "healthCheckTimeout"),
        f"when no server answers, rsyslogd takes {profile.start_checks_s:g} s to start, asking one "
        "server after the other, and receives nothing; systemd gives up after 90 s: use a "
        f"shorter time than {output.health_check_timeout} ms, or fewer servers",
    )


def _without_failover(profile: Profile) -> Iterator[Placed[int]]:
    """The numbers of the outputs that no other takes over from, or is to (RT252)."""
    for number in range(len(profile.outputs)):
        if not around_output(profile, number).take_over:
            yield ("outputs", number), number


@loss("RT208")
@for_each(_without_failover)
def _gives_up(number: int, profile: Profile) -> Iterator[Complaint]:
    if profile.outputs[number].action_resume_retry_count == 0:
        cure = Cure(-1, "events are lost as soon as the target is down")
        way, usable = waiting_output(profile, number, "use -1", cure)
        yield Complaint(
            ("action.resumeRetryCount",),
            "action.resumeRetryCount 0, rsyslog's default, drops events as soon as the target is "
            f"down: {way}",
            usable,
        )


@loss("RT209")
@for_each(where_durable(_without_failover))
def _gives_up_later(number: int, profile: Profile) -> Iterator[Complaint]:
    count = profile.outputs[number].action_resume_retry_count
    if count > 0:
        cure = Cure(-1, f"events are lost when the target is still down after {count} retries")
        way, usable = waiting_output(profile, number, "use -1", cure)
        yield Complaint(
            ("action.resumeRetryCount",),
            f"events are dropped after {count} retries, which the durable tier forbids: {way}",
            usable,
        )


def of_each_item(output: OmelasticsearchOutput, key: str) -> frozenset[str]:
    """The entries of filter_path that keep a key of every item of a reply."""
    operation = "create" if output.creates else output.writeoperation or "index"
    own = (f"items.{operation}", f"items.{operation}.*", f"items.{operation}.{key}")
    return frozenset({"*", "items", "items.*", f"items.*.{key}", *own})


@error("RT210")
@for_each(engine_outputs)
def _filter_path(output: OmelasticsearchOutput, _: Profile) -> Iterator[Complaint]:
    kept = set(output.filter_path or ())
    status = of_each_item(output, "status")
    if not kept:
        return
    path = ("filter_path",)
    missing = [
        name
        for name, covering in (("errors", _ERRORS), ("items.*.status", status))
        if not kept & covering
    ]
    if missing:
        yield Complaint(
            path,
            f"omelasticsearch reads {' and '.join(missing)} of each reply and would treat "
            "every batch as failed: add what is missing",
        )
    if any(part.startswith("-") for part in kept):
        yield Complaint(path, "name what to keep; exclusions with - are not supported")
