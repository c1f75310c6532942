"""Files and other syslog servers as outputs: what a profile may say, and what lint tells."""

from __future__ import annotations

import pytest

from tests.house.pages import outputs_over_http
from tests.lab.test_bind import SITE
from tests.lint.findings import findings
from tests.profile.examples import SMALL, small
from tuner.errors import BadProfile
from tuner.lab.bind import bind
from tuner.lint.explain import explain
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.script.printing import printed

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


def test_what_stands_in_for_an_output_with_a_queue_stops_no_other() -> None:
    leader, standin = ENGINE | GIVES_UP, without(RELP, "queue") | STANDS_IN
    assert said([HOSTS, leader, standin], **RELAXED) == {}
    assert "hosts" in said([HOSTS, without(leader, "queue"), standin], **RELAXED)["RT256"]


HALF = {"streamDriver.certFile": "/etc/ssl/me.pem"}
CASES: list[tuple[str, list[dict[str, object]], dict[str, object]]] = [
    ("error RT250 outputs[0].action.execOnlyWhenPreviousIsSuspended", [FILE | STANDS_IN], {}),
    ("error RT251 outputs[0].action.resumeRetryCount", [ENGINE, FILE | STANDS_IN], RELAXED),
    (
        "error RT252 outputs[1].queue",
        [ENGINE | GIVES_UP, RELP | GIVES_UP | STANDS_IN, FILE | STANDS_IN],
        RELAXED,
    ),
    ("error RT253 outputs[1].name", [FILE, HOSTS | {"name": "file"}], {}),
    ("error RT254 outputs[1].index", [ENGINE, ENGINE | {"name": "other", "document": "elma"}], {}),
    ("warning RT260 outputs[0].flushOnTXEnd", [FILE | {"flushOnTXEnd": False}], {}),
    ("warning RT261 outputs[0].veryRobustZip", [FILE | {"zipLevel": 3}], {}),
    ("warning RT262 outputs[0].dynaFileCacheSize", [HOSTS | {"dynaFileCacheSize": 4}], {}),
    ("warning RT262 outputs[0].dynaFileCacheSize", [HOSTS], {"workload.connections": 501}),
    (
        "warning RT262 outputs[0].dynaFileCacheSize",
        [
            HOSTS
            | {
                "dynaFile": {"before": "/a/", "property": "syslogseverity-text"},
                "dynaFileCacheSize": 7,
            }
        ],
        {},
    ),
    ("error RT263 outputs[1].file", [FILE, FILE | {"name": "other"}], {}),
    ("error RT263 outputs[1].file", [HOSTS, FILE | {"file": "/var/log/hosts/web1.log"}], {}),
    ("error RT263 outputs[1].errorfile", [FILE, ENGINE | {"errorfile": "/var/log/all.log"}], {}),
    (
        "error RT263 outputs[1].file",
        [ENGINE | {"retryfailures": {"file": "/var/log/all.log"}}, FILE],
        {},
    ),
    ("error RT264 outputs[0].file", [FILE], {"inputs": [IMFILE], **WORK}),
    (
        "error RT264 outputs[0].dynaFile",
        [HOSTS],
        {"inputs": [IMFILE | {"file": "/var/log/hosts/*"}], **WORK},
    ),
    (
        "error RT201 outputs[1].compression.driver",
        [
            FILE | {"zipLevel": 3, "veryRobustZip": True, "compression.driver": "zstd"},
            HOSTS | {"zipLevel": 3, "veryRobustZip": True},
        ],
        {},
    ),
    ("error RT245 outputs[0].veryRobustZip", [FILE | {"veryRobustZip": True}], {}),
    ("error RT245 outputs[0].compression.driver", [FILE | {"compression.driver": "zstd"}], {}),
    ("error RT245 outputs[0].flushInterval", [FILE | {"flushInterval": 5}], {}),
    ("error RT245 outputs[0].dynaFileCacheSize", [FILE | {"dynaFileCacheSize": 100}], {}),
    ("error RT245 outputs[0].rotation.sizeLimit", [FILE | {"rotation.sizeLimit": "1m"}], {}),
    (
        "error RT245 outputs[0].rotation.sizeLimitCommand",
        [FILE | {"rotation.sizeLimitCommand": "/bin/rotate"}],
        {},
    ),
    (
        "warning RT267 outputs[0].ioBufferSize",
        [FILE | {"zipLevel": 3, "veryRobustZip": True, "ioBufferSize": "4k"}],
        {},
    ),
    ("warning RT270 outputs[0].protocol", [FWD], {}),
    ("warning RT270 outputs[0].protocol", [FWD | {"protocol": "udp"}], {}),
    ("warning RT271 outputs[0].rateLimit.interval", [FWD | {"rateLimit.interval": 5}], RELAXED),
    ("error RT272 outputs[0].target", [FWD | {"target": "127.0.0.1", "port": 10514}], RELAXED),
    ("error RT272 outputs[0].target", [FWD | {"target": "localhost", "port": 10514}], RELAXED),
    ("error RT272 outputs[0].target", [FWD | {"target": "::1", "port": 10514}], RELAXED),
    (
        "error RT272 outputs[0].target",
        [FWD | {"target": "127.0.0.1", "port": 10514, "protocol": "udp"}],
        RELAXED | {"inputs": [{"type": "imudp", "port": 10514, "rcvbufSize": "4m"}]},
    ),
    (
        "error RT272 outputs[0].target",
        [RELP | {"target": "10.0.0.1", "port": 1}],
        {"inputs": [{"type": "imrelp", "address": "10.0.0.1", "port": 1}]},
    ),
    (
        "error RT272 outputs[0].target",
        [FWD | {"target": "127.0.0.1", "port": 10516, "queue": {"type": "Direct"}}],
        RELAXED | {"lanes": {"count": 3, "queue": QUEUE}},
    ),
    ("warning RT256 outputs[1].queue", [FILE, without(FWD, "queue")], RELAXED),
    ("warning RT256 outputs[1].queue", [FILE, without(RELP, "queue")], {}),
    (
        "warning RT274 outputs[0].TCP_Framing",
        [FWD],
        RELAXED | WORK | {"inputs": [IMFILE | {"escapeLF": False}]},
    ),
    (
        "error RT275 outputs[0].target",
        [FWD | {"target": ["a.example.org", "b.example.org"]}],
        RELAXED,
    ),
    (
        "error RT275 outputs[0].target",
        [FWD | {"target": ["a.example.org"], "protocol": "udp"}],
        RELAXED | {"release.rsyslog": "8.2408"},
    ),
    ("error RT245 outputs[0].keepAlive.time", [FWD | {"keepAlive.time": 5}], RELAXED),
    ("error RT245 outputs[0].zipLevel", [FWD | {"zipLevel": 5}], RELAXED),
    ("error RT245 outputs[0].udp.sendDelay", [FWD | {"udp.sendDelay": 5}], RELAXED),
    ("error RT245 outputs[0].address", [FWD | {"address": "10.0.0.1"}], RELAXED),
    (
        "error RT245 outputs[0].TCP_Framing",
        [FWD | {"protocol": "udp", "TCP_Framing": "octet-counted"}],
        RELAXED,
    ),
    ("error RT227 outputs[0].tls", [RELP | {"tls.caCert": "/etc/ssl/ca.pem"}], {}),
    ("warning RT277 outputs[0].windowSize", [without(RELP, "windowSize")], {}),
    ("warning RT277 outputs[0].windowSize", [without(RELP, "windowSize")], {"workload.rate": 641}),
    ("error RT227 outputs[0].streamDriver", [TLS | {"streamDriver": "ptcp"}], RELAXED),
    ("error RT227 outputs[0].streamDriverMode", [without(TLS, "streamDriverMode")], RELAXED),
    ("error RT228 outputs[0].streamDriver.caFile", [without(TLS, "streamDriver.caFile")], RELAXED),
    ("error RT228 outputs[0].streamDriver.keyFile", [TLS | HALF], RELAXED),
    ("error RT228 outputs[0].tls.caCert", [without(RELP_TLS, "tls.caCert")], {}),
    ("error RT228 outputs[0].tls.myPrivKey", [RELP_TLS | {"tls.myCert": "/etc/ssl/me.pem"}], {}),
    (
        "error RT229 outputs[0].streamDriverPermittedPeers",
        [without(TLS, "streamDriverPermittedPeers")],
        RELAXED,
    ),
    (
        "error RT229 outputs[0].streamDriverPermittedPeers",
        [TLS | {"streamDriverAuthMode": "x509/certvalid"}],
        RELAXED,
    ),
    ("error RT229 outputs[0].tls.permittedPeer", [without(RELP_TLS, "tls.permittedPeer")], {}),
    (
        "warning RT230 outputs[0].streamDriverAuthMode",
        [without(TLS, "streamDriverPermittedPeers", "streamDriverAuthMode")],
        RELAXED,
    ),
    (
        "warning RT230 outputs[0].streamDriverAuthMode",
        [
            without(TLS, "streamDriverPermittedPeers", "streamDriver.caFile")
            | {"streamDriverAuthMode": "anon"}
        ],
        RELAXED,
    ),
    ("warning RT230 outputs[0].tls.authMode", [RELP | {"tls": True}], {}),
    (
        "error RT422 outputs[0].rotation.sizeLimit",
        [FILE | {"rotation.sizeLimit": "1m", "rotation.sizeLimitCommand": "/bin/x"}],
        {"release": {"rsyslog": "8.2212", "elasticsearch": "8.19"}},
    ),
    ("error RT422 outputs[0].addLF", [FILE | {"addLF": True}], {}),
    (
        "error RT422 outputs[0].extendedConnectionCheck",
        [FWD | {"extendedConnectionCheck": True}],
        RELAXED,
    ),
    ("error RT422 outputs[0].keepAlive", [RELP | {"keepAlive": True}], {}),
    (
        "error RT304 outputs[0].document[1].name",
        [FILE | {"document": [{"property": "msg", "name": "a"}] * 2}],
        {},
    ),
    (
        "error RT305 outputs[0].document[0].name",
        [
            FILE
            | {
                "document": [
                    {"property": "msg", "name": "a"},
                    {"property": "hostname", "name": "a.b"},
                ]
            }
        ],
        {},
    ),
    (
        "error RT309 outputs[0].document[0].column",
        [FILE | {"document": [{"column": "c", "name": "a"}]}],
        {},
    ),
]


