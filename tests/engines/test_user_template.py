"""An index template of the user's: every form it may be saved in, and what a lab has of it."""

from __future__ import annotations

import json

import pytest

from tuner.engines.user_template import user_template

MAPPINGS = {"dynamic": "strict", "properties": {"message": {"type": "match_only_text"}}}
SETTINGS = {"index": {"refresh_interval": "30s", "sort": {"field": ["@timestamp"]}}}
FLAT = {"index.refresh_interval": "30s", "index.sort.field": ["@timestamp"]}
INDEX_TEMPLATE = {
    "index_patterns": ["logs-*"],
    "template": {"mappings": MAPPINGS, "settings": SETTINGS},
    "priority": 200,
}
LEGACY = {"index_patterns": ["logs-*"], "order": 1, "mappings": MAPPINGS, "settings": SETTINGS}
FORMS: dict[str, object] = {
    "a body of _index_template": INDEX_TEMPLATE,
    "an answer of _index_template": {
        "index_templates": [{"name": "logs", "index_template": INDEX_TEMPLATE}]
    },
    "a body of _template": LEGACY,
    "an answer of _template": {"logs": LEGACY},
    "with a type": {**LEGACY, "mappings": {"_doc": MAPPINGS}},
    "settings without their prefix": {**LEGACY, "settings": SETTINGS["index"]},
    "settings by whole names": {**LEGACY, "settings": FLAT},
    "of old": {"template": "logs-*", "mappings": {"events": MAPPINGS}, "settings": SETTINGS},
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_the_same(form: str) -> None:
    given = user_template("t.json", json.dumps(FORMS[form]))
    assert (given.mappings, given.settings) == (MAPPINGS, FLAT)
    assert (given.patterns, given.left_out) == (("logs-*",), ())
    assert given.is_for("logs-2026.11.25")
    assert not given.is_for("metrics")


def test_what_was_simulated_is_for_every_index() -> None:
    body = {"template": {"mappings": MAPPINGS, "settings": SETTINGS}, "overlapping": []}
    assert user_template("t.json", json.dumps(body)).is_for("anything")


def test_what_no_lab_has_is_left_out_and_named() -> None:
    beside = {
        "lifecycle": {"name": "logs"},
        "default_pipeline": "p",
        "routing": {"allocation": {"include": {"_tier_preference": "data_hot"}}},
        "codec": "best_compression",
    }
    inner = {"settings": {"index": beside}, "aliases": {"logs": {}}}
    body = {"index_patterns": ["logs"], "template": inner, "data_stream": {}}
    given = user_template("t.json", json.dumps(body))
    assert given.settings == {"index.codec": "best_compression"}
    assert given.left_out == (
        "data_stream", "aliases", "index.lifecycle.name", "index.default_pipeline",
        "index.routing.allocation.include._tier_preference",
    )  # fmt: skip


@pytest.mark.parametrize("indent", [None, 2, "\t"])
@pytest.mark.parametrize("form", FORMS)
def test_a_setting_is_changed_where_it_stands(form: str, indent: int | None) -> None:
    text = json.dumps(FORMS[form], indent=indent)
    written = user_template("t.json", text)
    changed = written.with_settings({"index.refresh_interval": "5s"})
    assert changed.text == text.replace("30s", "5s")
    assert changed.settings == FLAT | {"index.refresh_interval": "5s"}
    more = written.with_settings({"index.codec": "best_compression", "index.number_of_shards": 2})
    assert more.settings == FLAT | {"index.codec": "best_compression", "index.number_of_shards": 2}
    assert more.with_settings(dict.fromkeys(["index.codec", "index.number_of_shards"])).text == text
    without = written.with_settings({"index.sort.field": None, "index.codec": None})
    assert without.settings == {"index.refresh_interval": "30s"}
    assert without.mappings == MAPPINGS


@pytest.mark.parametrize("inner", [{}, {"settings": {}}, {"settings": {"index": {}}}])
def test_a_template_without_settings_gets_some(inner: dict[str, object]) -> None:
    template = {"index_patterns": ["a"], "template": {**inner, "mappings": MAPPINGS}}
    written = user_template("t.json", json.dumps(template))
    changed = written.with_settings({"index.refresh_interval": "5s"})
    assert changed.settings == {"index.refresh_interval": "5s"}
    assert changed.mappings == MAPPINGS


WRONG = {
    "[]": "it is no JSON object",
    "{}": "it has neither mappings nor settings",
    '{"index_templates": [{}, {}]}': "it has 2 templates, not one",
    '{"index_patterns": ["a"], "composed_of": ["b"], "template": {"settings": {"codec": "x"}}}': (
        "composed_of component templates"
    ),
    "{": "Expecting property name",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_template_is_told(text: str) -> None:
    with pytest.raises(ValueError, match=WRONG[text]):
        user_template("t.json", text)
