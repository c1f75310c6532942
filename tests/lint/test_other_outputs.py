"""Files and other syslog servers as outputs: what a profile may say, and what lint tells."""

from __future__ import annotations

import pytest

from tests.lab.test_bind import SITE
from tests.profile.examples import SMALL, small
from tuner.errors import BadProfile
from tuner.lab.bind import bind
from tuner.lint.explain import explain
from tuner.lint.load import parse_profile
from tuner.modules.omfile import OmfileOutput
from tuner.profile.edit import edit

QUEUE: dict[str, object] = {
    "type": "LinkedList", "size": 20000, "dequeueBatchSize": 500, "timeoutEnqueue": 86400000,
    "timeoutShutdown": 10000,
}  # fmt: skip
ENGINE: dict[str, object] = {
    "name": "logs", "type": "omelasticsearch", "servers": ["http://127.0.0.1:9200"],
    "queue": QUEUE, "indexTimeout": 60000, "index": {"name": "syslog"},
}  # fmt: skip
FILE: dict[str, object] = {"name": "file", "type": "omfile", "file": "/var/log/all.log"}
HOSTS: dict[str, object] = {
    "name": "hosts", "type": "omfile",
    "dynaFile": {"before": "/var/log/hosts/", "property": "hostname", "after": ".log"},
}  # fmt: skip
FWD: dict[str, object] = {
    "name": "up", "type": "omfwd", "target": "up.example.org", "port": 514, "queue": QUEUE,
}  # fmt: skip
TLS: dict[str, object] = FWD | {
    "streamDriver": "gtls", "streamDriverMode": 1, "streamDriverAuthMode": "x509/name",
    "streamDriverPermittedPeers": ["up.example.org"], "streamDriver.caFile": "/etc/ssl/ca.pem",
}  # fmt: skip
RELP: dict[str, object] = {
    "name": "relp", "type": "omrelp", "target": "up.example.org", "port": 2514, "queue": QUEUE,
    "windowSize": 5000,
}  # fmt: skip
RELP_TLS: dict[str, object] = RELP | {
    "tls": True, "tls.authMode": "name", "tls.permittedPeer": ["up.example.org"],
    "tls.caCert": "/etc/ssl/ca.pem",
}  # fmt: skip
STANDS_IN = {"action.execOnlyWhenPreviousIsSuspended": True}
GIVES_UP = {"action.resumeRetryCount": 0}
RELAXED: dict[str, object] = {"guardrails.tier": "relaxed"}
IMFILE = {"type": "imfile", "file": "/var/log/*.log", "tag": "app:"}
WORK: dict[str, object] = {"global": {"workDirectory": "/var/spool/rsyslog"}}


def without(output: dict[str, object], *keys: str) -> dict[str, object]:
    return {key: value for key, value in output.items() if key not in keys}


def said(outputs: list[dict[str, object]], **changes: object) -> dict[str, str]:
    """What lint says of a profile with these outputs, by code."""
    text = edit(SMALL, {"outputs": outputs, **changes})
    try:
        problems = parse_profile(text, "p.yaml").warnings
    except BadProfile as bad:
        problems = bad.problems
    return {problem.code: problem.message for problem in problems}


ALONE: list[tuple[dict[str, object], dict[str, object]]] = [
    (FILE, {}),
    (FILE | {"document": "ecs", "zipLevel": 3, "veryRobustZip": True}, {}),
    (FILE | {"asyncWriting": True, "flushInterval": 5}, {}),
    (FILE | {"flushOnTXEnd": False, "zipLevel": 9}, RELAXED),
    (HOSTS | {"dynaFileCacheSize": 5}, {}),
    (HOSTS | {"closeTimeout": 0}, {"workload.connections": 500}),
    (FWD, RELAXED),
    (TLS, RELAXED),
    (FWD | {"target": ["a.example.org", "b.example.org"]}, RELAXED | {"release.rsyslog": "8.2408"}),
    (FWD | {"protocol": "udp", "udp.sendBuf": "1m"}, RELAXED),
    (FWD | {"compression.mode": "stream:always", "zipLevel": 3}, RELAXED),
    (FWD | {"target": "127.0.0.1", "port": 10515}, RELAXED),
    (RELP, {}),
    (without(RELP, "windowSize"), {"workload.rate": 500}),
    (RELP_TLS, {}),
]  # fmt: skip


