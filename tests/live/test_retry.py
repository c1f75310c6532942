"""Documents that the engine refuses one by one: none lost, none twice, the rest in the file."""

from __future__ import annotations

import json
import re
import socket
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.lab.test_sink_live import account
from tests.live.engines import running
from tests.profile.examples import SMALL
from tests.shipped import ROOT, at_hand
from tuner.engine.client import EngineClient, at, number_at
from tuner.engine.delivery import fault_counts
from tuner.engines.release import Release
from tuner.host.process import wait_until
from tuner.lab.engine import SinkEngine
from tuner.lab.entrances import TcpPort, free_port
from tuner.lab.lab import attached_lab, lab_of, new_run_id
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.lab.sink import Sink, parse_fault
from tuner.measure.measurement import Measurement, TrialPlan
from tuner.measure.place import run_profile
from tuner.profile.edit import edit
from tuner.profile.model import Profile
from tuner.render.artefacts import rsyslog_conf

pytestmark = [
    pytest.mark.live,
    pytest.mark.full,
    pytest.mark.usefixtures("nothing_left_behind"),
]

TIMEOUT_S = 60.0
EVENTS = 12_000
RUN = "0123abcd"
SHORT = TrialPlan(1.0, 2.0)
IDENTITY = re.compile(r"run=[0-9a-f]{8} seq=(\d{12})")


@dataclass(frozen=True)
class Shipper:
    """A real rsyslogd on the small profile, and the file of what it gave up."""

    port: int
    rejected: Path

    def send(self, numbers: range) -> None:
        """Send one event for each number; the program of those that end in 7 is `bad`."""
        lines = (
            b"<13>Nov 21 01:02:03 web1 %s: run=%s seq=%012d text\n"
            % (b"bad" if n % 10 == 7 else b"17", RUN.encode(), n)
            for n in numbers
        )
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(b"".join(lines))

    def given_up(self) -> Counter[int]:
        """The numbers in the file, each whole line read as JSON."""
        if not self.rejected.exists():
            return Counter()
        *lines, _being_written = self.rejected.read_text(encoding="utf-8").split("\n")
        return Counter(identity(json.loads(line)["document"]) for line in lines)


def identity(document: Mapping[str, object]) -> int:
    """The number of the event that a document was made of."""
    found = IDENTITY.search(str(document["message"]))
    assert found is not None, document
    return int(found[1])


@contextmanager
def shipper(url: str, index: str, parent: Path) -> Iterator[Shipper]:
    """An rsyslogd that has everything delivered or given up when the statement ends."""
    with scratch(parent) as folder:
        port, own = free_port(), subfolder(folder, "shipper")
        rejected = own / "rejected.json"
        changes: dict[str, object] = {
            "inputs[0].port": port,
            "outputs[logs].servers": [url],
            "outputs[logs].queue.dequeueBatchSize": 500,
            "outputs[logs].queue.workerThreadMinimumMessages": 500,
            "outputs[logs].retryfailures.file": str(rejected),
            "outputs[logs].index.name": index,
        }
        profile = at_hand(edit(SMALL, changes))
        daemon = Rsyslogd(rsyslog_conf(profile), own, [TcpPort(port)])
        try:
            yield Shipper(port, rejected)
        finally:
            daemon.stop(5.0)


@pytest.mark.each_rsyslogd("faults")
def test_the_sink_refuses_every_third_for_a_while(tmp_path: Path) -> None:
    fault = parse_fault("errors,after=3,times=6")
    with Sink(faults=[fault]) as sink, shipper(sink.url, "syslog", tmp_path) as ours:
        client = EngineClient(sink.url)
        client.request("PUT", "/syslog", {})
        ours.send(range(EVENTS))

        def settled() -> bool:
            done = account(client, "syslog", EVENTS)
            return EVENTS - done.lost + len(ours.given_up()) == EVENTS

        assert wait_until(settled, TIMEOUT_S)
        time.sleep(2)
        done, given_up = account(client, "syslog", EVENTS), ours.given_up()
        assert len(fault_counts(client)) == 6
        assert 0 < len(given_up) < EVENTS / 6
        assert done.lost == len(given_up)
        assert done.duplicated == 0
        assert set(given_up.values()) == {1}
        assert set(done.missing) <= set(given_up)
        client.close()


@pytest.mark.each_rsyslogd("faults")
def test_what_was_stored_before_the_connection_broke_is_not_stored_twice(tmp_path: Path) -> None:
    """Without ids the same fault doubles every event of its batch
    (tests/live/test_refused_bulks.py)."""
    fault = parse_fault("reset,after=3")
    with Sink(faults=[fault]) as sink, shipper(sink.url, "syslog", tmp_path) as ours:
        client = EngineClient(sink.url)
        client.request("PUT", "/syslog", {})
        ours.send(range(EVENTS))
        assert wait_until(lambda: account(client, "syslog", EVENTS).lost == 0, TIMEOUT_S)
        time.sleep(1)
        assert account(client, "syslog", EVENTS).duplicated == 0
        assert ours.given_up() == Counter()
        client.close()


