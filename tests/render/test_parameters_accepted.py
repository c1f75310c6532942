"""Every parameter of every input, output, queue and action, as a profile sets it, is taken by a
real rsyslogd of a release that has it; tests/modules/test_since.py asks for those that it has not.

Each stands in an object of its own, all of a kind in one configuration.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path

import pytest
from pydantic import BaseModel

from tests.lint.test_inputs import FILE as LINES
from tests.lint.test_inputs import PTCP, TLS, UDP, UNIX, WORK
from tests.lint.test_inputs import RELP as RELP_IN
from tests.lint.test_other_outputs import ENGINE, FILE, FWD, HOSTS, RELP, STANDS_IN
from tests.profile.examples import SMALL, at_hand
from tests.render.test_rsyslogd_accepts import verdict
from tests.shipped import release_at_hand, text_at_hand
from tuner.modules.filter import OPERATIONS
from tuner.modules.imfile import ImfileInput
from tuner.modules.imptcp import ImptcpInput
from tuner.modules.imrelp import ImrelpInput
from tuner.modules.imtcp import ImtcpInput
from tuner.modules.imudp import ImudpInput
from tuner.modules.imuxsock import ImuxsockInput
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.omfile import OmfileOutput
from tuner.modules.omfwd import OmfwdOutput
from tuner.modules.omkafka import OmkafkaOutput
from tuner.modules.omrelp import OmrelpOutput
from tuner.modules.queue import Queue
from tuner.modules.secrets import Tls
from tuner.profile.edit import edit
from tuner.profile.model import Profile
from tuner.profile.source import read
from tuner.render.artefacts import rsyslog_conf
from tuner.schema.section import of_module, since

pytestmark = [
    pytest.mark.live,
    pytest.mark.full,
    pytest.mark.each_rsyslogd("parameters"),
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

Section = dict[str, object]
INPUTS: dict[type[BaseModel], Section] = {
    ImptcpInput: PTCP, ImtcpInput: TLS, ImudpInput: UDP, ImfileInput: LINES, ImrelpInput: RELP_IN,
    ImuxsockInput: UNIX,
}  # fmt: skip
OUTPUTS: dict[type[BaseModel], Section] = {
    OmfileOutput: FILE, OmfwdOutput: FWD, OmrelpOutput: RELP,
    OmkafkaOutput: {"name": "kafka", "type": "omkafka", "topic": "logs"},
}  # fmt: skip
# What a parameter needs beside itself to be taken.
TOGETHER: dict[str, Section] = {
    "maxLinesAtOnce": {"mode": "polling"},
    "address": {"protocol": "udp"},
    "udp.sendToAll": {"protocol": "udp"},
    "compression.driver": {"compression.mode": "stream:always"},
    "controlCharacters": {"line": [{"property": "msg"}]},
    "tls.myCert": {"tls.myPrivKey": "/dev/null"},
    "tls.myPrivKey": {"tls.myCert": "/dev/null"},
}
# What stands for each parameter that is not a switch, a choice or a number.  Files have to be
# there; these say nothing, and are not read before a connection is made.
WORDS: Section = {
    "parser": ["rsyslog.rfc5424", "rsyslog.rfc3164"], "address": "127.0.0.1", "device": "lo",
    "defaultTZ": "+01:00", "allowedSender": ["127.0.0.1", "10.0.0.0/8"],
    "compression.mode": "stream:always", "facility": "local3", "severity": "warning",
    "streamDriver.name": "gtls", "streamDriver.authMode": "x509/name",
    "streamDriver.caFile": "/dev/null", "streamDriver.certFile": "/dev/null",
    "streamDriver.keyFile": "/dev/null", "streamDriver.crlFile": "/dev/null",
    "streamDriver.permitExpiredCerts": "warn", "streamDriver.tlsVerifyDepth": 2,
    "streamDriver.remoteSNI": "logs.example.org", "streamDriverMode": 1,
    "streamDriverAuthMode": "x509/name",
    "streamDriverPermittedPeers": ["a.example.org", "b.example.org"],
    "gnutlsPriorityString": "NORMAL:-VERS-TLS1.0", "permittedPeer": ["*.example.org"],
    "tls.tlsLib": "gnutls", "tls.authMode": "name", "tls.permittedPeer": ["a.example.org"],
    "tls.caCert": "/dev/null", "tls.myCert": "/dev/null", "tls.myPrivKey": "/dev/null",
    "tls.priorityString": "NORMAL", "cacert": "/dev/null", "mycert": "/dev/null",
    "myprivkey": "/dev/null", "tlsversion": "TLSv1.3", "ciphersuites": "TLS_AES_256_GCM_SHA384",
    "keyexchangegroups": "X25519MLKEM768:X25519",
    "startmsg.regex": "^[0-9]{4}", "endmsg.regex": "end$", "mode": "polling",
    "oversizeMode": "accept", "maxDataSize": "16k", "framing.delimiter.regex": "^<[0-9]{1,3}>",
    "networkNamespace": "routing", "sysSock.name": "/run/none/log", "rcvbufSize": "4m",
    "rateLimit.name": "few", "sysSock.rateLimit.name": "few", "action.ratelimit.name": "paced",
    "document": "ecs", "line": [{"property": "msg"}], "topic": "other", "broker": ["kafka1:9092"],
    "key": "k", "confParam": ["security.protocol=plaintext"], "topicConfParam": ["acks=all"],
    "errorFile": "/var/log/kafka.json", "statsFile": "/var/log/kafka.stats", "statsName": "k",
    "failedMsgFile": "/var/log/kafka.failed", "kafkaHeader": ["site=a"],
    "filter": {"syslogseverity": "err"}, "ioBufferSize": "16k", "rotation.sizeLimit": "10m",
    "rotation.sizeLimitCommand": "/bin/true now", "fileCreateMode": "0640",
    "dirCreateMode": "0750", "fileOwner": "root", "fileGroup": "root", "dirOwner": "root",
    "dirGroup": "root", "dynafile.dangerousPermitPathEscape": False,
    "localClientIP": "127.0.0.1", "TCP_FrameDelimiter": 0, "udp.sendBuf": "1m",
    "action.errorfile": "/var/log/errors.json",
    "type": "LinkedList", "size": 60_000, "highWatermark": 40_000, "lowWatermark": 20_000,
    "fullDelayMark": 49_000, "discardMark": 48_000, "scope": "local", "local.frontendSize": 1024,
    "filename": "q", "maxDiskSpace": "1g", "maxFileSize": "16m", "onCorruption": "safe",
    "diskQueueType": "auto", "spoolDirectory": "/var",
}  # fmt: skip


def parameters(section: type[BaseModel], *apart: str) -> list[str]:
    """Those that the rsyslogd at hand has, as profiles spell them."""
    return [
        info.alias or name
        for name, info in section.model_fields.items()
        if (info.alias or name) not in apart and since(info) <= release_at_hand()
    ]


def value_of(section: type[BaseModel], key: str) -> object:
    """A value that the model takes: a word of ours, the last choice, a switch or a number."""
    if key in WORDS:
        return WORDS[key]
    (kind,) = (
        str(info.annotation)
        for name, info in section.model_fields.items()
        if (info.alias or name) == key
    )
    choices = re.findall(r"Literal\[([^\]]+)\]", kind)
    if choices:
        choice = choices[0].split(",")[-1].strip(" '")
        return int(choice) if choice.isdecimal() else choice
    return True if "bool" in kind else 1


def accepted(folder: Path, changes: Mapping[str, object]) -> str:
    """What rsyslogd says to the small profile with these changes, lint left aside."""
    policy = folder / "few.yaml"
    policy.write_text("scope: output\nmode: drop\ninterval: 5\nburst: 1000\n", encoding="utf-8")
    limits: Section = {}
    if release_at_hand() >= 2602:
        limits = {"few": {"interval": 5, "burst": 1000}, "paced": {"policy": str(policy)}}
    data = read(edit(text_at_hand(SMALL), {**changes, "ratelimits": limits or None}), "p.yaml").data
    path = folder / "rsyslog.conf"
    path.write_text(rsyslog_conf(Profile.model_validate(data)), encoding="utf-8")
    return verdict(path)


def each_in_its_own(
    section: type[BaseModel], written: Section, keys: list[str]
) -> Iterator[Section]:
    """The section once for each of its parameters, under a name or port of its own."""
    known = {key: value for key, value in written.items() if key in parameters(section)}
    numbers = count(1)
    for key in keys:
        number = next(numbers)
        needed = {
            one: value for one, value in TOGETHER.get(key, {}).items() if one in parameters(section)
        }
        place: Section = {"port": 20_000 + number} if "port" in written else {}
        if section in OUTPUTS:
            place = {"name": f"{written['name']}{number}"}
        elif "socket" in written:
            place = {"socket": f"/run/app{number}.sock"}
        yield {**known, **needed, key: value_of(section, key), **place}


@pytest.mark.parametrize("section", INPUTS)
def test_each_parameter_of_an_input_is_taken(section: type[BaseModel], tmp_path: Path) -> None:
    shared = of_module(section)
    own = parameters(section, "type", "port", "file", "tag", "socket", "stream", *shared)
    inputs = [*each_in_its_own(section, INPUTS[section], own)]
    assert accepted(tmp_path, {"inputs": inputs, **WORK}) == ""


@pytest.mark.parametrize("section", OUTPUTS)
def test_each_parameter_of_an_output_is_taken(section: type[BaseModel], tmp_path: Path) -> None:
    apart = ("type", "name", "stream", "queue", "file", "dynaFile", "target", "port", "targetSrv")
    keys = parameters(section, *apart, *of_module(section))
    outputs = [*each_in_its_own(section, OUTPUTS[section], keys)]
    assert accepted(tmp_path, {"outputs": outputs}) == ""


@pytest.mark.parametrize("section", [*INPUTS, *OUTPUTS])
def test_all_parameters_of_a_module_are_taken(section: type[BaseModel], tmp_path: Path) -> None:
    shared = [key for key in parameters(section) if key in of_module(section)]
    places, written = ("inputs", INPUTS) if section in INPUTS else ("outputs", OUTPUTS)
    # The system's socket, which has parameters of its own, is another input.
    known = {
        key: value
        for key, value in written[section].items()
        if key in parameters(section, "socket", "flowControl")
    }
    one = known | {key: value_of(section, key) for key in shared}
    assert accepted(tmp_path, {places: [one], **WORK}) == ""


def test_each_parameter_of_a_queue_is_taken(tmp_path: Path) -> None:
    """In queues of actions, and together in the main queue."""
    queue: Section = {"type": "LinkedList", "size": 50_000, "spoolDirectory": str(tmp_path)}
    keys = [key for key in parameters(Queue, "scope", "filename") if "local." not in key]
    each = [{**queue, "filename": key, key: value_of(Queue, key)} for key in keys]
    outputs = [{**FILE, "name": f"file{number}", "queue": one} for number, one in enumerate(each)]
    main = {key: value_of(Queue, key) for key in keys} | queue | {"filename": "main"}
    assert accepted(tmp_path, {"outputs": outputs, "main_queue": main}) == ""


def test_a_local_queue_is_taken(tmp_path: Path) -> None:
    """Beside few inputs and outputs only."""
    local: Section = {key: value_of(Queue, key) for key in parameters(Queue) if "local" in key}
    if not local:
        pytest.skip("not possible: queues are local since rsyslog 8.2610")
    queue = {"type": "FixedArray", "scope": "local", **local}
    changes = {"inputs": [{"type": "imtcp", "port": 10514}], "main_queue": queue}
    assert accepted(tmp_path, {**changes, "outputs": [FWD | {"queue": queue}]}) == ""


def test_each_parameter_of_actions_and_of_tls_is_taken_in_an_engine(tmp_path: Path) -> None:
    section = OmelasticsearchOutput
    keys = [key for key in parameters(section) if key.startswith("action.")]
    each = [{key: value_of(section, key)} for key in keys]
    each += [{"tls": {key: value_of(Tls, key)}} for key in parameters(Tls)]
    written = {key: value for key, value in ENGINE.items() if key in parameters(section)}
    outputs = [{**written, **one, "name": f"logs{number}"} for number, one in enumerate(each)]
    assert accepted(tmp_path, {"outputs": outputs}) == ""


def test_servers_of_a_service_are_asked_for_at_once(tmp_path: Path) -> None:
    if "targetSrv" not in parameters(OmfwdOutput):
        pytest.skip("not possible: omfwd has targetSrv since rsyslog 8.2602")
    output = {"name": "up", "type": "omfwd", "targetSrv": "example.invalid"}
    said = accepted(tmp_path, {"outputs": [output]})
    assert "failed to resolve SRV records for '_syslog._tcp.example.invalid'" in said


def test_inputs_of_every_kind_together_are_taken(tmp_path: Path) -> None:
    """With one that pins a parser, so that a ruleset calls another."""
    tls = {key: value for key, value in TLS.items() if key in parameters(ImtcpInput)}
    inputs = [PTCP, UDP | {"parser": ["rsyslog.rfc3164"]}, LINES, RELP_IN, UNIX, tls]
    path = tmp_path / "rsyslog.conf"
    path.write_text(rsyslog_conf(at_hand({"inputs": inputs, **WORK})), encoding="utf-8")
    assert verdict(path) == ""


def test_outputs_of_every_kind_with_filters_and_a_failover_are_taken(tmp_path: Path) -> None:
    texts = ['a"b$c\\x', "%msg%", "`id`", "a[0-9]+", "caf\u00e9"]
    matches: list[Section] = [{"property": "msg", operation: texts} for operation in OPERATIONS]
    matches += [one | {"negate": True} for one in matches]
    filtered = {"filter": {"syslogfacility": ["auth", "local7"], "match": matches}}
    once = {"action.resumeRetryCount": 0}
    outputs = [
        ENGINE | once | filtered, FWD | once | STANDS_IN | {"queue": None}, FILE | STANDS_IN,
        HOSTS | filtered, RELP | filtered,
    ]  # fmt: skip
    assert accepted(tmp_path, {"outputs": outputs}) == ""
