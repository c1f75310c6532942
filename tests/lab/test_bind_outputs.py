"""Which outputs a lab takes, and where it lets them write."""

from __future__ import annotations

from collections.abc import Mapping

from tests.lab.test_bind import SITE
from tests.profile.examples import small
from tuner.lab.bind import Bound, bind

LOGS = small().measured.model_dump(mode="json", by_alias=True, exclude_none=True)
AUDIT = {**LOGS, "name": "audit", "index": {"name": "syslog-audit"}}
ARCHIVE = {"name": "archive", "type": "omfile", "file": "/var/log/archive.log"}
UPSTREAM = {"name": "up", "type": "omfwd", "target": "10.0.0.9", "port": 514}
INSTEAD = {**ARCHIVE, "name": "instead", "file": "/var/log/instead.log",
           "action.execOnlyWhenPreviousIsSuspended": True}  # fmt: skip
FILTERED = {**ARCHIVE, "name": "few", "file": "/var/log/few.log",
            "filter": {"syslogseverity": "err"}}  # fmt: skip


def bound(*outputs: Mapping[str, object], **more: object) -> Bound:
    return bind(small({"outputs": list(outputs), **more}), SITE, (40514,))


def told(result: Bound) -> list[str]:
    return [str(one) for one in result.substitutions if one.path.startswith("outputs[")]


def test_every_output_into_the_engine_gets_an_index_of_its_own() -> None:
    found = bound(LOGS, AUDIT).profile
    names = [output.index.target for output in found.indexed]
    assert names == ["rsyslog-tune-abc-t1-0-syslog", "rsyslog-tune-abc-t1-1-syslog-audit"]
    first, second = (output.index.pattern for output in found.indexed)
    assert not second.startswith(first.removesuffix("*"))


def test_a_file_is_written_in_the_labs_folder() -> None:
    result = bound(LOGS, ARCHIVE)
    assert "outputs[archive].file: /var/log/archive.log -> /run/lab/archive.log" in told(result)


def test_what_nobody_takes_or_only_sometimes_is_left_out_and_said() -> None:
    result = bound({**LOGS, "action.resumeRetryCount": 0}, INSTEAD, UPSTREAM, FILTERED)
    assert [output.name for output in result.profile.outputs] == ["logs"]
    lines = told(result)
    assert "outputs[instead]: omfile -> left out" in lines
    assert "outputs[up]: omfwd -> left out" in lines
    assert "outputs[few]: omfile -> left out" in lines


def test_the_measured_output_takes_every_event() -> None:
    result = bound({**LOGS, "filter": {"programname": ["sshd"]}})
    assert result.profile.measured.filter is None
    assert "outputs[logs].filter: programname sshd -> none" in told(result)


def test_the_files_of_lanes_are_in_the_labs_folder() -> None:
    disk = {"type": "Disk", "filename": "lane", "spoolDirectory": "/var/spool/rsyslog"}
    direct = {**LOGS, "queue": None}
    result = bound(direct, lanes={"count": 2, "queue": disk})
    lanes = result.profile.lanes
    assert lanes is not None
    assert lanes.queue.spool_directory == "/run/lab"
    spools = "lanes.queue.spoolDirectory: /var/spool/rsyslog -> /run/lab"
    assert spools in map(str, result.substitutions)
