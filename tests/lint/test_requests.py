"""Requests and releases: what an engine refuses, and what an rsyslog loses then."""

from __future__ import annotations

import pytest

from tests.lint.findings import findings
from tests.lint.test_lint import REMOTE
from tests.profile.examples import SMALL
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit

BATCH = "outputs[logs].queue.dequeueBatchSize"
SAFE: dict[str, object] = {
    "outputs[logs].servers": REMOTE,
    "outputs[logs].retryfailures.file": "/var/log/rejected.json",
    "outputs[logs].errorfile": "/var/log/errors.json",
    "release.rsyslog": "8.2606",
}


def test_a_remote_profile_can_be_clean() -> None:
    assert findings(SAFE) == set()


def test_a_node_that_takes_less_is_heeded() -> None:
    """2000 events of 244 bytes make 976,000."""
    assert findings({"node.http.max_content_length": "1mb"}) <= {
        "warning RT214 outputs[0].maxbytes"
    }
    assert findings({"node.http.max_content_length": "953kb"}) == {
        "warning RT207 outputs[0].queue.dequeueBatchSize"
    }


def test_maxbytes_stays_within_what_the_engine_takes() -> None:
    assert findings({"outputs[logs].maxbytes": "100m"}) == set()
    assert findings({"outputs[logs].maxbytes": "102401k"}) == {"warning RT214 outputs[0].maxbytes"}
    more = {"outputs[logs].maxbytes": "150m", "node.http.max_content_length": "200mb"}
    assert findings(more) == set()


def test_all_bulks_together_fit_under_the_indexing_pressure() -> None:
    """Two workers with 2000 events of 488 bytes each have 1,952,000 bytes in flight, which are
    four fifths of 2,440,000."""
    limit = "node.indexing_pressure.memory.limit"
    assert findings({limit: "2440000b"}) == set()
    assert findings({limit: "2439999b"}) == {"warning RT215 outputs[0].queue.dequeueBatchSize"}
    assert findings({limit: "2439999b", "outputs[logs].maxbytes": "900k"}) == {
        "warning RT207 outputs[0].maxbytes"
    }
    assert findings({limit: "0.1%", "node.heap": "1g"}) == {
        "warning RT215 outputs[0].queue.dequeueBatchSize"
    }
    (warning,) = parse_profile(edit(SMALL, {limit: "1mb"}), "p.yaml").warnings
    assert (warning.line, warning.column) == (13, 25)
    assert "use at most 859" in warning.message
    assert findings({limit: "1mb", BATCH: 859}) == set()


def test_a_tenth_of_the_heap_is_the_limit_without_a_setting() -> None:
    large: dict[str, object] = {
        "workload.message_bytes": {"mean": 8000},
        BATCH: 2500,
        "outputs[logs].queue.workerThreads": 4,
        "outputs[logs].queue.workerThreadMinimumMessages": 2500,
    }
    assert findings(large | {"node.heap": "2g"}) == set()
    assert findings(large | {"node.heap": "1g"}) == {
        "warning RT215 outputs[0].queue.dequeueBatchSize"
    }


def test_large_batches_are_sent_again_one_by_one() -> None:
    large = SAFE | {BATCH: 10001, "outputs[logs].queue.workerThreadMinimumMessages": 5000}
    assert findings(large) == {"warning RT216 outputs[0].queue.dequeueBatchSize"}
    assert findings(large | {BATCH: 10000}) == set()
    assert findings(large | {"outputs[logs].servers": ["http://127.0.0.1:9200"]}) == set()
    assert findings(large | {"guardrails.tier": "relaxed"}) == set()


@pytest.mark.parametrize(
    ("release", "lost"),
    [("8.2302", "401, 403, 429 or 5xx"), ("8.2506", "401, 403, 429 or 5xx"),
     ("8.2508", "429 or 5xx"), ("8.2604", "429 or 5xx")],
)  # fmt: skip
def test_what_a_release_loses_is_said(release: str, lost: str) -> None:
    changes = SAFE | {"release.rsyslog": release}
    (warning,) = parse_profile(edit(SMALL, changes), "p.yaml").warnings
    assert warning.code == "RT404"
    assert f"answers {lost} to all of it" in warning.message
    assert "every release when it answers 400: errorfile holds" in warning.message
    unkept = changes | {"outputs[logs].errorfile": None}
    (warning,) = parse_profile(edit(SMALL, unkept), "p.yaml").warnings
    assert "400: set errorfile" in warning.message
    assert findings(unkept | {"guardrails.tier": "relaxed"}) == set()