@pytest.mark.parametrize(("output", "changes"), ALONE)
def test_what_is_right_goes_without_a_word(
    output: dict[str, object], changes: dict[str, object]
) -> None:
    assert said([output], **changes) == {}
    assert said([ENGINE, output], **changes) == {}


HALF = {"streamDriver.certFile": "/etc/ssl/me.pem"}
CASES: list[tuple[str, list[dict[str, object]], dict[str, object]]] = [
    ("RT250", [FILE | STANDS_IN], {}),
    ("RT251", [ENGINE, FILE | STANDS_IN], RELAXED),
    ("RT252", [ENGINE | GIVES_UP, RELP | GIVES_UP | STANDS_IN, FILE | STANDS_IN], RELAXED),
    ("RT253", [FILE, HOSTS | {"name": "file"}], {}),
    ("RT254", [ENGINE, ENGINE | {"name": "other"}], {}),
    ("RT260", [FILE | {"flushOnTXEnd": False}], {}),
    ("RT261", [FILE | {"zipLevel": 3}], {}),
    ("RT262", [HOSTS | {"dynaFileCacheSize": 4}], {}),
    ("RT262", [HOSTS], {"workload.connections": 501}),
    ("RT262", [HOSTS | {"dynaFile": {"before": "/a/", "property": "syslogseverity-text"},
                        "dynaFileCacheSize": 7}], {}),
    ("RT263", [FILE, FILE | {"name": "other"}], {}),
    ("RT263", [HOSTS, FILE | {"file": "/var/log/hosts/web1.log"}], {}),
    ("RT263", [FILE, ENGINE | {"errorfile": "/var/log/all.log"}], {}),
    ("RT263", [ENGINE | {"retryfailures": {"file": "/var/log/all.log"}}, FILE], {}),
    ("RT264", [FILE], {"inputs": [IMFILE], **WORK}),
    ("RT264", [HOSTS], {"inputs": [IMFILE | {"file": "/var/log/hosts/*"}], **WORK}),
    ("RT265", [FILE | {"zipLevel": 3, "veryRobustZip": True, "compression.driver": "zstd"},
               HOSTS | {"zipLevel": 3, "veryRobustZip": True}], {}),
    ("RT266", [FILE | {"veryRobustZip": True}], {}),
    ("RT266", [FILE | {"compression.driver": "zstd"}], {}),
    ("RT266", [FILE | {"flushInterval": 5}], {}),
    ("RT266", [FILE | {"dynaFileCacheSize": 100}], {}),
    ("RT266", [FILE | {"rotation.sizeLimit": "1m"}], {}),
    ("RT266", [FILE | {"rotation.sizeLimitCommand": "/bin/rotate"}], {}),
    ("RT267", [FILE | {"zipLevel": 3, "veryRobustZip": True, "ioBufferSize": "4k"}], {}),
    ("RT270", [FWD], {}),
    ("RT270", [FWD | {"protocol": "udp"}], {}),
    ("RT271", [FWD | {"rateLimit.interval": 5}], RELAXED),
    ("RT272", [FWD | {"target": "127.0.0.1", "port": 10514}], RELAXED),
    ("RT272", [FWD | {"target": "localhost", "port": 10514}], RELAXED),
    ("RT272", [FWD | {"target": "::1", "port": 10514}], RELAXED),
    ("RT272", [RELP | {"target": "10.0.0.1", "port": 1}],
     {"inputs": [{"type": "imrelp", "address": "10.0.0.1", "port": 1}]}),
    ("RT272", [FWD | {"target": "127.0.0.1", "port": 10516, "queue": {"type": "Direct"}}],
     RELAXED | {"lanes": {"count": 3, "queue": QUEUE}}),
    ("RT273", [FILE, without(FWD, "queue")], RELAXED),
    ("RT273", [FILE, without(RELP, "queue")], {}),
    ("RT274", [FWD], RELAXED | WORK | {"inputs": [IMFILE | {"escapeLF": False}]}),
    ("RT275", [FWD | {"target": ["a.example.org", "b.example.org"]}], RELAXED),
    ("RT275", [FWD | {"target": ["a.example.org"], "protocol": "udp"}],
     RELAXED | {"release.rsyslog": "8.2408"}),
    ("RT276", [FWD | {"keepAlive.time": 5}], RELAXED),
    ("RT276", [FWD | {"zipLevel": 5}], RELAXED),
    ("RT276", [FWD | {"udp.sendDelay": 5}], RELAXED),
    ("RT276", [FWD | {"address": "10.0.0.1"}], RELAXED),
    ("RT276", [FWD | {"protocol": "udp", "TCP_Framing": "octet-counted"}], RELAXED),
    ("RT276", [RELP | {"tls.caCert": "/etc/ssl/ca.pem"}], {}),
    ("RT277", [without(RELP, "windowSize")], {}),
    ("RT277", [without(RELP, "windowSize")], {"workload.rate": 641}),
    ("RT280", [TLS | {"streamDriver": "ptcp"}], RELAXED),
    ("RT280", [without(TLS, "streamDriverMode")], RELAXED),
    ("RT281", [without(TLS, "streamDriver.caFile")], RELAXED),
    ("RT281", [TLS | HALF], RELAXED),
    ("RT281", [without(RELP_TLS, "tls.caCert")], {}),
    ("RT281", [RELP_TLS | {"tls.myCert": "/etc/ssl/me.pem"}], {}),
    ("RT282", [without(TLS, "streamDriverPermittedPeers")], RELAXED),
    ("RT282", [TLS | {"streamDriverAuthMode": "x509/certvalid"}], RELAXED),
    ("RT282", [without(RELP_TLS, "tls.permittedPeer")], {}),
    ("RT283", [without(TLS, "streamDriverPermittedPeers", "streamDriverAuthMode")], RELAXED),
    ("RT283", [RELP | {"tls": True}], {}),
    ("RT422", [FILE | {"rotation.sizeLimit": "1m", "rotation.sizeLimitCommand": "/bin/x"}],
     {"release": {"rsyslog": "8.2212", "elasticsearch": "8.19"}}),
    ("RT422", [FILE | {"addLF": True}], {}),
    ("RT422", [FWD | {"extendedConnectionCheck": True}], RELAXED),
    ("RT422", [RELP | {"keepAlive": True}], {}),
    ("RT304", [FILE | {"document": [{"property": "msg", "name": "a"}] * 2}], {}),
    ("RT305", [FILE | {"document": [{"property": "msg", "name": "a"},
                                    {"property": "hostname", "name": "a.b"}]}], {}),
    ("RT309", [FILE | {"document": [{"column": "c", "name": "a"}]}], {}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "outputs", "changes"), CASES)
