"""Every parameter of every input is one that a real rsyslogd knows, from the release we say on."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from pydantic import BaseModel

from tests.lint.test_inputs import FILE, PTCP, RELP, TLS, UDP, UNIX, WORK
from tests.profile.examples import SMALL, at_hand
from tests.render.test_rsyslogd_accepts import verdict
from tests.shipped import release_at_hand, text_at_hand
from tuner.modules.imfile import ImfileInput
from tuner.modules.imptcp import ImptcpInput
from tuner.modules.imrelp import ImrelpInput
from tuner.modules.imtcp import ImtcpInput
from tuner.modules.imudp import ImudpInput
from tuner.modules.imuxsock import ImuxsockInput
from tuner.profile.edit import edit
from tuner.profile.model import Profile
from tuner.profile.source import read
from tuner.render.artefacts import rsyslog_conf
from tuner.schema.parameter import since

pytestmark = [
    pytest.mark.live,
    pytest.mark.full,
    pytest.mark.each_rsyslogd("parameters"),
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

KINDS: dict[type[BaseModel], dict[str, object]] = {
    ImptcpInput: PTCP, ImtcpInput: TLS, ImudpInput: UDP, ImfileInput: FILE, ImrelpInput: RELP,
    ImuxsockInput: UNIX,
}  # fmt: skip
# The system's socket, which has parameters of its own.
SYSTEM: dict[str, object] = {"type": "imuxsock", "sysSock.name": "/run/none/log"}
# What a parameter needs beside itself to be taken.
TOGETHER: dict[str, dict[str, object]] = {
    "maxLinesAtOnce": {"mode": "polling"},
    "tls.myCert": {"tls.myPrivKey": "/dev/null"},
    "tls.myPrivKey": {"tls.myCert": "/dev/null"},
}
# What stands for each parameter that is not a switch or a number.
WORDS: dict[str, object] = {
    "parser": ["rsyslog.rfc5424", "rsyslog.rfc3164"],
    "address": "127.0.0.1",
    "defaultTZ": "+01:00",
    "compression.mode": "stream:always",
    "allowedSender": ["127.0.0.1", "10.0.0.0/8"],
    "streamDriver.name": "gtls",
    "streamDriver.authMode": "x509/name",
    "streamDriver.crlFile": "/etc/ssl/crl.pem",
    "streamDriver.permitExpiredCerts": "warn",
    "gnutlsPriorityString": "NORMAL:-VERS-TLS1.0",
    "streamDriver.tlsVerifyDepth": 2,
    "device": "lo",
    "facility": "local3",
    "severity": "warning",
    "mode": "polling",
    "startmsg.regex": "^[0-9]{4}",
    "endmsg.regex": "end$",
    "oversizeMode": "accept",
    "tls.tlsLib": "gnutls",
    "tls.authMode": "name",
    "tls.permittedPeer": ["a.example.org"],
    # The files have to be there; these say nothing, and are not read before senders come.
    "tls.caCert": "/dev/null",
    "tls.myCert": "/dev/null",
    "tls.myPrivKey": "/dev/null",
    "tls.priorityString": "NORMAL",
    "maxDataSize": "16k",
    "rateLimit.name": "few",
    "sysSock.rateLimit.name": "few",
    "framing.delimiter.regex": "^<[0-9]{1,3}>",
    "networkNamespace": "routing",
    "sysSock.name": "/run/none/log",
}
PARAMETERS = [
    (kind, info.alias or name, since(info))
    for kind in KINDS
    for name, info in kind.model_fields.items()
    if (info.alias or name) not in {"type", "port", "file", "tag", "socket", "stream"}
]


def value_of(kind: type[BaseModel], key: str) -> object:
    """A value that the model takes: a word of ours, the example's, the first choice, a number."""
    if key in WORDS:
        return WORDS[key]
    if key in KINDS[kind]:
        return KINDS[kind][key]
    annotation = str({info.alias: info.annotation for info in kind.model_fields.values()}[key])
    choice = re.search(r"Literal\['([^']+)'", annotation)
    if choice:
        return choice[1]
    return True if "bool" in annotation else 1


def known(source: dict[str, object], kind: type[BaseModel]) -> dict[str, object]:
    """What the rsyslogd at hand knows of it: before 8.2106 TLS was the module's."""
    installed = release_at_hand()
    releases = {info.alias or name: since(info) for name, info in kind.model_fields.items()}
    return {key: value for key, value in source.items() if releases[key] <= installed}


def accepted(source: dict[str, object], folder: Path) -> str:
    """What rsyslogd says to a profile with that input, lint left aside."""
    limits = {"ratelimits": {"few": {"interval": 5, "burst": 1000}}}
    named = limits if any(key.endswith("ateLimit.name") for key in source) else {}
    data = read(edit(text_at_hand(SMALL), {"inputs": [source], **WORK, **named}), "p.yaml").data
    path = folder / "rsyslog.conf"
    path.write_text(rsyslog_conf(Profile.model_validate(data)), encoding="utf-8")
    return verdict(path)


@pytest.mark.parametrize(("kind", "key", "release"), PARAMETERS)
def test_a_parameter_is_known_from_its_release_on(
    kind: type[BaseModel], key: str, release: int, tmp_path: Path
) -> None:
    installed = release_at_hand()
    source = SYSTEM if key.startswith("sysSock.") else known(KINDS[kind], kind)
    said = accepted(source | {key: value_of(kind, key)} | TOGETHER.get(key, {}), tmp_path)
    if release <= installed:
        assert said == ""
    else:
        assert f"parameter '{key.lower()}' not known" in said.lower()


def test_inputs_of_every_kind_together_are_accepted(tmp_path: Path) -> None:
    """With one that pins a parser, so that a ruleset calls another."""
    changes: dict[str, object] = {
        "inputs": [
            PTCP,
            UDP | {"parser": ["rsyslog.rfc3164"]},
            FILE,
            RELP,
            UNIX,
            known(TLS, ImtcpInput),
        ],
        **WORK,
    }
    path = tmp_path / "rsyslog.conf"
    path.write_text(rsyslog_conf(at_hand(changes)), encoding="utf-8")
    assert verdict(path) == ""
