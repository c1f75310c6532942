"""Values that a template writes without quotes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.importer.test_import import imported, listed

INPUT = 'module(load="imtcp") input(type="imtcp" port="10514")\n'
ACTION = 'action(type="omelasticsearch" template="d")\n'


def document(value: str, folder: Path, before: str = "") -> tuple[object, list[str]]:
    """The field that a value becomes, and what is said of it and kept of the rest."""
    pieces = f'constant(value="{{\\"n\\":") {value} constant(value="}}")'
    template = f'template(name="d" type="list") {{ {pieces} }}\n'
    made = imported(f"{INPUT}{before}{template}{ACTION}", folder)
    said = [one.message for one in (*made.changed, *made.kept) if "quotes" in one.message]
    outputs = listed(made, "outputs")
    return (outputs[0]["document"] if outputs else None), said


NUMBER = "n stands without quotes: the profile writes a number, and null where it is none"


@pytest.mark.parametrize(
    ("value", "wanted", "said"),
    [
        ('property(name="pri")', {"property": "pri", "name": "n", "type": "integer"}, []),
        ('property(name="procid")', {"property": "procid", "name": "n", "type": "float"}, [NUMBER]),
        (
            'property(name="$!a!b")',
            {"json": "a.b", "name": "n", "type": "json"},
            [
                "n stands without quotes: the profile quotes a text there, which broke the "
                "document, and writes null for nothing"
            ],
        ),
        (
            'property(name="msg" position.from="2" position.to="4")',
            {"property": "msg", "position": {"from": 2, "to": 4}, "name": "n", "type": "float"},
            [NUMBER],
        ),
    ],
)
def test_a_value_without_quotes_has_a_type(
    value: str, wanted: dict[str, object], said: list[str], tmp_path: Path
) -> None:
    parse = 'action(type="mmjsonparse" cookie="")\n' if "$!" in value else ""
    assert document(value, tmp_path, parse) == ([wanted], said)


@pytest.mark.parametrize(
    ("texts", "kind"),
    [(["1", "20"], "integer"), (["1", "1.5"], "float"), (["true", "false"], "boolean")],
)
def test_a_variable_is_what_is_set(texts: list[str], kind: str, tmp_path: Path) -> None:
    sets = "".join(f'if $msg contains "{one}" then set $.v = "{one}";\n' for one in texts)
    wanted = [{"variable": "v", "name": "n", "type": kind}]
    assert document('property(name="$.v")', tmp_path, sets) == (wanted, [])


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ('property(name="msg" format="json")', "the text of msg stands without quotes"),
        ('property(name="$.v")', "$.v stands without quotes and is no number"),
    ],
)
def test_a_text_without_quotes_stays_rsyslogs(value: str, why: str, tmp_path: Path) -> None:
    fields, (said,) = document(value, tmp_path, 'set $.v = "up";\n')
    assert fields is None
    assert why in said


@pytest.mark.parametrize("kind", ["auto", "bool"])
def test_types_that_depend_on_the_value_stay_rsyslogs(kind: str, tmp_path: Path) -> None:
    template = (
        'template(name="d" type="list" option.jsonf="on") '
        f'{{ property(outname="n" name="procid" format="jsonf" dataType="{kind}") }}\n'
    )
    made = imported(f"{INPUT}{template}{ACTION}", tmp_path)
    assert made.data["outputs"] == []
    assert f"dataType {kind}" in made.kept[0].message
