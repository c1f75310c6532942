"""Every parameter of every other output is one that rsyslogd knows, from the release we say on."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from pydantic import BaseModel

from tests.lint.test_other_outputs import ENGINE, FILE, FWD, HOSTS, RELP, STANDS_IN
from tests.profile.examples import SMALL
from tests.render.test_rsyslogd_accepts import verdict
from tests.shipped import release_at_hand, text_at_hand
from tuner.modules.filter import OPERATIONS
from tuner.modules.omfile import OmfileOutput
from tuner.modules.omfwd import OmfwdOutput
from tuner.modules.omkafka import OmkafkaOutput
from tuner.modules.omrelp import OmrelpOutput
from tuner.modules.output import Output
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
    OmfileOutput: FILE, OmfwdOutput: FWD, OmrelpOutput: RELP,
    OmkafkaOutput: {"name": "kafka", "type": "omkafka", "topic": "logs"},
}  # fmt: skip
# What stands for each parameter that is not a switch or a number.
WORDS: dict[str, object] = {
    "document": "ecs",
    "line": [{"property": "msg"}],
    "topic": "other",
    "broker": ["kafka1:9092"],
    "key": "k",
    "confParam": ["security.protocol=plaintext"],
    "topicConfParam": ["acks=all"],
    "errorFile": "/var/log/kafka.json",
    "statsFile": "/var/log/kafka.stats",
    "statsName": "k",
    "failedMsgFile": "/var/log/kafka.failed",
    "filter": {"syslogseverity": "err"},
    "ioBufferSize": "16k",
    "rotation.sizeLimit": "10m",
    "rotation.sizeLimitCommand": "/bin/true now",
    "fileCreateMode": "0640",
    "dirCreateMode": "0750",
    "fileOwner": "root",
    "fileGroup": "root",
    "dirOwner": "root",
    "dirGroup": "root",
    "address": "127.0.0.1",
    "device": "lo",
    "localClientIP": "127.0.0.1",
    "TCP_FrameDelimiter": 0,
    "udp.sendBuf": "1m",
    "action.errorfile": "/var/log/errors.json",
    "streamDriverMode": 1,
    "streamDriverAuthMode": "x509/name",
    "streamDriverPermittedPeers": ["a.example.org", "b.example.org"],
    "streamDriver.caFile": "/dev/null",
    "streamDriver.certFile": "/dev/null",
    "streamDriver.keyFile": "/dev/null",
    "streamDriver.crlFile": "/dev/null",
    "streamDriver.permitExpiredCerts": "warn",
    "streamDriver.tlsVerifyDepth": 2,
    "gnutlsPriorityString": "NORMAL:-VERS-TLS1.0",
    "tls.permittedPeer": ["a.example.org", "b.example.org"],
    # The files have to be there; these say nothing, and are not read before a connection is made.
    "tls.caCert": "/dev/null",
    "tls.myCert": "/dev/null",
    "tls.myPrivKey": "/dev/null",
    "tls.priorityString": "NORMAL",
    "action.ratelimit.name": "few",
    "rateLimit.name": "few",
    "streamDriver.remoteSNI": "logs.example.org",
    "targetSrv": "example.invalid",
    "kafkaHeader": ["site=a"],
    "dynafile.dangerousPermitPathEscape": False,
}
TOGETHER: dict[str, dict[str, object]] = {
    "address": {"protocol": "udp"},
    "udp.sendToAll": {"protocol": "udp"},
    "compression.driver": {"compression.mode": "stream:always"},
    "controlCharacters": {"line": [{"property": "msg"}]},
    "targetSrv": {"target": None, "port": None},
    "tls.myCert": {"tls.myPrivKey": "/dev/null"},
    "tls.myPrivKey": {"tls.myCert": "/dev/null"},
}
APART = {"type", "name", "stream", "queue", "file", "dynaFile", "target", "port"}
PARAMETERS = [
    (kind, info.alias or name, since(info))
    for kind in KINDS
    for name, info in kind.model_fields.items()
    if (info.alias or name) not in APART
]


def value_of(kind: type[BaseModel], key: str) -> object:
    """A value that the model takes: a word of ours, the last choice, a switch or a number."""
    if key in WORDS:
        return WORDS[key]
    annotation = str(next(i.annotation for i in kind.model_fields.values() if i.alias == key))
    choices = re.findall(r"Literal\[([^\]]+)\]", annotation)
    if choices:
        return choices[0].split(",")[-1].strip(" '")
    return True if "bool" in annotation else 1


def accepted(folder: Path, *outputs: dict[str, object]) -> str:
    """What rsyslogd says to a profile with these outputs, lint left aside."""
    policy = folder / "few.yaml"
    policy.write_text("scope: output\nmode: drop\ninterval: 5\nburst: 1000\n", encoding="utf-8")
    keys = {key for output in outputs for key in output}
    changes: dict[str, object] = {"outputs": list(outputs)}
    if "action.ratelimit.name" in keys:
        changes["ratelimits"] = {"few": {"policy": str(policy)}}
    elif "rateLimit.name" in keys:
        changes["ratelimits"] = {"few": {"interval": 5, "burst": 1000}}
    data = read(edit(text_at_hand(SMALL), changes), "p.yaml").data
    path = folder / "rsyslog.conf"
    path.write_text(rsyslog_conf(Profile.model_validate(data)), encoding="utf-8")
    return verdict(path)


@pytest.mark.parametrize(("kind", "key", "release"), PARAMETERS)
def test_a_parameter_is_known_from_its_release_on(
    kind: type[BaseModel], key: str, release: int, tmp_path: Path
) -> None:
    installed = release_at_hand()
    together = TOGETHER.get(key, {})
    keys = {info.alias or name for name, info in kind.model_fields.items()}
    needed = {one: value for one, value in together.items() if one in keys}
    output = KINDS[kind] | needed | {key: value_of(kind, key)}
    said = accepted(tmp_path, output)
    if release > installed:
        # 8.2504 misses the target first.
        missed = "parameter 'target' required" in said and key == "targetSrv"
        assert missed or f"parameter '{key.lower()}' not known" in said.lower()
    elif key == "targetSrv":  # which is asked for at once
        assert "failed to resolve SRV records for '_syslog._tcp.example.invalid'" in said
    else:
        assert said == ""


def test_what_is_common_to_all_outputs_is_tried_with_each() -> None:
    common = {info.alias for info in Output.model_fields.values()} - APART
    for kind in KINDS:
        assert common <= {key for tried, key, _ in PARAMETERS if tried is kind}


def test_outputs_of_every_kind_with_filters_and_a_failover_are_accepted(tmp_path: Path) -> None:
    texts = ['a"b$c\\x', "%msg%", "`id`", "a[0-9]+", "caf\u00e9"]
    matches: list[dict[str, object]] = [
        {"property": "msg", operation: texts} for operation in OPERATIONS
    ]
    matches += [one | {"negate": True} for one in matches]
    filtered = {"filter": {"syslogfacility": ["auth", "local7"], "match": matches}}
    once = {"action.resumeRetryCount": 0}
    outputs = [
        ENGINE | once | filtered, FWD | once | STANDS_IN | {"queue": None}, FILE | STANDS_IN,
        HOSTS | filtered, RELP | filtered,
    ]  # fmt: skip
    assert accepted(tmp_path, *outputs) == ""
