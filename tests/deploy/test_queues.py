"""What is said of a host's queues, by a file as rsyslogd writes it, read on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.profile.examples import small
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.target import RemoteHost
from tuner.deploy.verify import (
    block_of,
    figures_note,
    last_round,
    movement_note,
    stranded_files,
)
from tuner.profile.model import Profile

HERE = RemoteHost(InventoryHost("here", "local://"))
QUEUE = "{name} queue: origin=core.queue size={size} enqueued={took} full=0 discarded.full={lost} "
ACTION = "{name}: origin=core.action processed=9 failed={failed} suspended=0 "


def written(name: str, size: int, took: int, lost: int, failed: int, at_s: int = 3) -> str:
    """The figures of an output and its queue."""
    lines = (
        "main Q: origin=core.queue size=1 enqueued=2 full=0 discarded.full=0 ",
        QUEUE.format(name=name, size=size, took=took, lost=lost),
        ACTION.format(name=name, failed=failed),
    )
    return "".join(f"Mon Nov 23 09:18:{at_s:02} 2026: {line}\n" for line in lines)


def profile_of(log: Path) -> Profile:
    queue = {"type": "LinkedList", "size": 50_000}
    return small(
        {
            "impstats": {"interval": 1, "format": "legacy", "log.file": str(log)},
            "outputs": [{"name": "all", "type": "omfile", "file": "/x", "queue": queue}],
            "main_queue": {"type": "FixedArray", "size": 100_000},
        }
    )


def said_of(log: Path) -> str:
    return figures_note(HERE, profile_of(log))


def test_only_the_last_round_counts(tmp_path: Path) -> None:
    """A host that ran another configuration a minute ago has its figures in the file, too."""
    log = tmp_path / "figures"
    assert said_of(log) == f"here: no figures of its queues in {log}"
    old = written("old", 7, 70, 77, 777)
    log.write_text(old + written("all", 300, 50_000, 0, 0, at_s=4), encoding="utf-8")
    assert said_of(log) == (
        "here: Nothing wrong in this one round: 2 events came into the queues, no queue above "
        "0.6 %, nothing discarded."
    )


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    log = tmp_path / "figures"
    part = "Mon Nov 23 09:18:03 2026: all queue[DA]: origin=core.queue size=7 enqueued=9 \n"
    log.write_text(written("all", 2, 9, 6, 0) + part, encoding="utf-8")
    assert said_of(log) == (
        "here: 2 findings (1 lost, 1 late); 2 events came into the queues. queue full: events "
        "discarded: all queue (6 events lost; certain). events wait on disk: all queue[DA] (at "
        "least 7 events late; certain). See diagnose --host here."
    )


NEW, OLD, OLD_LAYOUT = "q.segq", "q.qi", "of the old layout"


@pytest.mark.parametrize(
    ("rsyslogd", "queue", "there", "said"),
    [
        ("8.2504.0", 'type="LinkedList"', (NEW,), "does not read"),
        ("8.2504.0", 'type="LinkedList"', (OLD,), None),
        ("8.2608.0", 'type="LinkedList"', (NEW,), None),
        ("8.2608.0", 'type="LinkedList"', (OLD,), None),
        ("8.2608.0", 'type="LinkedList"', ("qq.segq", "q.segq.bak"), None),
        ("8.2608.0", 'type="LinkedList" queue.diskQueueType="disk"', (NEW,), "does not read"),
        ("8.2608.0", 'type="Disk"', (NEW,), "does not read"),
        ("8.2608.0", 'type="Disk" queue.diskQueueType="segmentedDisk"', (OLD,), None),
        ("8.2608.0", 'type="LinkedList" queue.diskQueueType="segmentedDisk"', (OLD,), OLD_LAYOUT),
        ("8.2608.0", 'type="LinkedList"', (NEW, "q.00000002"), OLD_LAYOUT),
        ("8.2608.0", 'type="SegmentedDisk"', (NEW,), None),
        ("8.2608.0", 'type="SegmentedDisk"', ("q.00000001",), OLD_LAYOUT),
    ],
)
def test_files_that_the_rsyslogd_of_a_host_does_not_read_are_named(
    tmp_path: Path, rsyslogd: str, queue: str, there: tuple[str, ...], said: str | None
) -> None:
    for name in there:
        (tmp_path / name).touch()
    action = f'action(type="omfile" file="/x" queue.filename="q" queue.{queue})\n'
    block = block_of(small(), f'global(workDirectory="{tmp_path}")\n{action}')
    found = list(stranded_files(HERE, block, rsyslogd))
    assert len(found) == (said is not None)
    assert all(str(tmp_path / "q.") in one and str(said) in one for one in found)


def test_what_the_process_before_counted_is_no_movement(tmp_path: Path) -> None:
    log = tmp_path / "figures"
    profile = profile_of(log)
    log.write_text(written("all", 0, 12, 0, 0), encoding="utf-8")
    before = last_round(HERE, profile)
    assert movement_note(HERE, profile, before) == f"here: no figures of its queues in {log}"
    with log.open("a", encoding="utf-8") as file:
        file.write(written("all", 1, 1234, 0, 0, at_s=5))
    assert movement_note(HERE, profile, before) == (
        "here: Nothing wrong in this one round: 2 events came into the queues, no queue above "
        "0.0 %, nothing discarded."
    )
