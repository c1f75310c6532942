"""The members of the JSON that a template writes, however it writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.script.configuration import configuration
from tuner.script.objects import base_of
from tuner.script.template import TemplateProperty, members_of, template_of

Members = list[tuple[str, list[str], bool]]


def members(folder: Path, text: str) -> Members:
    path = folder / "rsyslog.conf"
    path.write_text(text)
    script = base_of(configuration(path)).template("t")
    assert script is not None
    template = template_of(script)
    assert template is not None
    return [
        (member.name, [_name(piece) for piece in member.pieces], member.is_text)
        for member in members_of(template)
    ]


def _name(piece: object) -> str:
    return f"%{piece.name}%" if isinstance(piece, TemplateProperty) else str(piece)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'template(name="t" type="string" string="{\\"a\\":\\"%msg:::json%\\",\\"b\\":%pri%}")',
            [("a", ["%msg%"], True), ("b", ["%pri%"], False)],
        ),
        (
            'template(name="t" type="string" '
            'string="{\\"at\\":\\"%$year%-%$month%T\\", \\"k\\": 1}")',
            [("at", ["%$year%", "-", "%$month%", "T"], True)],
        ),
        (
            'template(name="t" type="list") { constant(value="{\\"a\\":\\"") property(name="msg")\n'
            'constant(value="\\",\\"b\\":\\"x") property(name="hostname")\n'
            'constant(value="y\\"}") }',
            [("a", ["%msg%"], True), ("b", ["x", "%hostname%", "y"], True)],
        ),
        (
            'template(name="t" type="list" option.jsonf="on") {\n'
            'property(outname="a" name="msg" format="jsonf")\n'
            'property(outname="n" name="pri" format="jsonf" dataType="number")\n'
            'constant(outname="c" value="fixed" format="jsonf") }',
            [("a", ["%msg%"], True), ("n", ["%pri%"], False)],
        ),
        ('$template t,"{\\"a\\":\\"%msg%\\"}"', [("a", ["%msg%"], True)]),
        ('template(name="t" type="string" string="%$!all-json%")', []),
    ],
    ids=["string", "several pieces", "list", "jsonf", "old format", "whole"],
)
def test_members_come_with_what_their_values_are_made_of(
    tmp_path: Path, text: str, expected: Members
) -> None:
    found = [member for member in members(tmp_path, text) if member[0] != "c"]
    assert found == expected
