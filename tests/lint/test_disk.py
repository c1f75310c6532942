"""Queues with files: each rule breaks and holds."""

from __future__ import annotations

import pytest

from tests.lint.findings import findings
from tests.profile.examples import small
from tuner.render.artefacts import rsyslog_conf

FILES: dict[str, object] = {
    "filename": "q",
    "spoolDirectory": "/var/spool/rsyslog",
    "maxDiskSpace": "1g",
}
UDP = {"type": "imudp", "port": 514, "rcvbufSize": "4m"}


def main_with(**more: object) -> dict[str, object]:
    queue = {"size": 100000, "dequeueBatchSize": 1024, "workerThreads": 1,
             "timeoutEnqueue": 86_400_000, **FILES, **more}  # fmt: skip
    return {"main_queue": {key: value for key, value in queue.items() if value is not None}}


def action_with(**more: object) -> dict[str, object]:
    changes = {f"outputs[logs].queue.{key}": value for key, value in (FILES | more).items()}
    return {key: value for key, value in changes.items() if value is not None}


def test_files_may_not_fill_the_disk() -> None:
    assert findings(action_with()) == set()
    for unlimited in (None, "0", "0k"):
        assert findings(action_with(maxDiskSpace=unlimited)) == {
            "warning RT117 outputs[0].queue.maxDiskSpace"
        }


def test_senders_that_wait_never_bring_the_main_queue_to_its_disk() -> None:
    assert findings(main_with()) == {"warning RT118 main_queue.lightDelayMark"}
    assert findings(main_with(lightDelayMark=0)) == set()
    assert findings(main_with(lightDelayMark=95000)) == set()
    udp = {"inputs": [UDP], "guardrails.tier": "relaxed"}
    assert findings(main_with() | udp) == set()
    free = {"inputs": [{"type": "imptcp", "port": 514, "flowControl": False}]}
    assert findings(main_with() | free | {"guardrails.tier": "relaxed"}) == set()
    assert "warning RT118 main_queue.lightDelayMark" not in findings(main_with(type="Disk"))
    assert "warning RT118 main_queue.lightDelayMark" not in findings(action_with())


def test_a_queue_that_inputs_fill_waits_when_its_disk_is_full_or_nothing_slows_them_down() -> None:
    impatient = {"warning RT113 main_queue.timeoutEnqueue"}
    assert findings(main_with(lightDelayMark=0, timeoutEnqueue=2000)) == impatient
    assert findings(main_with(lightDelayMark=95000, timeoutEnqueue=2000)) == impatient
    in_memory = {"main_queue.lightDelayMark": 0}
    assert findings(in_memory) == impatient
    assert findings(in_memory | {"main_queue.timeoutEnqueue": 86_400_000}) == set()
    assert findings(in_memory | {"guardrails.tier": "relaxed"}) == set()
    lanes = {"lanes": {"count": 2, "queue": {"type": "LinkedList", "timeoutShutdown": 0}}}
    assert "warning RT115 lanes.queue.timeoutShutdown" in findings(lanes)
    assert findings({"main_queue.timeoutShutdown": 0}) == {
        "warning RT115 main_queue.timeoutShutdown"
    }


@pytest.mark.parametrize("kind", ["Disk", "LinkedList"])
def test_what_stands_in_files_already_may_stay_there_when_rsyslog_stops(kind: str) -> None:
    """A disk-assisted queue has some of it in memory."""
    told = findings(action_with(type=kind, timeoutShutdown=0, saveOnShutdown=False))
    hasty = {"warning RT115 outputs[0].queue.timeoutShutdown"}
    assert told & hasty == (set() if kind == "Disk" else hasty)


