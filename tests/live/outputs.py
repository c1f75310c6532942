"""A real rsyslogd for tests of outputs: what is sent to it, and what it wrote."""

from __future__ import annotations

import secrets
import socket
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.profile.examples import small
from tests.shipped import release_at_hand
from tuner.host.process import give_to_daemons, run
from tuner.host.programs import find, rsyslogd
from tuner.lab.entrances import EventSource, TcpPort, free_port
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.profile.model import Profile
from tuner.render.artefacts import rsyslog_conf
from tuner.schema.section import since

DEADLINE_S = 20.0
SEPARATOR = "|"
# What the receiver writes of each event, so that a test can tell that nothing was changed.
PARTS = ("syslogseverity", "syslogfacility", "hostname", "programname", "procid", "msg")


@dataclass(frozen=True)
class Place:
    """A folder that rsyslogd may write to, and the port that events go in at."""

    folder: Path
    port: int

    def profile(
        self, outputs: Sequence[Mapping[str, object]], changes: Mapping[str, object] | None = None
    ) -> Profile:
        """The small profile with these outputs."""
        ours = {"inputs[0].port": self.port, "main_queue.timeoutShutdown": 10_000}
        return small({**ours, "outputs": list(outputs), **(changes or {})})

    @contextmanager
    def running(
        self, outputs: Sequence[Mapping[str, object]], changes: Mapping[str, object] | None = None
    ) -> Iterator[Rsyslogd]:
        """rsyslogd with these outputs, which has written everything when this ends."""
        config = rsyslog_conf(self.profile(outputs, changes))
        with daemon(config, self.folder, [TcpPort(self.port)]) as running:
            yield running

    def send(self, messages: Iterable[bytes]) -> None:
        """Over one connection, in frames that count octets, until rsyslogd has read them all: what
        its sockets hold when it is stopped is lost."""
        with socket.create_connection(("127.0.0.1", self.port), DEADLINE_S) as connection:
            connection.sendall(b"".join(b"%d %b" % (len(one), one) for one in messages))
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass


def rendered_for_it() -> dict[str, object]:
    """Changes of a profile for that release; before 8.2206 no engine after Elasticsearch 7."""
    release = release_at_hand()
    engine = "8.19" if release >= 2206 else "7.17"
    return {"release": {"rsyslog": f"8.{release}", "elasticsearch": engine}}


def bulks_to(url: str, **more: object) -> dict[str, object]:
    """An output into that engine or sink, which gives up a bulk after 2 s where it can."""
    came = since(OmelasticsearchOutput.model_fields["index_timeout"])
    limit = {"indexTimeout": 2000} if release_at_hand() >= came else {}
    return {
        "name": "logs", "type": "omelasticsearch", "servers": [url], "index": {"name": "syslog"},
        "action.resumeInterval": 1, **limit, **more,
    }  # fmt: skip


@contextmanager
def place(folder: Path) -> Iterator[Place]:
    """A place below `folder`, gone afterwards."""
    with scratch(folder) as below:
        yield Place(subfolder(below, "sender"), free_port())


@contextmanager
def daemon(config: str, folder: Path, entrances: Sequence[EventSource]) -> Iterator[Rsyslogd]:
    """rsyslogd with that configuration, which may write to `folder`, as others before it could; it
    is given time to empty its queues."""
    own = subfolder(folder.parent, f"{folder.name}-{secrets.token_hex(2)}")
    give_to_daemons(folder)
    running = Rsyslogd(config, own, entrances)
    try:
        yield running
    finally:
        running.stop(DEADLINE_S)


NO_OMHTTP = "rsyslogd has no omhttp: Debian ships rsyslog-http since 8.2512"


@cache
def has_module(name: str) -> bool:
    """Whether the rsyslogd at hand has a module."""
    if find("rsyslogd") is None:
        return False
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as config:
        config.write(f'module(load="{name}")\n')
        config.flush()
        done = run([rsyslogd(), "-N1", "-f", config.name], DEADLINE_S)
    return name not in done.stderr


def receiving(module: str, parameters: str, file: Path) -> str:
    """The configuration of an rsyslogd that writes down what it receives."""
    parts = SEPARATOR.join(f"%{part}%" for part in PARTS)
    return (
        f'module(load="{module}")\n'
        f'template(name="parts" type="string" string="{parts}\\n")\n'
        f'ruleset(name="all") {{ action(type="omfile" file="{file}" template="parts") }}\n'
        f'input(type="{module}" address="127.0.0.1" ruleset="all" {parameters})\n'
    )


def lines(file: Path) -> list[str]:
    """The lines of a file, none when it is not there."""
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def wait(done: Callable[[], bool], seconds: float = DEADLINE_S) -> None:
    """Until it is done, but not for ever: what the test asserts comes afterwards."""
    deadline = time.monotonic() + seconds
    while not done() and time.monotonic() < deadline:
        time.sleep(0.05)
