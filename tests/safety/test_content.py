"""Documents that arrive with another content than was sent give no number: numbers swapped between
events, which all accounts take for exact, and texts altered on the way."""

from __future__ import annotations

import itertools
import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.safety.trials import PROFILE, SHORT, silent
from tuner.lab.engine import SinkEngine
from tuner.lab.lab import Lab, lab_of, new_run_id
from tuner.lab.scratch import scratch
from tuner.lab.sink import Sink
from tuner.measure.measurement import Failure, FailureKind, Measurement
from tuner.measure.place import run_profile

pytestmark = pytest.mark.live

_CHUNK = 65536
_NUMBER = re.compile(rb'"rsyslog_tune_seq":(\d{12})(\d)(\d)')


def swapped(body: bytes) -> bytes:
    """Of each hundred events, five pairs of neighbours have exchanged numbers, if both are here."""
    numbers = {found[0] for found in _NUMBER.finditer(body)}

    def other(found: re.Match[bytes]) -> bytes:
        high, tens, last = found.groups()
        neighbour = b'"rsyslog_tune_seq":%b%b%d' % (high, tens, int(last) ^ 1)
        return neighbour if tens == b"3" and neighbour in numbers else found[0]

    return _NUMBER.sub(other, body)


def altered(body: bytes) -> bytes:
    """One text in ten has another first word."""
    tenth = rb'("message":" ?)\w(.*"rsyslog_tune_seq":\d{12}3\d)'
    return re.sub(tenth, rb"\1#\2", body)


def _lines(stream: Iterable[bytes]) -> Iterator[bytes]:
    """Those of a head, without the empty one after it."""
    return itertools.takewhile(lambda one: one != b"\r\n", stream)


class Meddler:
    """A proxy that changes the bodies of bulks on their way to a port; for a `with` statement."""

    def __init__(self, port: int, change: Callable[[bytes], bytes]) -> None:
        self._target, self._change = port, change
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def end(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            engine = socket.create_connection(("127.0.0.1", self._target))
            threading.Thread(target=self._reply, args=(engine, client), daemon=True).start()
            with engine, client.makefile("rb") as requests:
                while head := b"".join(_lines(requests)):
                    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", b"\r\n" + head)
                    body = requests.read(int(length[1])) if length else b""
                    made = self._change(body) if b"_bulk" in head.partition(b"\r\n")[0] else body
                    engine.sendall(head + b"\r\n" + made)

    @staticmethod
    def _reply(engine: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while piece := engine.recv(_CHUNK):
                client.sendall(piece)
            client.shutdown(socket.SHUT_RDWR)


class Meddled(Sink):
    """A sink that is reached through a proxy."""

    meddler: Meddler

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.meddler.port}"


@contextmanager
def meddled(site: Path, change: Callable[[bytes], bytes]) -> Iterator[Lab]:
    with Meddled() as sink, scratch(site) as folder:
        sink.meddler = Meddler(sink.port, change)
        lab = lab_of(SinkEngine(sink), folder, new_run_id())
        yield lab
        lab.client.close()
        sink.meddler.end()


@pytest.mark.parametrize("change", [swapped, altered])
def test_another_content_than_was_sent_gives_no_number(
    site: Path, change: Callable[[bytes], bytes]
) -> None:
    with meddled(site, change) as lab:
        outcome = run_profile(lab, PROFILE, SHORT, "struck", silent)
    assert isinstance(outcome, Failure), outcome
    assert outcome.kind is FailureKind.DELIVERY
    assert re.match(r"\d+ of 300 documents compared hold something else", outcome.reason)
    assert re.search(r"event \d*3\d: (\S+, )*message", outcome.reason), outcome.reason
    assert outcome.delivery is not None
    assert outcome.delivery.exact


@pytest.mark.full
def test_what_passes_unchanged_is_measured(site: Path) -> None:
    with meddled(site, lambda body: body) as lab:
        outcome = run_profile(lab, PROFILE, SHORT, "struck", silent)
    assert isinstance(outcome, Measurement), outcome
