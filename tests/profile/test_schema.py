"""The JSON Schema: every key of every shipped profile is in it, described, and no more asked for
than a layer has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.profile.examples import SMALL
from tests.shipped import EXAMPLES
from tests.shipped import PROFILES as SHIPPED
from tuner.errors import BadProfile
from tuner.lint.load import load_profile, parse_profile
from tuner.profile.schema import every_key, fact_of, json_schema

ROOT = Path(__file__).parents[2]
PROFILES = [*SHIPPED, *EXAMPLES]


def schema() -> dict[str, object]:
    return json_schema({(k.section.__name__, k.name): fact_of(k).does for k in every_key()})


def members(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def fits(data: object, wanted: object, whole: dict[str, object]) -> bool:
    """Whether plain data has only keys and texts that the schema knows; types loosely."""
    node = members(wanted)
    if "$ref" in node:
        name = str(node["$ref"]).rpartition("/")[2]
        return fits(data, members(whole["$defs"])[name], whole)
    for several in ("anyOf", "oneOf"):
        parts = node.get(several)
        if isinstance(parts, list):
            return any(fits(data, part, whole) for part in parts)
    if isinstance(data, dict):
        known = members(node.get("properties"))
        required = node.get("required", [])
        return (
            node.get("type") == "object"
            and isinstance(required, list)
            and set(required) <= data.keys()
            and all(key in known and fits(value, known[key], whole) for key, value in data.items())
        )
    if isinstance(data, list):
        return node.get("type") == "array" and all(fits(d, node.get("items"), whole) for d in data)
    choices = node.get("enum", [node["const"]] if "const" in node else [data])
    is_plain = node.get("type") not in {"object", "array"}
    return is_plain and isinstance(choices, list) and data in choices


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_every_profile_fits_the_schema(path: Path) -> None:
    assert fits(load_profile(path).data, schema(), schema())


def test_a_profile_with_an_unknown_key_does_not_fit() -> None:
    data = load_profile(ROOT / "profiles" / "default.yaml").data
    assert isinstance(data, dict)
    assert not fits(data | {"inputz": []}, schema(), schema())
    assert not fits(data | {"inputs": [{"type": "imptcp"}]}, schema(), schema())


def test_a_layer_fits_although_it_holds_a_part_only() -> None:
    layer = {"extends": "base.yaml", "outputs": [{"name": "logs", "queue": {"size": 1}}]}
    assert fits(layer, schema(), schema())


def test_every_key_is_described() -> None:
    whole = schema()
    sections = {"Profile": whole, **members(whole["$defs"])}
    for section in sections.values():
        for key, value in members(members(section).get("properties")).items():
            assert members(value).get("description"), key


def test_every_pattern_is_one_of_ecmascript() -> None:
    """With its flag u, which check-jsonschema and Node use, an escape of a letter or mark that
    means nothing is an error, and so are Python's groups with names."""
    known = r"\\[dDwWsSbBfnrtvcxu0-9^$\\.*+?()\[\]{}|/-]"
    for pattern in patterns(schema()):
        assert "\\" not in re.sub(known, "", pattern), pattern
        assert "(?P" not in pattern, pattern


def patterns(data: object) -> Iterator[str]:
    for key, value in members(data).items() if isinstance(data, dict) else ():
        if key == "pattern" and isinstance(value, str):
            yield value
        else:
            yield from patterns(value)
    for one in data if isinstance(data, list) else ():
        yield from patterns(one)


def test_a_file_of_unknown_keys_is_refused_in_short_messages() -> None:
    """110 kB of them took 4.7 s, for megabytes of suggestions."""
    with pytest.raises(BadProfile) as refused:
        parse_profile(SMALL + "".join(f"    workerThre_{i}: 1\n" for i in range(4000)), "p.yaml")
    messages = [problem.message for problem in refused.value.problems]
    assert "known keys" in messages[0]
    assert messages[-1] == "there is no key outputs[0].workerThre_3999: remove it"
    assert sum(map(len, messages)) < 500_000


def test_the_model_is_walked_once_however_many_keys_are_wrong() -> None:
    """A file of 3,000 unknown keys took 20 s to refuse, most of it for walking the model."""
    assert every_key() is every_key()
