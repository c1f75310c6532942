"""Queues with files on a real rsyslogd: what waits there survives its end, is delivered once, and
by which release; what of it our count sees."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.live.outputs import DEADLINE_S, Place, daemon, place, wait
from tests.live.rsyslogs import SUITES
from tests.profile.examples import SMALL
from tests.shipped import at_hand, release_at_hand
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.target import RemoteHost
from tuner.deploy.verify import stranded_files
from tuner.engine.client import EngineClient
from tuner.engine.feed import kept_bulks
from tuner.host.programs import CHOSEN_RSYSLOGD, rsyslog_version
from tuner.lab.entrances import TcpPort, free_port
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.sink import Sink
from tuner.measure.paced import _spool_bytes
from tuner.modules.queue import SEGMENTED_SINCE
from tuner.profile.edit import edit
from tuner.render.artefacts import rsyslog_conf
from tuner.script.parser import parse

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

EVENTS = 8000
FILES = {
    "filename": "logs",
    "maxDiskSpace": "1g",
    "workerThreads": 1,
    "timeoutShutdown": 10,
    "timeoutEnqueue": 86_400_000,
    "checkpointInterval": 100,
}
DISK = {"type": "Disk", "size": 100_000, **FILES}
# It holds all events and goes to disk early: small ones sometimes block what fills them for good.
ASSISTED = {
    "type": "LinkedList",
    "size": 20_000,
    "highWatermark": 1000,
    "lowWatermark": 500,
    "dequeueBatchSize": 100,
    **FILES,
}
SEGMENTED = {**DISK, "type": "segmentedDisk"}
HAS_BOTH = pytest.mark.skipif(
    shutil.which("rsyslogd") is not None and release_at_hand() < SEGMENTED_SINCE,
    reason=f"segmented queue files came with rsyslog 8.{SEGMENTED_SINCE}",
)
# What 8.2302 saves of a disk-assisted queue when it stops without an engine is no matter of files.
QUEUES = [
    pytest.param(DISK, id="Disk"),
    pytest.param(ASSISTED, id="disk-assisted", marks=HAS_BOTH),
    pytest.param(SEGMENTED, id="segmentedDisk", marks=HAS_BOTH),
    pytest.param({**ASSISTED, "diskQueueType": "disk"}, id="assisted, disk", marks=HAS_BOTH),
    pytest.param(
        {**ASSISTED, "diskQueueType": "segmentedDisk"}, id="assisted, segmented", marks=HAS_BOTH
    ),
]
NEWEST = SUITES[-1]
_NUMBER = re.compile(r"n=(\d+) ")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Place]:
    with place(tmp_path) as found:
        yield found


def configuration(site: Place, queue: dict[str, object], engine: int) -> str:
    """The small profile with that queue, into an engine on that port, for the rsyslogd at hand."""
    changes = {
        "inputs[0].port": site.port,
        "global.workDirectory": str(site.folder),
        "outputs[logs].servers": [f"http://127.0.0.1:{engine}"],
        "outputs[logs].action.resumeInterval": 1,
        "outputs[logs].queue": {**queue, "spoolDirectory": str(site.folder)},
    }
    profile = at_hand(edit(SMALL, changes))
    # Events are in the action's queue once the input has read them.
    return re.sub(r"main_queue\([^)]*\)", 'main_queue(queue.type="Direct")', rsyslog_conf(profile))


@contextmanager
def running(site: Place, config: str) -> Iterator[Rsyslogd]:
    with daemon(config, site.folder, [TcpPort(site.port)]) as started:
        yield started


def spill(site: Place, config: str, by: signal.Signals) -> int:
    """Have rsyslogd take events while there is no engine, and end it; the bytes on disk."""
    with running(site, config) as rsyslogd:
        site.send(b"<13>Nov 25 00:00:00 web1 app: n=%d %b" % (n, b"x" * 200) for n in range(EVENTS))
        os.kill(rsyslogd.pid, by)
        wait(lambda: rsyslogd.ending() is not None)
        assert rsyslogd.ending() is not None
    return _spool_bytes(site.folder, ["logs"])


def delivered(
    site: Place, config: str, engine: int, events: int, patience_s: float
) -> Counter[int]:
    """How often each event comes to the engine that is there now."""
    with Sink(port=engine, keep=4 * EVENTS) as sink:
        client = EngineClient(sink.url)

        def found() -> Counter[int]:
            lines = kept_bulks(client).decode().splitlines()[1::2]
            return Counter(int(found[1]) for found in map(_NUMBER.search, lines) if found)

        with running(site, config):
            wait(lambda: len(found()) >= events, patience_s)
        counted = found()
        client.close()
    return counted


@pytest.mark.each_rsyslogd("queues")
@pytest.mark.parametrize("queue", QUEUES)
def test_what_is_on_disk_is_counted_and_delivered_once(
    site: Place, queue: dict[str, object]
) -> None:
    engine = free_port()
    config = configuration(site, queue, engine)
    on_disk = spill(site, config, signal.SIGTERM)
    assert on_disk > EVENTS * 200
    files = (*site.folder.glob("logs.*"), *site.folder.glob("logs.segq/*"))
    assert on_disk == sum(file.stat().st_size for file in files if file.is_file())
    counted = delivered(site, config, engine, EVENTS - _held(), 2 * DEADLINE_S)
    missing = set(range(EVENTS)) - counted.keys()
    assert missing <= set(range(_held()))
    assert set(counted.values()) == {1}


def _held() -> int:
    """Before 8.2608 the batch that a worker of omelasticsearch holds is lost when rsyslogd stops
    while there is no engine: the default of dequeueBatchSize."""
    return 0 if release_at_hand() >= SEGMENTED_SINCE else 128


@HAS_BOTH
@pytest.mark.each_rsyslogd("queues")
def test_a_kill_loses_nothing_of_a_segmented_disk_queue(site: Place) -> None:
    """Of one of type Disk the last few dozen events, which are not written yet."""
    engine = free_port()
    config = configuration(site, SEGMENTED, engine)
    spill(site, config, signal.SIGKILL)
    assert set(delivered(site, config, engine, EVENTS, 2 * DEADLINE_S)) == set(range(EVENTS))


@pytest.mark.full
@pytest.mark.each_rsyslogd("queues")
@pytest.mark.skipif(not NEWEST.rsyslogd.is_file(), reason="make rsyslogs fetches the newest")
@pytest.mark.skipif(rsyslog_version() == NEWEST.release, reason="nothing is newer")
@pytest.mark.parametrize("layout", ["auto", "disk"])
def test_an_older_rsyslogd_delivers_nothing_of_segmented_files_and_we_say_so(
    site: Place, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    engine = free_port()
    older = configuration(site, ASSISTED, engine)
    with monkeypatch.context() as newer:
        newer.setenv(CHOSEN_RSYSLOGD, str(NEWEST.rsyslogd))
        new = configuration(site, {**ASSISTED, "diskQueueType": layout}, engine)
        spill(site, new, signal.SIGTERM)
    host = RemoteHost(InventoryHost("here", "local://"))
    said = list(stranded_files(host, parse(older, "")[0], f"{rsyslog_version()}.0"))
    if layout == "disk":
        assert said == []
        assert delivered(site, older, engine, EVENTS, 2 * DEADLINE_S) == Counter(range(EVENTS))
        return
    assert [line.partition(" ")[0] for line in said] == [f"{site.folder}/logs.segq"]
    assert delivered(site, older, engine, 1, 5.0) == Counter()
    monkeypatch.setenv(CHOSEN_RSYSLOGD, str(NEWEST.rsyslogd))
    assert list(stranded_files(host, parse(new, "")[0], f"{NEWEST.release}.0")) == []
    assert delivered(site, new, engine, EVENTS, 2 * DEADLINE_S) == Counter(range(EVENTS))


@HAS_BOTH
@pytest.mark.each_rsyslogd("queues")
@pytest.mark.parametrize(
    ("before", "after"),
    [(DISK, SEGMENTED), (SEGMENTED, DISK), (DISK, {**ASSISTED, "diskQueueType": "segmentedDisk"})],
    ids=["Disk to segmentedDisk", "segmentedDisk to Disk", "Disk to diskQueueType segmentedDisk"],
)
def test_files_of_the_other_layout_are_said_to_be_unread(
    site: Place, before: dict[str, object], after: dict[str, object]
) -> None:
    engine = free_port()
    spill(site, configuration(site, before, engine), signal.SIGTERM)
    config = configuration(site, after, engine)
    host = RemoteHost(InventoryHost("here", "local://"))
    (said,) = stranded_files(host, parse(config, "")[0], f"{rsyslog_version()}.0")
    assert said.startswith(f"{site.folder}/logs.")
    assert delivered(site, config, engine, 1, 3.0) == Counter()
    again = configuration(site, before, engine)
    assert list(stranded_files(host, parse(again, "")[0], f"{rsyslog_version()}.0")) == []
    assert delivered(site, again, engine, EVENTS, 2 * DEADLINE_S) == Counter(range(EVENTS))