def test_a_breach_is_reported_under_its_code(
    code: str, outputs: list[dict[str, object]], changes: dict[str, object]
) -> None:
    assert set(said(outputs, **changes)) == {code}


GOOD: list[tuple[list[dict[str, object]], dict[str, object]]] = [
    ([FILE, HOSTS], {}),
    ([HOSTS, FILE | {"file": "/var/log/hosts/a/web1.log"}], {}),
    ([FILE, ENGINE | {"errorfile": "/var/log/errors.json"}], {}),
    ([FILE], {"inputs": [IMFILE | {"file": "/var/log/app/*.log"}], **WORK}),
    ([FILE, without(FWD, "queue") | {"protocol": "udp"}], RELAXED),
    ([FWD | {"TCP_Framing": "octet-counted"}],
     RELAXED | WORK | {"inputs": [IMFILE | {"escapeLF": False}]}),
]  # fmt: skip


@pytest.mark.parametrize(("outputs", "changes"), GOOD)
def test_what_goes_well_together_goes_without_a_word(
    outputs: list[dict[str, object]], changes: dict[str, object]
) -> None:
    assert said(outputs, **changes) == {}


def test_a_failover_says_what_it_loses_and_what_keeps_it() -> None:
    leader = ENGINE | {"action.resumeRetryCount": 0, "queue": QUEUE | {"workerThreads": 2,
                       "workerThreadMinimumMessages": 500}}  # fmt: skip
    found = said([leader, FILE | STANDS_IN])
    assert set(found) == {"RT255"}
    assert "up to 1000 events, are lost before file takes over" in found["RT255"]
    assert "a queue with a filename and action.resumeRetryCount -1" in found["RT255"]
    assert said([leader, FILE | STANDS_IN], **RELAXED) == {}


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("RT002", without(FILE, "file")),
        ("RT002", FILE | {"dynaFile": HOSTS["dynaFile"]}),
        ("RT002", FILE | {"template": "RSYSLOG_FileFormat", "document": "ecs"}),
        ("RT002", FILE | {"fileCreateMode": "640"}),
        ("RT002", FILE | {"fileOwner": "a b"}),
        ("RT002", FILE | {"file": "all.log"}),
        ("RT002", FILE | {"file": '/var/log/"x'}),
        ("RT002", FILE | {"zipLevel": 10}),
        ("RT002", HOSTS | {"dynaFile": {"before": "/a/", "property": "msg"}}),
        ("RT002", HOSTS | {"dynaFile": {"before": "a/", "property": "hostname"}}),
        ("RT002", HOSTS | {"dynaFile": {"before": "/a/", "property": "hostname", "after": "`"}}),
        ("RT002", FWD | {"target": []}),
        ("RT002", FWD | {"target": "a b"}),
        ("RT002", TLS | {"streamDriverPermittedPeers": ["a,b"]}),
        ("RT002", FWD | {"TCP_FrameDelimiter": 256}),
        ("RT001", FWD | {"file": "/x"}),
        ("RT001", RELP | {"protocol": "tcp"}),
    ],
)
def test_values_of_the_wrong_shape_are_refused(code: str, output: dict[str, object]) -> None:
    assert set(said([output])) == {code}


