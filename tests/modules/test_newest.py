"""The newest parameters of rsyslog: rendered, accepted by an rsyslogd that has them, refused by
lint for an older one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.profile.examples import SMALL
from tuner.errors import BadProfile, Problem
from tuner.host.programs import rsyslog_version
from tuner.lab.check import check
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.profile.model import Profile
from tuner.render.artefacts import rsyslog_conf

NEWEST = 2610
# Debian's 8.2610 is built without it.
PUSHED: dict[str, object] = {
    "push.url": "https://prometheus.example.org/api/v1/write", "push.labels": ["site=a", "room=2"],
    "push.timeout.ms": 2000, "push.label.instance": True, "push.label.origin": True,
    "push.label.name": False, "push.label.job": "logs", "push.tls.cafile": "/etc/ssl/ca.pem",
    "push.tls.certfile": "/etc/ssl/a.pem", "push.tls.keyfile": "/etc/ssl/a.key",
    "push.tls.insecureSkipVerify": False, "push.batch.maxBytes": 100_000,
    "push.batch.maxSeries": 500,
}  # fmt: skip
COUNTED: dict[str, object] = {
    "interval": 10, "format": "json", "log.syslog": False, "resetCounters": False,
    "log.file": "/var/log/pstats", "log.file.overwrite": True,
}  # fmt: skip
GLOBAL: dict[str, object] = {
    "net.enableDNS": False, "inputStartupPolicy": "require-all", "maxOpenFiles": 4096,
    "systemd.notifyReadyDelay": True, "compatibility.defaults.secure": "strict",
    "compatibility.configformat.legacy": "disable", "compatibility.configformat.syslogd": "warn",
    "compatibility.configformat.property": "enable",
}  # fmt: skip
INPUTS: list[dict[str, object]] = [
    {
        "type": "imtcp", "address": "127.0.0.1", "port": 10514,
        "supportOctetCountedFraming": True, "multiLine": True, "rateLimit.name": "few",
        "compression.mode": "stream:always", "compression.driver": "zstd",
        "compression.maxExpansionRatio": 100,
        "compression.maxDecompressedBytesPerReceive": 1_000_000,
        "compression.maxTotalZstdWindowBytes": 1_000_000,
    },
    {
        "type": "imtcp", "address": "127.0.0.1", "port": 10515,
        "supportOctetCountedFraming": True, "framing.delimiter.regex": "^<[0-9]{1,3}>",
        "networkNamespace": "routing",
    },
    {"type": "imjournal", "stateFile": "imjournal.state", "namespace": "app",
     "ratelimit.name": "few"},
]  # fmt: skip
PARSE: dict[str, object] = {
    "format": "json", "cookie": "", "mode": "find-json", "max_scan_bytes": 4096,
    "allow_trailing": False,
}  # fmt: skip
FOREVER = {
    "action.resumeRetryCount": -1, "action.resumeInterval": 30, "queue": {"type": "Direct"},
}  # fmt: skip
OUTPUTS: list[dict[str, object]] = [
    {
        "name": "files", "type": "omfile", "file": "/var/log/files", "ioBufferSize": "64k",
        "template": "RSYSLOG_FileFormat", "followSymlinks": False,
        "dynafile.dangerousPermitPathEscape": False,
        "rotation.sizeLimitCommandPassFileName": False, **FOREVER,
    },
    {
        "name": "up", "type": "omfwd", "target": "up.example.org", "port": 6514,
        "protocol": "tcp", "template": "RSYSLOG_SyslogProtocol23Format",
        "streamDriver": "gtls", "streamDriverMode": 1, "streamDriverAuthMode": "anon",
        "streamDriver.remoteSNI": "logs.example.org", "rateLimit.name": "few", **FOREVER,
    },
    {
        "name": "kafka", "type": "omkafka", "topic": "out", "broker": ["kafka1:9092"],
        "template": "RSYSLOG_FileFormat", "kafkaHeader": ["site=a", "room=2"],
        "action.ratelimit.name": "paced", **FOREVER,
    },
]  # fmt: skip


def limits(policy: str) -> dict[str, object]:
    few = {"interval": 5, "burst": 1000, "severity": "info", "perSourceMaxStates": 100,
           "perSourceTopN": 5}  # fmt: skip
    paced = {"policy": policy, "policyWatch": True, "policyWatchDebounce": "2s"}
    return {"few": few, "paced": paced}


def text_with(policy: str, release: int = NEWEST) -> str:
    changes: dict[str, object] = {
        "release": {"rsyslog": f"8.{release}", "elasticsearch": "8.19"},
        "global": GLOBAL | {"workDirectory": "/var/spool/rsyslog"},
        "ratelimits": limits(policy),
        "inputs": INPUTS,
        "parse": PARSE,
        "main_queue.mutexContentionStats": True,
        "main_queue.scope": "global",
        "outputs": OUTPUTS,
        "impstats": COUNTED,
    }
    return edit(SMALL, changes)


def profile_with(policy: str) -> Profile:
    return parse_profile(text_with(policy), "p.yaml").profile


def problems(text: str) -> tuple[Problem, ...]:
    with pytest.raises(BadProfile) as bad:
        parse_profile(text, "p.yaml")
    return bad.value.problems


@pytest.mark.live
@pytest.mark.each_rsyslogd("parameters")
@pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed")
def test_rsyslogd_takes_them_all_at_once(tmp_path: Path) -> None:
    if int(rsyslog_version().partition(".")[2]) < NEWEST:
        pytest.skip(f"not possible: they are all known since 8.{NEWEST}")
    policy = tmp_path / "paced.yaml"
    policy.write_text("scope: output\nmode: drop\ninterval: 5\nburst: 9\n", encoding="utf-8")
    config = rsyslog_conf(profile_with(str(policy)))
    said = check(config.replace("/var/spool/rsyslog", str(tmp_path)))
    assert (said.accepted, said.complaints) == (True, ())


@pytest.mark.live
@pytest.mark.each_rsyslogd("parameters")
@pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed")
def test_a_watch_of_nothing_is_no_rejection() -> None:
    """rsyslogd says it and ends with 0; RT237 says it of a profile."""
    if int(rsyslog_version().partition(".")[2]) < NEWEST:
        pytest.skip(f"not possible: they are all known since 8.{NEWEST}")
    said = check(
        'ratelimit(name="few" interval="5" policyWatch="on")\n'
        'action(type="omfile" file="/dev/null")\n'
    )
    assert (said.accepted, len(said.runs)) == (True, 1)
    wrong = check('ratelimit(name="few" perSource="on")\naction(type="omfile" file="/dev/null")\n')
    assert not wrong.accepted


def test_lint_refuses_each_for_a_release_that_does_not_know_it() -> None:
    codes = {"RT421", "RT422", "RT423", "RT424", "RT425"}
    pushed = edit(text_with("/etc/paced.yaml", 2504), {"impstats": COUNTED | PUSHED})
    found = [one for one in problems(pushed) if one.code in codes]
    assert {one.code for one in found} == codes
    told = {one.message.partition(" since rsyslog ")[0] for one in found}
    section = [*((str(one["type"]), one) for one in (*INPUTS, *OUTPUTS)), ("impstats", PUSHED)]
    old = {
        "type", "address", "port", "supportOctetCountedFraming", "topic", "broker", "stateFile",
        "name", "file", "ioBufferSize", "template", "target", "protocol", "streamDriver",
        "streamDriverMode", "streamDriverAuthMode", *FOREVER,
    }  # fmt: skip
    wanted = {f"{owner} has {key}" for owner, one in section for key in one.keys() - old}
    assert wanted <= told
    assert {f"global has {key}" for key in GLOBAL.keys() - {"net.enableDNS"}} <= told
    assert {"a queue has mutexContentionStats", "a queue has scope"} <= told
    assert {f"parse json has {key}" for key in PARSE.keys() - {"format", "cookie"}} <= told
    assert sum("ratelimit() since 8.2602" in one.message for one in found) == 2
