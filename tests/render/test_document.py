"""Documents as the rendered template writes them, read back and filled in by an own reader."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest

from tests.profile.examples import small
from tests.render.tokens import Object, parse
from tuner.render.artefacts import rsyslog_conf
from tuner.render.engine_files import index_template


def document(event: Mapping[str, str], changes: Mapping[str, object]) -> object:
    """What rsyslog writes for an event: the template's pieces, in its own rules."""
    objects = parse(rsyslog_conf(small(changes)))
    template = next(one for one in objects if one.kind == "template")
    return json.loads("".join(written(piece, event) for piece in template.body))


def written(piece: Object, event: Mapping[str, str]) -> str:
    given = {name: str(value) for name, value in piece.parameters.items()}
    if piece.kind == "constant":
        return re.sub(r"\\(.)", r"\1", given["value"])
    value = event.get(given["name"], "")
    if "regex.expression" in given:
        assert given["regex.nomatchMode"] == "BLANK"
        assert given["regex.type"] == "ERE"
        found = re.search(given["regex.expression"], value)
        value = (found and found[int(given["regex.submatch"])]) or ""
    if given.get("format") == "jsonf":
        assert given["dataType"] == "number"
        assert given["onEmpty"] == "null"
        return f'"{given["outname"]}":{value or "null"}'
    return json.dumps(value)[1:-1] if given.get("format") == "json" else value


def csv(cells: str, kind: str = "string", **options: object) -> object:
    changes: dict[str, object] = {
        "parse": {"format": "csv", "columns": ["a", "b", "c"], **options},
        "outputs[logs].document": [
            {"column": name, "name": f"row.{name}", "type": kind} for name in "abc"
        ],
    }
    row = document({"msg": cells}, changes)
    assert isinstance(row, dict)
    return list(row["row"].values())


@pytest.mark.parametrize("blank", ["", " "], ids=["as imfile", "as RFC 3164"])
def test_cells_become_fields_by_their_place(blank: str) -> None:
    assert csv(f"{blank}one,two words,") == ["one", "two words", ""]
    assert csv(f"{blank}1,-2.50,6e3", "float") == [1, -2.5, 6000]
    assert csv(f"{blank}1;2;3;4", "integer", delimiter=";") == [1, 2, 3]


def test_a_row_that_is_too_short_leaves_fields_empty() -> None:
    assert csv("one") == ["one", "", ""]
    assert csv("1", "integer") == [1, None, None]


def test_quoted_cells_hold_the_delimiter() -> None:
    assert csv('"a,b","say ""hi""",c', quoted=True) == ["a,b", 'say ""hi""', "c"]
    assert csv('"1",2,"x"', "integer", quoted=True) == [1, 2, None]
    assert csv('"a,b",c,d') == ['"a', 'b"', "c"], "without quoted a quote is a character"


@pytest.mark.parametrize(
    "text", ["abc", "0x10", "007", "NaN", "+1", "1.", ".5", "1e", "1e999", "9" * 41, "1 2", "-"]
)
@pytest.mark.parametrize("kind", ["integer", "float", "boolean"])
def test_what_is_no_value_of_the_type_is_null(text: str, kind: str) -> None:
    assert csv(f"{text},{text},{text}", kind) == [None, None, None]


def test_integers_fit_a_long_and_booleans_are_words() -> None:
    assert csv(f"{'9' * 18},{'9' * 19},1.0", "integer") == [10**18 - 1, None, None]
    assert csv("true,false,1", "boolean") == [True, False, None]


def pairs(text: str, *keys: str, **options: object) -> object:
    changes: dict[str, object] = {
        "parse": {"format": "kv", **options},
        "outputs[logs].document": [{"key": key, "name": f"f{i}"} for i, key in enumerate(keys)],
    }
    found = document({"msg": text}, changes)
    assert isinstance(found, dict)
    return list(found.values())