@pytest.mark.parametrize(("finding", "outputs", "changes"), CASES)
def test_a_breach_is_reported_where_it_stands(
    finding: str, outputs: list[dict[str, object]], changes: dict[str, object]
) -> None:
    reported = findings({"outputs": outputs, **changes})
    assert finding in reported
    assert len({one.split()[1] for one in reported}) == 1


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


TWO_STREAMS: dict[str, object] = {
    "streams": {"apps": {}},
    "inputs": [{"type": "imptcp", "port": 10514},
               {"type": "imptcp", "port": 10515, "stream": "apps"}],
}  # fmt: skip
OF_APPS = {"stream": "apps"}


def test_an_output_stands_in_for_one_of_its_own_stream() -> None:
    """A stream's ruleset holds its own outputs only."""
    alone = said([ENGINE | GIVES_UP, FILE | OF_APPS | STANDS_IN], **RELAXED, **TWO_STREAMS)
    assert set(alone) == {"RT250"}
    lost = said([ENGINE | GIVES_UP, FILE | OF_APPS], **RELAXED, **TWO_STREAMS)
    assert set(lost) == {"RT208"}
    between = HOSTS | OF_APPS
    assert said([ENGINE | GIVES_UP, between, FILE | STANDS_IN], **RELAXED, **TWO_STREAMS) == {}
    never = said([ENGINE, between, FILE | STANDS_IN], **RELAXED, **TWO_STREAMS)
    assert set(never) == {"RT251"}


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
    done = bind(small({"outputs": outputs}), SITE, (40514,)).copy
    text = printed(done.block)
    assert f'file="/run/lab/files{FILE["file"]}"' in text
    assert 'constant(value="/run/lab/files")' in text
    for gone in ("/bin/x", "fileOwner", "rotation."):
        assert gone not in text
    said = {one.what for one in done.replaced}
    assert {"rotation.sizeLimit", "rotation.sizeLimitCommand"} <= said