@pytest.fixture
def index(elasticsearch: EngineClient) -> Iterator[str]:
    """An index of the real engine that takes only programs whose name is a number."""
    name = "retry-test"
    program = {"properties": {"name": {"type": "long"}}}
    mappings = {"dynamic": False, "properties": {"process": program}}
    elasticsearch.request("PUT", f"/{name}", {"mappings": mappings})
    yield name
    elasticsearch.request("DELETE", f"/{name}")


def arrivals(client: EngineClient, index: str) -> Counter[int]:
    """How often each number is in an index of at most 10,000 documents."""
    client.request("POST", f"/{index}/_refresh")
    found = client.get(f"/{index}/_search?size=10000&_source=message")
    hits = found["hits"]
    assert isinstance(hits, dict)
    return Counter(identity(hit["_source"]) for hit in hits["hits"])


def test_an_engine_that_blocks_writes_and_rejects_documents(
    elasticsearch: EngineClient, index: str, tmp_path: Path
) -> None:
    """403 for five seconds, which pass, and 400 for every tenth document, which do not."""
    events = range(6000)

    def block(blocked: bool) -> None:
        settings: dict[str, object] = {"index.blocks.write": blocked}
        elasticsearch.request("PUT", f"/{index}/_settings", settings)

    block(True)
    with shipper(elasticsearch.url, index, tmp_path) as ours:
        ours.send(events)
        time.sleep(5)
        assert arrivals(elasticsearch, index) == Counter()
        block(False)

        def settled() -> bool:
            there = len(arrivals(elasticsearch, index)) + len(ours.given_up())
            return there == len(events)

        assert wait_until(settled, TIMEOUT_S, 0.5)
        time.sleep(2)
        assert arrivals(elasticsearch, index) == Counter(n for n in events if n % 10 != 7)
        assert ours.given_up() == Counter(n for n in events if n % 10 == 7)


def test_an_engine_that_has_no_room_for_parts_of_bulks(tmp_path: Path) -> None:
    """429 for the documents of every shard whose part of a bulk finds the write pool full.

    From 8 on the pool takes the bulk as a whole first, and refuses it as a whole, which rsyslog
    loses before 8.2606 (RT404).
    """
    events = range(6000)
    small_pool: dict[str, str | int | bool] = {
        "thread_pool.write.size": 1,
        "thread_pool.write.queue_size": 1,
    }
    with running(Release(elasticsearch="7.17"), tmp_path, small_pool) as client:
        settings = {"number_of_shards": 8, "number_of_replicas": 0}
        client.request("PUT", "/crowded", {"settings": settings})
        with shipper(client.url, "crowded", tmp_path) as ours:
            ours.send(events)
            there = partial(arrivals, client, "crowded")
            assert wait_until(lambda: len(there()) == len(events), TIMEOUT_S, 0.5), len(there())
            time.sleep(2)
            assert there() == Counter(events)
            assert ours.given_up() == Counter()
        pools = at(client.get("/_nodes/stats/thread_pool"), "nodes")
        assert isinstance(pools, dict)
        (node,) = pools.values()
        assert number_at(node, "thread_pool", "write", "rejected") > len(events) / 100


@pytest.mark.each_rsyslogd("faults")
@pytest.mark.parametrize("faults", [(), ("html=413",), ("truncate",)], ids=str)
def test_a_trial_with_retries_accounts_for_every_event_on_the_sink(
    faults: tuple[str, ...], tmp_path: Path
) -> None:
    """Faults that double a batch of the profile without ids (tests/live/test_refused_bulks.py)."""
    wanted = [parse_fault(text) for text in faults]
    with Sink(faults=wanted) as sink, scratch(tmp_path) as folder:
        lab = lab_of(SinkEngine(sink), folder, new_run_id())
        try:
            outcome = run_profile(lab, with_retries(), SHORT, "t1", lambda _: None)
        finally:
            lab.client.close()
    assert isinstance(outcome, Measurement), outcome
    assert outcome.delivery.exact


def test_a_trial_with_retries_accounts_for_every_event_on_an_engine(
    elasticsearch: EngineClient, tmp_path: Path
) -> None:
    client = EngineClient(elasticsearch.url)
    with scratch(tmp_path) as folder, attached_lab(client, folder, new_run_id(), "1g") as lab:
        outcome = run_profile(lab, with_retries(), SHORT, "t1", lambda _: None)
    assert isinstance(outcome, Measurement), outcome
    assert outcome.delivery.exact


def with_retries() -> Profile:
    """The shipped profile, with retries."""
    text = (ROOT / "profiles" / "default.yaml").read_text(encoding="utf-8")
    return at_hand(
        edit(text, {"outputs[logs].retryfailures.file": "/var/log/rsyslog/rejected.json"})
    )
