"""Lint for connections: credentials, replies, and encryption that is not what it seems to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from tuner.lint.sections import Placed, engine_outputs, inputs, outputs, outputs_of
from tuner.modules.input import Input
from tuner.modules.omelasticsearch import ASKS_AT_START, OmelasticsearchOutput
from tuner.modules.omhttp import OmhttpOutput
from tuner.modules.output import Output
from tuner.profile.model import Profile
from tuner.rule import Complaint, error, warning
from tuner.schema.scalars import is_loopback
from tuner.schema.section import since


class _TlsKeys(NamedTuple):
    """How a module spells TLS: what turns it on, how peers prove who they are and what they are
    called, the certificates, the library where that is to be chosen, and the mode for names."""

    on: str
    mode: str
    peers: str
    authority: str
    certificate: str
    key: str
    driver: str = ""
    by_name: str = "name"


_FILES = ("streamDriver.caFile", "streamDriver.certFile", "streamDriver.keyFile")
_RELP = _TlsKeys(
    "tls", "tls.authMode", "tls.permittedPeer", "tls.caCert", "tls.myCert", "tls.myPrivKey"
)
_TLS = {
    "imtcp": _TlsKeys(
        "streamDriver.mode", "streamDriver.authMode", "permittedPeer", *_FILES,
        "streamDriver.name", "x509/name",
    ),
    "omfwd": _TlsKeys(
        "streamDriverMode", "streamDriverAuthMode", "streamDriverPermittedPeers", *_FILES,
        "streamDriver", "x509/name",
    ),
    "imrelp": _RELP,
    "omrelp": _RELP,
}  # fmt: skip


class _Link(NamedTuple):
    """What an input or output that may speak TLS says of that, by the keys of its module."""

    section: Input | Output
    keys: _TlsKeys
    written: Mapping[str, object]

    @property
    def is_encrypted(self) -> bool:
        """Whether it speaks TLS."""
        return bool(self.written.get(self.keys.on))

    @property
    def is_input(self) -> bool:
        """Whether it takes events."""
        return isinstance(self.section, Input)

    @property
    def mode(self) -> str:
        """How peers prove who they are."""
        return str(self.written.get(self.keys.mode, "anon"))

    @property
    def checks_names(self) -> bool:
        """Whether peers are told by names or fingerprints."""
        return self.mode.endswith(("name", "fingerprint"))

    @property
    def has_peers(self) -> bool:
        """Whether peers are named."""
        return self.keys.peers in self.written


def _links(profile: Profile) -> Iterator[Placed[_Link]]:
    """The inputs and outputs that may speak TLS."""
    sections: tuple[Placed[Input | Output], ...] = (*inputs(profile), *outputs(profile))
    for place, section in sections:
        if section.type in _TLS:
            written = section.model_dump(by_alias=True, exclude_none=True)
            yield place, _Link(section, _TLS[section.type], written)


@error("RT227").for_each(_links)
def _in_the_clear(link: _Link, _: Profile) -> Iterator[Complaint]:
    on, peers, driver = link.keys.on, link.keys.peers, link.keys.driver
    chosen = link.written.get(driver, "ptcp")
    if driver and link.is_encrypted and chosen == "ptcp":
        yield Complaint(
            (driver,),
            f"ptcp cannot encrypt: set {driver} to gtls (package rsyslog-gnutls) or ossl (package "
            "rsyslog-openssl)",
        )
    begins = ("streamDriver" if driver else "tls.", peers)
    others = {on, driver, "tls.tlsLib"}
    asks = [key for key in link.written if key.startswith(begins) and key not in others]
    if not link.is_encrypted and (chosen != "ptcp" or asks):
        clear = "accepts plain TCP" if link.is_input else "sends events unencrypted"
        yield Complaint(
            (on,),
            f"without {on} this {clear}, whatever it says of TLS: set {on} to "
            f"{'1' if driver else 'true'}, or remove {', '.join(asks) or driver}",
        )


@error("RT228").for_each(_links)
def _no_certificates(link: _Link, _: Profile) -> Iterator[Complaint]:
    keys = link.keys
    pair = [name for name in (keys.certificate, keys.key) if name not in link.written]
    needed = [] if keys.authority in link.written else [keys.authority]
    if not link.is_encrypted or (link.is_input and not keys.driver) or link.mode == "anon":
        needed = []
    if link.is_input and link.is_encrypted and keys.driver:
        needed += pair
    elif len(pair) == 1:
        yield Complaint((pair[0],), f"a certificate and its key go together: add {pair[0]}")
    if needed:
        fails = "senders cannot connect" if link.is_input else "nothing is sent"
        yield Complaint(
            (needed[0],), f"TLS needs the path of {', '.join(needed)}: without it {fails}"
        )


@error("RT229").for_each(_links)
def _peers_and_mode(link: _Link, _: Profile) -> Iterator[Complaint]:
    """Seen on 8.2302: rsyslogd does not even listen if peers are named and the mode does not check
    names."""
    peers = link.keys.peers
    if link.is_encrypted and link.checks_names and not link.has_peers:
        takes = "accepts only" if link.is_input else "sends only to"
        yield Complaint(
            (peers,), f"{link.mode} {takes} the peers in {peers}, which is missing: add it"
        )
    if link.is_encrypted and link.has_peers and not link.checks_names:
        idle = ", and this input would not start" if link.is_input and link.keys.driver else ""
        yield Complaint(
            (peers,),
            f"with {link.keys.mode} {link.mode} rsyslogd does not check names{idle}: use "
            f"{link.keys.by_name}, or remove {peers}",
        )


@warning("RT230").for_each(_links)
def _anybody(link: _Link, _: Profile) -> Iterator[Complaint]:
    if link.is_encrypted and link.mode == "anon":
        who = "answers at that address gets the events"
        if link.is_input:
            who = "reaches the port may send"
        yield Complaint(
            (link.keys.mode,),
            f"the connection is encrypted, but whoever {who}: use {link.keys.by_name} with "
            f"{link.keys.peers}, so that peers need a certificate of yours",
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


@error("RT204").for_each(_http_outputs)
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


@warning("RT217").for_each(_http_outputs)
def _no_port(output: OmelasticsearchOutput | OmhttpOutput, _: Profile) -> Iterator[Complaint]:
    scheme, usual, taken = "https", 443, 9200
    if isinstance(output, OmhttpOutput):
        scheme, usual, taken = "http", 80, 443
        if output.serverport is not None:
            return
    key, servers = _servers(output)
    for i, server in enumerate(servers):
        if server.startswith(f"{scheme}:") and urlsplit(server).port is None:
            bare = server.rstrip("/")
            yield Complaint(
                (key, i),
                f"rsyslog goes to port {taken} here, not to {usual}, the usual port of {scheme}: "
                f"write the port that is meant, {bare}:{usual} or {bare}:{taken}",
            )


@warning("RT205").for_each(_http_outputs, "tls")
def _tls_unused(output: OmelasticsearchOutput | OmhttpOutput, _: Profile) -> Iterator[str]:
    _key, servers = _servers(output)
    if output.tls is not None and all(server.startswith("http:") for server in servers):
        yield "tls has no effect with http servers: write https, or remove tls"


@error("RT206").for_each(_http_outputs, "tls")
def _half_a_certificate(output: OmelasticsearchOutput | OmhttpOutput, _: Profile) -> Iterator[str]:
    tls = output.tls
    if tls is not None and (tls.mycert is None) != (tls.myprivkey is None):
        yield "a client certificate needs both tls.mycert and tls.myprivkey"


@warning("RT213").for_each(engine_outputs, "indexTimeout")
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


@error("RT210").for_each(engine_outputs)
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