def test_two_queues_do_not_write_the_same_files() -> None:
    """Without a folder of its own a queue writes to workDirectory."""
    work = {"global.workDirectory": "/var/spool/rsyslog/"}
    same = {"error RT110 outputs[0].queue.filename"}
    assert findings(work | main_with() | action_with(spoolDirectory=None)) == same
    assert findings(main_with(spoolDirectory="/var/spool/rsyslog/") | action_with()) == same
    assert findings(work | main_with(filename="q-main") | action_with(spoolDirectory=None)) == {
        "warning RT118 main_queue.lightDelayMark"
    }
    retried = {"outputs[logs].retryfailures.file": "/var/log/rsyslog/rejected.json"}
    for name in ("q-retry", "q-again"):
        assert findings(retried | main_with(filename=name) | action_with()) == same


def test_a_folder_is_written_without_a_slash_at_its_end() -> None:
    """rsyslogd takes one for an error."""
    changes = action_with(spoolDirectory="/var/spool/q/") | {"global.workDirectory": "/var/w/"}
    text = rsyslog_conf(small(changes))
    assert 'queue.spoolDirectory="/var/spool/q"' in text
    assert 'workDirectory="/var/w"' in text


def test_events_do_not_go_to_disk_while_there_is_memory() -> None:
    assert findings(action_with(highWatermark=29999, lowWatermark=20000)) == {
        "warning RT119 outputs[0].queue.highWatermark"
    }
    assert findings(action_with(highWatermark=30000, lowWatermark=20000)) == set()


def test_watermarks_below_two_are_not_taken() -> None:
    low = {"outputs[logs].queue.lowWatermark": 1, "outputs[logs].queue.highWatermark": 45000}
    assert findings(low) == {"error RT105 outputs[0].queue.lowWatermark"}
    assert findings(low | {"outputs[logs].queue.lowWatermark": 2}) == set()


def test_a_disk_queue_has_one_worker() -> None:
    disk = action_with(type="Disk", checkpointInterval=1000)
    assert findings(disk) == {"warning RT120 outputs[0].queue.workerThreads"}
    assert findings(disk | {"outputs[logs].queue.workerThreads": 1}) == set()


def test_a_durable_disk_queue_keeps_its_place() -> None:
    disk = action_with(type="Disk", workerThreads=1)
    assert findings(disk) == {"warning RT121 outputs[0].queue.checkpointInterval"}
    assert findings(disk | {"outputs[logs].queue.checkpointInterval": 1000}) == set()
    assert findings(disk | {"guardrails.tier": "relaxed"}) == set()
    assert findings(action_with(checkpointInterval=0)) == set()


@pytest.mark.parametrize(
    ("key", "value"),
    [("maxDiskSpace", "1g"), ("saveOnShutdown", True), ("syncQueueFiles", False),
     ("checkpointInterval", 1000), ("maxFileSize", "16m"), ("onCorruption", "safe"),
     ("diskQueueType", "disk")],
)  # fmt: skip
def test_what_is_about_files_needs_files(key: str, value: object) -> None:
    changes: dict[str, object] = {
        "release.rsyslog": "8.2608",
        f"outputs[logs].queue.{key}": value,
    }
    assert findings(changes) == {f"error RT122 outputs[0].queue.{key}"}
    with_files = action_with(diskQueueType="auto") | changes
    assert findings(with_files) == set()


def test_sampling_drops_on_purpose() -> None:
    for every, said in ((0, set()), (1, set()), (2, {"error RT123 main_queue.samplingInterval"})):
        assert findings({"main_queue.samplingInterval": every}) == said


def test_hours_of_work_have_an_end() -> None:
    begin, end = "main_queue.dequeueTimeBegin", "main_queue.dequeueTimeEnd"
    assert findings({begin: 8}) == {"warning RT124 main_queue.dequeueTimeBegin"}
    assert findings({begin: 8, end: 25}) == {"warning RT124 main_queue.dequeueTimeBegin"}
    assert findings({begin: 8, end: 20}) == {"warning RT124 main_queue.dequeueTimeEnd"}
    assert findings({end: 25}) == set()
    assert findings({begin: 26, end: 25}) == {"RT002"}


def test_an_action_queue_does_not_hold_up_its_feeders() -> None:
    key = "outputs[logs].queue.takeFlowCtlFromMsg"
    assert findings({key: True}) == {"warning RT125 outputs[0].queue.takeFlowCtlFromMsg"}
    assert findings({key: False}) == set()


