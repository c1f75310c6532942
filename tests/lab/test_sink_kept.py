"""What the sink keeps of the bulks that reach it."""

from __future__ import annotations

import threading

import pytest

from tuner.engine.client import EngineClient
from tuner.engine.feed import kept_bulks
from tuner.lab.sink import Sink
from tuner.lab.sink_store import KeptLines


def lines(first: int, end: int) -> bytes:
    return b"".join(b'{"index":{"_index":"k"}}\n{"n":%d}\n' % n for n in range(first, end))


@pytest.mark.parametrize("bulk", [1, 3, 4, 100])
def test_the_first_documents_are_kept_byte_for_byte_however_they_come(bulk: int) -> None:
    store = KeptLines(documents=8)
    for first in range(0, 100, bulk):
        store.add(lines(first, first + bulk))
    assert store.lines == lines(0, 8)


def test_it_keeps_no_more_bytes_than_it_may_and_no_half_document() -> None:
    room = len(lines(0, 5))
    for most_bytes, documents in ((room, 5), (room + 10, 5), (room - 1, 4), (3, 0)):
        store = KeptLines(documents=50, most_bytes=most_bytes)
        store.add(lines(0, 3))
        store.add(lines(3, 9))
        assert store.lines == lines(0, documents)


def test_nothing_follows_the_first_document_that_had_no_room() -> None:
    store = KeptLines(documents=50, most_bytes=len(lines(0, 2)))
    long = b'{"index":{"_index":"k"}}\n{"text":"%b"}\n' % (b"x" * 500)
    store.add(lines(0, 1) + long)
    store.add(lines(1, 2))
    assert store.lines == lines(0, 1)


def test_bulks_that_come_in_parallel_are_kept_whole() -> None:
    store = KeptLines(documents=400)
    workers = [
        threading.Thread(target=store.add, args=(lines(n * 100, n * 100 + 100),)) for n in range(6)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    found = store.lines
    assert found.count(b"\n") == 800
    whole = [lines(n * 100, n * 100 + 100) for n in range(6)]
    assert sum(bulk in found for bulk in whole) == 4


def test_a_sink_gives_back_what_it_was_told_to_keep_and_still_counts_all() -> None:
    with Sink(keep=3) as sink:
        client = EngineClient(sink.url)
        with client.new_session() as session:
            for first in (0, 2, 4):
                session.post(f"{sink.url}/_bulk", data=lines(first, first + 2), timeout=60)
            session.post(f"{sink.url}/_bulk", data=b"no bulk at all\n", timeout=60)
        assert kept_bulks(client) == lines(0, 3)
        assert client.get("/k/_count")["count"] == 6
        client.close()


def test_a_sink_that_is_not_told_to_keeps_nothing() -> None:
    with Sink() as sink:
        client = EngineClient(sink.url)
        with client.new_session() as session:
            session.post(f"{sink.url}/_bulk", data=lines(0, 2), timeout=60)
        assert kept_bulks(client) == b""
        client.close()
