"""Each rule: what breaks it, with the code and the advice; and that good profiles pass."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address
from pathlib import Path

import pytest

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


def codes(changes: Mapping[str, object], text: str = SMALL) -> set[str]:
    """The codes of everything lint says about the small profile with `changes`."""
    try:
        loaded = parse_profile(edit(text, changes), "p.yaml")
    except BadProfile as bad:
        return {problem.code for problem in bad.problems}
    return {problem.code for problem in loaded.warnings}


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
    ("RT101", {"main_queue.size": 1400}),
    ("RT101", {"main_queue.lightDelayMark": 500}),
    ("RT102", {"main_queue.size": 8000, "outputs[logs].queue.workerThreads": 1}),
    ("RT103", {"main_queue.dequeueBatchSize": 200000}),
    ("RT104", {"outputs[logs].queue.minDequeueBatchSize": 3000}),
    ("RT105", {"main_queue.highWatermark": 200000}),
    ("RT105", {"main_queue.highWatermark": 50000}),
    ("RT105", {"main_queue.fullDelayMark": 100001}),
    ("RT106", {"main_queue.discardMark": 100001}),
    ("RT107", {"outputs[logs].queue.type": "Direct"}),
    ("RT108", {"main_queue": {"type": "Direct"}}),
    ("RT109", {"outputs[logs].queue.type": "Disk"}),
    ("RT109", {"outputs[logs].queue.spoolDirectory": "/var/spool/rsyslog"}),
    ("RT109", {"outputs[logs].queue.filename": "logs"}),
    ("RT111", {"outputs[logs].queue.size": 7999}),
    ("RT112", {"outputs[logs].queue.workerThreadMinimumMessages": 45000}),
    ("RT112", {"outputs[logs].queue.dequeueBatchSize": 40000}),
    ("RT113", {"outputs[logs].queue.timeoutEnqueue": None}),
    ("RT114", {"main_queue.discardSeverity": 7}),
    ("RT115", {"outputs[logs].queue.timeoutShutdown": None}),
    ("RT116", {"guardrails.rss_bytes": "135m"}),
    ("RT203", {"inputs": [{"type": "imtcp", "port": 514}], "workload.connections": 300}),
    ("RT205", {"outputs[logs].tls.cacert": "/etc/ca.pem"}),
    ("RT206", {"outputs[logs].tls.mycert": "/etc/me.pem"}),
    ("RT207", {"outputs[logs].maxbytes": "900k"}),
    ("RT208", {"outputs[logs].action.resumeRetryCount": 0}),
    ("RT209", {"outputs[logs].action.resumeRetryCount": 10}),
    ("RT210", {"outputs[logs].filter_path": ["errors"]}),
    ("RT210", {"outputs[logs].filter_path": ["items.*.status"]}),
    ("RT210", {"outputs[logs].filter_path": ["errors", "items.*.status", "-items"]}),
    ("RT211", {"inputs": [imtcp(False)], "workload.framing": "octet-counted"}),
    ("RT212", {"outputs[logs].maxbytes": "10k", "workload.message_bytes": {"mean": 5500}}),
    ("RT213", {"outputs[logs].indexTimeout": 0}),
    ("RT213", {"outputs[logs].indexTimeout": None}),
    ("RT240", {"outputs[logs].servers": REMOTE}),
    ("RT241", {
        "outputs[logs].retryfailures.file": "/var/log/rejected.json",
        "outputs[logs].filter_path": ["errors", "items.*.status"],
    }),
    ("RT242", {
        "outputs[logs].retryfailures.file": "/var/log/rejected.json",
        "outputs[logs].writeoperation": "index",
    }),
    ("RT243", {
        "outputs[logs].auth": {"uid": "shipper", "pwd": {"env": "PWD"}},
        "outputs[logs].apikey": {"env": "KEY"},
    }),
    ("RT244", {"outputs[logs].tls.skipverifyhost": True}),
    ("RT245", {"outputs[logs].erroronly": True}),
    ("RT245", {"outputs[logs].skipPipelineIfEmpty": True}),
    ("RT246", {"outputs[logs].pipelineName": "syslog", "outputs[logs].dynPipelineName": True}),
    ("RT422", {"release.rsyslog": "8.2510", "outputs[logs].apikey": {"env": "KEY"}}),
    ("RT301", {"outputs[logs].index.settings.translog.durability": "async"}),
    ("RT303", {"release": {"opensearch": "2.19"}, AGE: "5m"}),
    ("RT303", {"release": {"elasticsearch": "8.7"}, AGE: "5m"}),
    ("RT308", {"node.heap": "32g"}),
    ("RT401", {"release.rsyslog": "8.2204"}),
    ("RT401", {"release.rsyslog": "8.39"}),
    ("RT402", {"release.rsyslog": "8.2610"}),
    ("RT403", {"release.elasticsearch": "6.8"}),
    ("RT403", {"release.elasticsearch": "10.0"}),
    ("RT403", {"release.elasticsearch": "7.7"}),
    ("RT403", {"release": {"opensearch": "4.0"}}),
    ("RT404", {"outputs[logs].servers": REMOTE}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "changes"), CASES)
def test_a_breach_is_reported_under_its_code(code: str, changes: dict[str, object]) -> None:
    assert code in codes(changes)


def test_two_queues_must_not_share_files() -> None:
    files = {"filename": "q", "spoolDirectory": "/var/spool/rsyslog"}
    both: dict[str, object] = {
        f"{queue}.{key}": value
        for queue in ("main_queue", "outputs[logs].queue")
        for key, value in files.items()
    }
    assert codes(both) == {"RT110"}


def test_imptcp_inputs_must_agree_on_the_module() -> None:
    inputs = [{"type": "imptcp", "port": 1}, {"type": "imptcp", "port": 2, "threads": 4}]
    assert codes({"inputs": inputs}) == {"RT201"}


@pytest.mark.parametrize("address", ["127.0.0.1", str(IPv4Address(0))])
def test_two_inputs_need_two_ports(address: str) -> None:
    inputs = [{"type": "imptcp", "port": 1}, {"type": "imtcp", "port": 1, "address": address}]
    assert codes({"inputs": inputs}) == {"RT202"}


def test_one_port_on_two_addresses_is_fine() -> None:
    inputs = [{"type": "imptcp", "port": 1}, {"type": "imtcp", "port": 1, "address": "127.0.0.2"}]
    assert codes({"inputs": inputs}) == set()


def test_a_password_is_not_sent_in_the_clear() -> None:
    auth = {"uid": "shipper", "pwd": {"file": "/etc/pwd"}}
    changes: dict[str, object] = {"outputs[logs].auth": auth}
    assert codes(changes) == set()
    changes["outputs[logs].servers"] = ["http://es.example:9200"]
    assert "RT204" in codes(changes)
    changes["outputs[logs].servers"] = REMOTE
    assert "RT204" not in codes(changes)


def test_remote_servers_deserve_a_replica() -> None:
    changes: dict[str, object] = {
        "outputs[logs].servers": REMOTE,
        "outputs[logs].index.settings.number_of_replicas": 0,
        "outputs[logs].retryfailures.file": "/var/log/rejected.json",
        "outputs[logs].errorfile": "/var/log/errors.json",
        "release.rsyslog": "8.2606",
    }
    assert codes(changes) == {"RT302"}


def test_a_local_lab_needs_no_replica() -> None:
    assert codes({"outputs[logs].index.settings.number_of_replicas": 0}) == set()


def fields(*names: str) -> dict[str, object]:
    return {"outputs[logs].document": [{"property": "msg", "name": name} for name in names]}


def test_field_names_are_unique() -> None:
    assert codes(fields("a", "b.c", "a")) == {"RT304"}


def test_a_field_is_a_value_or_an_object() -> None:
    assert codes(fields("host", "host.name")) == {"RT305"}
    assert codes(fields("host", "hostname")) == set()


def test_a_property_that_senders_control_is_no_date() -> None:
    field = {"property": "procid", "name": "pid", "type": "date"}
    assert codes({"outputs[logs].document": [field]}) == {"RT306"}
    assert codes({"outputs[logs].document": [{**field, "type": "integer"}]}) == set()
    time = {"property": "timereported", "name": "time", "type": "integer"}
    assert codes({"outputs[logs].document": [time]}) == {"RT306"}


@pytest.mark.parametrize("source", ["column", "key", "json"])
def test_a_field_of_the_text_needs_the_parsing_that_finds_it(source: str) -> None:
    formats = {"column": "csv", "key": "kv", "json": "json"}
    document = [{source: "a", "name": "a"}]
    assert codes({"outputs[logs].document": document}) == {"RT309"}
    for key, name in formats.items():
        parse = {"format": name} | ({"columns": ["a"]} if name == "csv" else {})
        wanted = set() if key == source else {"RT309"}
        assert codes({"outputs[logs].document": document, "parse": parse}) == wanted


def test_columns_have_names_of_their_own_and_fields_use_them() -> None:
    parse = {"format": "csv", "columns": ["a", "b", "a"]}
    assert codes({"parse": parse}) == {"RT310"}
    assert codes(
        {
            "parse": {"format": "csv", "columns": ["a", "b"]},
            "outputs[logs].document": [{"column": "c", "name": "c"}],
        }
    ) == {"RT309"}


@pytest.mark.parametrize("interval", ["300s", "-1", "45s"])
def test_a_refresh_interval_beyond_the_freshness_guardrail_is_told(interval: str) -> None:
    setting = "outputs[logs].index.settings.refresh_interval"
    assert codes({setting: interval}) == {"RT307"}
    assert codes({setting: interval, "guardrails.freshness_p99_s": 600}) <= {"RT307"}
    assert codes({setting: "30s"}) == set()


def test_a_relaxed_tier_allows_what_durable_does_not() -> None:
    changes: dict[str, object] = {
        "guardrails.tier": "relaxed",
        "outputs[logs].index.settings.translog.durability": "async",
        "outputs[logs].action.resumeRetryCount": 0,
        "outputs[logs].queue.timeoutEnqueue": None,
        "outputs[logs].queue.timeoutShutdown": None,
    }
    assert codes(changes) == set()


def test_a_direct_action_takes_batches_from_the_main_queue() -> None:
    changes: dict[str, object] = {"outputs[logs].queue": None, "outputs[logs].maxbytes": "400k"}
    assert codes(changes) == {"RT207"}
    assert codes(changes | {"outputs[logs].maxbytes": "600k"}) == set()


def test_batches_are_judged_by_the_mean_and_single_messages_by_the_longest() -> None:
    """2000 messages of 244 bytes make documents of 976,000 bytes, however long one of them is."""
    sizes = {"mean": 244, "min": 120, "max": 8000, "distribution": "lognormal"}
    changes: dict[str, object] = {"workload.message_bytes": sizes}
    assert codes(changes | {"outputs[logs].maxbytes": "976000"}) == set()
    assert codes(changes | {"outputs[logs].maxbytes": "975999"}) == {"RT207"}
    changes |= {"outputs[logs].queue.dequeueBatchSize": 10}
    assert codes(changes | {"outputs[logs].maxbytes": "16000"}) == set()
    assert codes(changes | {"outputs[logs].maxbytes": "15999"}) == {"RT212"}


@pytest.mark.parametrize(("distribution", "longest"), [("fixed", 4000), ("uniform", 5000)])
def test_the_longest_message_follows_from_the_distribution(distribution: str, longest: int) -> None:
    changes: dict[str, object] = {
        "outputs[logs].queue.dequeueBatchSize": 1,
        "workload.message_bytes": {"mean": 4000, "distribution": distribution},
    }
    assert codes(changes | {"outputs[logs].maxbytes": str(2 * longest)}) == set()
    assert "RT212" in codes(changes | {"outputs[logs].maxbytes": str(2 * longest - 1)})


def test_a_replayed_line_can_be_as_long_as_rsyslog_allows() -> None:
    changes: dict[str, object] = {
        "outputs[logs].queue.dequeueBatchSize": 10,
        "outputs[logs].maxbytes": "16000",
    }
    assert codes(changes) == set()
    assert codes(changes | {"workload.replay": "/var/log/messages"}) == {"RT212"}


def test_a_batch_above_what_the_engine_takes_cannot_be_mended_by_maxbytes() -> None:
    changes: dict[str, object] = {
        "workload.message_bytes": {"mean": 8000, "distribution": "fixed"},
        "outputs[logs].queue.dequeueBatchSize": 6554,
        "node.heap": "4g",
    }
    for maxbytes in (None, "100m", "900m"):
        told = {"RT207", "RT214"} if maxbytes == "900m" else {"RT207"}
        assert codes(changes | {"outputs[logs].maxbytes": maxbytes}) == told
    assert codes(changes | {"outputs[logs].queue.dequeueBatchSize": 6553}) == set()
    loaded = parse_profile(edit(SMALL, changes), "p.yaml")
    (warning,) = loaded.warnings
    assert (warning.line, warning.column) == (13, 25)
    assert "use at most 6553" in warning.message


def test_only_octet_counted_floods_need_octet_counted_framing() -> None:
    assert codes({"inputs": [imtcp(False)]}) == set()
    counted: dict[str, object] = {"workload.framing": "octet-counted"}
    assert codes(counted) == set()
    assert codes(counted | {"inputs": [imtcp(True)]}) == set()
    imptcp = {"type": "imptcp", "port": 514, "supportOctetCountedFraming": False}
    assert codes(counted | {"inputs": [imptcp]}) == {"RT211"}


def test_a_queue_that_saves_itself_may_stop_at_once() -> None:
    hasty: dict[str, object] = {"outputs[logs].queue.timeoutShutdown": 999}
    assert codes(hasty) == {"RT115"}
    assert codes(hasty | {"outputs[logs].queue.timeoutShutdown": 1000}) == set()
    files = {"filename": "q", "spoolDirectory": "/var/spool/rsyslog", "maxDiskSpace": "1g"}
    hasty |= {f"outputs[logs].queue.{key}": value for key, value in files.items()}
    assert codes(hasty) == set()
    assert codes(hasty | {"outputs[logs].queue.saveOnShutdown": False}) == {"RT115"}


def test_the_memory_of_full_queues_is_held_against_the_guardrail() -> None:
    """150,000 messages of 244 bytes, 700 more for each: 141.6 million bytes are 135.04 MiB."""
    assert codes({"guardrails.rss_bytes": "136m"}) == set()
    (warning,) = parse_profile(edit(SMALL, {"guardrails.rss_bytes": "100m"}), "p.yaml").warnings
    assert (warning.line, warning.column) == (5, 20)
    assert "at most 111077" in warning.message
    fits: dict[str, object] = {"guardrails.rss_bytes": "100m", "main_queue.size": 61077}
    assert codes(fits) == set()
    assert codes(fits | {"workload.message_bytes": {"mean": 245}}) == {"RT116"}


def test_a_disk_queue_needs_no_memory_for_its_messages() -> None:
    disk = {"type": "Disk", "size": 50000, "filename": "q", "spoolDirectory": "/var/spool/rsyslog"}
    changes: dict[str, object] = {"guardrails.rss_bytes": "90m", "main_queue.size": 90000}
    assert "RT116" in codes(changes)
    changes |= {f"outputs[logs].queue.{key}": value for key, value in disk.items()}
    assert "RT116" not in codes(changes)


@pytest.mark.parametrize("heap", ["31g", "31744m"])
def test_a_heap_that_keeps_compressed_pointers_is_fine(heap: str) -> None:
    assert codes({"node.heap": heap}) == set()
    assert codes({"node.heap": "31745m"}) == {"RT308"}


def test_a_message_names_the_value_to_use() -> None:
    assert "use at least 8192" in message({"main_queue.size": 1000})
    text = message({"outputs[logs].queue.workerThreadMinimumMessages": 45000})
    assert "above 50024 events under way" in text
    assert "the queues hold 47500" in text
    assert "set it to 2000, the batch size" in text


def test_warnings_do_not_make_a_profile_bad() -> None:
    loaded = parse_profile(edit(SMALL, {"outputs[logs].queue.size": 7999}), "p.yaml")
    assert [problem.severity for problem in loaded.warnings] == [Severity.WARNING]


def test_a_profile_without_queues_uses_the_defaults_of_rsyslog() -> None:
    profile: Profile = small({"main_queue": None, "outputs[logs].queue": None})
    assert lint(profile) == ()