def test_what_every_release_loses_is_kept_in_errorfile() -> None:
    for release in ("8.2606", "8.2608"):
        unkept = SAFE | {"release.rsyslog": release, "outputs[logs].errorfile": None}
        assert findings(unkept) == {"warning RT405 outputs[0].errorfile"}
        assert findings(unkept | {"guardrails.tier": "relaxed"}) == set()
        assert findings(unkept | {"outputs[logs].servers": ["http://127.0.0.1:9200"]}) == set()


@pytest.mark.parametrize(
    ("release", "said"),
    [
        ("8.2502", set()),
        ("8.2504", {"warning RT406 inputs[0].workerThreads"}),
        ("8.2506", {"warning RT406 inputs[0].workerThreads"}),
        ("8.2508", set()),
    ],
)
def test_the_races_of_the_first_worker_pools_are_told(release: str, said: set[str]) -> None:
    changes: dict[str, object] = {
        "inputs": [{"type": "imtcp", "port": 514}],
        "release.rsyslog": release,
    }
    assert findings(changes) == said
    if release >= "8.2504":
        changes["inputs"] = [{"type": "imtcp", "port": 514, "workerThreads": 1}]
        assert findings(changes) == set()
    assert findings({"release.rsyslog": release}) == set()


def test_an_interval_that_is_ignored_is_told() -> None:
    longest: dict[str, object] = {"outputs[logs].action.resumeIntervalMax": 60}
    assert findings(longest) == {"warning RT407 outputs[0].action.resumeIntervalMax"}
    assert findings(longest | {"release.rsyslog": "8.2308"}) == set()


def test_no_queue_stalls_since_8_2608() -> None:
    few: dict[str, object] = {"main_queue.size": 1400, "outputs[logs].queue.workerThreads": 1}
    few |= {"main_queue.dequeueBatchSize": 100, BATCH: 100, "release.rsyslog": "8.2608"}
    assert findings(few) == {"warning RT102 main_queue.size"}
    assert "error RT101 main_queue.size" in findings(few | {"release.rsyslog": "8.2606"})


def test_parameters_of_tls_have_releases_too() -> None:
    tls: dict[str, object] = {"outputs[logs].tls": {"cacert": "/ca.pem", "tlsversion": "TLSv1.3"}}
    assert findings(SAFE | tls) == {"error RT422 outputs[0].tls.tlsversion"}
    assert findings(SAFE | tls | {"release.rsyslog": "8.2608"}) == set()


@pytest.mark.parametrize(
    ("source", "release"),
    [({"flowControl": True}, 2106), ({"maxSessions": 300}, 2106), ({"keepAlive": True}, 2106),
     ({"streamDriver.name": "ptcp"}, 2106), ({"streamDriver.caFile": "/ca.pem"}, 2108)],
)  # fmt: skip
def test_imtcp_had_most_parameters_in_its_module_once(
    source: dict[str, object], release: int
) -> None:
    changes: dict[str, object] = {
        "inputs": [{"type": "imtcp", "port": 514, **source}],
        "release": {"rsyslog": f"8.{release - 2}", "elasticsearch": "7.17"},
    }
    too_new = {f"error RT421 inputs[0].{key}" for key in source}
    assert too_new <= findings(changes)
    changes["release"] = {"rsyslog": f"8.{release}", "elasticsearch": "7.17"}
    assert not too_new & findings(changes)


@pytest.mark.parametrize(
    ("server", "limit", "code"),
    [("https://es.example:443", None, "RT218"), ("http://es.example:80", None, "RT218"),
     ("https://es.example:443", "2m", None), ("https://es.example:9200", None, None),
     ("http://127.0.0.1:80", None, None)],
)  # fmt: skip
def test_a_batch_that_nginx_refuses_is_told_where_something_like_it_stands_before_the_engine(
    server: str, limit: str | None, code: str | None
) -> None:
    changes = SAFE | {BATCH: 3000, "outputs[logs].queue.workerThreadMinimumMessages": 3000}
    changes |= {"outputs[logs].servers": [server], "outputs[logs].maxbytes": limit}
    warned = {f"warning {code} outputs[0].queue.dequeueBatchSize"} if code else set()
    assert findings(changes) == warned


def test_servers_that_do_not_answer_may_outlast_the_start_that_systemd_allows() -> None:
    three = [f"https://es{number}.example:9200" for number in range(3)]
    changes = SAFE | {"outputs[logs].servers": three, "outputs[logs].healthCheckTimeout": 15_000}
    (warning,) = parse_profile(edit(SMALL, changes), "p.yaml").warnings
    assert warning.code == "RT219"
    assert "takes 90 s to start" in warning.message
    assert findings(changes | {"release.rsyslog": "8.2508"}) <= {
        "warning RT404 release.rsyslog", "warning RT405 outputs[0].errorfile"
    }  # fmt: skip
