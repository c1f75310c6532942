"""Explanations: every key has one, keys are found as people spell them, defaults are rsyslog's."""

from __future__ import annotations

import pytest

from tuner.errors import BadUsage
from tuner.lint.explain import explain
from tuner.modules.field import Use
from tuner.profile.schema import every_key, fact_name, fact_of, facts
from tuner.schema.section import doc


def test_every_key_has_an_explanation_and_every_explanation_a_key() -> None:
    unexplained = {fact_name(key) for key in every_key() if not fact_of(key).does}
    assert unexplained == set(), "explain them where they are declared, or in facts.yaml"
    undeclared = {fact_name(key) for key in every_key() if doc(key.section, key.attribute) is None}
    assert facts().keys.keys() == undeclared, (
        "these are explained elsewhere, or gone from the model"
    )


def test_an_explanation_is_one_or_two_sentences() -> None:
    for key in every_key():
        name, fact = key.path, fact_of(key)
        assert fact.does.endswith("."), name
        assert len(fact.does) <= 240, name
        assert all(trap.endswith(".") and len(trap) > 3 for trap in fact.traps), name


def test_every_finding_of_the_source_study_is_told_somewhere() -> None:
    told = {trap.partition(":")[0] for key in every_key() for trap in fact_of(key).traps}
    assert {f"F{number}" for number in range(1, 20)} <= told


def test_a_queue_parameter_has_a_default_for_each_place() -> None:
    (found,) = explain("dequeueBatchSize")
    places = ("main_queue", "lanes.queue", "streams[].queue", "outputs[].queue")
    assert found.paths == tuple(f"{place}.dequeueBatchSize" for place in places)
    assert [text.rpartition(": ")[2] for text in found.default] == ["256", "1024", "128"]
    assert any(trap.startswith("F3: ") for trap in found.traps)
    assert "rsyslog restart" in found.search[1]


@pytest.mark.parametrize(
    "spelled",
    [
        "outputs[].index.settings.refresh_interval",
        "outputs[logs].index.settings.refresh_interval",
        "outputs.index.settings.REFRESH_INTERVAL",
        "index.refresh_interval",
        "settings.refresh_interval",
        "refresh_interval",
    ],
)
def test_a_key_is_found_however_it_is_spelled(spelled: str) -> None:
    (found,) = explain(spelled)
    assert found.paths == ("outputs[].index.settings.refresh_interval",)
    assert found.changes == "on open indices too"
    assert found.allowed == ("a time such as 500ms, 30s or 1m, or -1",)


def test_a_bare_word_finds_every_key_of_that_name() -> None:
    paths = {path for found in explain("name") for path in found.paths}
    assert {"name", "outputs[].name", "outputs[].index.name"} <= paths


def test_kinds_of_inputs_differ() -> None:
    (found,) = explain("inputs[].socketBacklog")
    assert found.since == ("imtcp: rsyslog 8.2502",)


def test_a_section_says_what_a_search_varies_in_it() -> None:
    (found,) = explain("outputs[].queue")
    assert "outputs[].queue.dequeueBatchSize" in found.search[0]
    (node,) = explain("guardrails")
    assert node.search == ("leaves it unchanged",)


def test_a_setting_names_the_engine_that_brought_it() -> None:
    (found,) = explain("mapping.source.mode")
    assert found.since == ("Elasticsearch 8.17", "not in OpenSearch")
    assert found.search[0].startswith("leaves it unchanged")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("workerThread", "workerThreads"),
        ("refresh_intervall", "refresh_interval"),
        ("outputs[].queue.sise", "outputs[].queue.size"),
    ],
)
def test_near_misses_are_suggested(wrong: str, right: str) -> None:
    with pytest.raises(BadUsage, match=rf"did you mean.*{right.replace('[]', '..')}"):
        explain(wrong)


def test_a_module_lists_its_keys() -> None:
    (found,) = explain("imTCP")
    assert found.paths == ("inputs[] with type: imtcp",)
    assert any(key.startswith("maxSessions: ") for key in found.keys)
    assert not any(key.startswith("socket: ") for key in found.keys)


@pytest.mark.parametrize("word", facts().spellings)
def test_a_word_of_rsyslog_leads_to_ours(word: str) -> None:
    own = explain(word)
    if facts().spellings[word].keys and own[0].paths == (word,):
        assert facts().spellings[word].keys[0] in own[1].paths


def test_every_word_of_rsyslog_leads_to_a_key_that_there_is() -> None:
    paths = {key.path for key in every_key()}
    assert {key for one in facts().spellings.values() for key in one.keys} <= paths


def test_nonsense_is_refused_without_a_suggestion() -> None:
    with pytest.raises(BadUsage, match=r"no key xyzzy_xyzzy$"):
        explain("xyzzy_xyzzy")


@pytest.mark.parametrize(
    ("key", "word"),
    [
        ("translog.durability", "--allow translog.durability"),
        ("number_of_replicas", "loss of a disk"),
        ("outputs[].mmutf8fix", "UTF-8"),
        ("outputs[].queue.filename", "--allow queue.filename"),
    ],
)
def test_a_guarantee_says_what_opens_it_and_what_it_gives_up(key: str, word: str) -> None:
    (found,) = explain(key)
    assert word in " ".join(found.search)
    assert "leaves it unchanged" in found.search[-1]


@pytest.mark.parametrize("key", ["inputs[].workerThreads", "lanes.count",
                                 "inputs[].maxSubmitAtOnce", "thread_pool.write.size"])  # fmt: skip
def test_knobs_of_other_engines_and_inputs_are_told_too(key: str) -> None:
    (found,) = explain(key)
    assert found.search[0].startswith("tries ")


def test_what_each_use_of_a_field_means_and_how_an_index_says_it() -> None:
    found = next(one for one in explain("uses") if one.paths != ("base.uses",))
    for use in Use:
        assert use.value in found.does
    assert any("GET INDEX/_mapping" in trap for trap in found.traps)
    assert "Elasticsearch" in found.source
