"""Several outputs in rsyslog.conf: modules, templates, actions, failovers."""

from __future__ import annotations

import pytest

from tests.lint.test_other_outputs import (
    ENGINE,
    FILE,
    FWD,
    HOSTS,
    QUEUE,
    RELP,
    RELP_TLS,
    STANDS_IN,
    TLS,
)
from tests.profile.examples import SMALL
from tests.render.tokens import Object, parse
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.render.artefacts import rsyslog_conf

COMMON = {"action.resumeRetryCount": "-1", "action.resumeInterval": "30", "queue.type": "Direct"}
ONCE = {"action.resumeRetryCount": 0}


def conf(*outputs: dict[str, object], **changes: object) -> str:
    text = edit(SMALL, {"outputs": list(outputs), **changes})
    return rsyslog_conf(parse_profile(text, "p.yaml").profile)


def objects(*outputs: dict[str, object], **changes: object) -> list[Object]:
    return parse(conf(*outputs, **changes))


def named(found: list[Object], kind: str) -> dict[str, Object]:
    """The objects of that kind by name, at any depth."""
    inside = [one for outer in found for one in [outer, *below(outer)] if one.kind == kind]
    return {str(one.parameters.get("name")): one for one in inside}


def below(outer: Object) -> list[Object]:
    return [one for inner in outer.body for one in [inner, *below(inner)]]


def action(output: dict[str, object], **changes: object) -> dict[str, str | list[str]]:
    return named(objects(output, **changes), "action")[str(output["name"])].parameters


def modules(*outputs: dict[str, object]) -> list[dict[str, str | list[str]]]:
    return [one.parameters for one in objects(*outputs) if one.kind == "module"][1:]


def test_a_plain_file_is_written_in_rsyslogs_format_from_a_large_buffer() -> None:
    assert action(FILE) == {
        "name": "file", "type": "omfile", "template": "RSYSLOG_FileFormat",
        "file": "/var/log/all.log", "ioBufferSize": "64k", **COMMON,
    }  # fmt: skip


def test_forwarding_is_in_rfc_5424_unless_another_format_is_named() -> None:
    assert action(FWD)["template"] == action(RELP)["template"] == "RSYSLOG_SyslogProtocol23Format"
    other = {"template": "RSYSLOG_ForwardFormat"}
    assert action(FWD | other)["template"] == "RSYSLOG_ForwardFormat"
    assert action(FWD | {"document": "ecs"})["template"] == "up-document"


def test_a_file_for_each_host_is_named_by_a_template_that_keeps_it_in_its_folder() -> None:
    found = objects(HOSTS)
    output = named(found, "action")["hosts"].parameters
    assert (output["dynaFile"], output["dynaFileCacheSize"]) == ("hosts-file", "500")
    assert "file" not in output
    name = named(found, "template")["hosts-file"]
    assert name.parameters["type"] == "list"
    assert [(one.kind, one.parameters) for one in name.body] == [
        ("constant", {"value": "/var/log/hosts/"}),
        ("property", {"name": "hostname", "position.from": "1", "position.to": "160",
                      "securepath": "replace"}),
        ("constant", {"value": ".log"}),
    ]  # fmt: skip
    assert action(HOSTS | {"dynaFileCacheSize": 7})["dynaFileCacheSize"] == "7"


def test_parameters_of_a_module_stand_there_once_and_only_where_they_are_needed() -> None:
    zstd = {"zipLevel": 3, "veryRobustZip": True, "compression.driver": "zstd"}
    more = zstd | {"compression.zstd.workers": 2}
    assert modules(FILE, FWD) == []
    assert modules(FILE | more, HOSTS | more) == [
        {"load": "builtin:omfile", "compression.driver": "zstd", "compression.zstd.workers": "2"}
    ]
    assert "compression.driver" not in action(FILE | more)
    assert modules(RELP, RELP | {"name": "two"}) == [{"load": "omrelp"}]
    lib = {"tls.tlsLib": "openssl"}
    assert modules(RELP_TLS | lib, RELP_TLS | lib | {"name": "two"}) == [
        {"load": "omrelp", "tls.tlsLib": "openssl"}
    ]
    stream = {"compression.mode": "single", "compression.driver": "zstd"}
    new = {"release.rsyslog": "8.2606"}
    assert action(FWD | stream, **new)["compression.driver"] == "zstd"


def test_several_targets_and_peers_are_written_as_rsyslog_reads_them() -> None:
    new = {"release.rsyslog": "8.2408"}
    several = FWD | {"target": ["a.example.org", "b.example.org"]}
    assert action(several, **new)["target"] == ["a.example.org", "b.example.org"]
    assert action(FWD)["target"] == "up.example.org"
    peers = ["a.example.org", "b.example.org"]
    tls = action(TLS | {"streamDriverPermittedPeers": peers})
    assert tls["streamDriverPermittedPeers"] == "a.example.org,b.example.org"
    assert action(RELP_TLS | {"tls.permittedPeer": peers})["tls.permittedPeer"] == peers


