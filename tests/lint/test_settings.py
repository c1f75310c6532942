"""Settings that the engine refuses, ignores or pays for."""

from __future__ import annotations

from tests.lint.test_lint import codes

SETTINGS = "outputs[logs].index.settings"
RELAXED: dict[str, object] = {"guardrails.tier": "relaxed"}


def test_a_translog_is_not_synchronised_every_few_milliseconds() -> None:
    for interval, said in (("99ms", {"RT330"}), ("100ms", set()), ("5s", set())):
        assert codes({f"{SETTINGS}.translog.sync_interval": interval}) == said


def test_ids_are_looked_up_with_the_filter() -> None:
    off: dict[str, object] = {f"{SETTINGS}.bloom_filter_for_id_field.enabled": False}
    assert codes(off) == set()
    assert codes(off | {"outputs[logs].bulkid": "uuid"}) == {"RT331"}
    on = {f"{SETTINGS}.bloom_filter_for_id_field.enabled": True}
    assert codes(on | {"outputs[logs].bulkid": "uuid"}) == set()


def test_merge_factor_is_for_merges_by_time() -> None:
    factor: dict[str, object] = {f"{SETTINGS}.merge.policy.merge_factor": 16}
    untimed = {"outputs[logs].document": [{"property": "msg", "name": "message"}]}
    assert codes(factor) == set()
    assert codes(factor | untimed) == {"RT332"}
    assert codes(factor | untimed | {f"{SETTINGS}.merge.policy.type": "time_based"}) == set()
    assert codes(factor | {f"{SETTINGS}.merge.policy.type": "tiered"}) == {"RT332"}


def test_what_needs_a_licence_says_so() -> None:
    route = f"{SETTINGS}.logsdb.route_on_sort_fields"
    assert codes({route: True}) == {"RT333"}
    assert codes({route: False}) == set()


def test_a_node_starts_with_one_thread_more_than_processors() -> None:
    node: dict[str, object] = {"node.node.processors": 4, "node.thread_pool.write.size": 5}
    assert codes(node) == set()
    assert codes(node | {"node.thread_pool.write.size": 6}) == {"RT334"}
    assert codes({"node.thread_pool.write.size": 6}) == set()


def test_segments_are_copied_to_replicas_only() -> None:
    segment: dict[str, object] = {
        "release": {"opensearch": "2.19"},
        f"{SETTINGS}.replication.type": "SEGMENT",
    }
    assert codes(segment) == set()
    assert codes(segment | {f"{SETTINGS}.number_of_replicas": 0}) == {"RT335"}
