"""Looking up: what people call a setting leads to it, other words to where they stand."""

from __future__ import annotations

import pytest

from tuner.errors import BadUsage
from tuner.lint.explain import Found, Topic, look_up, topics


def paths(found: Found) -> set[str]:
    return {path for one in found.keys for path in one.paths}


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("bulk", "outputs[].queue.dequeueBatchSize"),
        ("batch", "outputs[].queue.dequeueBatchSize"),
        ("shards", "outputs[].index.settings.number_of_shards"),
        ("Replicas", "outputs[].index.settings.number_of_replicas"),
        ("refresh", "outputs[].index.settings.refresh_interval"),
        ("ILM", "outputs[].index.lifecycle"),
        ("retry", "outputs[].action.resumeRetryCount"),
        ("duplicates", "outputs[].bulkid"),
        ("queue full", "outputs[].queue.timeoutEnqueue"),
        ("Queue  Full", "outputs[].queue.timeoutEnqueue"),
        ("data stream", "outputs[].index.data_stream"),
        ("latency", "guardrails.freshness_p99_s"),
        ("UDP", "inputs[] with type: imudp"),
    ],
)
def test_what_people_call_it_leads_to_the_key(words: str, key: str) -> None:
    assert key in paths(look_up(words))


@pytest.mark.parametrize("topic", topics(), ids=lambda topic: topic.names[0])
def test_every_topic_is_explained_by_each_of_its_names(topic: Topic) -> None:
    found = [look_up(name) for name in topic.names]
    assert all(one.keys for one in found)
    assert len({tuple(rule.code for rule in one.codes) for one in found}) == 1


def test_a_key_of_that_name_is_explained_too() -> None:
    """omhttp has one that is called batch."""
    assert "outputs[].batch" in paths(look_up("batch"))
    assert [one.code for one in look_up("queue full").codes] == ["RT113", "F9"]


def test_other_words_are_found_in_keys_and_rules() -> None:
    assert "inputs[].defaultTZ" in {one.where for one in look_up("time zone").mentions}
    assert "RT508" in {one.where for one in look_up("memory of an outage").mentions}


@pytest.mark.parametrize(
    ("words", "hint"),
    [("refresh_intervall", "did you mean"), ("xyzzy plugh", "no key"), ("of the", "no key")],
)
def test_what_stands_nowhere_is_refused(words: str, hint: str) -> None:
    with pytest.raises(BadUsage, match=hint):
        look_up(words)
