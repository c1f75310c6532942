"""What the fields of a base's documents must serve, and the mapping that follows from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.profile.test_base import CONF
from tuner.engines.user_template import user_template
from tuner.errors import BadProfile
from tuner.lint.candidate import candidate
from tuner.lint.load import LoadedProfile, load_profile
from tuner.modules.field import FieldType, Use
from tuner.profile.documents import UsedField, used_fields, uses_text, with_own
from tuner.profile.edit import moved
from tuner.profile.source import read
from tuner.render.artefacts import render
from tuner.space.knobs import knobs

TEMPLATE = """{
  "index_patterns": ["*"],
  "template": {
    "settings": {"index.number_of_shards": 2},
    "mappings": {
      "dynamic_templates": [],
      "properties": {"message": {"type": "text"}, "geo": {"type": "geo_point"}}
    }
  }
}
"""
USES = """\
# Asked of the fields of logs.
message: {uses: [full_text, phrase]}
host.name: {uses: [term, aggregate]}
severity: {type: integer, uses: [range]}
raw: {}
"""
MAPPING = "outputs[es].index.mapping"


def loaded(folder: Path, more: str = "", uses: str = USES) -> LoadedProfile:
    for name, text in {"rsyslog.conf": CONF, "t.json": TEMPLATE, "u.yaml": uses}.items():
        (folder / name).write_text(text, encoding="utf-8")
    base = "base: {rsyslog: rsyslog.conf, template: t.json, uses: u.yaml}\n"
    (folder / "prod.yaml").write_text(f"name: prod\n{base}{more}", encoding="utf-8")
    return load_profile(folder / "prod.yaml")


def turned(made: LoadedProfile) -> set[str]:
    return {str(one.path) for one in knobs(made.profile)}


def test_with_uses_an_explicit_mapping_can_be_searched_and_without_not(tmp_path: Path) -> None:
    made = loaded(tmp_path)
    assert MAPPING in turned(made)
    assert made.profile.base is not None
    (tmp_path / "prod.yaml").write_text(made.text.replace(", uses: u.yaml", ""), encoding="utf-8")
    assert MAPPING not in turned(load_profile(tmp_path / "prod.yaml"))


def test_an_explicit_mapping_serves_the_uses_and_keeps_what_the_template_maps(
    tmp_path: Path,
) -> None:
    point = candidate(loaded(tmp_path), [(MAPPING, "explicit")])
    assert "  template.mapping: explicit\n" in point.text
    assert MAPPING not in turned(point)
    text = next(one.text for one in render(point.profile) if one.path == "t.json")
    body = json.loads(text)
    mappings = body["template"]["mappings"]
    assert mappings["dynamic"] is False
    assert mappings["dynamic_templates"] == []
    properties = mappings["properties"]
    # As the template has it, although less would serve.
    assert properties["message"] == {"type": "text"}
    assert properties["geo"] == {"type": "geo_point"}
    assert properties["host"]["properties"]["name"]["type"] == "keyword"
    assert properties["severity"]["type"] == "long"
    assert properties["raw"].get("index") is False
    assert body["template"]["settings"] == {"index.number_of_shards": 2}
    assert text.startswith(TEMPLATE[: TEMPLATE.index('"mappings"')])
    assert next(one.text for one in render(point.profile) if one.path == "rsyslog.conf") == CONF


def test_a_template_without_a_mapping_gets_one() -> None:
    plain = user_template("t.json", '{"index_patterns": ["*"], "settings": {"index.codec": "x"}}')
    made = plain.with_mappings({"dynamic": False})
    assert made.mappings == {"dynamic": False}
    assert made.settings == plain.settings


def test_what_is_recorded_has_the_uses_and_they_move_with_the_profile(tmp_path: Path) -> None:
    made = loaded(tmp_path)
    assert made.profile.base is not None
    assert made.profile.base.kept.sources[str(tmp_path / "u.yaml")] == USES
    leaf = read(made.text, str(made.path))
    assert "../u.yaml" in moved(leaf, tmp_path / "run")


@pytest.mark.parametrize(
    ("more", "uses", "why"),
    [
        ("changes: {template.mapping: explicit}\n", None, "needs base.uses"),
        ("changes: {template.mapping: lean}\n", USES, "is explicit or dynamic, not lean"),
        ("", "message: {uses: [everything]}\n", "everything"),
        ("", "message: 1\n", "message"),
        ("", "a b: {}\n", "a b"),
    ],
)
def test_what_is_wrong_with_uses_is_told(
    more: str, uses: str | None, why: str, tmp_path: Path
) -> None:
    if uses is None:
        loaded(tmp_path)
        base = "base: {rsyslog: rsyslog.conf, template: t.json}\n"
        (tmp_path / "prod.yaml").write_text(f"name: prod\n{base}{more}", encoding="utf-8")
    with pytest.raises(BadProfile) as refused:
        load_profile(tmp_path / "prod.yaml") if uses is None else loaded(tmp_path, more, uses)
    assert any(why in str(one) for one in refused.value.problems), refused.value.problems


def test_a_file_of_uses_that_is_not_there_is_told(tmp_path: Path) -> None:
    loaded(tmp_path)
    (tmp_path / "u.yaml").unlink()
    with pytest.raises(BadProfile, match=r"u\.yaml cannot be read: No such file"):
        load_profile(tmp_path / "prod.yaml")


def test_what_is_written_is_read_again() -> None:
    given = {"a.b": UsedField(uses=(Use.TERM,)), "at": UsedField(type=FieldType.DATE)}
    text = uses_text(given, "Asked.")
    assert text.startswith("# Asked.\n")
    found = {one.name: (one.type, one.uses) for one in used_fields(text, "u.yaml")}
    assert found == {name: (one.type, one.uses) for name, one in given.items()}


def test_objects_of_both_are_joined() -> None:
    lean = {"host": {"properties": {"name": {"type": "keyword"}}}}
    own = {"host": {"dynamic": True, "properties": {"ip": {"type": "ip"}}}}
    assert with_own(lean, own) == {
        "host": {
            "dynamic": True, "properties": {"name": {"type": "keyword"}, "ip": {"type": "ip"}},
        }
    }  # fmt: skip