def test_json_ends_in_a_line_end_in_files_only() -> None:
    document = {"document": [{"property": "msg", "name": "m"}]}
    found = named(objects(FILE | document, FWD | document, ENGINE | document), "template")
    last = {name: one.body[-1].parameters["value"] for name, one in found.items()}
    assert last == {"file-document": '"}\n', "up-document": '"}', "logs-document": '"}'}


def test_json_is_made_of_valid_utf8_without_any_engine_too() -> None:
    assert {"load": "mmutf8fix"} in modules(FILE | {"document": "ecs"})
    (ruleset,) = named(objects(FILE | {"document": "ecs"}), "ruleset").values()
    assert [one.parameters["type"] for one in ruleset.body] == ["mmutf8fix", "omfile"]
    (ruleset,) = named(objects(FILE), "ruleset").values()
    assert [one.parameters["type"] for one in ruleset.body] == ["omfile"]


def test_a_failover_is_a_ruleset_with_the_queue_of_its_leader() -> None:
    found = objects(ENGINE | ONCE, FWD | ONCE | STANDS_IN | {"queue": None}, FILE | STANDS_IN)
    rulesets = named(found, "ruleset")
    assert [(one.kind, one.parameters["ruleset"]) for one in rulesets["small"].body[1:]] == [
        ("call", "failover.logs")
    ]
    group = rulesets["failover.logs"]
    assert group.parameters["queue.type"] == "LinkedList"
    assert group.parameters["queue.size"] == str(QUEUE["size"])
    assert [one.parameters["name"] for one in group.body] == ["logs", "up", "file"]
    assert {one.parameters["queue.type"] for one in group.body} == {"Direct"}
    switches = [one.parameters.get("action.execOnlyWhenPreviousIsSuspended") for one in group.body]
    assert switches == [None, "on", "on"]


def test_a_leader_without_a_queue_needs_no_ruleset_of_its_own() -> None:
    found = objects(ENGINE | ONCE | {"queue": None}, FILE | STANDS_IN)
    (ruleset,) = named(found, "ruleset").values()
    assert [one.parameters["name"] for one in ruleset.body] == ["logs-utf8", "logs", "file"]


def test_filters_stand_around_the_whole_failover_and_around_what_stands_in() -> None:
    severe = {"filter": {"syslogseverity": "err"}}
    found = objects(ENGINE | ONCE | severe, FILE | STANDS_IN | {"filter": {"programname": ["a"]}})
    rulesets = named(found, "ruleset")
    (condition,) = [one for one in rulesets["small"].body if one.kind == "if"]
    assert condition.parameters["condition"] == "$syslogseverity <= 3"
    assert [one.kind for one in condition.body] == ["call"]
    engine, stands_in = rulesets["failover.logs"].body
    assert engine.parameters["name"] == "logs"
    assert stands_in.parameters["condition"] == '$programname == "a"'
    assert stands_in.body[0].parameters["name"] == "file"


@pytest.mark.parametrize(
    ("rsyslog", "search_type"),
    [("8.2204", "_doc"), ("8.2206", ""), ("8.2508", ""), ("8.2510", None)],
)
def test_a_type_is_named_where_rsyslog_must_send_one_and_left_out_where_it_can(
    rsyslog: str, search_type: str | None
) -> None:
    """F15: before 8.2206 it is sent though the name is empty, and from 8.2510 on not by itself."""
    found = action(ENGINE, release={"rsyslog": rsyslog, "elasticsearch": "7.17"})
    assert found.get("searchType") == search_type


def test_what_reaches_the_file_changes_its_hash_and_nothing_else_does() -> None:
    def header(*outputs: dict[str, object]) -> str:
        return conf(*outputs).splitlines()[0]

    assert header(FILE) == header(FILE)
    assert header(FILE) != header(FILE | {"ioBufferSize": "32k"})
    assert header(FILE) != header(FILE | {"filter": {"programname": ["a"]}})


def test_a_path_cannot_become_syntax() -> None:
    nasty = "/var/log/) action(type=omprog %msg% $x 'y.log"
    assert action(FILE | {"file": nasty})["file"] == nasty
    before = "/a/%hostname%/) stop "
    name = named(
        objects(HOSTS | {"dynaFile": {"before": before, "property": "hostname"}}), "template"
    )
    assert name["hosts-file"].body[0].parameters["value"] == before
