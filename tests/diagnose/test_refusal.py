"""What error files, retry rulesets and engines' logs tell of refused documents, in each form."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tuner.diagnose.finding import EventEffect
from tuner.diagnose.refusal import Keeper, NoRefusal, Refusal, Stored, Told, read_refusals
from tuner.diagnose.refusal_kind import kinds, masked, named, shape, value_of
from tuner.diagnose.refused import grouped
from tuner.modules.stats_rounds import numbered

ACTION = '{"index":{"_index": "logs"}}\n'
DOCUMENTS = (
    '{"@timestamp":"2026-11-30T01:00:00Z","code":"7"}',
    '{"@timestamp":"2026-11-30T02:00:00Z","code":"Karl-8"}',
)
ERROR = {
    "type": "document_parsing_exception",
    "reason": "[1:9] failed to parse field [code] of type [long] in document with id 'x'. Preview "
    "of field's value: 'Karl-8'",
    "caused_by": {"type": "illegal_argument_exception", "reason": 'For input string: "Karl-8"'},
}
ANSWERS = (
    {"index": {"_index": "logs-000001", "status": 201}},
    {"index": {"_index": "logs-000001", "status": 400, "error": ERROR}},
)
POSTED = "".join(f"{ACTION}{document}\n" for document in DOCUMENTS)
BODY = {"url": "http://127.0.0.1:9200/_bulk?", "postdata": POSTED}
REPLY = {"took": 1, "errors": True, "items": list(ANSWERS)}
REFUSED_ONE = {"request": f"{ACTION}{DOCUMENTS[1]}\n", "reply": json.dumps(ANSWERS[1])}
OMES = {"writeoperation": "index", "_index": "logs-000001", "status": 400, "error": ERROR}
FORMS: Mapping[str, object] = {
    "plain": {"request": BODY, "reply": REPLY},
    "erroronly": {
        "url": BODY["url"], "request": [REFUSED_ONE["request"]], "reply": [REFUSED_ONE["reply"]],
    },
    "interleaved": {
        "url": BODY["url"],
        "response": [
            {"request": f"{ACTION}{DOCUMENTS[0]}\n", "reply": json.dumps(ANSWERS[0])}, REFUSED_ONE,
        ],
    },
    "both": {"url": BODY["url"], "response": [REFUSED_ONE]},
    "omhttp": {"request": BODY, "response": {"status": 200, "message": json.dumps(REPLY)}},
    "retry": {"omes": OMES, **json.loads(DOCUMENTS[1])},
}  # fmt: skip


def told(text: str) -> list[Told]:
    return list(read_refusals(numbered(text)))


@pytest.mark.parametrize("form", FORMS)
def test_each_form_tells_which_document_was_refused_and_why(form: str) -> None:
    refusals = [item for item in told(json.dumps(FORMS[form])) if isinstance(item, Refusal)]
    assert len(refusals) == 1
    (refusal,) = refusals
    assert (refusal.status, refusal.index, refusal.operation) == (400, "logs-000001", "index")
    assert json.loads(refusal.document or "") == json.loads(DOCUMENTS[1])
    assert refusal.errors[-1] == ("illegal_argument_exception", 'For input string: "Karl-8"')
    assert not refusal.is_whole
    others = {"retry": Keeper.RETRY_RULESET, "omhttp": Keeper.OMHTTP}
    assert refusal.keeper is others.get(form, Keeper.ERROR_FILE)


@pytest.mark.parametrize("form", ["plain", "interleaved", "omhttp"])
def test_what_was_stored_beside_is_counted(form: str) -> None:
    refused = grouped(told(json.dumps(FORMS[form])))
    assert (refused.count, refused.stored) == (1, 1)


def test_blank_lines_that_jsonf_leaves_belong_to_no_document() -> None:
    posted = "".join(f"{ACTION}{document}\n\n" for document in DOCUMENTS)
    line = json.dumps({"request": {**BODY, "postdata": posted}, "reply": REPLY})
    refusals = [item for item in told(line) if isinstance(item, Refusal)]
    assert [item.document for item in refusals] == [DOCUMENTS[1]]


def test_a_document_of_another_bulk_is_not_taken_for_it() -> None:
    """Where documents and answers are not as many, none can be said to belong to the other."""
    line = json.dumps(
        {"request": {**BODY, "postdata": f"{ACTION}{DOCUMENTS[0]}\n"}, "reply": REPLY}
    )
    refusals = [item for item in told(line) if isinstance(item, Refusal)]
    assert [item.document for item in refusals] == [None]


def test_a_whole_request_counts_by_its_documents() -> None:
    error = {"type": "illegal_argument_exception", "reason": "Malformed action/metadata line [3]"}
    line = json.dumps({"request": BODY, "reply": {"error": error, "status": 400}})
    refusals = [item for item in told(line) if isinstance(item, Refusal)]
    assert [(item.is_whole, item.index) for item in refusals] == [(True, "logs")] * 2
    assert {named(item).kind.name for item in refusals} == {"bad_action_line"}


def test_a_page_of_a_proxy_is_told_by_its_status() -> None:
    page = "<html><title>413 Request Entity Too Large</title></html>"
    line = json.dumps({"request": BODY, "response": {"status": 413, "message": page}})
    assert {named(item).kind.name for item in told(line) if isinstance(item, Refusal)} == {
        "too_large"
    }


def test_what_debug_format_writes_of_local_variables_is_read() -> None:
    text = f"$!:{DOCUMENTS[1]}\n$.:{json.dumps({'omes': OMES})}\n"
    refusals = [item for item in told(text) if isinstance(item, Refusal)]
    assert [named(item).field for item in refusals] == ["code"]


PLAIN_LOG = """\
[2026-11-30T01:00:00,123][INFO ][o.e.n.Node               ] [node-0] started
[2026-11-30T01:00:01,123][DEBUG][o.e.a.b.TransportShardBulkAction] [node-0] [logs][0] failed to \
execute bulk item (index) index {[logs][x], source[{"code":"Karl-8"}]}
org.elasticsearch.index.mapper.DocumentParsingException: [1:9] failed to parse field [code] of \
type [long] in document with id 'x'. Preview of field's value: 'Karl-8'
\tat org.elasticsearch.index.mapper.FieldMapper.rethrowAsDocumentParsingException(FieldMapper.java)
Caused by: java.lang.IllegalArgumentException: For input string: "Karl-8"
\t... 23 more
[2026-11-30T01:00:02,123][WARN ][o.e.c.r.a.DiskThresholdMonitor] [node-0] flood stage disk \
watermark [95%] exceeded on [n][node-0][/data] free: 1gb[4%], all indices on this node will be \
marked read-only
"""


def test_the_log_of_an_engine_tells_as_much() -> None:
    refused = grouped(told(PLAIN_LOG))
    names = {group.named.kind.name: group.named.field for group in refused.groups}
    assert names == {"number": "code", "watermark": ""}
    assert refused.groups[0].documents == ['{"code":"Karl-8"}']
    assert refused.unread == 0


def test_the_log_in_json_tells_as_much() -> None:
    lines = PLAIN_LOG.splitlines()
    entry = {
        "@timestamp": "2026-11-30T01:00:01Z", "log.level": "DEBUG",
        "message": lines[1].partition("] [node-0] ")[2], "error.stack_trace": "\n".join(lines[2:6]),
    }  # fmt: skip
    (group,) = grouped(told(json.dumps(entry))).groups
    assert (group.named.kind.name, group.named.field) == ("number", "code")


def test_lines_that_tell_nothing_are_counted_and_cut_ones_too() -> None:
    line = json.dumps(FORMS["plain"])
    refused = grouped(told(f"hello\n{line[:200]}\n{line}\n[]\n{{}}\n"))
    assert (refused.count, refused.cut, refused.unread) == (1, 1, 3)
    assert refused.first_unread[0] == ("", 1)
    assert told("") == []
    assert all(isinstance(item, NoRefusal) for item in told('{"a": {"b": 1}}\n{"status": 200}\n'))


def test_success_in_a_retry_file_is_no_refusal() -> None:
    omes = {"writeoperation": "index", "_index": "logs", "status": 201}
    assert told(json.dumps({"omes": omes})) == [Stored(1)]


def test_documents_of_one_reason_are_one_group_with_their_time_and_the_shape_of_values() -> None:
    lines = [json.dumps(FORMS["plain"])] * 3
    (group,) = grouped(told("\n".join(lines))).groups
    assert (group.count, group.named.kind.name, group.named.field) == (3, "number", "code")
    assert (group.first, group.last) == ("2026-11-30T02:00:00Z",) * 2
    assert (group.indices, group.shapes) == (["logs-000001"], ["Aaaa-9"])
    assert "Karl" not in group.words


def test_many_reasons_take_bounded_memory() -> None:
    def line(number: int) -> str:
        error = {"type": "strange_exception", "reason": f"nobody knows {'x' * (number % 700)}"}
        answer = {"index": {"_index": f"i{number}", "status": 400, "error": error}}
        return json.dumps({"url": "", "response": [{"request": "", "reply": json.dumps(answer)}]})

    refused = grouped(told("\n".join(map(line, range(1000)))))
    assert refused.count == 1000
    assert len(refused.groups) <= 500
    assert all(len(group.indices) <= 5 for group in refused.groups)


def test_each_kind_has_a_pattern_and_words_of_its_own() -> None:
    names = [kind.name for kind in kinds()]
    assert len(names) == len(set(names))
    assert all(kind.pattern.pattern and kind.way_out for kind in kinds())


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ("x-7.1", "a-9.9"),
        ("Ärger", "Aaaaa"),
        ("", ""),
        ("a\x1bb", "a?a"),
        ("q" * 50, "a" * 40 + "..."),
    ],
)
def test_a_value_keeps_its_shape_alone(value: str, seen: str) -> None:
    assert shape(value) == seen


def test_the_engines_words_are_shown_without_what_they_quote() -> None:
    assert masked("no [Karl] in \"Eva\" or 'Udo'") == "no [Aaaa] in \"Aaa\" or 'Aaa'"
    assert value_of('For input string: "a"b"') == 'a"b'
    assert value_of("nothing") is None


REPORTS = tomllib.loads(
    (Path(__file__).parent / "refused_reports.toml").read_text(encoding="utf-8")
)["report"]


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report["source"])
def test_public_reports_are_named_by_what_their_threads_found(report: Mapping[str, Any]) -> None:
    error: Mapping[str, Any] | None = None
    for kind, reason in reversed(report["errors"]):
        error = {"type": kind, "reason": reason, **({"caused_by": error} if error else {})}
    answer = {"index": {"_index": "logs", "status": report["status"], "error": error or "refused"}}
    line = json.dumps({"url": "", "response": [{"request": "", "reply": json.dumps(answer)}]})
    (group,) = grouped(told(line)).groups
    assert (group.named.kind.name, group.named.field) == (report["kind"], report["field"])


LEAKS = {
    "a source behind the words": 'failed at [Source: (byte[])"{"pw":"hunter2SECRET"}"',
    "quotes that do not pair": "cannot use field's value: 'a 'hunter2SECRET' b' here",
    "a word of the document": "flux hunter2SECRET is not aligned",
}


@pytest.mark.parametrize("leak", LEAKS)
def test_what_the_engine_quotes_of_a_document_is_not_shown(leak: str) -> None:
    shown = masked(LEAKS[leak], '{"pw":"hunter2SECRET"}')
    assert "SECRET" not in shown
    assert "hunter" not in shown


def test_an_event_with_a_status_and_an_error_of_its_own_is_no_answer() -> None:
    own = {"status": 500, "error": "db login failed", "omes": OMES}
    (refusal,) = (item for item in told(json.dumps(own)) if isinstance(item, Refusal))
    assert named(refusal).field == "code"
    plain = told(json.dumps({"status": 500, "error": "db login failed"}))
    assert not [item for item in plain if isinstance(item, Refusal)]


@pytest.mark.parametrize(
    ("url", "index"),
    [
        ("http://elastic:SECRET@127.0.0.1:9200/_bulk", ""),
        ("https://u:SECRET@logs.example.com/", ""),
        ("http://es:9200/logs-1/_bulk?timeout=1m", "logs-1"),
        ("http://es:9200/logs-2/_doc/7", "logs-2"),
        ("http://loki:3100/loki/api/v1/push", ""),
    ],
)
def test_an_index_is_taken_from_the_path_alone(url: str, index: str) -> None:
    answer = {"status": 0, "message": "NULL: curl request failed or no response"}
    line = json.dumps({"request": {"url": url, "postdata": "{}"}, "response": answer})
    (refusal,) = (item for item in told(line) if isinstance(item, Refusal))
    assert refusal.index == index
    (group,) = grouped([refusal]).groups
    assert group.named.kind.name == "no_answer"
    assert group.effect is EventEffect.LATE


@pytest.mark.parametrize(
    ("status", "kind", "reason", "name"),
    [
        # Each seen in an error file: OpenSearch 3.8, OpenSearch 3.8, Elasticsearch 8.19 without
        # security, omhttp of 8.2610 twice.
        (400, "validation_exception", "Validation Failed: 1: this action would add [2] total "
         "LOCAL_ONLY shards, but this cluster currently has [1]/[1] maximum LOCAL_ONLY shards "
         "open;", "too_many_shards"),
        (400, "illegal_argument_exception", "org.opensearch.tools.jackson.core."
         "JsonParseException: Unrecognized token 'one': was expecting (JSON String", "pipeline"),
        (500, "illegal_state_exception", "Security (authentication) is not enabled on this "
         "cluster, so there is no active user - the [set_security_user] processor cannot be used "
         "without security", "pipeline"),
        (413, "", "NULL: curl request failed or no response", "too_large"),
        (400, "media_type_header_exception", "Invalid media-type value on headers [Content-Type]",
         "request"),
    ],
)  # fmt: skip
def test_words_of_engines_that_refused_on_purpose(
    status: int, kind: str, reason: str, name: str
) -> None:
    error = {"type": kind, "reason": reason} if kind else reason
    answer = {"index": {"_index": "logs", "status": status, "error": error}}
    line = json.dumps({"request": [f"{DOCUMENTS[0]}\n"], "reply": [json.dumps(answer)]})
    (refusal,) = (item for item in told(line) if isinstance(item, Refusal))
    assert named(refusal).kind.name == name


def test_an_answer_within_a_line_of_a_log_is_read() -> None:
    answer = json.dumps({"omes": OMES})
    text = f"Nov 30 01:00:00 web1 omes: {answer} tail"
    assert [named(item).field for item in told(text) if isinstance(item, Refusal)] == ["code"]
