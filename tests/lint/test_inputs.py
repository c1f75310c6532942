"""Inputs of every kind: what a profile may say, what lint tells, what a lab makes of them."""

from __future__ import annotations

import pytest

from tests.lab.test_bind import SITE
from tests.lint.findings import findings
from tests.profile.examples import SMALL, small
from tuner.errors import BadProfile, Refused
from tuner.flood.spec import Credentials
from tuner.flood.workload import flood_spec
from tuner.lab.bind import Bound, bind
from tuner.lint.lint import lint
from tuner.lint.load import parse_profile
from tuner.lint.rules.queues import input_threads
from tuner.profile.edit import edit
from tuner.profile.model import Profile
from tuner.profile.placement import entry_queue

WORK: dict[str, object] = {"global": {"workDirectory": "/var/spool/rsyslog"}}
PTCP: dict[str, object] = {"type": "imptcp", "port": 10514}
UDP: dict[str, object] = {"type": "imudp", "port": 10514, "rcvbufSize": "4m"}
FILE: dict[str, object] = {"type": "imfile", "file": "/var/log/app.log", "tag": "app:"}
RELP: dict[str, object] = {"type": "imrelp", "port": 10515}
UNIX: dict[str, object] = {"type": "imuxsock", "socket": "/run/app.sock", "flowControl": True}
TLS: dict[str, object] = {
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
EVERY_IPV4 = "0.0.0.0"  # noqa: S104
RELAXED: dict[str, object] = {"guardrails.tier": "relaxed"}


def without(source: dict[str, object], *keys: str) -> dict[str, object]:
    return {key: value for key, value in source.items() if key not in keys}


def read(inputs: list[dict[str, object]], **changes: object) -> Profile:
    """A profile with these inputs, although lint may have something to say."""
    text = edit(SMALL, {"inputs": inputs, **changes})
    return parse_profile(text, "p.yaml").profile


def codes(inputs: list[dict[str, object]], changes: dict[str, object] | None = None) -> set[str]:
    """What lint reports of a profile with these inputs."""
    return findings({"inputs": inputs, **(changes or {})})


@pytest.mark.parametrize("source", [PTCP, FILE, RELP, UNIX, TLS])
def test_every_kind_is_taken_without_a_word(source: dict[str, object]) -> None:
    assert codes([source], WORK) == set()


def test_a_key_of_another_kind_is_unknown() -> None:
    assert codes([UDP | {"maxSessions": 5}]) == {"RT001"}
    assert codes([PTCP | {"streamDriver.mode": 1}]) == {"RT001"}


@pytest.mark.parametrize(
    "source",
    [
        TLS | {"streamDriver.keyFile": "-----BEGIN PRIVATE KEY-----\nMIIE"},
        TLS | {"permittedPeer": ['"evil']},
        FILE | {"file": "app.log"},
        FILE | {"tag": "a b"},
        FILE | {"startmsg.regex": "a\nb"},
        FILE | {"startmsg.regex": "^[a"},
        FILE | {"endmsg.regex": "a("},
        UDP | {"threads": 33},
        PTCP | {"parser": []},
        PTCP | {"parser": ["rsyslog.nonesuch"]},
        PTCP | {"defaultTZ": "CET"},
    ],
)
def test_values_of_the_wrong_shape_are_refused(source: dict[str, object]) -> None:
    assert codes([source], WORK) == {"RT002"}


CASES: list[tuple[str, list[dict[str, object]], dict[str, object]]] = [
    ("error RT201 inputs[1].threads", [UDP, UDP | {"port": 1, "threads": 2}], {}),
    ("error RT201 inputs[1].mode", [FILE, FILE | {"file": "/b", "mode": "polling"}], WORK),
    ("error RT202 inputs[1].port", [PTCP, RELP | {"port": 10514}], {}),
    ("error RT202 inputs[1].port", [UDP, UDP], {}),
    ("warning RT203 inputs[0].maxSessions", [PTCP | {"maxSessions": 4}], {}),
    ("error RT211 inputs[0].disableLFDelimiter", [TLS | {"disableLFDelimiter": True}], {}),
    ("error RT220 inputs[1].file", [FILE, FILE], WORK),
    ("warning RT222 inputs[0].rcvbufSize", [without(UDP, "rcvbufSize")], RELAXED),
    (
        "warning RT223 main_queue.lightDelayMark",
        [UDP, PTCP],
        RELAXED | {"main_queue.lightDelayMark": 0},
    ),
    ("warning RT223 main_queue.size", [UDP, PTCP], RELAXED | {"workload.rate": 6001}),
    ("warning RT224 inputs[0].rateLimit.interval", [PTCP | {"rateLimit.interval": 1}], {}),
    (
        "warning RT224 inputs[0].rateLimit.interval",
        [PTCP | {"rateLimit.interval": 2}],
        {"workload.rate": 5001},
    ),
    (
        "warning RT224 inputs[0].rateLimit.interval",
        [UNIX | {"rateLimit.interval": 1}],
        {"workload.rate": 201},
    ),
    (
        "warning RT224 inputs[0].maxBytesPerMinute",
        [FILE | {"maxLinesPerMinute": 100_000_000, "maxBytesPerMinute": 1000}],
        WORK | {"workload.rate": 1000},
    ),
    ("warning RT225 inputs[0].persistStateInterval", [FILE | {"persistStateInterval": 0}], WORK),
    ("warning RT233 inputs[0].flowControl", [without(UNIX, "flowControl")], {}),
    ("warning RT233 inputs[0].flowControl", [PTCP | {"flowControl": False}], {}),
    ("warning RT233 inputs[0].flowControl", [RELP | {"flowControl": "none"}], {}),
    (
        "error RT231 inputs[0].startmsg.regex",
        [FILE | {"readMode": 1, "startmsg.regex": "^a"}],
        WORK,
    ),
    (
        "error RT231 inputs[0].endmsg.regex",
        [FILE | {"startmsg.regex": "^a", "endmsg.regex": "b"}],
        WORK,
    ),
    ("error RT232 inputs[0].maxLinesAtOnce", [FILE | {"maxLinesAtOnce": 100}], WORK),
    (
        "error RT232 inputs[0].pollingInterval",
        [FILE | {"pollingInterval": 1, "mode": "inotify"}],
        WORK,
    ),
    ("error RT227 inputs[0].streamDriver.name", [without(TLS, "streamDriver.name")], {}),
    ("error RT227 inputs[0].streamDriver.mode", [without(TLS, "streamDriver.mode")], {}),
    (
        "error RT227 inputs[0].streamDriver.mode",
        [{"type": "imtcp", "port": 1, "streamDriver.caFile": "/ca"}],
        {},
    ),
    ("error RT227 inputs[0].tls", [RELP | {"tls.authMode": "certvalid"}], {}),
    ("error RT228 inputs[0].streamDriver.keyFile", [without(TLS, "streamDriver.keyFile")], {}),
    (
        "error RT228 inputs[0].tls.myPrivKey",
        [RELP | {"tls": True, "tls.authMode": "certvalid", "tls.myCert": "/c"}],
        {},
    ),
    ("error RT229 inputs[0].permittedPeer", [without(TLS, "permittedPeer")], {}),
    ("error RT229 inputs[0].tls.permittedPeer", [RELP | {"tls": True, "tls.authMode": "name"}], {}),
    (
        "error RT229 inputs[0].permittedPeer",
        [TLS | {"streamDriver.authMode": "x509/certvalid"}],
        {},
    ),
    (
        "error RT229 inputs[0].tls.permittedPeer",
        [RELP | {"tls": True, "tls.authMode": "certvalid", "tls.permittedPeer": ["web"]}],
        {},
    ),
    (
        "warning RT230 inputs[0].streamDriver.authMode",
        [without(TLS, "permittedPeer") | {"streamDriver.authMode": "anon"}],
        {},
    ),
    ("warning RT230 inputs[0].tls.authMode", [RELP | {"tls": True}], {}),
    ("error RT421 inputs[0].workerThreads", [TLS | {"workerThreads": 4}], {}),
    (
        "error RT421 inputs[0].rateLimit.interval",
        [RELP | {"rateLimit.interval": 0}],
        {"release.rsyslog": "8.2602"},
    ),
    (
        "error RT421 inputs[0].deleteStateOnFileMove",
        [FILE | {"deleteStateOnFileMove": True}],
        WORK | {"release.rsyslog": "8.2506"},
    ),
]


@pytest.mark.parametrize(("finding", "inputs", "changes"), CASES)
def test_a_breach_is_reported_where_it_stands(
    finding: str, inputs: list[dict[str, object]], changes: dict[str, object]
) -> None:
    assert codes(inputs, changes) == {finding}


GOOD: list[tuple[list[dict[str, object]], dict[str, object]]] = [
    ([PTCP, UDP], RELAXED),
    ([UDP, PTCP], RELAXED | {"workload.rate": 6000}),
    ([UDP], RELAXED | {"workload.rate": 20000}),
    ([PTCP | {"rateLimit.interval": 0}], {}),
    ([without(UNIX, "flowControl"), PTCP | {"flowControl": False}], RELAXED),
    ([RELP | {"flowControl": "full"}], {}),
    ([PTCP | {"rateLimit.interval": 2}], {"workload.rate": 5000}),
    ([FILE | {"persistStateInterval": 0, "persistStateAfterSubmission": True}], WORK),
    ([without(TLS, "permittedPeer") | {"streamDriver.authMode": "x509/certvalid"}], {}),
    ([FILE | {"readMode": 0, "startmsg.regex": "^a"}], WORK),
    ([FILE | {"maxLinesAtOnce": 100, "pollingInterval": 1, "mode": "polling"}], WORK),
    ([TLS | {"workerThreads": 4}], {"release.rsyslog": "8.2508"}),
    ([TLS | {"disableLFDelimiter": True}], {"workload.framing": "octet-counted"}),
    ([{"type": "imtcp", "port": 1, "streamDriver.name": "ptcp", "streamDriver.mode": 0}], {}),
]


@pytest.mark.parametrize(("inputs", "changes"), GOOD)
def test_what_is_right_goes_without_a_word(
    inputs: list[dict[str, object]], changes: dict[str, object]
) -> None:
    assert codes(inputs, changes) == set()


def test_a_parameter_that_is_too_new_is_located_and_names_its_release() -> None:
    text = SMALL.replace("imptcp, port", "imtcp, workerThreads: 4, port")
    with pytest.raises(BadProfile) as caught:
        parse_profile(text, "p.yaml")
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (4, 34)
    assert "imtcp has workerThreads since rsyslog 8.2504" in problem.message


def bound(*inputs: dict[str, object], **changes: object) -> Bound:
    profile = read(list(inputs), **changes)
    return bind(profile, SITE, tuple(range(40001, 40001 + len(inputs))))


def rows_of(done: Bound) -> list[str]:
    return [str(row) for row in done.substitutions if row.path.startswith("inputs")]


RELP_TLS: dict[str, object] = RELP | {
    "tls": True, "tls.authMode": "fingerprint", "tls.permittedPeer": ["SHA1:00:11"],
    "tls.caCert": "/etc/ca.pem", "tls.myCert": "/etc/me.pem", "tls.myPrivKey": "/etc/me.key",
}  # fmt: skip
FIRST: list[tuple[dict[str, object], list[str]]] = [
    (UDP | {"device": "eth0"}, [
        "inputs[0].port: 10514 -> 40001",
        "inputs[0].device: eth0 -> left out",
    ]),
    (UNIX, ["inputs[0].socket: /run/app.sock -> /run/lab/40001.sock"]),
    (FILE | {"freshStartTail": True}, [
        "inputs[0].file: /var/log/app.log -> /run/lab/input-40001.log",
        "inputs[0].freshStartTail: on -> left out",
        "inputs[0]: lines -> with a number before each",
    ]),
    (FILE | {"file": "/var/log/*/app.log"}, [
        "inputs[0].file: /var/log/*/app.log -> /run/lab/input-40001-*.log",
        "inputs[0]: lines -> with a number before each",
    ]),
    (RELP, ["inputs[0].port: 10515 -> 40001"]),
    (RELP_TLS, [
        "inputs[0].port: 10515 -> 40001",
        "inputs[0].tls.authMode: fingerprint -> name",
        "inputs[0].tls.permittedPeer: SHA1:00:11 -> sender.rsyslog-tune.test",
        "inputs[0].tls.caCert: /etc/ca.pem -> /run/lab/tls/ca.pem",
        "inputs[0].tls.myCert: /etc/me.pem -> /run/lab/tls/collector.pem",
        "inputs[0].tls.myPrivKey: /etc/me.key -> /run/lab/tls/collector-key.pem",
    ]),
    (TLS, [
        "inputs[0].port: 6514 -> 40001",
        "inputs[0].permittedPeer: *.example.org -> sender.rsyslog-tune.test",
        "inputs[0].streamDriver.caFile: /etc/ssl/ca.pem -> /run/lab/tls/ca.pem",
        "inputs[0].streamDriver.certFile: /etc/ssl/me.pem -> /run/lab/tls/collector.pem",
        "inputs[0].streamDriver.keyFile: /etc/ssl/me.key -> /run/lab/tls/collector-key.pem",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("first", "rows"), FIRST)
def test_a_first_input_of_any_kind_is_bound_where_the_flood_gets_in(
    first: dict[str, object], rows: list[str]
) -> None:
    work = WORK if first["type"] == "imfile" else {}
    assert rows_of(bound(first, **work)) == rows


FLOODED: list[tuple[dict[str, object], str, tuple[str, str, str, str]]] = [
    (PTCP, "rfc5424", ("tcp", "127.0.0.1:40001", "rfc5424", "octet-counted")),
    (TLS, "rfc3164", ("tls", "127.0.0.1:40001", "rfc3164", "octet-counted")),
    (UDP, "rfc5424", ("udp", "127.0.0.1:40001", "rfc5424", "none")),
    (UNIX, "rfc5424", ("unix", "/run/lab/40001.sock", "local", "none")),
    (UNIX | {"useSpecialParser": False}, "rfc5424",
     ("unix", "/run/lab/40001.sock", "rfc5424", "none")),
    (UNIX | {"useSpecialParser": False, "parseHostname": True}, "rfc3164",
     ("unix", "/run/lab/40001.sock", "rfc3164", "none")),
    (FILE, "rfc5424", ("file", "/run/lab/input-40001.log", "bare", "lf")),
    (FILE | {"needParse": True}, "rfc5424", ("file", "/run/lab/input-40001.log", "rfc5424", "lf")),
    (RELP, "rfc3164", ("relp", "127.0.0.1:40001", "rfc3164", "none")),
]  # fmt: skip


@pytest.mark.parametrize(("first", "written", "wanted"), FLOODED)
def test_messages_are_written_so_that_the_input_finds_their_text(
    first: dict[str, object], written: str, wanted: tuple[str, str, str, str]
) -> None:
    workload: dict[str, object] = {
        "workload.format": written, "workload.framing": "octet-counted"
    }  # fmt: skip
    spec = flood_spec(bound(first, **WORK, **workload).profile, "0a1b2c3d")
    (target,) = spec.transport.targets
    assert (spec.transport.kind, target, spec.format, spec.framing) == wanted


def test_the_flood_shows_what_the_lab_lets_in() -> None:
    for source in (TLS, RELP_TLS):
        shown = flood_spec(bound(source).profile, "0a1b2c3d").transport.credentials
        assert shown == Credentials(
            "/run/lab/tls/ca.pem", "/run/lab/tls/sender.pem", "/run/lab/tls/sender-key.pem"
        )


def test_a_wildcard_takes_a_file_of_each_connection() -> None:
    done = bound(FILE | {"file": "/var/log/app?.log"}, **WORK, **{"workload.connections": 3})
    assert flood_spec(done.profile, "0a1b2c3d").transport.targets == (
        "/run/lab/input-40001-1.log", "/run/lab/input-40001-2.log",
        "/run/lab/input-40001-3.log",
    )  # fmt: skip


def test_a_flood_goes_to_the_port_of_every_lane() -> None:
    done = bound(PTCP, lanes={"count": 3})
    assert flood_spec(done.profile, "0a1b2c3d").transport.targets == (
        "127.0.0.1:40001", "127.0.0.1:40002", "127.0.0.1:40003",
    )  # fmt: skip


def test_the_inputs_that_are_not_flooded_are_said_to_be_left_out() -> None:
    more = {"type": "imtcp", "port": 2}
    done = bound(PTCP, UDP, FILE, TLS, UNIX, more, **WORK)
    assert [source.type for source in done.profile.inputs] == ["imptcp"]
    assert rows_of(done) == [
        "inputs[0].port: 10514 -> 40001",
        "inputs[1]: input imudp -> left out",
        "inputs[2]: input imfile -> left out",
        "inputs[3]: input imtcp -> left out",
        "inputs[4]: input imuxsock -> left out",
        "inputs[5]: input imtcp -> left out",
    ]
    assert {finding.code for finding in lint(done.profile)} == set()


def test_an_allow_list_does_not_keep_the_flood_out_and_that_is_said() -> None:
    site_release: dict[str, object] = {"release.rsyslog": "8.2608"}
    source = {"type": "imtcp", "port": 1, "allowedSender": ["10.0.0.0/8"]}
    done = bound(source, **site_release)
    assert "inputs[0].allowedSender: 10.0.0.0/8 -> left out" in map(str, done.substitutions)


def test_all_addresses_hold_every_other() -> None:
    everywhere = {**PTCP, "address": "*"}
    beside = {**PTCP, "type": "imtcp", "address": "::1"}
    assert codes([everywhere, beside]) == {"error RT202 inputs[1].port"}
    assert codes([everywhere, UDP], RELAXED) == set()


def test_a_lab_with_an_older_rsyslog_than_the_profile_needs_is_refused() -> None:
    source = {"type": "imtcp", "port": 1, "workerThreads": 4}
    with pytest.raises(Refused, match=r"imtcp has workerThreads since rsyslog 8\.2504"):
        bound(source, **{"release.rsyslog": "8.2504"})


def test_a_small_profile_has_no_parameter_beyond_what_was_always_written() -> None:
    """Everything else is left to rsyslog, so that a profile renders as it always did."""
    (source,) = small().inputs
    written = source.model_dump(by_alias=True, exclude_none=True)
    assert set(written) == {
        "type", "address", "port", "threads", "processOnPoller", "socketBacklog",
        "supportOctetCountedFraming",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("inputs", "release", "threads"),
    [
        ([PTCP | {"threads": 3}], "8.2302", 3),
        ([TLS, TLS | {"port": 1}], "8.2302", 4),
        ([TLS, TLS | {"port": 1, "workerThreads": 5}], "8.2504", 7),
        ([UDP | {"threads": 4}, UDP | {"threads": 4, "port": 1}], "8.2302", 4),
        ([PTCP, UDP, FILE, RELP, UNIX], "8.2302", 6),
    ],
)
def test_the_main_queue_is_sized_for_the_threads_of_all_inputs(
    inputs: list[dict[str, object]], release: str, threads: int
) -> None:
    profile = read(inputs, **WORK, **{"release.rsyslog": release})
    assert input_threads(profile, entry_queue(profile)) == threads


@pytest.mark.parametrize(
    ("source", "key"),
    [
        ({"type": "imjournal"}, "ratelimit.interval"),
        ({"type": "imklog", "ratelimitInterval": 5}, "ratelimitInterval"),
        (FILE | {"maxLinesPerMinute": 100_000}, "maxLinesPerMinute"),
        (FILE | {"maxBytesPerMinute": 10_000_000}, "maxBytesPerMinute"),
        ({"type": "imuxsock", "sysSock.rateLimit.interval": 5}, "sysSock.rateLimit.interval"),
    ],
)
def test_a_limit_of_any_input_is_reported_where_it_stands(
    source: dict[str, object], key: str
) -> None:
    inputs = {"inputs": [source], **WORK}
    path = f"warning RT224 inputs[0].{key}"
    assert path in findings(inputs | {"workload.rate": 5000})
    assert path not in findings(inputs | {"workload.rate": 30})
    assert path not in findings({"inputs": [source | {key: 0}], **WORK})


def test_a_full_queue_that_makes_local_programs_wait_is_advised_with_a_warning() -> None:
    def advice(source: dict[str, object]) -> str:
        profile = read([source], **WORK, **{"main_queue.lightDelayMark": 0})
        (message,) = [one.message for one in lint(profile) if one.code == "RT113"]
        return message

    warning = "; local programs then wait too, which can stop the machine"
    assert advice(UNIX) == advice(PTCP) + warning


def test_a_limit_that_has_a_name_is_turned_off_where_it_stands() -> None:
    """As a name, 0 is refused."""

    def advice(interval: int) -> list[str]:
        limits = {"few": {"interval": interval, "burst": 5}}
        profile = read(
            [PTCP | {"rateLimit.name": "few"}],
            **{"ratelimits": limits, "release.rsyslog": "8.2602"},
        )
        return [one.message for one in lint(profile) if one.code == "RT224"]

    (message,) = advice(interval=1)
    assert message.endswith("raise the limit, or set the interval of few to 0 for none")
    assert advice(interval=0) == []


def test_a_limit_is_held_against_the_workload_of_the_flooded_input_alone() -> None:
    limited = PTCP | {"rateLimit.interval": 1}
    said = [one for one in findings({"inputs": [limited, {"type": "imjournal"}], **WORK})
            if "RT224" in one]  # fmt: skip
    assert said == ["warning RT224 inputs[0].rateLimit.interval"]


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        (EVERY_IPV4, "127.0.0.1", True),
        ("::", "::1", True),
        ("*", "::1", True),
        (EVERY_IPV4, "::1", False),
        (EVERY_IPV4, "::", False),
        ("127.0.0.1", "::", False),
        (EVERY_IPV4, "localhost", True),
        ("127.0.0.1", "127.0.0.2", False),
    ],
)
def test_addresses_of_ip_4_and_6_do_not_meet(one: str, other: str, meet: bool) -> None:
    inputs = [PTCP | {"address": one}, PTCP | {"address": other}]
    assert ("error RT202 inputs[1].port" in findings({"inputs": inputs})) is meet


def test_every_queue_that_inputs_fill_has_room_for_their_threads() -> None:
    output = {"name": "file", "type": "omfile", "file": "/var/log/all.log", "stream": "apps"}
    logs = small().measured.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def of_apps(queue: dict[str, object]) -> set[str]:
        inputs = [PTCP, PTCP | {"port": 1, "stream": "apps"}]
        streams = {"apps": {"queue": queue}}
        return findings({"inputs": inputs, "streams": streams, "outputs": [logs, output]})

    queue = {"type": "LinkedList", "size": 1000, "dequeueBatchSize": 100}
    assert of_apps(queue) == {"error RT101 streams.apps.queue.size"}
    assert of_apps(queue | {"size": 2000}) == {"warning RT102 streams.apps.queue.size"}
    assert of_apps({"type": "Direct"}) == {"error RT108 streams.apps.queue.type"}
    assert of_apps(queue | {"size": 10_000}) == set()