@pytest.mark.parametrize("written", ["0640", "640"])
def test_a_mode_without_quotes_is_told_to_be_quoted(written: str) -> None:
    text = edit(SMALL, {"outputs": [FILE | {"fileCreateMode": "0640"}]})
    assert '"0640"' in text
    with pytest.raises(BadProfile, match=r"in quotes|must be text"):
        parse_profile(text.replace('"0640"', written), "p.yaml")


def test_a_lab_writes_into_its_own_folder_and_runs_nothing_of_the_profiles() -> None:
    rotated = {"rotation.sizeLimit": "1m", "rotation.sizeLimitCommand": "/bin/x"}
    outputs = [ENGINE, FILE | rotated, HOSTS | {"fileOwner": "syslog"}]
    done = bind(small({"outputs": outputs}), SITE, (40514,))
    _, file, hosts = done.profile.outputs
    assert isinstance(file, OmfileOutput)
    assert (file.file, file.rotation_size_limit_command) == ("/run/lab/file.log", None)
    assert isinstance(hosts, OmfileOutput)
    assert hosts.dyna_file is not None
    assert (hosts.dyna_file.before, hosts.file_owner) == ("/run/lab/hosts/", None)
    told = {str(one) for one in done.substitutions}
    assert "outputs[file].rotation.sizeLimitCommand: /bin/x -> none" in told
    assert "outputs[hosts].dynaFile.before: /var/log/hosts/ -> /run/lab/hosts/" in told
    assert "outputs[hosts].fileOwner: syslog -> none" in told


def test_explanations_name_the_modules_that_have_the_key() -> None:
    (found,) = explain("outputs[].target")
    assert found.source.endswith("omfwd, omrelp")
    (found,) = explain("outputs[].dynaFileCacheSize")
    assert found.source.endswith("omfile")
    (found,) = explain("outputs[].compression.driver")
    assert found.since == ("omfile: rsyslog 8.2208", "omfwd: rsyslog 8.2606")
    (found,) = explain("outputs[].filter.match[].ereregex")
    assert "configuration/filters" in found.source