def test_pairs_stand_anywhere_in_the_text() -> None:
    assert pairs(" login user=bob ip=10.0.0.1 ok", "ip", "user", "none") == ["10.0.0.1", "bob", ""]
    assert pairs(' name="Bob B" x="" y=', "name", "x", "y") == ["Bob B", "", ""]
    assert pairs("a:1, b:2", "a", "b", separator=",", assignment=":") == ["1", "2"]


def test_a_value_cannot_pose_as_another_key() -> None:
    assert pairs(' user=bob agent="x user=root"', "user") == ["bob"]
    assert pairs(' agent="x user=root" user=bob', "user") == ["bob"]
    assert pairs(" superuser=root user.name=x", "user") == [""]
    assert pairs(" superuser=root userXname=x", "user.name") == [""]


def test_json_is_found_by_its_path_after_the_cookie() -> None:
    changes: dict[str, object] = {
        "parse": {"format": "json", "cookie": ""},
        "outputs[logs].document": [
            {"json": "http.status", "name": "status", "type": "integer"},
            {"json": "http.url", "name": "url"},
        ],
    }
    event = {"$!http!status": "404", "$!http!url": '/"x"'}
    assert document(event, changes) == {"status": 404, "url": '/"x"'}
    objects = parse(rsyslog_conf(small(changes)))
    ruleset = next(one for one in objects if one.kind == "ruleset")
    kinds = [str(action.parameters["type"]) for action in ruleset.body]
    assert kinds == ["mmutf8fix", "mmjsonparse", "omelasticsearch"], "repaired, then parsed"
    assert ruleset.body[1].parameters["cookie"] == ""
    assert "mmjsonparse" in [one.parameters.get("load") for one in objects]


def test_what_a_rulebase_names_is_found_as_json_is() -> None:
    changes: dict[str, object] = {
        "parse": {"format": "normalize", "rulebase": "/etc/rsyslog.d/ssh.rb"},
        "outputs[logs].document": [{"json": "port", "name": "port", "type": "integer"}],
    }
    assert document({"$!port": "22"}, changes) == {"port": 22}
    objects = parse(rsyslog_conf(small(changes)))
    ruleset = next(one for one in objects if one.kind == "ruleset")
    found = ruleset.body[1].parameters
    assert (found["type"], found["rulebase"]) == ("mmnormalize", "/etc/rsyslog.d/ssh.rb")
    assert found["queue.type"] == "Direct"
    assert "mmnormalize" in [one.parameters.get("load") for one in objects]


@pytest.mark.parametrize(
    ("constant", "kind"),
    [("x", "string"), ('"}\\ \u00e9\n%msg%', "string"), (7, "integer"), (0.5, "float"),
     (True, "boolean"), (1, "integer")],
)  # fmt: skip
def test_constants_come_as_they_are(constant: object, kind: str) -> None:
    field = {"constant": constant, "name": "env.tier", "type": kind}
    assert document({}, {"outputs[logs].document": [field]}) == {"env": {"tier": constant}}


def test_a_property_that_senders_control_is_checked_too() -> None:
    field = {"property": "procid", "name": "pid", "type": "integer"}
    changes = {"outputs[logs].document": [field]}
    assert document({"procid": "77"}, changes) == {"pid": 77}
    assert document({"procid": "-"}, changes) == {"pid": None}


def test_parsing_reaches_the_hash_of_the_shipper_and_not_that_of_the_engine() -> None:
    document = [{"column": "a", "name": "a"}]
    changes: dict[str, object] = {
        "parse": {"format": "csv", "columns": ["a", "b"]},
        "outputs[logs].document": document,
    }
    first = small(changes)
    second = small({**changes, "parse": {"format": "csv", "columns": ["a", "c"]}})
    assert rsyslog_conf(first).splitlines()[0] != rsyslog_conf(second).splitlines()[0]
    assert index_template(first, first.measured) == index_template(second, second.measured)
