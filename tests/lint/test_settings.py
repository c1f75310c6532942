"""Settings that the engine refuses, ignores or pays for."""

from __future__ import annotations

import pytest

from tests.lint.findings import findings

SETTINGS = "outputs[logs].index.settings"
RELAXED: dict[str, object] = {"guardrails.tier": "relaxed"}


def test_a_translog_is_not_synchronised_every_few_milliseconds() -> None:
    for interval, said in (
        ("99ms", {"error RT330 outputs[0].index.settings.translog.sync_interval"}),
        ("100ms", set()),
        ("5s", set()),
    ):
        assert findings({f"{SETTINGS}.translog.sync_interval": interval}) == said


def test_ids_are_looked_up_with_the_filter() -> None:
    off: dict[str, object] = {f"{SETTINGS}.bloom_filter_for_id_field.enabled": False}
    assert findings(off) == set()
    assert findings(off | {"outputs[logs].bulkid": "uuid"}) == {
        "warning RT331 outputs[0].index.settings.bloom_filter_for_id_field.enabled"
    }
    on = {f"{SETTINGS}.bloom_filter_for_id_field.enabled": True}
    assert findings(on | {"outputs[logs].bulkid": "uuid"}) == set()


def test_merge_factor_is_for_merges_by_time() -> None:
    factor: dict[str, object] = {f"{SETTINGS}.merge.policy.merge_factor": 16}
    untimed = {"outputs[logs].document": [{"property": "msg", "name": "message"}]}
    assert findings(factor) == set()
    assert findings(factor | untimed) == {
        "warning RT332 outputs[0].index.settings.merge.policy.merge_factor"
    }
    assert findings(factor | untimed | {f"{SETTINGS}.merge.policy.type": "time_based"}) == set()
    assert findings(factor | {f"{SETTINGS}.merge.policy.type": "tiered"}) == {
        "warning RT332 outputs[0].index.settings.merge.policy.merge_factor"
    }


def test_what_needs_a_licence_says_so() -> None:
    route = f"{SETTINGS}.logsdb.route_on_sort_fields"
    assert findings({route: True}) == {
        "warning RT333 outputs[0].index.settings.logsdb.route_on_sort_fields"
    }
    assert findings({route: False}) == set()


def test_a_node_starts_with_one_thread_more_than_processors() -> None:
    node: dict[str, object] = {"node.node.processors": 4, "node.thread_pool.write.size": 5}
    assert findings(node) == set()
    assert findings(node | {"node.thread_pool.write.size": 6}) == {
        "error RT334 node.thread_pool.write.size"
    }
    assert findings({"node.thread_pool.write.size": 6}) == set()


def test_segments_are_copied_to_replicas_only() -> None:
    segment: dict[str, object] = {
        "release": {"opensearch": "2.19"},
        f"{SETTINGS}.replication.type": "SEGMENT",
    }
    assert findings(segment) == set()
    assert findings(segment | {f"{SETTINGS}.number_of_replicas": 0}) == {
        "warning RT335 outputs[0].index.settings.replication.type"
    }


@pytest.mark.parametrize(
    ("setting", "value", "refused"),
    [
        ("translog.flush_threshold_age", "2h", True),
        ("translog.flush_threshold_age", "999ms", True),
        ("translog.flush_threshold_age", "1h", False),
        ("search.idle.after", "-1", True),
        ("search.idle.after", "0s", False),
        ("translog.sync_interval", "-1", True),
    ],
)
def test_a_time_that_the_engine_refuses_is_refused(setting: str, value: str, refused: bool) -> None:
    path = f"index.settings.{setting}"
    found = f"error RT330 outputs[0].{path}" in findings({f"outputs[logs].{path}": value})
    assert found is refused
