"""What came of messages: documents in bulks, and lines of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.cases.run import Arrival, documents, lines

BULKS = (
    b'{"create":{"_index":"c0/1/logs","_id":"7","pipeline":"pipe"}}\n{"message":"a"}\n\n'
    b'{"index":{"_index":"c12/0/a/b"}}\n{"message":"b"}\n'
)


def test_documents_are_of_the_case_and_output_that_their_index_says() -> None:
    assert list(documents(BULKS)) == [
        ("0", "1", Arrival("logs", "7", '{"message":"a"}', "pipe")),
        ("12", "0", Arrival("a/b", None, '{"message":"b"}')),
    ]


def test_lines_are_of_the_case_and_output_that_their_folder_says(tmp_path: Path) -> None:
    file, sent = tmp_path / "c3/1/files/var/log/all", tmp_path / "c3/2/sent/omprog:|bin|cat"
    for path, text in ((file, "a\n\nb\n"), (sent, "c\n\n")):
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "c3/1/link").symlink_to("/etc/passwd")
    came = [(case, output, one.place, one.text) for case, output, one in lines(tmp_path)]
    assert came == [
        *(("3", "1", "/var/log/all", text) for text in ("a", "", "b")),
        ("3", "2", "omprog:/bin/cat", "c"),
    ]


def test_a_file_that_is_read_is_called_in_documents_as_in_the_configuration() -> None:
    here = "/lab/read"
    escaped = here.replace("/", "\\/")
    line = Arrival("", None, f'{here}/var/log/app {{"f":"{escaped}\\/var\\/log\\/app"}}')
    assert line.outside(here).text == '/var/log/app {"f":"\\/var\\/log\\/app"}'


def test_values_of_documents_go_by_dotted_names() -> None:
    fields = Arrival("logs", None, '{"a":{"b":1,"c":{}},"d":[{"e":2}]}').fields
    assert fields == {"a.b": 1, "a.c": {}, "d": [{"e": 2}]}


@pytest.mark.parametrize("text", ["no JSON", "[1]", '{"a":1,"a":2}', ""])
def test_what_no_engine_takes_has_no_values(text: str) -> None:
    assert Arrival("logs", None, text).fields is None