def test_an_action_queue_has_a_hundred_places() -> None:
    tiny: dict[str, object] = {
        "outputs[logs].queue.dequeueBatchSize": 10,
        "outputs[logs].queue.workerThreads": 1,
    }
    assert "error RT126 outputs[0].queue.size" in findings(tiny | {"outputs[logs].queue.size": 99})
    assert "error RT126 outputs[0].queue.size" not in findings(
        tiny | {"outputs[logs].queue.size": 100}
    )


@pytest.mark.parametrize(
    ("key", "value", "release"),
    [("onCorruption", "safe", 2604), ("diskQueueType", "auto", 2608),
     ("diskQueueAutoUpgrade", True, 2608), ("diskQueueIdleTimeout", 1000, 2608)],
)  # fmt: skip
def test_a_queue_parameter_is_refused_before_its_release(
    key: str, value: object, release: int
) -> None:
    queues = {
        "outputs[0].queue": action_with(**{key: value}),
        "main_queue": main_with(lightDelayMark=0, **{key: value}),
    }
    for queue, changes in queues.items():
        too_new = findings(changes | {"release.rsyslog": f"8.{release - 2}"})
        assert too_new == {f"error RT423 {queue}.{key}"}
        known = findings(changes | {"release.rsyslog": f"8.{release}"})
        assert known - {f"warning RT128 {queue}.diskQueueType"} == set()


NEW = {"release.rsyslog": "8.2608"}


def test_a_new_layout_that_an_older_rsyslog_does_not_read_is_a_choice() -> None:
    assert findings(action_with()) == set()
    assert findings(action_with() | NEW) == {"warning RT128 outputs[0].queue.diskQueueType"}
    for chosen in ("auto", "disk", "segmentedDisk"):
        assert findings(action_with(diskQueueType=chosen) | NEW) == set()
    for kind in ("Disk", "segmentedDisk"):
        disk = action_with(type=kind, workerThreads=1, checkpointInterval=1000)
        assert findings(disk | NEW) == set()


def test_segmented_disk_is_a_disk_queue_of_newer_releases() -> None:
    segmented = action_with(type="segmentedDisk", checkpointInterval=1000, workerThreads=4)
    assert findings(segmented) == {"error RT423 outputs[0].queue.type"}
    assert findings(segmented | NEW) == set()
    nameless = {"outputs[logs].queue.type": "segmentedDisk"} | NEW
    assert findings(nameless) == {"error RT109 outputs[0].queue.type"}
    hasty = action_with(type="segmentedDisk", checkpointInterval=0) | NEW
    assert findings(hasty) == {"warning RT121 outputs[0].queue.checkpointInterval"}


@pytest.mark.parametrize(
    ("key", "queue"),
    [
        ("diskQueueType", {"type": "Disk", "diskQueueType": "disk"}),
        ("diskQueueAutoUpgrade", {"type": "segmentedDisk", "diskQueueAutoUpgrade": True}),
        ("diskQueueIdleTimeout", {"type": "Disk", "diskQueueIdleTimeout": 0}),
        ("diskQueueAutoUpgrade", {"diskQueueType": "disk", "diskQueueAutoUpgrade": True}),
        ("diskQueueIdleTimeout", {"diskQueueType": "disk", "diskQueueIdleTimeout": -1}),
        ("onCorruption", {"diskQueueType": "segmentedDisk", "onCorruption": "ignore"}),
        ("onCorruption", {"type": "segmentedDisk", "onCorruption": "inMemory"}),
    ],
)
def test_a_layout_and_what_it_has_not(key: str, queue: dict[str, object]) -> None:
    of_disk = {"workerThreads": 1, "checkpointInterval": 1000}
    changes = action_with(**of_disk, **queue) | NEW
    assert findings(changes) == {f"error RT127 outputs[0].queue.{key}"}
    assert findings(changes | {f"outputs[logs].queue.{key}": None}) <= {
        "warning RT128 outputs[0].queue.diskQueueType"
    }
