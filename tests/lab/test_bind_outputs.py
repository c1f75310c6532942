"""Which outputs a lab takes, and where it lets them write."""

from __future__ import annotations

from collections.abc import Mapping

from tests.lab.test_bind import SITE
from tests.profile.examples import small
from tuner.lab.bind import Bound, bind
from tuner.script.printing import printed
from tuner.script.script import ScriptObject, walk

LOGS = small().measured.model_dump(mode="json", by_alias=True, exclude_none=True)
AUDIT = {**LOGS, "name": "audit", "index": {"name": "syslog-audit"}}
ARCHIVE = {"name": "archive", "type": "omfile", "file": "/var/log/archive.log"}
UPSTREAM = {"name": "up", "type": "omfwd", "target": "10.0.0.9", "port": 514}
INSTEAD = {**ARCHIVE, "name": "instead", "file": "/var/log/instead.log",
           "action.execOnlyWhenPreviousIsSuspended": True}  # fmt: skip
PIPELINE = {"default_pipeline": "geo"}
FILTERED = {**ARCHIVE, "name": "few", "file": "/var/log/few.log",
            "filter": {"syslogseverity": "err"}}  # fmt: skip


def bound(*outputs: Mapping[str, object], **more: object) -> Bound:
    return bind(small({"outputs": list(outputs), **more}), SITE, (40514,))


def told(result: Bound) -> list[str]:
    return [str(one).partition(": ")[2] for one in result.substitutions]


def test_every_output_into_the_engine_gets_an_index_of_the_labs() -> None:
    made = bound(LOGS, AUDIT).copy
    assert made.outputs == ("action[logs]", "action[audit]")
    assert made.indices == ("rsyslog-tune-abc-t1-syslog", "rsyslog-tune-abc-t1-syslog-audit")


def test_a_file_is_written_in_the_labs_folder() -> None:
    assert 'file="/run/lab/files/var/log/archive.log"' in printed(bound(LOGS, ARCHIVE).copy.block)


def test_what_is_forwarded_goes_to_a_receiver_and_filters_stay() -> None:
    result = bound({**LOGS, "action.resumeRetryCount": 0}, INSTEAD, UPSTREAM, FILTERED)
    text = printed(result.copy.block)
    assert "action omfwd -> to a receiver of the lab" in told(result)
    assert "$syslogseverity <= 3" in text
    for name in ("instead", "few"):
        assert f'file="/run/lab/files/var/log/{name}.log"' in text


def test_a_data_stream_is_an_index_with_its_settings() -> None:
    stream = {**LOGS, "index": {"data_stream": "logs-syslog-default"}}
    result = bound(stream)
    assert result.copy.indices == ("rsyslog-tune-abc-t1-logs-syslog-default",)
    assert "data_stream -> left out" in told(result)
    (template,) = result.copy.templates
    assert template.is_for("logs-syslog-default")


def test_what_parsing_found_is_merged_into_a_document() -> None:
    fields = [{"property": "hostname", "name": "host"}, {"json": "*"}]
    result = bound({**LOGS, "document": fields}, parse={"format": "json", "cookie": ""})
    assert result.copy.outputs == ("action[logs]",)


def test_pipelines_are_left_out_and_said() -> None:
    named = {**LOGS, "pipelineName": "geo", "index": {"name": "x", "settings": PIPELINE}}
    result = bound(named)
    assert "geo" not in printed(result.copy.block)
    assert "pipelineName, of which a lab has none -> left out" in told(result)
    assert "index.default_pipeline -> left out" in told(result)


def test_the_files_of_lanes_are_in_the_labs_folder() -> None:
    disk = {"type": "Disk", "filename": "lane", "spoolDirectory": "/var/spool/rsyslog"}
    result = bound({**LOGS, "queue": None}, lanes={"count": 2, "queue": disk})
    assert printed(result.copy.block).count('queue.spoolDirectory="/run/lab"') == 2
    said = [str(part) for part in result.substitutions if part.what == "/var/spool/rsyslog"]
    assert said == ["lanes.queue.spoolDirectory: /var/spool/rsyslog -> /run/lab"]


def test_what_is_sent_again_keeps_its_number_and_its_index() -> None:
    retry = {"retryfailures": {"file": "/var/log/refused.json"}, "writeoperation": "create"}
    made = bound({**LOGS, **retry, "bulkid": "uuid"}).copy
    assert made.outputs == ("action[logs]",)
    again = next(one for one in walk(made.block) if isinstance(one, ScriptObject)
                 and one.name == "logs.retry")  # fmt: skip
    assert again.text("template") == "logs.retry-document"
    assert 'server=["http://127.0.0.1:9999"]' in printed((again,))
