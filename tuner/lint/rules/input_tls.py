"""Lint for inputs: encryption that is not what it looks like."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.modules.imrelp import ImrelpInput
from tuner.modules.imtcp import ImtcpInput
from tuner.profile.model import Profile
from tuner.rule import Complaint, error, warning

_CERTIFICATES = ("streamDriver.caFile", "streamDriver.certFile", "streamDriver.keyFile")
_CHECKS_NAMES = ("x509/name", "x509/fingerprint")

_TLS = {
    "type": "imtcp",
    "port": 6514,
    "streamDriver.name": "gtls",
    "streamDriver.mode": 1,
    "streamDriver.authMode": "x509/name",
    "permittedPeer": ["*.example.org"],
    "streamDriver.caFile": "/etc/ssl/ca.pem",
    "streamDriver.certFile": "/etc/ssl/me.pem",
    "streamDriver.keyFile": "/etc/ssl/me.key",
}


def _imtcp(profile: Profile) -> Iterator[tuple[int, ImtcpInput]]:
    for number, source in enumerate(profile.inputs):
        if isinstance(source, ImtcpInput):
            yield number, source


def _imrelp(profile: Profile) -> Iterator[tuple[int, ImrelpInput]]:
    for number, source in enumerate(profile.inputs):
        if isinstance(source, ImrelpInput):
            yield number, source


@error(
    "RT227",
    why="The input accepts plain TCP although its keys suggest TLS.",
    source="rsyslog runtime/nsd_gtls.c and nsd_ossl.c: mode 0 is plain TCP",
    bad={"inputs": [{**_TLS, "streamDriver.name": "ptcp"}]},
    good={"inputs[0].streamDriver.name": "gtls"},
)
def _in_the_clear(profile: Profile) -> Iterator[Complaint]:
    for number, source in _imtcp(profile):
        driver = source.stream_driver_name or "ptcp"
        if source.is_encrypted and driver == "ptcp":
            yield Complaint(
                ("inputs", number, "streamDriver.name"),
                "ptcp cannot encrypt: set streamDriver.name to gtls (package rsyslog-gnutls) or "
                "ossl (package rsyslog-openssl)",
            )
        asks = source.model_fields_set & {
            "stream_driver_auth_mode", "permitted_peer", "stream_driver_ca_file",
            "stream_driver_cert_file", "stream_driver_key_file", "stream_driver_crl_file",
        }  # fmt: skip
        if not source.is_encrypted and (driver != "ptcp" or asks):
            yield Complaint(
                ("inputs", number, "streamDriver.mode"),
                "without streamDriver.mode 1 this input accepts plain TCP, whatever its driver "
                "and certificates: set it to 1, or remove the other streamDriver keys",
            )


@error(
    "RT228",
    why="Without certificate and key no sender gets past the handshake.",
    source="rsyslog runtime/nsd_gtls.c",
    bad={"inputs": [_TLS], "inputs[0].streamDriver.keyFile": None},
    good={"inputs[0].streamDriver.keyFile": "/etc/ssl/me.key"},
)
def _no_certificates(profile: Profile) -> Iterator[Complaint]:
    for number, source in _imtcp(profile):
        written = source.model_dump(by_alias=True, exclude_none=True)
        missing = [key for key in _CERTIFICATES if key not in written]
        if source.is_encrypted and missing:
            yield Complaint(
                ("inputs", number, missing[0]),
                f"TLS needs the path of {', '.join(missing)}: without it senders cannot connect",
            )
    for number, relp in _imrelp(profile):
        pair = {"tls.myCert": relp.tls_my_cert, "tls.myPrivKey": relp.tls_my_priv_key}
        missing = [key for key, path in pair.items() if path is None]
        if relp.tls and len(missing) == 1:
            yield Complaint(
                ("inputs", number, missing[0]),
                f"a certificate and its key go together: add {missing[0]}",
            )


@error(
    "RT229",
    why="Senders are accepted by name, but either no names are listed or names are not checked.",
    source="rsyslog runtime/nsd_gtls.c; seen on 8.2302",
    bad={"inputs": [_TLS], "inputs[0].permittedPeer": None},
    good={"inputs[0].permittedPeer": ["*.example.org"]},
)
def _peers_and_mode(profile: Profile) -> Iterator[Complaint]:
    """Seen on 8.2302: rsyslogd does not even listen if peers are named and the mode does not check
    names."""
    for number, source in _imtcp(profile):
        mode = source.stream_driver_auth_mode
        if source.is_encrypted and mode not in _CHECKS_NAMES and source.permitted_peer:
            yield Complaint(
                ("inputs", number, "permittedPeer"),
                f"with streamDriver.authMode {mode or 'anon'} rsyslogd does not check names, and "
                "this input would not start: use x509/name, or remove permittedPeer",
            )
        if source.is_encrypted and mode in _CHECKS_NAMES and source.permitted_peer is None:
            yield Complaint(
                ("inputs", number, "permittedPeer"),
                f"{mode} accepts only the peers in permittedPeer, which is missing: add it",
            )
    for number, relp in _imrelp(profile):
        mode_of_relp = relp.tls_auth_mode
        if mode_of_relp in {"name", "fingerprint"} and relp.tls_permitted_peer is None:
            yield Complaint(
                ("inputs", number, "tls.permittedPeer"),
                f"{mode_of_relp} accepts only the peers in tls.permittedPeer, which is missing: "
                "add it",
            )


@warning(
    "RT230",
    why="Encryption alone keeps nobody out: whoever reaches the port can write into your logs.",
    source="RFC 5425, section 5",
    bad={
        "inputs": [{**_TLS, "streamDriver.authMode": "anon"}],
        "inputs[0].permittedPeer": None,
    },
    good={"inputs[0].streamDriver.authMode": "x509/certvalid"},
)
def _everybody_may_send(profile: Profile) -> Iterator[Complaint]:
    for number, source in _imtcp(profile):
        if source.is_encrypted and source.stream_driver_auth_mode in {None, "anon"}:
            yield Complaint(
                ("inputs", number, "streamDriver.authMode"),
                "the connection is encrypted, but whoever reaches the port may send: use "
                "x509/name with permittedPeer to accept only senders with a certificate of yours",
            )
    for number, relp in _imrelp(profile):
        if relp.tls and relp.tls_auth_mode is None:
            yield Complaint(
                ("inputs", number, "tls.authMode"),
                "the connection is encrypted, but whoever reaches the port may send: use name with "
                "tls.permittedPeer to accept only senders with a certificate of yours",
            )
