"""`diagnose --refused`, as a user meets it."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from tests.cli.here import here
from tests.diagnose.test_refusal import ACTION, FORMS

BAD = '{"message":" he said "no"","host":"web1"}'
CONF = """\
module(load="imtcp")
module(load="omelasticsearch")
template(name="doc" type="list") {
  constant(value="{\\"message\\":\\"") property(name="msg")
  constant(value="\\",\\"host\\":\\"") property(name="hostname") constant(value="\\"}")
}
template(name="other" type="list" option.jsonf="on") {
  property(outname="code" name="$!code" format="jsonf")
}
input(type="imtcp" port="10514")
action(type="omelasticsearch" name="a" server="127.0.0.1" template="doc" bulkmode="on")
action(type="omelasticsearch" name="b" server="127.0.0.1" template="other" bulkmode="on")
"""


@pytest.fixture
def errors(tmp_path: Path) -> Path:
    """An error file with 40 documents for one reason, 3 for another, and a cut line."""
    error = {
        "type": "document_parsing_exception", "reason": "[1:22] failed to parse",
        "caused_by": {"type": "x_content_parse_exception", "reason": "Unexpected character ('n')"},
    }  # fmt: skip
    answer = {"index": {"_index": "logs", "status": 400, "error": error}}
    response = [{"request": f"{ACTION}{BAD}\n", "reply": json.dumps(answer)}]
    lines = [json.dumps(FORMS["plain"])] * 40 + [json.dumps({"url": "", "response": response})] * 3
    path = tmp_path / "errors.json"
    path.write_text("\n".join([*lines, '{"request": {"url']))
    (tmp_path / "rsyslog.conf").write_text(CONF)
    return path


def test_reasons_come_with_their_number_the_way_out_and_the_place(errors: Path) -> None:
    done = here("diagnose", "--refused", errors, "--conf", errors.parent / "rsyslog.conf")
    assert done.code == 2
    text = " ".join(done.out.split())
    assert "43 documents refused of 83 in the same bulks, for 2 reasons." in text
    assert "1. 40 documents: text in a field of numbers: code" in text
    assert "rsyslog.conf:8:3 writes it, from $!code" in text
    assert '{"properties": {"code": {"type": "keyword", "ignore_above": 1024}}}' in text
    assert "2. 3 documents: the document is no JSON" in text
    assert re.search(r"rsyslog.conf:4:\d+ writes msg into message as it is", text)
    assert "1 line cut off" in text
    assert "Karl" not in text
    assert "he said" not in text


def test_documents_are_shown_only_when_asked_for(errors: Path) -> None:
    shown = here("diagnose", "--refused", errors, "--show-documents").out
    assert shown.count("he said") == 3
    assert shown.count("Karl-8") == 3


def test_as_json_from_a_gzipped_file(errors: Path, tmp_path: Path) -> None:
    packed = tmp_path / "errors.json.1.gz"
    packed.write_bytes(gzip.compress(errors.read_bytes()))
    data = json.loads(here("diagnose", "--refused", packed, "--output", "json").out)
    assert (data["kind"], data["refused"], data["cut"]) == ("refused", 43, 1)
    assert [group["kind"] for group in data["groups"]] == ["number", "bad_json"]
    assert {group["effect"] for group in data["groups"]} == {"lost"}
    assert "shown" not in data["groups"][0]


def test_cases_are_written_for_what_a_template_mends(errors: Path, tmp_path: Path) -> None:
    cases = tmp_path / "cases.yaml"
    words = ("--conf", errors.parent / "rsyslog.conf", "--cases", cases)
    done = here("diagnose", "--refused", errors, *words)
    assert done.code == 2
    assert "1 case that fails until it is mended; 1 reason not mended in a template" in done.err
    text = cases.read_text()
    assert f'conf: "{errors.parent}/rsyslog.conf"' in text
    assert 'message: "he said \\"no\\""' in text
    assert here("diagnose", "--refused", errors, *words).code == 5, "nothing is overwritten"


def test_events_that_are_stored_or_only_late_change_no_exit_code(tmp_path: Path) -> None:
    def line(status: int, kind: str) -> str:
        omes = {"writeoperation": "create", "_index": "logs", "status": status}
        return json.dumps({"omes": {**omes, "error": {"type": kind, "reason": "so"}}})

    path = tmp_path / "retry.json"
    path.write_text(line(409, "version_conflict_engine_exception"))
    assert here("diagnose", "--refused", path).code == 0
    path.write_text(line(429, "es_rejected_execution_exception"))
    assert here("diagnose", "--refused", path, "--fail-on", "lost").code == 0
    done = here("diagnose", "--refused", path)
    assert done.code == 2
    assert "way out: send fewer bulks at a time" in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--refused",), 64, "name the errorfile of the action"),
        (("--refused", "x", "--host", "a"), 64, "--host: not with --refused"),
        (("--refused", "x", "--page", "p.html"), 64, "--page: not with --refused"),
        (("--refused", "nowhere.json"), 78, "nowhere.json"),
        (("--refused", "x", "--cases", "c.yaml"), 64, "--cases needs --conf or --profile"),
        (("x", "--show-documents"), 64, "need --refused"),
    ],
)
def test_wrong_input_gets_one_message(words: tuple[str, ...], code: int, said: str) -> None:
    done = here("diagnose", *words)
    assert done.code == code
    assert said in done.err


def test_a_file_of_something_else_is_named_with_what_would_do(tmp_path: Path) -> None:
    path = tmp_path / "syslog"
    path.write_text("Nov 30 01:00:00 web1 app: hello\n")
    done = here("diagnose", "--refused", path)
    assert done.code == 1
    assert f"first unread line {path}:1; name what omelasticsearch" in done.err
    path.write_text("")
    empty = here("diagnose", "--refused", path)
    assert empty.code == 0
    assert "No refused document." in empty.out
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(b'{"request": 1}\n' * 9)[:20])
    assert "damaged" in here("diagnose", "--refused", cut).err
