"""Refusals made on purpose: a template, a mapping or a setting that a message does not suit, which
kind it is, and what mends it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Request = tuple[str, str, Mapping[str, object] | None]
"""A request to the engine: the method, the path with {index} in it, and the body."""
# rsyslogd refuses a create without an id.
CREATE = 'writeoperation="create" bulkid="unique" dynBulkId="on"'
PLAIN = '{"message":"%msg:::json%","@timestamp":"%timereported:::date-rfc3339%"}'


def mapped(**fields: Mapping[str, object]) -> Mapping[str, object]:
    """The body of an index with these fields."""
    return {"mappings": {"properties": fields}}


@dataclass(frozen=True)
class MadeRefusal:
    """One: the kind that it must be named, the field, the document's template, the message, further
    parameters of the action, statements before it, and what the engine is told first.  Mended, the
    template, the action, the statements or the requests are others (None: as before); with
    `by_mapping` the mapping is the one that diagnose says.  Releases of rsyslog from `waits_since`
    on keep the event instead.  The archive of Elasticsearch 7 that runs here has no data streams.
    `or_kind` and `or_field` are what other releases of the engine call it.  Of a refusal that
    `is_whole` rsyslogd writes nothing with erroronly or interleaved.  An engine needs the
    `processor` of its pipeline."""

    kind: str
    field: str = ""
    template: str = PLAIN
    message: bytes = b"one"
    program: bytes = b"app"
    action: str = ""
    before: str = ""
    requests: Sequence[Request] = ()
    mended_template: str | None = None
    mended_action: str | None = None
    mended_before: str | None = None
    mended_requests: Sequence[Request] | None = None
    by_mapping: bool = False
    repeats: int = 1
    index: str = "{index}"
    mended_index: str = "{index}"
    waits_since: int = 9999
    engines: tuple[str, ...] = ("elasticsearch", "opensearch")
    engine_since: int = 0
    or_kind: str = ""
    or_field: str = ""
    is_whole: bool = False
    processor: str = ""


def _index(body: Mapping[str, object]) -> Request:
    return "PUT", "/{index}", body


def _pipeline(processor: str, **options: object) -> Request:
    return "PUT", "/_ingest/pipeline/{index}", {"processors": [{processor: options}]}


def _shards(number: int | None) -> Request:
    return "PUT", "/_cluster/settings", {"transient": {"cluster.max_shards_per_node": number}}


def _stream() -> Request:
    return (
        "PUT",
        "/_index_template/{index}",
        {"index_patterns": ["{index}*"], "data_stream": {}, "priority": 500},
    )


_PROGRAM = '{"message":"%msg:::json%","value":"%programname%"}'
_JSON = 'action(type="mmjsonparse" cookie="")\n'
# The template of a message that is JSON itself.
_ALL = "%$!all-json%"

MADE: tuple[MadeRefusal, ...] = (
    MadeRefusal(
        "number", "value", _PROGRAM, requests=[_index(mapped(value={"type": "long"}))],
        by_mapping=True,
    ),
    MadeRefusal(
        "out_of_range", "value", _PROGRAM, program=b"3000000000",
        requests=[_index(mapped(value={"type": "integer"}))], by_mapping=True,
    ),
    MadeRefusal(
        "date", "@timestamp", '{"message":"%msg:::json%","@timestamp":"%timereported%"}',
        requests=[_index(mapped(**{"@timestamp": {"type": "date"}}))],
        mended_template=PLAIN,
    ),
    MadeRefusal(
        "date", "when", '{"message":"%msg:::json%","when":"%timereported%"}',
        requests=[_index(mapped(when={"type": "date"}))],
        mended_template='{"message":"%msg:::json%","when":"%timereported:::date-rfc3339%"}',
    ),
    MadeRefusal(
        "address", "value", _PROGRAM, requests=[_index(mapped(value={"type": "ip"}))],
        mended_template='{"message":"%msg:::json%","value":"%fromhost-ip%"}',
    ),
    MadeRefusal(
        "boolean", "value", _PROGRAM, requests=[_index(mapped(value={"type": "boolean"}))],
        by_mapping=True,
    ),
    MadeRefusal(
        "value_for_object", "value", _PROGRAM,
        requests=[_index(mapped(value={"properties": {"name": {"type": "keyword"}}}))],
        mended_template='{"message":"%msg:::json%","value_text":"%programname%"}',
    ),
    MadeRefusal(
        "object_for_value", "value", '{"value":{"text":"%msg:::json%"}}',
        requests=[_index(mapped(value={"type": "keyword"}))],
        mended_template='{"value_object":{"text":"%msg:::json%"}}',
    ),
    MadeRefusal(
        "object_for_value", "value", '{"value":{"text":"%msg:::json%"}}',
        requests=[_index(mapped(value={"type": "long"}))],
        mended_template='{"value_object":{"text":"%msg:::json%"}}',
    ),
    MadeRefusal(
        "dotted_conflict", "value.text", '{"value.text":"%msg:::json%"}',
        requests=[_index(mapped(value={"type": "keyword"}))],
        mended_template='{"value_text":"%msg:::json%"}',
        or_kind="object_for_value", or_field="value",
    ),
    MadeRefusal(
        "strict", "value", _PROGRAM,
        requests=[_index({"mappings": {"dynamic": "strict", "properties": {
            "message": {"type": "text"}}}})],
        by_mapping=True,
    ),
    MadeRefusal(
        "immense_term", "message", '{"message":"%msg:::json%"}', message=b"x" * 33_000,
        requests=[_index(mapped(message={"type": "keyword"}))], by_mapping=True,
    ),
    MadeRefusal(
        "field_limit", template=_ALL, before=_JSON, message=b'{"a":1,"b":2,"c":3,"d":4}',
        requests=[_index({"settings": {"index.mapping.total_fields.limit": 2}})],
        mended_requests=[_index({"settings": {"index.mapping.total_fields.limit": 2},
                                 "mappings": {"dynamic": False}})],
    ),
    MadeRefusal(
        "depth_limit", template=_ALL, before=_JSON, message=b'{"a":{"b":{"c":{"d":1}}}}',
        requests=[_index({"settings": {"index.mapping.depth.limit": 2}})],
        mended_requests=[_index({"settings": {"index.mapping.depth.limit": 2}, "mappings": {
            "properties": {"a": {"type": "object", "enabled": False}}}})],
    ),
    MadeRefusal(
        "field_name", template=_ALL, before=_JSON, message=b'{"a..b":1}',
        mended_template=PLAIN, or_kind="field_name", or_field="a..b",
    ),
    MadeRefusal(
        "duplicate_key", "message", '{"message":"%msg:::json%","message":"%programname%"}',
        mended_template='{"message":"%msg:::json%","program":"%programname%"}',
    ),
    MadeRefusal(
        "bad_json", template='{"message":"%msg%"}', message=b'he said "no"',
        mended_template='{"message":"%msg:::json%"}',
    ),
    MadeRefusal(
        "bad_json", template='{"message":"%msg:::json%","value":%$!none%}',
        mended_template='{"message":"%msg:::json%"}',
    ),
    MadeRefusal(
        "bad_json", template="%msg%", message=b"no JSON at all", mended_template=PLAIN,
        waits_since=2608,
    ),
    MadeRefusal(
        "control_character", template='{"message":"%msg%"}', message=b"a\tb",
        mended_template='{"message":"%msg:::json%"}',
    ),
    MadeRefusal(
        "bad_utf8", template='{"message":"%msg:::json%"}', message=b"f\xfcr alle",
        mended_before='action(type="mmutf8fix")\n',
    ),
    MadeRefusal(
        "bad_action_line", template='{"message":\\n"%msg:::json%"}', is_whole=True,
        mended_template='{"message":"%msg:::json%"}',
    ),
    MadeRefusal("bad_index_name", index="UPPER-{index}", mended_index="lower-{index}"),
    MadeRefusal(
        "no_auto_create", index="blocked-{index}", mended_index="allowed-{index}",
        requests=[("PUT", "/_cluster/settings",
                   {"transient": {"action.auto_create_index": "-blocked-*,+*"}})],
    ),
    MadeRefusal("create_only", requests=[_stream()], mended_action=CREATE, engine_since=8),
    MadeRefusal(
        "no_timestamp", "@timestamp", '{"message":"%msg:::json%"}', requests=[_stream()],
        action=CREATE, mended_template=PLAIN, engine_since=8,
    ),
    MadeRefusal("missing_pipeline", action='pipelineName="nowhere"', mended_action=""),
    MadeRefusal(
        "closed_index", requests=[_index({}), ("POST", "/{index}/_close", None)],
        mended_requests=[_index({})],
    ),
    MadeRefusal(
        "read_only", requests=[_index({"settings": {"index.blocks.write": True}})],
        mended_requests=[_index({"settings": {"index.blocks.write": False}})],
        waits_since=2608,
    ),
    MadeRefusal(
        "watermark",
        requests=[_index({"settings": {"index.blocks.read_only_allow_delete": True}})],
        mended_requests=[_index({})], waits_since=2608,
    ),
    MadeRefusal(
        "stored_already", action='writeoperation="create" bulkid="same" dynBulkId="on"', repeats=2,
    ),
    MadeRefusal(
        "id_too_long", message=b"i" * 600, action='bulkid="whole" dynBulkId="on"',
        mended_action="", is_whole=True,
    ),
    MadeRefusal(
        "types", action='searchType="events"', mended_action="", engine_since=8,
        engines=("elasticsearch",), is_whole=True,
    ),
    # Elasticsearch has this processor alone here, and it wants a login.
    MadeRefusal(
        "pipeline", processor="set_security_user", action='pipelineName="{index}"',
        requests=[_pipeline("set_security_user", field="user")], waits_since=2608,
        mended_requests=[_pipeline("set_security_user", field="user", ignore_failure=True)],
    ),
    *(
        MadeRefusal(
            "pipeline", processor=processor, action='pipelineName="{index}"', waits_since=waits,
            requests=[_pipeline(processor, **options)],
            mended_requests=[_pipeline(processor, **options, ignore_failure=True)],
        )
        for processor, waits, options in (
            ("fail", 2608, {"message": "no {{message}}"}),
            ("date", 9999, {"field": "message", "formats": ["ISO8601"]}),
            ("grok", 9999, {"field": "message", "patterns": ["%{IP:ip}"]}),
            ("convert", 9999, {"field": "message", "type": "integer"}),
            ("script", 9999, {"source": "ctx.a = ctx.b.c"}),
            ("dissect", 9999, {"field": "message", "pattern": "%{a}:%{b}"}),
            ("json", 9999, {"field": "message"}),
        )
    ),
    MadeRefusal(
        "pipeline", "nowhere", processor="split", action='pipelineName="{index}"',
        requests=[_pipeline("split", field="nowhere", separator=",")],
        mended_requests=[_pipeline("split", field="nowhere", separator=",", ignore_missing=True)],
    ),
)  # fmt: skip
"""All that go together; each engine gets those that it can refuse."""

LIMITED: tuple[MadeRefusal, ...] = (
    MadeRefusal("too_many_shards", requests=[_shards(1)], mended_requests=[_shards(None)]),
)
"""Those of a limit that holds for every index of the cluster."""

PASSWORD, HASH = "secret-1", "$2a$10$abcdefghijklmnopqrstuuykzUfvjF6ysNrO4nMjUx2eqP6xAPkfK"
LOGINS: Mapping[str, str] = {
    "users": "".join(f"{user}:{HASH}\n" for user in ("reader", "other", "writer")),
    "users_roles": "reading:reader\nwriting_elsewhere:other\nwriting:writer\n",
    "roles.yml": """\
