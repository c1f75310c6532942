"""rsyslog's own counters, as a real rsyslogd writes them for a profile that asks."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.live.outputs import DEADLINE_S, Place, place
from tests.live.test_documents import run, search, stored
from tests.live.test_lanes import measured
from tests.profile.examples import SMALL, small
from tests.shipped import at_hand, release_at_hand
from tuner.engine.client import EngineClient
from tuner.engine.feed import kept_bulks
from tuner.host.programs import rsyslog_version
from tuner.lab.entrances import free_port
from tuner.lab.lab import new_run_id, sink_lab
from tuner.lab.scratch import scratch
from tuner.lab.sink import Sink, parse_fault
from tuner.measure.measurement import Measurement, TrialPlan
from tuner.measure.place import run_profile
from tuner.modules.pstats import snapshots
from tuner.profile.model import Profile
from tuner.render.engine_files import index_template

pytestmark = [
    pytest.mark.live,
    pytest.mark.each_rsyslogd("impstats"),
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

EVENTS = 100
RELEASE = {"release": at_hand(SMALL).release.model_dump(mode="json", exclude_none=True)}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Place]:
    with place(tmp_path) as found:
        yield found


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def counters(path: Path) -> dict[str, dict[str, object]]:
    """The last object of each name in the file, what precedes the first brace left out."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    objects = [json.loads(line[line.index("{") :]) for line in lines]
    return {one["name"]: one for one in objects}


def test_counters_come_as_json_and_the_file_can_be_rotated(site: Place) -> None:
    path = site.folder / "impstats.log"
    output = {"name": "file", "type": "omfile", "file": f"{site.folder}/out"}
    wanted = {"impstats": {"interval": 1, "log.file": str(path)}}
    with site.running([output], wanted) as running:
        site.send([b"<13>Nov 21 06:30:00 web1 app: event"] * EVENTS)
        wait_for(lambda: counters(path).get("file", {}).get("processed") == EVENTS)
        assert counters(path)["main Q"]["enqueued"] == EVENTS
        assert "utime" in counters(path)["resource-usage"]
        assert path.stat().st_mode & 0o777 == 0o600
        owner = path.stat()
        path.rename(site.folder / "impstats.log.1")
        path.touch()
        path.chmod(0o640)
        os.chown(path, owner.st_uid, owner.st_gid)
        os.kill(running.pid, signal.SIGHUP)
        wait_for(lambda: "main Q" in counters(path))
        assert path.stat().st_mode & 0o777 == 0o640
    assert "rsyslogd-pstats" not in (site.folder / "out").read_text(encoding="utf-8")


FORMATS = {"legacy": 0, "json": 0, "json-elasticsearch": 0, "cee": 0, "prometheus": 2506,
           "zabbix": 2512}  # fmt: skip


@pytest.mark.parametrize(
    ("format_", "bracketing"), [*((one, True) for one in FORMATS), ("json", False)]
)
def test_every_format_that_rsyslogd_writes_is_read(
    site: Place, format_: str, bracketing: bool
) -> None:
    release = rsyslog_version()
    if FORMATS[format_] > int(release.split(".")[1]):
        pytest.skip(f"rsyslog 8.{FORMATS[format_]} brought {format_}")
    path = site.folder / "impstats.log"
    queue = {"type": "LinkedList", "size": 1000}
    output = {"name": "file", "type": "omfile", "file": f"{site.folder}/out", "queue": queue}
    asked = {"interval": 1, "log.file": str(path), "format": format_, "bracketing": bracketing}

    def is_counted() -> bool:
        found = snapshots(path.read_text("utf-8")) if path.exists() else ()
        return bool(found) and found[-1].actions["file"].processed == EVENTS

    with site.running([output], {"impstats": asked, **RELEASE}):
        site.send([b"<13>Nov 21 06:30:00 web1 app: event"] * EVENTS)
        wait_for(is_counted)
    found = snapshots(path.read_text("utf-8"))
    assert found
    assert [one.at for one in found] == sorted(one.at for one in found)
    assert found[-1].queues["file queue"].enqueued == EVENTS
    assert found[-1].queues["main Q"].enqueued == EVENTS
    assert found[-1].usage.maxrss_kib > 1000


@pytest.mark.full
def test_rsyslogds_own_count_of_bulks_is_that_of_the_sink(tmp_path: Path) -> None:
    """The sink delays each answer, and counts and times each request, too."""
    profile = at_hand(SMALL)
    delay = parse_fault("delay=0.05,after=1,times=1000000")
    with scratch(tmp_path) as folder, sink_lab(folder, new_run_id(), faults=[delay]) as lab:
        outcome = run_profile(lab, profile, TrialPlan(1.0, 4.0), "bulks", lambda _: None)
    assert isinstance(outcome, Measurement), outcome
    used = outcome.effective
    assert used is not None
    assert used.bulk is not None
    if release_at_hand() < 2610:
        assert used.bulk_waited_ms is None
        return
    assert used.bulk_waited_ms is not None
    assert used.bulk.p50_ms / 2 < used.bulk_waited_ms < 3 * used.bulk.p95_ms
    assert used.queues[-1].batch_mean is not None
    assert used.events_per_bulk is not None
    assert used.queues[-1].batch_mean == pytest.approx(used.events_per_bulk, rel=0.5)


STATS = "rsyslog-tune-test-stats"
FIELDS = [
    {"property": "timegenerated", "name": "@timestamp", "type": "date"},
    {"json": "name", "name": "name", "uses": ["term"]},
    {"json": "enqueued", "name": "enqueued", "type": "integer", "uses": ["range"]},
    {"json": "maxqsize", "name": "most", "type": "integer"},
]


def with_counters(url: str, port: int, format_: str, document: object) -> Profile:
    """The small profile beside rsyslogd's counters, which go to an index of their own."""
    output = small().model_dump(mode="json", by_alias=True, exclude_defaults=True)["outputs"][0]
    logs = {**output, "servers": [url]}
    index = {"name": STATS, "settings": {"number_of_replicas": 0}}
    stats = {**logs, "name": "stats", "stream": "stats", "index": index, "document": document}
    parse = {"format": "json"} | ({} if format_ == "cee" else {"cookie": ""})
    return small(
        {
            "inputs[0].port": port,
            "impstats": {
                "interval": 1, "log.syslog": True, "stream": "stats", "format": format_,
                "severity": 7,
            },
            "streams": {"stats": {"parse": parse}},
            "outputs": [logs, stats],
        }
    )  # fmt: skip


@pytest.mark.parametrize("format_", ["cee", "json-elasticsearch"])
def test_counters_become_documents_of_their_own_index(format_: str, tmp_path: Path) -> None:
    with Sink(keep=10_000) as sink:
        client = EngineClient(sink.url)

        def about_the_queue() -> list[dict[str, object]]:
            lines = kept_bulks(client).splitlines()
            pairs = zip(lines[::2], lines[1::2], strict=False)
            mine = [json.loads(text) for head, text in pairs if STATS.encode() in head]
            return [one for one in mine if one.get("name") == "main Q"]

        profile = with_counters(sink.url, free_port(), format_, "raw")
        messages = [b"<13>Nov 21 06:30:00 web1 app: event"] * EVENTS

        def rounds() -> int:
            return EVENTS if about_the_queue() else 0

        run(profile, tmp_path, messages, rounds)
        found = about_the_queue()
        client.close()
    full = "discarded!full" if format_ == "json-elasticsearch" else "discarded.full"
    assert found
    assert found[-1]["origin"] == "core.queue"
    assert found[-1][full] == 0


@pytest.mark.full
def test_counters_of_the_profile_and_those_of_the_lab_do_not_meet(tmp_path: Path) -> None:
    outcome = measured(tmp_path, with_counters("http://127.0.0.1:9200", 10514, "cee", "raw"))
    assert outcome.delivery.exact
    assert outcome.effective is not None


@pytest.mark.full
def test_counters_are_typed_in_elasticsearch(elasticsearch: EngineClient, tmp_path: Path) -> None:
    profile = with_counters(elasticsearch.url, free_port(), "json-elasticsearch", FIELDS)
    body = index_template(profile, profile.indexed[1])
    elasticsearch.request("PUT", f"/_index_template/{STATS}", body)
    try:
        elasticsearch.request("PUT", f"/{STATS}")
        run(
            profile,
            tmp_path,
            [b"<13>Nov 21 06:30:00 web1 app: x"],
            lambda: stored(elasticsearch, STATS) // 5,
        )
        hits = [hit["_source"] for hit in search(elasticsearch, STATS)]
    finally:
        for name in (STATS, "syslog"):
            if name in elasticsearch.get(f"/{name}*"):
                elasticsearch.request("DELETE", f"/{name}")
        elasticsearch.request("DELETE", f"/_index_template/{STATS}")
    queue = next(hit for hit in hits if hit["name"] == "main Q")
    assert isinstance(queue["enqueued"], int)
    assert isinstance(queue["most"], int)
