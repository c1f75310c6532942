"""omkafka with a real broker: what goes in at one rsyslogd comes out of another."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.live.outputs import daemon, lines, place, wait
from tuner.lab.entrances import free_port, is_listening
from tuner.lab.scratch import subfolder

pytestmark = [pytest.mark.live, pytest.mark.full]

JARS = Path(__file__).parents[2] / ".kafka"
# One node that is broker and controller (Kafka's documentation, KRaft); 22 characters are an id.
BROKER = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}/data
offsets.topic.replication.factor=1
group.initial.rebalance.delay.ms=0
"""
CLUSTER = "AAAAAAAAAAAAAAAAAAAAAA"
DEADLINE_S = 120.0
HEAD = b"<13>1 2026-11-20T12:00:00Z web-1 app 7 - - "
TEXTS = ['plain {} "quoted" \\', "€uro, %msg% `id` $!all-json", "x" * 3000]


@contextmanager
def broker(folder: Path) -> Iterator[str]:
    """A broker on loopback, which makes topics as they are asked for: host:port."""
    assert JARS.is_dir(), "make broker fetches it"
    settings, port = folder / "server.properties", free_port()
    text = BROKER.format(port=port, controller=free_port(), folder=folder)
    settings.write_text(text, "utf-8")
    java = ["java", "-Xmx256m", "-cp", f"{JARS}/*"]
    storage = [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(settings)]
    subprocess.run(storage, check=True, capture_output=True, timeout=DEADLINE_S)
    with (folder / "broker.log").open("wb") as log:
        running = subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=log, stderr=log)
        try:
            wait(lambda: is_listening(port) or running.poll() is not None, DEADLINE_S)
            assert is_listening(port), (folder / "broker.log").read_text("utf-8")
            yield f"127.0.0.1:{port}"
        finally:
            running.kill()
            running.wait()


READS = """\
module(load="imkafka")
template(name="whole" type="string" string="%msg%\\n")
input(type="imkafka" topic="events" broker=["{broker}"] consumergroup="readers"
      confParam=["auto.offset.reset=earliest"])
action(type="omfile" file="{file}" template="whole")
"""


def test_events_go_through_a_broker_and_arrive_as_they_were_sent(tmp_path: Path) -> None:
    fields = [{"property": "hostname", "name": "host"}, {"property": "msg", "name": "text"}]
    with broker(tmp_path) as address, place(tmp_path) as here:
        sending = {
            "name": "out", "type": "omkafka", "document": fields,
            "broker": [address], "topic": "events",
        }  # fmt: skip
        reader = subfolder(here.folder.parent, "reader")
        file = reader / "came"
        # A consumer that asks for a topic before it is there looks for it again minutes later.
        with here.running([sending]):
            here.send(HEAD + text.encode() for text in TEXTS)
            with daemon(READS.format(broker=address, file=file), reader, ()):
                wait(lambda: len(lines(file)) >= len(TEXTS), DEADLINE_S)
        found = [json.loads(line) for line in lines(file)]
    assert found == [{"host": "web-1", "text": text} for text in TEXTS]
