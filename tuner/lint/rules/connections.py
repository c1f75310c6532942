"""Lint for connections: credentials, replies, and encryption that is not what it seems to be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from tuner.lint.sections import (
    Placed,
    engine_outputs,
    for_each,
    inputs,
    inputs_of,
    outputs,
    outputs_of,
)
from tuner.modules.imrelp import ImrelpInput
from tuner.modules.imtcp import ImtcpInput
from tuner.modules.input import Input
from tuner.modules.omelasticsearch import ASKS_AT_START, OmelasticsearchOutput
from tuner.modules.omfwd import OmfwdOutput
from tuner.modules.omhttp import OmhttpOutput
from tuner.modules.omrelp import OmrelpOutput
from tuner.modules.output import Output
from tuner.profile.model import Profile
from tuner.rule import Complaint, error, warning
from tuner.schema.parameter import since
from tuner.schema.scalars import is_loopback

_CHECKS_NAMES = ("x509/name", "x509/fingerprint")
_CERTIFICATES = ("streamDriver.caFile", "streamDriver.certFile", "streamDriver.keyFile")


def _half(certificate: tuple[str, str | None], key: tuple[str, str | None]) -> Iterator[Complaint]:
    missing = [name for name, path in (certificate, key) if path is None]
    if len(missing) == 1:
        yield Complaint((missing[0],), f"a certificate and its key go together: add {missing[0]}")


def _nobody(mode: str | None, takes: str, key: str) -> Complaint:
    return Complaint((key,), f"{mode} {takes} the peers in {key}, which is missing: add it")


def _names_missing(mode_of_relp: str | None, takes: str) -> Iterator[Complaint]:
    if mode_of_relp in {"name", "fingerprint"}:
        yield _nobody(mode_of_relp, takes, "tls.permittedPeer")


@error("RT227")
@for_each(inputs_of(ImtcpInput))
def _input_in_the_clear(source: ImtcpInput, _: Profile) -> Iterator[Complaint]:
    driver = source.stream_driver_name or "ptcp"
    if source.is_encrypted and driver == "ptcp":
        yield Complaint(
            ("streamDriver.name",),
            "ptcp cannot encrypt: set streamDriver.name to gtls (package rsyslog-gnutls) or "
            "ossl (package rsyslog-openssl)",
        )
    asks = source.model_fields_set & {
        "stream_driver_auth_mode", "permitted_peer", "stream_driver_ca_file",
        "stream_driver_cert_file", "stream_driver_key_file", "stream_driver_crl_file",
    }  # fmt: skip
    if not source.is_encrypted and (driver != "ptcp" or asks):
        yield Complaint(
            ("streamDriver.mode",),
            "without streamDriver.mode 1 this input accepts plain TCP, whatever its driver "
            "and certificates: set it to 1, or remove the other streamDriver keys",
        )


@error("RT228")
@for_each(inputs)
def _no_certificates(source: Input, _: Profile) -> Iterator[Complaint]:
    if isinstance(source, ImtcpInput) and source.is_encrypted:
        written = source.model_dump(by_alias=True, exclude_none=True)
        missing = [key for key in _CERTIFICATES if key not in written]
        if missing:
            yield Complaint(
                (missing[0],),
                f"TLS needs the path of {', '.join(missing)}: without it senders cannot connect",
            )
    if isinstance(source, ImrelpInput) and source.tls:
        yield from _half(
            ("tls.myCert", source.tls_my_cert), ("tls.myPrivKey", source.tls_my_priv_key)
        )


@error("RT229")
@for_each(inputs)
def _senders_and_mode(source: Input, _: Profile) -> Iterator[Complaint]:
    """Seen on 8.2302: rsyslogd does not even listen if peers are named and the mode does not check
    names."""
    if isinstance(source, ImtcpInput) and source.is_encrypted:
        mode = source.stream_driver_auth_mode
        if mode not in _CHECKS_NAMES and source.permitted_peer:
            yield Complaint(
                ("permittedPeer",),
                f"with streamDriver.authMode {mode or 'anon'} rsyslogd does not check names, and "
                "this input would not start: use x509/name, or remove permittedPeer",
            )
        if mode in _CHECKS_NAMES and source.permitted_peer is None:
            yield _nobody(mode, "accepts only", "permittedPeer")
    elif isinstance(source, ImrelpInput) and source.tls_permitted_peer is None:
        yield from _names_missing(source.tls_auth_mode, "accepts only")


@warning("RT230")
@for_each(inputs)
def _everybody_may_send(source: Input, _: Profile) -> Iterator[Complaint]:
    key, use = "", ""
    if isinstance(source, ImtcpInput) and source.is_encrypted:
        if source.stream_driver_auth_mode in {None, "anon"}:
            key, use = "streamDriver.authMode", "x509/name with permittedPeer"
    elif isinstance(source, ImrelpInput) and source.tls and source.tls_auth_mode is None:
        key, use = "tls.authMode", "name with tls.permittedPeer"
    if key:
        yield Complaint(
            (key,),
            f"the connection is encrypted, but whoever reaches the port may send: use {use} to "
            "accept only senders with a certificate of yours",
        )


@error("RT280")
@for_each(outputs_of(OmfwdOutput))
def _output_in_the_clear(output: OmfwdOutput, _: Profile) -> Iterator[Complaint]:
    driver = output.stream_driver or "ptcp"
    if output.is_encrypted and driver == "ptcp":
        yield Complaint(
            ("streamDriver",),
            "ptcp cannot encrypt: set streamDriver to gtls (package rsyslog-gnutls) or ossl "
            "(package rsyslog-openssl)",
        )
    written = output.model_dump(by_alias=True, exclude_none=True)
    asks = [key for key in written if key.startswith(("streamDriver.", "streamDriverA"))]
    if not output.is_encrypted and (driver != "ptcp" or asks):
        yield Complaint(
            ("streamDriverMode",),
            "without streamDriverMode 1 events are sent unencrypted, whatever the driver and "
            "the certificates: set it to 1, or remove the other streamDriver keys",
        )


@error("RT281")
@for_each(outputs)
def _receivers_certificates(output: Output, _: Profile) -> Iterator[Complaint]:
    if isinstance(output, OmfwdOutput):
        checks = output.is_encrypted and output.stream_driver_auth_mode not in {None, "anon"}
        if checks and output.stream_driver_ca_file is None:
            yield _no_authority("streamDriver.caFile")
        yield from _half(
            ("streamDriver.certFile", output.stream_driver_cert_file),
            ("streamDriver.keyFile", output.stream_driver_key_file),
        )
    if isinstance(output, OmrelpOutput) and output.tls:
        if output.tls_auth_mode is not None and output.tls_ca_cert is None:
            yield _no_authority("tls.caCert")
        yield from _half(
            ("tls.myCert", output.tls_my_cert), ("tls.myPrivKey", output.tls_my_priv_key)
        )


def _no_authority(key: str) -> Complaint:
    return Complaint(
        (key,),
        f"without {key} no receiver's certificate can be verified, and nothing would be sent: add "
        "the path of your CA certificates",
    )


@error("RT282")
@for_each(outputs)
def _receivers_and_mode(output: Output, _: Profile) -> Iterator[Complaint]:
    if isinstance(output, OmfwdOutput):
        mode, peers = output.stream_driver_auth_mode, output.stream_driver_permitted_peers
        if output.is_encrypted and mode in _CHECKS_NAMES and peers is None:
            yield _nobody(mode, "sends only to", "streamDriverPermittedPeers")
        if mode not in _CHECKS_NAMES and peers is not None:
            yield Complaint(
                ("streamDriverPermittedPeers",),
                f"with streamDriverAuthMode {mode or 'anon'} the receiver's name is not checked: "
                "use x509/name, or remove streamDriverPermittedPeers",
            )
    elif isinstance(output, OmrelpOutput) and output.tls and output.tls_permitted_peer is None:
        yield from _names_missing(output.tls_auth_mode, "sends only to")


@warning("RT283")
@for_each(outputs)
def _to_anyone(output: Output, _: Profile) -> Iterator[Complaint]:
    key, use = "", ""
    if isinstance(output, OmfwdOutput) and output.is_encrypted:
        if output.stream_driver_auth_mode in {None, "anon"}:
            key, use = "streamDriverAuthMode", "x509/name with streamDriverPermittedPeers"
    elif isinstance(output, OmrelpOutput) and output.tls and output.tls_auth_mode is None:
        key, use = "tls.authMode", "name with tls.permittedPeer"
    if key:
        yield Complaint(
            (key,),
            "the connection is encrypted, but whoever answers at that address gets the events: "
            f"use {use}",
        )


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
    number, output = max(profile.enumerated, key=lambda numbered: numbered[1].start_checks_s)
    yield Complaint(
        ("outputs", number, "healthCheckTimeout"),
        f"when no server answers, rsyslogd takes {profile.start_checks_s:g} s to start, asking one "
        "server after the other, and receives nothing; systemd gives up after 90 s: use a "
        f"shorter time than {output.health_check_timeout} ms, or fewer servers",
    )


def of_each_item(output: OmelasticsearchOutput, key: str) -> frozenset[str]:
    """The entries of filter_path that keep a key of every item of a reply."""
    operation = "create" if output.creates else output.writeoperation or "index"
    of_operation = (f"items.{operation}", f"items.{operation}.*", f"items.{operation}.{key}")
    return frozenset({"*", "items", "items.*", f"items.*.{key}", *of_operation})


@error("RT210")
@for_each(engine_outputs)
def _filter_path(output: OmelasticsearchOutput, _: Profile) -> Iterator[Complaint]:
    entries = set(output.filter_path or ())
    status = of_each_item(output, "status")
    if not entries:
        return
    path = ("filter_path",)
    missing = [
        name
        for name, covering in (("errors", _ERRORS), ("items.*.status", status))
        if not entries & covering
    ]
    if missing:
        yield Complaint(
            path,
            f"omelasticsearch reads {' and '.join(missing)} of each reply and would treat "
            "every batch as failed: add what is missing",
        )
    if any(entry.startswith("-") for entry in entries):
        yield Complaint(path, "name what to keep; exclusions with - are not supported")
