"""Lint for forwarding: encryption that is not what it looks like."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.lint.rules.forwarding import forwards
from tuner.modules.omfwd import FWD, OmfwdOutput
from tuner.modules.omrelp import RELP, OmrelpOutput
from tuner.profile.model import Profile
from tuner.rule import Complaint, error, warning

_CHECKS_NAMES = ("x509/name", "x509/fingerprint")

_TLS = {
    **FWD,
    "streamDriver": "gtls",
    "streamDriverMode": 1,
    "streamDriverAuthMode": "x509/name",
    "streamDriverPermittedPeers": ["up.example.org"],
    "streamDriver.caFile": "/etc/ssl/ca.pem",
}


def _omfwd(profile: Profile) -> Iterator[tuple[int, OmfwdOutput]]:
    for number, output in forwards(profile):
        if isinstance(output, OmfwdOutput):
            yield number, output


def _omrelp(profile: Profile) -> Iterator[tuple[int, OmrelpOutput]]:
    for number, output in forwards(profile):
        if isinstance(output, OmrelpOutput) and output.tls:
            yield number, output


@error(
    "RT280",
    why="Events are sent unencrypted although the keys suggest TLS.",
    source="rsyslog runtime/nsd_gtls.c and nsd_ossl.c: mode 0 is plain TCP",
    bad={"guardrails.tier": "relaxed", "outputs": [{**_TLS, "streamDriver": "ptcp"}]},
    good={"outputs[up].streamDriver": "gtls"},
)
def _in_the_clear(profile: Profile) -> Iterator[Complaint]:
    for number, output in _omfwd(profile):
        driver = output.stream_driver or "ptcp"
        if output.is_encrypted and driver == "ptcp":
            yield Complaint(
                ("outputs", number, "streamDriver"),
                "ptcp cannot encrypt: set streamDriver to gtls (package rsyslog-gnutls) or ossl "
                "(package rsyslog-openssl)",
            )
        written = output.model_dump(by_alias=True, exclude_none=True)
        asks = [key for key in written if key.startswith(("streamDriver.", "streamDriverA"))]
        if not output.is_encrypted and (driver != "ptcp" or asks):
            yield Complaint(
                ("outputs", number, "streamDriverMode"),
                "without streamDriverMode 1 events are sent unencrypted, whatever the driver and "
                "the certificates: set it to 1, or remove the other streamDriver keys",
            )


@error(
    "RT281",
    why="Without a CA certificate the receiver cannot be verified; without both its certificate "
    "and its key the sender cannot identify itself.",
    source="rsyslog runtime/nsd_gtls.c; librelp",
    bad={
        "guardrails.tier": "relaxed",
        "outputs": [{**_TLS, "streamDriver.certFile": "/etc/ssl/me.pem"}],
    },
    good={"outputs[up].streamDriver.keyFile": "/etc/ssl/me.key"},
)
def _certificates(profile: Profile) -> Iterator[Complaint]:
    for number, output in _omfwd(profile):
        checks = output.stream_driver_auth_mode not in {None, "anon"}
        if output.is_encrypted and checks and output.stream_driver_ca_file is None:
            yield _no_authority(number, "streamDriver.caFile")
        yield from _half(
            number,
            ("streamDriver.certFile", output.stream_driver_cert_file),
            ("streamDriver.keyFile", output.stream_driver_key_file),
        )
    for number, relp in _omrelp(profile):
        if relp.tls_auth_mode is not None and relp.tls_ca_cert is None:
            yield _no_authority(number, "tls.caCert")
        yield from _half(
            number, ("tls.myCert", relp.tls_my_cert), ("tls.myPrivKey", relp.tls_my_priv_key)
        )


def _no_authority(number: int, key: str) -> Complaint:
    return Complaint(
        ("outputs", number, key),
        f"without {key} no receiver's certificate can be verified, and nothing would be sent: add "
        "the path of your CA certificates",
    )


def _half(number: int, *pair: tuple[str, str | None]) -> Iterator[Complaint]:
    missing = [key for key, path in pair if path is None]
    if len(missing) == 1:
        yield Complaint(
            ("outputs", number, missing[0]),
            f"a certificate and its key go together: add {missing[0]}",
        )


@error(
    "RT282",
    why="Receivers are accepted by name, but either no names are listed or names are not checked.",
    source="rsyslog runtime/nsd_gtls.c; librelp",
    bad={
        "guardrails.tier": "relaxed",
        "outputs": [{**_TLS, "streamDriverAuthMode": "x509/certvalid"}],
    },
    good={"outputs[up].streamDriverAuthMode": "x509/name"},
    at="outputs[up].streamDriverPermittedPeers",
)
def _peers_and_mode(profile: Profile) -> Iterator[Complaint]:
    for number, output in _omfwd(profile):
        mode = output.stream_driver_auth_mode
        peers = output.stream_driver_permitted_peers
        if output.is_encrypted and mode in _CHECKS_NAMES and peers is None:
            yield _nobody(number, mode, "streamDriverPermittedPeers")
        if mode not in _CHECKS_NAMES and peers is not None:
            yield Complaint(
                ("outputs", number, "streamDriverPermittedPeers"),
                f"with streamDriverAuthMode {mode or 'anon'} the receiver's name is not checked: "
                "use x509/name, or remove streamDriverPermittedPeers",
            )
    for number, relp in _omrelp(profile):
        mode_of_relp = relp.tls_auth_mode
        if mode_of_relp in {"name", "fingerprint"} and relp.tls_permitted_peer is None:
            yield _nobody(number, mode_of_relp, "tls.permittedPeer")


def _nobody(number: int, mode: str | None, key: str) -> Complaint:
    return Complaint(
        ("outputs", number, key),
        f"{mode} sends only to the peers in {key}, which is missing: add it",
    )


@warning(
    "RT283",
    why="Encryption alone does not identify the receiver: whoever answers at that address gets "
    "the events.",
    source="RFC 5425, section 5",
    bad={"outputs": [{**RELP, "tls": True}]},
    good={
        "outputs[up].tls.authMode": "name",
        "outputs[up].tls.permittedPeer": ["up.example.org"],
        "outputs[up].tls.caCert": "/etc/ssl/ca.pem",
    },
)
def _to_anyone(profile: Profile) -> Iterator[Complaint]:
    for number, output in _omfwd(profile):
        if output.is_encrypted and output.stream_driver_auth_mode in {None, "anon"}:
            yield _anyone(number, "streamDriverAuthMode", "x509/name", "streamDriverPermittedPeers")
    for number, relp in _omrelp(profile):
        if relp.tls_auth_mode is None:
            yield _anyone(number, "tls.authMode", "name", "tls.permittedPeer")


def _anyone(number: int, key: str, mode: str, peers: str) -> Complaint:
    return Complaint(
        ("outputs", number, key),
        "the connection is encrypted, but whoever answers at that address gets the events: use "
        f"{mode} with {peers}",
    )
