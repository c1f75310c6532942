"""Each rule: what breaks it, with the code and the advice; and that good profiles pass."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from tests.lint.findings import findings
from tests.profile.examples import SMALL, small
from tests.shipped import EXAMPLES
from tuner.errors import BadProfile, Severity
from tuner.lint.lint import lint
from tuner.lint.load import load_profile, parse_profile
from tuner.profile.edit import edit
from tuner.profile.model import Profile

ROOT = Path(__file__).parents[2]
REMOTE = ["https://es.example:9200"]
AGE = "outputs[logs].index.settings.translog.flush_threshold_age"


def message(changes: Mapping[str, object]) -> str:
    with pytest.raises(BadProfile) as caught:
        parse_profile(edit(SMALL, changes), "p.yaml")
    return str(caught.value)


def test_the_small_profile_is_clean() -> None:
    assert lint(small()) == ()


def test_the_shipped_profile_is_clean() -> None:
    assert load_profile(ROOT / "profiles/default.yaml").warnings == ()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_example_loads_without_errors(path: Path) -> None:
    assert load_profile(path).profile.name == path.stem


def imtcp(octet_counted: bool) -> dict[str, object]:
    return {"type": "imtcp", "port": 514, "supportOctetCountedFraming": octet_counted}


CASES: list[tuple[str, dict[str, object]]] = [
    ("error RT101 main_queue.size", {"main_queue.size": 1400}),
    ("error RT101 main_queue.lightDelayMark", {"main_queue.lightDelayMark": 500}),
    (
        "warning RT102 main_queue.size",
        {"main_queue.size": 8000, "outputs[logs].queue.workerThreads": 1},
    ),
    ("error RT103 main_queue.dequeueBatchSize", {"main_queue.dequeueBatchSize": 200000}),
    (
        "error RT104 outputs[0].queue.minDequeueBatchSize",
        {"outputs[logs].queue.minDequeueBatchSize": 3000},
    ),
    ("error RT105 main_queue.highWatermark", {"main_queue.highWatermark": 200000}),
    ("error RT105 main_queue.lowWatermark", {"main_queue.highWatermark": 50000}),
    ("error RT105 main_queue.fullDelayMark", {"main_queue.fullDelayMark": 100001}),
    ("error RT107 outputs[0].queue.size", {"outputs[logs].queue.type": "Direct"}),
    ("error RT109 outputs[0].queue.type", {"outputs[logs].queue.type": "Disk"}),
    (
        "error RT109 outputs[0].queue.spoolDirectory",
        {"outputs[logs].queue.spoolDirectory": "/var/spool/rsyslog"},
    ),
    ("error RT109 outputs[0].queue.filename", {"outputs[logs].queue.filename": "logs"}),
    (
        "warning RT112 outputs[0].queue.size",
        {"outputs[logs].queue": {"type": "LinkedList", "workerThreads": 8}},
    ),
    (
        "warning RT112 outputs[0].queue.workerThreadMinimumMessages",
        {"outputs[logs].queue.workerThreadMinimumMessages": 45000},
    ),
    (
        "warning RT112 outputs[0].queue.dequeueBatchSize",
        {"outputs[logs].queue.dequeueBatchSize": 40000},
    ),
    ("warning RT113 outputs[0].queue.timeoutEnqueue", {"outputs[logs].queue.timeoutEnqueue": None}),
    (
        "warning RT115 outputs[0].queue.timeoutShutdown",
        {"outputs[logs].queue.timeoutShutdown": None},
    ),
    (
        "warning RT203 inputs[0].maxSessions",
        {"inputs": [{"type": "imtcp", "port": 514}], "workload.connections": 300},
    ),
    ("warning RT205 outputs[0].tls", {"outputs[logs].tls.cacert": "/etc/ca.pem"}),
    ("error RT206 outputs[0].tls", {"outputs[logs].tls.mycert": "/etc/me.pem"}),
    ("warning RT207 outputs[0].maxbytes", {"outputs[logs].maxbytes": "900k"}),
    ("error RT210 outputs[0].filter_path", {"outputs[logs].filter_path": ["items.*.status"]}),
    (
        "error RT210 outputs[0].filter_path",
        {"outputs[logs].filter_path": ["errors", "items.*.status", "-items"]},
    ),
    (
        "error RT211 inputs[0].supportOctetCountedFraming",
        {"inputs": [imtcp(False)], "workload.framing": "octet-counted"},
    ),
    (
        "warning RT212 outputs[0].maxbytes",
        {"outputs[logs].maxbytes": "10k", "workload.message_bytes": {"mean": 5500}},
    ),
    ("warning RT213 outputs[0].indexTimeout", {"outputs[logs].indexTimeout": None}),
    ("warning RT240 outputs[0].retryfailures", {"outputs[logs].servers": REMOTE}),
    (
        "error RT241 outputs[0].filter_path",
        {
            "outputs[logs].retryfailures.file": "/var/log/rejected.json",
            "outputs[logs].filter_path": ["errors", "items.*.status"],
        },
    ),
    (
        "error RT242 outputs[0].writeoperation",
        {
            "outputs[logs].retryfailures.file": "/var/log/rejected.json",
            "outputs[logs].writeoperation": "index",
        },
    ),
    (
        "error RT243 outputs[0].apikey",
        {
            "outputs[logs].auth": {"uid": "shipper", "pwd": {"env": "PWD"}},
            "outputs[logs].apikey": {"env": "KEY"},
        },
    ),
    ("warning RT244 outputs[0].tls", {"outputs[logs].tls.skipverifyhost": True}),
    ("error RT245 outputs[0].skipPipelineIfEmpty", {"outputs[logs].skipPipelineIfEmpty": True}),
    (
        "error RT422 outputs[0].apikey",
        {"release.rsyslog": "8.2510", "outputs[logs].apikey": {"env": "KEY"}},
    ),
    (
        "error RT303 outputs[0].index.settings.translog.flush_threshold_age",
        {"release": {"opensearch": "2.19"}, AGE: "5m"},
    ),
    (
        "error RT303 outputs[0].index.settings.translog.flush_threshold_age",
        {"release": {"elasticsearch": "8.7"}, AGE: "5m"},
    ),
    ("warning RT308 node.heap", {"node.heap": "32g"}),
    ("error RT401 release.rsyslog", {"release.rsyslog": "8.39"}),
    ("error RT403 release.elasticsearch", {"release.elasticsearch": "6.8"}),
    ("error RT403 release.elasticsearch", {"release.elasticsearch": "10.0"}),
    ("error RT403 release.opensearch", {"release": {"opensearch": "4.0"}}),
    ("warning RT404 release.rsyslog", {"outputs[logs].servers": REMOTE}),
]


@pytest.mark.parametrize(("finding", "changes"), CASES)
def test_a_breach_is_reported_where_it_stands(finding: str, changes: dict[str, object]) -> None:
    assert finding in findings(changes)


def test_two_queues_must_not_share_files() -> None:
    files = {"filename": "q", "spoolDirectory": "/var/spool/rsyslog"}
    both: dict[str, object] = {
        f"{queue}.{key}": value
        for queue in ("main_queue", "outputs[logs].queue")
        for key, value in files.items()
    }
    assert findings(both) == {"error RT110 outputs[0].queue.filename"}


def test_imptcp_inputs_must_agree_on_the_module() -> None:
    inputs = [{"type": "imptcp", "port": 1}, {"type": "imptcp", "port": 2, "threads": 4}]
    assert findings({"inputs": inputs}) == {"error RT201 inputs[1].threads"}


@pytest.mark.parametrize("address", ["127.0.0.1", str(IPv4Address(0))])
def test_two_inputs_need_two_ports(address: str) -> None:
    inputs = [{"type": "imptcp", "port": 1}, {"type": "imtcp", "port": 1, "address": address}]
    assert findings({"inputs": inputs}) == {"error RT202 inputs[1].port"}


def test_one_port_on_two_addresses_is_fine() -> None:
    inputs = [{"type": "imptcp", "port": 1}, {"type": "imtcp", "port": 1, "address": "127.0.0.2"}]
    assert findings({"inputs": inputs}) == set()


def test_a_password_is_not_sent_in_the_clear() -> None:
    auth = {"uid": "shipper", "pwd": {"file": "/etc/pwd"}}
    changes: dict[str, object] = {"outputs[logs].auth": auth}
    assert findings(changes) == set()
    changes["outputs[logs].servers"] = ["http://es.example:9200"]
    assert "error RT204 outputs[0].servers[0]" in findings(changes)
    changes["outputs[logs].servers"] = REMOTE
    assert "error RT204 outputs[0].servers[0]" not in findings(changes)


def test_remote_servers_deserve_a_replica() -> None:
    changes: dict[str, object] = {
        "outputs[logs].servers": REMOTE,
        "outputs[logs].index.settings.number_of_replicas": 0,
        "outputs[logs].retryfailures.file": "/var/log/rejected.json",
        "outputs[logs].errorfile": "/var/log/errors.json",
        "release.rsyslog": "8.2606",
    }
    assert findings(changes) == {"warning RT302 outputs[0].index.settings.number_of_replicas"}


def test_a_local_lab_needs_no_replica() -> None:
    assert findings({"outputs[logs].index.settings.number_of_replicas": 0}) == set()


def fields(*names: str) -> dict[str, object]:
    return {"outputs[logs].document": [{"property": "msg", "name": name} for name in names]}


def test_field_names_are_unique() -> None:
    assert findings(fields("a", "b.c", "a")) == {"error RT304 outputs[0].document[2].name"}


def test_a_field_is_a_value_or_an_object() -> None:
    assert findings(fields("host", "host.name")) == {"error RT305 outputs[0].document[0].name"}
    assert findings(fields("host", "hostname")) == set()


def test_a_property_that_senders_control_is_no_date() -> None:
    field = {"property": "procid", "name": "pid", "type": "date"}
    assert findings({"outputs[logs].document": [field]}) == {
        "error RT306 outputs[0].document[0].type"
    }
    assert findings({"outputs[logs].document": [{**field, "type": "integer"}]}) == set()
    time = {"property": "timereported", "name": "time", "type": "integer"}
    assert findings({"outputs[logs].document": [time]}) == {
        "error RT306 outputs[0].document[0].type"
    }


@pytest.mark.parametrize("source", ["column", "key", "json"])
def test_a_field_of_the_text_needs_the_parsing_that_finds_it(source: str) -> None:
    formats = {"column": "csv", "key": "kv", "json": "json"}
    document = [{source: "a", "name": "a"}]
    refused = {f"error RT309 outputs[0].document[0].{source}"}
    assert findings({"outputs[logs].document": document}) == refused
    for key, name in formats.items():
        parse = {"format": name} | ({"columns": ["a"]} if name == "csv" else {})
        expected = set() if key == source else refused
        assert findings({"outputs[logs].document": document, "parse": parse}) == expected


def test_columns_have_names_of_their_own_and_fields_use_them() -> None:
    parse = {"format": "csv", "columns": ["a", "b", "a"]}
    assert findings({"parse": parse}) == {"error RT310 parse.columns[2]"}
    assert findings(
        {
            "parse": {"format": "csv", "columns": ["a", "b"]},
            "outputs[logs].document": [{"column": "c", "name": "c"}],
        }
    ) == {"error RT309 outputs[0].document[0].column"}


@pytest.mark.parametrize("interval", ["300s", "-1", "45s", "0s", "500micros"])
def test_a_refresh_interval_beyond_the_freshness_guardrail_is_told(interval: str) -> None:
    setting = "outputs[logs].index.settings.refresh_interval"
    assert findings({setting: interval}) == {
        "warning RT307 outputs[0].index.settings.refresh_interval"
    }
    assert findings({setting: interval, "guardrails.freshness_p99_s": 600}) <= {
        "warning RT307 outputs[0].index.settings.refresh_interval"
    }
    assert findings({setting: "30s"}) == set()


def test_a_position_counts_from_the_end_since_a_release() -> None:
    tag = {"property": "syslogtag", "name": "tag", "position": {"to": -2}}
    changes: dict[str, object] = {"outputs[logs].document": [tag]}
    assert findings(changes) == set()
    older = findings({**changes, "release.rsyslog": "8.2212"})
    assert "error RT311 outputs[0].document[0].position.to" in older


def test_a_relaxed_tier_allows_what_durable_does_not() -> None:
    changes: dict[str, object] = {
        "guardrails.tier": "relaxed",
        "outputs[logs].index.settings.translog.durability": "async",
        "outputs[logs].action.resumeRetryCount": 10,
        "outputs[logs].queue.timeoutEnqueue": None,
        "outputs[logs].queue.timeoutShutdown": None,
    }
    assert findings(changes) == set()


def test_a_direct_action_takes_batches_from_the_main_queue() -> None:
    changes: dict[str, object] = {"outputs[logs].queue": None, "outputs[logs].maxbytes": "400k"}
    assert findings(changes) == {"warning RT207 outputs[0].maxbytes"}
    assert findings(changes | {"outputs[logs].maxbytes": "600k"}) == set()


def test_batches_are_judged_by_the_mean_and_single_messages_by_the_longest() -> None:
    """2000 messages of 244 bytes make documents of 976,000 bytes, however long one of them is."""
    sizes = {"mean": 244, "min": 120, "max": 8000, "distribution": "lognormal"}
    changes: dict[str, object] = {"workload.message_bytes": sizes}
    assert findings(changes | {"outputs[logs].maxbytes": "976000"}) == set()
    assert findings(changes | {"outputs[logs].maxbytes": "975999"}) == {
        "warning RT207 outputs[0].maxbytes"
    }
    changes |= {"outputs[logs].queue.dequeueBatchSize": 10}
    assert findings(changes | {"outputs[logs].maxbytes": "16000"}) == set()
    assert findings(changes | {"outputs[logs].maxbytes": "15999"}) == {
        "warning RT212 outputs[0].maxbytes"
    }


@pytest.mark.parametrize(("distribution", "longest"), [("fixed", 4000), ("uniform", 5000)])
def test_the_longest_message_follows_from_the_distribution(distribution: str, longest: int) -> None:
    changes: dict[str, object] = {
        "outputs[logs].queue.dequeueBatchSize": 1,
        "workload.message_bytes": {"mean": 4000, "distribution": distribution},
    }
    assert findings(changes | {"outputs[logs].maxbytes": str(2 * longest)}) == set()
    assert "warning RT212 outputs[0].maxbytes" in findings(
        changes | {"outputs[logs].maxbytes": str(2 * longest - 1)}
    )


def test_a_replayed_line_can_be_as_long_as_rsyslog_allows() -> None:
    changes: dict[str, object] = {
        "outputs[logs].queue.dequeueBatchSize": 10,
        "outputs[logs].maxbytes": "16000",
    }
    assert findings(changes) == set()
    assert findings(changes | {"workload.replay": "/var/log/messages"}) == {
        "warning RT212 outputs[0].maxbytes"
    }


def test_a_batch_above_what_the_engine_takes_cannot_be_mended_by_maxbytes() -> None:
    changes: dict[str, object] = {
        "workload.message_bytes": {"mean": 8000, "distribution": "fixed"},
        "outputs[logs].queue.dequeueBatchSize": 6554,
        "node.heap": "4g",
    }
    for maxbytes in (None, "100m", "900m"):
        expected = {"warning RT207 outputs[0].queue.dequeueBatchSize"}
        if maxbytes == "900m":
            expected.add("warning RT214 outputs[0].maxbytes")
        assert findings(changes | {"outputs[logs].maxbytes": maxbytes}) == expected
    assert findings(changes | {"outputs[logs].queue.dequeueBatchSize": 6553}) == set()
    loaded = parse_profile(edit(SMALL, changes), "p.yaml")
    (warning,) = loaded.warnings
    assert (warning.line, warning.column) == (13, 25)
    assert "use at most 6553" in warning.message


def test_only_octet_counted_floods_need_octet_counted_framing() -> None:
    assert findings({"inputs": [imtcp(False)]}) == set()
    counted: dict[str, object] = {"workload.framing": "octet-counted"}
    assert findings(counted) == set()
    assert findings(counted | {"inputs": [imtcp(True)]}) == set()
    imptcp = {"type": "imptcp", "port": 514, "supportOctetCountedFraming": False}
    assert findings(counted | {"inputs": [imptcp]}) == {
        "error RT211 inputs[0].supportOctetCountedFraming"
    }


def test_a_queue_that_saves_itself_may_stop_at_once() -> None:
    hasty: dict[str, object] = {"outputs[logs].queue.timeoutShutdown": 999}
    assert findings(hasty) == {"warning RT115 outputs[0].queue.timeoutShutdown"}
    assert findings(hasty | {"outputs[logs].queue.timeoutShutdown": 1000}) == set()
    files = {"filename": "q", "spoolDirectory": "/var/spool/rsyslog", "maxDiskSpace": "1g"}
    hasty |= {f"outputs[logs].queue.{key}": value for key, value in files.items()}
    assert findings(hasty) == set()
    assert findings(hasty | {"outputs[logs].queue.saveOnShutdown": False}) == {
        "warning RT115 outputs[0].queue.timeoutShutdown"
    }


def test_the_memory_of_full_queues_is_held_against_the_guardrail() -> None:
    """150,000 messages of 244 bytes, 700 more for each: 141.6 million bytes are 135.04 MiB."""
    assert findings({"guardrails.rss_bytes": "136m"}) == set()
    (warning,) = parse_profile(edit(SMALL, {"guardrails.rss_bytes": "100m"}), "p.yaml").warnings
    assert (warning.line, warning.column) == (5, 20)
    assert "at most 111077" in warning.message
    fits: dict[str, object] = {"guardrails.rss_bytes": "100m", "main_queue.size": 61077}
    assert findings(fits) == set()
    assert findings(fits | {"workload.message_bytes": {"mean": 245}}) == {
        "warning RT116 main_queue.size"
    }


def test_a_disk_queue_needs_no_memory_for_its_messages() -> None:
    disk = {"type": "Disk", "size": 50000, "filename": "q", "spoolDirectory": "/var/spool/rsyslog"}
    changes: dict[str, object] = {"guardrails.rss_bytes": "90m", "main_queue.size": 90000}
    assert "warning RT116 main_queue.size" in findings(changes)
    changes |= {f"outputs[logs].queue.{key}": value for key, value in disk.items()}
    assert "warning RT116 main_queue.size" not in findings(changes)


@pytest.mark.parametrize("heap", ["31g", "31744m"])
def test_a_heap_that_keeps_compressed_pointers_is_fine(heap: str) -> None:
    assert findings({"node.heap": heap}) == set()
    assert findings({"node.heap": "31745m"}) == {"warning RT308 node.heap"}


def test_a_message_names_the_value_to_use() -> None:
    assert "use at least 8192" in message({"main_queue.size": 1000})
    changes = {"outputs[logs].queue.workerThreadMinimumMessages": 45000}
    (warning,) = parse_profile(edit(SMALL, changes), "p.yaml").warnings
    text = warning.message
    assert "has room for 47500 events" in text
    assert "busy only above 49000" in text
    assert "set workerThreadMinimumMessages to 2000, the batch size" in text


def test_warnings_do_not_make_a_profile_bad() -> None:
    loaded = parse_profile(edit(SMALL, {"outputs[logs].queue.size": 7999}), "p.yaml")
    assert [problem.severity for problem in loaded.warnings] == [Severity.WARNING]


def test_a_profile_without_queues_uses_the_defaults_of_rsyslog() -> None:
    profile: Profile = small({"main_queue": None, "outputs[logs].queue": None})
    assert lint(profile) == ()


def test_a_search_section_is_checked_where_every_queue_is_direct() -> None:
    direct = {"type": "Direct"}
    changes = {"main_queue": direct, "outputs[logs].queue": direct, "search.freeze": ["main.sise"]}
    assert {"error RT108 main_queue.type", "error RT601 search.freeze[0]"} <= findings(changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"search.only": ["9" * 5000]},
        {"search.freeze": [f"main_queue.{'a' * 5000}"]},
        {"search.levels": {f"outputs[{'x' * 5000}].queue.size": [1000, 2000]}},
        {"search.levels": {"main_queue.size": ["y" * 5000]}},
    ],
    ids=range(4),
)
def test_what_a_search_section_repeats_is_no_page_long(changes: dict[str, object]) -> None:
    with pytest.raises(BadProfile) as bad:
        parse_profile(edit(SMALL, changes), "p.yaml")
    assert max(len(problem.message) for problem in bad.value.problems) < 500
