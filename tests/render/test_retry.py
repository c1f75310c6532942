"""What a profile with retryfailures becomes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.profile.examples import at_hand, small
from tests.render.test_rsyslogd_accepts import verdict_on
from tests.render.tokens import Object, parse
from tuner.render.artefacts import rsyslog_conf
from tuner.script.quoting import identifier

FILE = "/var/log/rsyslog/rejected.json"
RETRY = {"outputs[logs].retryfailures.file": FILE}


def objects(changes: Mapping[str, object]) -> list[Object]:
    return parse(rsyslog_conf(small({**RETRY, **changes})))


def ruleset(name: str, changes: Mapping[str, object] | None = None) -> Object:
    (found,) = [
        one
        for one in objects(changes or {})
        if one.kind == "ruleset" and one.parameters["name"] == name
    ]
    return found


def template(name: str, changes: Mapping[str, object] | None = None) -> list[str]:
    """What a template is made of."""
    (found,) = [
        one
        for one in objects(changes or {})
        if one.kind == "template" and one.parameters["name"] == name
    ]
    return [str(piece.parameters.get("name") or piece.parameters["value"]) for piece in found.body]


def number(found: Object, name: str) -> int:
    return int(str(found.parameters[f"queue.{name}"]))


def test_the_output_creates_under_ids_and_hands_over_what_fails() -> None:
    action = ruleset("small").body[-1].parameters
    assert action["writeoperation"] == "create"
    assert (action["bulkid"], action["dynbulkid"]) == ("logs-id", "on")
    assert (action["retryfailures"], action["retryruleset"]) == ("on", "retry.logs")
    assert action["ratelimit.interval"] == "0"
    assert template("logs-id") == ["uuid"]


def test_what_was_indexed_stops_what_never_will_be_is_written_and_the_rest_is_sent_again() -> None:
    indexed, for_good, again = ruleset("retry.logs").body
    for status in (200, 201, 409):
        assert f"$.omes!status == {status}" in str(indexed.parameters["condition"])
    assert [one.kind for one in indexed.body] == ["stop"]
    assert [one.kind for one in for_good.body] == ["action", "stop"]
    assert for_good.body[0].parameters["file"] == FILE
    assert again.parameters["template"] == "logs.retry-document"
    assert again.parameters["bulkid"] == "logs.retry-id"
    assert again.parameters["retryruleset"] == "again.logs"
    assert template("logs.retry-document") == ["$!all-json-plain"]
    assert template("logs.retry-id") == ["$.omes!_id"]


def test_what_is_refused_again_waits_before_it_goes_back() -> None:
    found = ruleset("again.logs")
    assert number(found, "dequeueSlowDown") > 0
    assert [one.kind for one in found.body] == ["if", "call"]
    assert found.body[-1].parameters == {"ruleset": "retry.logs"}


@pytest.mark.parametrize(("batch", "workers"), [(100, 1), (2000, 2), (10000, 8)])
def test_above_the_mark_there_is_room_for_all_that_can_come_back(batch: int, workers: int) -> None:
    """Else the worker that sends again could wait for room that only it can make."""
    changes = {
        "outputs[logs].queue.dequeueBatchSize": batch,
        "outputs[logs].queue.workerThreads": workers,
        "outputs[logs].queue.size": 400_000,
        "main_queue.size": 400_000,
    }
    retry, again = ruleset("retry.logs", changes), ruleset("again.logs", changes)
    room = number(retry, "size") - number(retry, "fullDelayMark")
    assert room >= number(again, "size") + workers + batch
    assert number(again, "fullDelayMark") >= 2 * number(retry, "dequeueBatchSize")
    assert number(retry, "timeoutEnqueue") == number(again, "timeoutEnqueue") == 86_400_000


def test_what_is_sent_again_does_not_wait_for_another_output_to_fail() -> None:
    """Though its output does, and whatever the outputs before it."""
    stands_in = {
        "type": "omelasticsearch", "name": "second", "servers": ["http://127.0.0.1:9201"],
        "index": {"name": "syslog"}, "queue": {"type": "Direct"},
        "action.execOnlyWhenPreviousIsSuspended": True, "retryfailures": {"file": FILE},
    }  # fmt: skip
    logs = small().measured.model_dump(mode="json", by_alias=True, exclude_none=True)
    logs["action.resumeRetryCount"] = 0
    found = parse(rsyslog_conf(small({"outputs": [logs, stands_in]})))
    key = "action.execOnlyWhenPreviousIsSuspended"
    bodies = {one.parameters["name"]: one.body for one in found if one.kind == "ruleset"}
    assert bodies["failover.logs"][-1].parameters[key] == "on"
    assert key not in bodies["retry.second"][-1].parameters


def test_retries_of_a_direct_action_have_room_for_what_its_own_stream_hands_it() -> None:
    """Not for what the stream that is measured hands on."""
    second = {
        "type": "omelasticsearch", "name": "second", "servers": ["http://127.0.0.1:9201"],
        "index": {"name": "other"}, "queue": {"type": "Direct"}, "stream": "apps",
        "retryfailures": {"file": "/var/log/rsyslog/others.json"},
    }  # fmt: skip
    logs = small(RETRY).measured.model_dump(mode="json", by_alias=True, exclude_unset=True)
    entry = {"type": "imptcp", "port": 10515, "stream": "apps"}
    queue = {"type": "LinkedList", "size": 50_000, "dequeueBatchSize": 700}
    changes = {
        "inputs": [{"type": "imptcp", "port": 10514}, entry],
        "streams": {"apps": {"queue": queue}}, "outputs": [logs, second],
    }  # fmt: skip
    assert number(ruleset("retry.second", changes), "dequeueBatchSize") == 700


def test_what_is_sent_again_waits_where_its_output_gives_up() -> None:
    logs = small(RETRY).measured.model_dump(mode="json", by_alias=True, exclude_unset=True)
    logs["action.resumeRetryCount"] = 0
    stands_in = {"name": "file", "type": "omfile", "file": "/var/log/all.log",
                 "action.execOnlyWhenPreviousIsSuspended": True}  # fmt: skip
    changes = {"outputs": [logs, stands_in], "guardrails.tier": "relaxed"}
    resend = ruleset("retry.logs", changes).body[-1].parameters
    assert resend["action.resumeRetryCount"] == "-1"
    alone = {"outputs": [logs], "guardrails.tier": "relaxed"}
    resend = ruleset("retry.logs", alone).body[-1].parameters
    assert resend["action.resumeRetryCount"] == "0"


def test_an_output_may_be_called_like_what_is_sent_again() -> None:
    logs = small(RETRY).measured.model_dump(mode="json", by_alias=True, exclude_unset=True)
    other = {**logs, "name": "logs-retry", "index": {"name": "other"}}
    del other["retryfailures"]
    conf = rsyslog_conf(small({"outputs": [logs, other]}))
    names = [str(one.parameters["name"]) for one in parse(conf) if one.kind == "template"]
    assert len(names) == len(set(names))


def test_a_daily_index_keeps_the_day_that_the_event_had_first() -> None:
    daily = {"outputs[logs].index.rotate": "daily"}
    resend = ruleset("retry.logs", daily).body[-1].parameters
    assert resend["searchIndex"] == "logs.retry-index"
    assert template("logs.retry-index", daily) == ["$.omes!_index"]


def test_a_queue_with_files_gives_the_retries_files_too() -> None:
    files = {"filename": "logs", "spoolDirectory": "/var/spool/rsyslog"}
    changes = {f"outputs[logs].queue.{key}": value for key, value in files.items()}
    names = {
        ruleset(f"{name}.logs", changes).parameters["queue.filename"] for name in ("retry", "again")
    }
    assert names == {"logs-retry", "logs-again"}


@pytest.mark.parametrize(
    ("release", "queue", "layout"),
    [
        ("8.2608", {"type": "Disk"}, "disk"),
        ("8.2608", {"type": "segmentedDisk"}, "segmentedDisk"),
        ("8.2608", {"type": "LinkedList", "diskQueueType": "segmentedDisk"}, "segmentedDisk"),
        ("8.2608", {"type": "LinkedList"}, None),
        ("8.2302", {"type": "Disk"}, None),
    ],
)
def test_files_of_retries_are_laid_out_as_those_of_the_output(
    release: str, queue: Mapping[str, object], layout: str | None
) -> None:
    files = {"filename": "logs", "spoolDirectory": "/var/spool/rsyslog"}
    changes = {
        "release": {"rsyslog": release, "elasticsearch": "8.19"},
        "outputs[logs].queue": {**queue, **files},
    }
    for name in ("retry", "again"):
        assert ruleset(f"{name}.logs", changes).parameters.get("queue.diskQueueType") == layout


def test_without_retryfailures_there_is_no_ruleset_and_no_id() -> None:
    found = parse(rsyslog_conf(small()))
    assert len([one for one in found if one.kind == "ruleset"]) == 1
    assert "bulkid" not in rsyslog_conf(small())


def test_ids_alone_are_possible() -> None:
    text = rsyslog_conf(small({"outputs[logs].bulkid": "uuid"}))
    assert 'bulkid="logs-id"' in text
    assert "writeoperation" not in text


@pytest.mark.parametrize("name", ["", "9lives", "a b", "a\nstop", 'a"', "a;b"])
def test_the_name_of_a_ruleset_cannot_become_syntax(name: str) -> None:
    with pytest.raises(ValueError, match="ruleset"):
        identifier(name)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"outputs[logs].index.rotate": "daily"},
        {
            "outputs[logs].queue": None,
            "outputs[logs].errorfile": "/var/log/rsyslog/errors.json",
            "outputs[logs].erroronly": True,
        },
        {
            "outputs[logs].pipelineName": "programname",
            "outputs[logs].dynPipelineName": True,
            "outputs[logs].skipPipelineIfEmpty": True,
            "outputs[logs].rebindinterval": 1000,
            "outputs[logs].tls.allowunsignedcerts": True,
            "outputs[logs].tls.skipverifyhost": True,
        },
    ],
    ids=["plain", "daily", "direct", "pipeline"],
)
@pytest.mark.live
@pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed")
def test_a_real_rsyslogd_accepts_it(changes: Mapping[str, object], tmp_path: Path) -> None:
    assert verdict_on(at_hand({**RETRY, **changes}), tmp_path) == ""
