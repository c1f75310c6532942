"""Why the editor splices: what a round trip through ruamel.yaml would change beside the edit."""

from __future__ import annotations

import io

import pytest
from ruamel.yaml import YAML

from tests.profile.test_edit import differing_lines
from tuner.profile.edit import set_at
from tuner.profile.source import read

FIRST = "size: 1   # from last year's peak\n"


def round_trip(text: str, size: int) -> str:
    """`text` with another size, at ruamel.yaml's best settings for how profiles are written."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 100_000
    yaml.indent(mapping=2, sequence=4, offset=2)
    data = yaml.load(text)
    data["size"] = size
    out = io.StringIO(newline="")
    yaml.dump(data, out)
    return out.getvalue()


@pytest.mark.parametrize(
    "rest",
    [
        "queue: {type: LinkedList,\n        size: 20000}\n",
        "queue: {\n  size: 1,  # why\n}\n",
        "queue: { size: 1 }\n",
        "queue:\n  filename: null\n",
        "servers:\n- a\noutputs:\n  - b\n",
        "node:\n    heap: 1g\n",
        'name: "Stra\\u00dfe"\n',
        "name : prod\n",
    ],
)
def test_an_edit_changes_its_line_where_a_round_trip_changes_others(rest: str) -> None:
    text = FIRST + rest
    edited = set_at(read(text, "x"), ("size",), 2).text
    assert differing_lines(text, edited) == 1
    assert edited.endswith(rest)
    assert not round_trip(text, 2).endswith(rest)


def test_windows_line_ends_stay_where_a_round_trip_loses_them() -> None:
    text = FIRST.replace("\n", "\r\n") + "name: prod\r\n"
    assert set_at(read(text, "x"), ("size",), 2).text == text.replace("1", "2")
    assert round_trip(text, 2).count("\r") == 1