def test_explanations_name_the_modules_that_have_the_key() -> None:
    (found,) = explain("outputs[].target")
    assert found.source.endswith("omfwd, omrelp")
    (found,) = explain("outputs[].dynaFileCacheSize")
    assert found.source.endswith("omfile")
    (found,) = explain("outputs[].compression.driver")
    assert found.since == ("omfile: rsyslog 8.2208", "omfwd: rsyslog 8.2606")
    (found,) = explain("outputs[].filter.match[].ereregex")
    assert "configuration/filters" in found.source


HTTP: dict[str, object] = {
    "name": "up", "type": "omhttp", "server": ["https://up.example.org:443"], "document": "ecs",
    "errorfile": "/var/log/up.json", "batch": True, "batch.maxsize": 500, "queue": QUEUE,
}  # fmt: skip
LOKI: dict[str, object] = {
    "batch.format": "lokirest", "document": None, "line": [{"property": "msg"}],
    "labels": [{"constant": "syslog", "name": "job"}],
}  # fmt: skip
PACKAGED: dict[str, object] = {"release.rsyslog": "8.2512"}


@pytest.mark.parametrize("more", [{}, LOKI, {"bulk": "index"}, {"batch.format": "kafkarest"}])
def test_a_server_over_http_goes_without_a_word(more: dict[str, object]) -> None:
    assert said([HTTP | more], **PACKAGED) == {}