asking: {cluster: [all], indices: [{names: ['*'], privileges: [read, manage, maintenance]}]}
reading: {indices: [{names: ['*'], privileges: [read]}]}
writing_elsewhere: {indices: [{names: ['other-*'], privileges: [create_doc, auto_configure]}]}
writing: {indices: [{names: ['*'], privileges: [index, auto_configure]}]}
""",
}
"""Files of a node of Elasticsearch: who may log in, and what they may do."""
_WRITER = f'uid="writer" pwd="{PASSWORD}"'
REFUSED_LOGINS: tuple[MadeRefusal, ...] = (
    MadeRefusal(
        "not_allowed", action='uid="writer" pwd="wrong"', mended_action=_WRITER, is_whole=True,
    ),
    MadeRefusal(
        "not_allowed", action=f'uid="nobody" pwd="{PASSWORD}"', mended_action=_WRITER,
        is_whole=True,
    ),
    MadeRefusal(
        "not_allowed", action=f'uid="reader" pwd="{PASSWORD}"', mended_action=_WRITER,
        is_whole=True,
    ),
    MadeRefusal(
        "not_allowed", action=f'uid="other" pwd="{PASSWORD}"', mended_action=_WRITER,
    ),
)  # fmt: skip
"""Those of an engine that lets in only who has a login."""
