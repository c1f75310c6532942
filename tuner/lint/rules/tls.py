"""Lint for encryption that is not what it looks like: of inputs, and towards syslog servers."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.lint.sections import for_each, inputs, inputs_of, outputs, outputs_of
from tuner.modules.imrelp import ImrelpInput
from tuner.modules.imtcp import ImtcpInput
from tuner.modules.input import Input
from tuner.modules.omfwd import OmfwdOutput
from tuner.modules.omrelp import OmrelpOutput
from tuner.modules.output import Output
from tuner.profile.model import Profile
from tuner.rule import Complaint, error, warning

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