@pytest.mark.parametrize("name", ["loki", "splunk", "opensearch", "hdfs"])
def test_what_the_page_shows_goes_without_a_word(name: str) -> None:
    assert said([outputs_over_http()[name]], **PACKAGED) == {}


NOT_TAKEN: list[tuple[dict[str, object], str]] = [
    ({"httpheaders": ["Authorization: Splunk geheim"]}, "Authorization holds a secret"),
    ({"httpheaders": ["X-Api-Key: geheim"]}, "X-Api-Key holds a secret"),
    ({"token": "geheim"}, "must say where the secret is"),
    ({"auth": {"uid": "me", "pwd": "geheim"}}, "must say where the secret is"),
    ({"server": ["https://me:geheim@h"]}, "an address such as https://loki:3100"),
    ({"labels": [{"property": "msg", "name": "a"}]}, "belong together"),
    ({**LOKI, "labels": [{"constant": "a", "name": "a.b"}]}, "is not what Loki takes"),
    ({**LOKI, "line": None}, "labels need line"),
    ({"bulk": "index", "batch.format": "jsonarray"}, "bulk needs document"),
    ({"httpheaderkey": "X-A"}, "belong together"),
    ({"profile": "hec:splunk:raw"}, "belong together"),
    ({"restpath": "/a"}, "without a slash before it"),
    ({"restpath": 'a"b'}, "without a slash before it"),
    ({"restpath": "a", "dynrestpath": {"property": "hostname"}}, "not both"),
    ({"dynrestpath": {"property": "msg"}}, "must be hostname"),
]


@pytest.mark.parametrize(("more", "message"), NOT_TAKEN)
def test_what_no_server_over_http_takes_is_refused(more: dict[str, object], message: str) -> None:
    messages = " ".join(said([HTTP | more], **PACKAGED).values())
    assert message in messages
    assert "geheim" not in messages


def test_a_secret_does_not_cross_the_network_in_the_clear() -> None:
    secret = {"httpheaders": [{"file": "/etc/rsyslog.d/up.header"}]}
    for server, codes in (("http://up.example.org:80", {"RT204"}), ("http://127.0.0.1:80", set())):
        assert said([HTTP | secret | {"server": [server]}], **PACKAGED).keys() == codes
    plain = secret | {"server": ["up.example.org:80"], "useHttps": False}
    assert said([HTTP | plain], **PACKAGED).keys() == {"RT204"}


def test_a_direct_queue_hands_over_the_batches_of_the_main_queue() -> None:
    output = without(HTTP, "queue") | {"batch.maxsize": 500}
    assert "1024 events at a time" in said([output], **PACKAGED)["RT292"]
