"""The delivery check: which events of a flood arrived in an engine or in our sink."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.engine.client import JSON, EngineClient, at, list_at, number_at
from tuner.engine.numbering import (
    BLOCK,
    FIELD,
    FIRST_OUTPUT,
    MICRO_DIGITS,
    NAMED,
    RUN_MICROS,
    SentEvents,
    first_number,
)

Numbers = NDArray[np.int64]


def numbers_of(sent: SentEvents) -> Numbers:
    """The numbers of the events that were sent, in order."""
    none = np.arange(0, dtype=np.int64)
    return np.concatenate([none, *(np.arange(*bounds, dtype=np.int64) for bounds in sent.ranges())])


@dataclass(frozen=True)
class DeliveryCheck:
    """How many documents of a flood were lost, and how many were duplicates.

    `missing` and `doubled` are the numbers of the first ten lost and duplicated events.  If events
    have no number and are only counted, `identified` is false: a loss and a duplicate cancel out.
    """

    lost: int
    duplicated: int
    missing: tuple[int, ...]
    doubled: tuple[int, ...]
    identified: bool = True


@dataclass(frozen=True)
class Expectation:
    """How many documents each message of a flood's pool gives, for each output; -1 if that varies
    from one time to the next, so that nothing is expected."""

    outputs: tuple[tuple[int, ...], ...]

    def of_events(self, output: int, sent: SentEvents) -> Numbers:
        """The number of documents of each sent event, in the order of event numbers."""
        pool = np.array(self.outputs[output], dtype=np.int64)
        blocks, places = np.divmod(numbers_of(sent), BLOCK)
        events = blocks // len(sent.counts) * BLOCK + places
        documents: Numbers = pool[events % len(pool)]
        return documents

    def documents(self, sent: SentEvents) -> int:
        """The number of documents that the sent events give in all outputs."""
        counts = (self.of_events(number, sent) for number in range(len(self.outputs)))
        return sum(int(documents.clip(min=0).sum()) for documents in counts)

    @property
    def is_sure(self) -> bool:
        """Whether it is known for each message and output how many documents it gives."""
        return all(documents >= 0 for output in self.outputs for documents in output)

    @property
    def first_sure(self) -> int | None:
        """The first output that has documents and for which each message gives one or none, None
        if there is no such output."""
        sure = (
            n
            for n, documents in enumerate(self.outputs)
            if {*documents} <= {0, 1} and any(documents)
        )
        return next(sure, None)


def check_by_sink(
    client: EngineClient, pattern: str, sent: SentEvents, run: str, expectation: Expectation
) -> DeliveryCheck:
    """The delivery check of a run in the sink, which compares the events itself."""
    body: JSON = {
        "sent": list(sent.counts),
        "run": run,
        "expected": [list(documents) for documents in expectation.outputs],
    }
    return check_of(client.request("POST", f"/_sink/{pattern}/account", body))


def check_by_counters(sent: int, indexed: int, counted: int) -> DeliveryCheck:
    """The delivery check of `sent` documents that carry no number, as with the mapping `none`.

    `indexed` is the engine's index_total, `counted` its _count; the worse of the two is taken.  A
    loss and a duplicate that cancel out are not seen.
    """
    return DeliveryCheck(
        lost=max(0, sent - min(indexed, counted)),
        duplicated=max(0, max(indexed, counted) - sent),
        missing=(),
        doubled=(),
        identified=False,
    )


def searchable(
    client: EngineClient, pattern: str, run: str, output: int, width: int
) -> dict[int, int]:
    """How many documents of an output a search finds: counts by ranges of `width` event numbers,
    each under the first number of its range.

    A search starts the refresh of an idle shard again, so it belongs into a phase of its own.
    """
    first = first_number(run, output)
    histogram = {"field": FIELD, "interval": width, "offset": first % width, "min_doc_count": 1}
    body: dict[str, object] = {"size": 0, "aggs": {"numbers": {"histogram": histogram}}}
    answer = client.request("POST", f"/{pattern}/_search?request_cache=false", body)
    by_number = _by_key(list_at(answer, "aggregations", "numbers", "buckets"))
    return {key - first: count for key, count in by_number.items() if 0 <= key - first < RUN_MICROS}


def searchable_by_sink(
    client: EngineClient, pattern: str, run: str, output: int, width: int
) -> dict[int, int]:
    """The counts that `searchable` gives, from our sink, which finds documents once they arrive."""
    path = f"/_sink/{pattern}/numbers?run={run}&output={output}&width={width}"
    return _by_key(list_at(client.get(path), "buckets"))


def _by_key(buckets: list[object]) -> dict[int, int]:
    return {number_at(bucket, "key"): number_at(bucket, "doc_count") for bucket in buckets}


@dataclass(frozen=True)
class FaultCount:
    """An injected fault: how many documents it hit, and how many of those the sink stored."""

    fault: str
    documents: int
    stored: int


def fault_counts(client: EngineClient) -> tuple[FaultCount, ...]:
    """The faults that the sink has injected so far."""
    return tuple(
        FaultCount(
            str(at(count, "fault")), number_at(count, "documents"), number_at(count, "stored")
        )
        for count in list_at(client.get("/_sink/faults"), "strikes")
    )


@dataclass(frozen=True)
class ArrivedRun:
    """What arrived of one flood: the number of distinct events, and their delivery check.

    The sink does not know how many were sent, so the highest number counts as the last event.
    """

    run_id: str
    events: int
    account: DeliveryCheck


@dataclass(frozen=True)
class Arrived:
    """What arrived in one index of the sink: the number of documents, and each flood's events."""

    index: str
    documents: int
    runs: tuple[ArrivedRun, ...]


def arrived(client: EngineClient) -> tuple[Arrived, ...]:
    """What the sink has counted so far, for each index."""
    return tuple(
        Arrived(
            index=str(at(index, "index")),
            documents=number_at(index, "documents"),
            runs=tuple(map(_run, list_at(index, "runs"))),
        )
        for index in list_at(client.get("/_sink/books"), "indices")
    )


def _run(run: object) -> ArrivedRun:
    account = check_of(at(run, "account"))
    return ArrivedRun(str(at(run, "run_id")), number_at(run, "events"), account)


def check_of(answer: object) -> DeliveryCheck:
    """Read a delivery check of the sink."""
    return DeliveryCheck(
        lost=number_at(answer, "lost"),
        duplicated=number_at(answer, "duplicated"),
        missing=_numbers(answer, "missing"),
        doubled=_numbers(answer, "doubled"),
    )


def _numbers(answer: object, name: str) -> tuple[int, ...]:
    return tuple(item for item in list_at(answer, name) if isinstance(item, int))


# The engine reads all documents once for each partition, and the sizes of partitions vary by 1 %.
_PARTITION = 40_000
# Both are below `search.max_buckets`, 65,536.
_MOST_BUCKETS = 60_000
_MOST_RANGES = 10_000


def check_by_identity(
    client: EngineClient, pattern: str, sent: SentEvents, run: str, expectation: Expectation
) -> DeliveryCheck:
    """The delivery check of a run in an engine, by event numbers, after a refresh.

    If each output takes all events or none, one answer can prove that delivery is complete (see
    `_is_complete`).  Otherwise, and if a number could be in two shards, every number is read.
    """
    if _is_complete(client, pattern, sent, run, expectation):
        return DeliveryCheck(0, 0, (), ())
    outputs = range(len(expectation.outputs))
    end = sent.end
    arrivals = np.zeros((len(outputs), end), dtype=np.int64)
    for values, counts in _counts(client, pattern):
        prefixes, micros = np.divmod(values, 10**MICRO_DIGITS)
        output, numbers = prefixes - FIRST_OUTPUT, micros - int(run) * RUN_MICROS
        ours = (output >= 0) & (output < len(outputs)) & (numbers >= 0) & (numbers < end)
        arrivals[output[ours], numbers[ours]] = counts[ours]
    return joined(
        check_arrivals(arrivals[output], sent, expectation.of_events(output, sent))
        for output in outputs
    )


def _is_complete(
    client: EngineClient, pattern: str, sent: SentEvents, run: str, expectation: Expectation
) -> bool:
    """Whether one answer proves that each event arrived once: the most frequent number occurs once,
    and the documents in all and in each range of numbers are as many as the events.

    Only if an output's documents are in one shard is the most frequent number exact.
    """
    if any(set(output) not in ({0}, {1}) for output in expectation.outputs):
        return False
    bases = [first_number(run, n) for n, output in enumerate(expectation.outputs) if any(output)]
    ranges = [(base + first, base + end) for base in bases for first, end in sent.ranges()]
    if not 0 < len(ranges) < _MOST_RANGES:
        return False
    indices: JSON = {"terms": {"field": "_index", "size": 100}}
    aggs: JSON = {
        "most": {"terms": {"field": FIELD, "size": 1}},
        "within": _in_ranges(ranges),
        "indices": indices,
        "outputs": {
            **_in_ranges((base, base + sent.end) for base in bases),
            "aggs": {"indices": indices},
        },
    }
    body: JSON = {"size": 0, "track_total_hits": True, "aggs": aggs}
    answer = _search(client, pattern, body)
    # Each output must have one index, and that one shard.
    is_sharded = number_at(answer, "_shards", "total") > len(_buckets(answer, "indices"))
    if is_sharded or any(
        len(_buckets(bucket, "indices")) > 1 for bucket in _buckets(answer, "outputs")
    ):
        return False
    repeated = any(number_at(bucket, "doc_count") > 1 for bucket in _buckets(answer, "most"))
    counts = [number_at(bucket, "doc_count") for bucket in _buckets(answer, "within")]
    expected = [end - first for first, end in ranges]
    return not repeated and counts == expected and _total(answer) == sum(expected)


def _in_ranges(ranges: Iterable[tuple[int, int]]) -> JSON:
    bounds = [{"from": first, "to": end} for first, end in ranges]
    return {"range": {"field": FIELD, "ranges": bounds}}


def joined(checks: Iterable[DeliveryCheck]) -> DeliveryCheck:
    """The checks of several outputs as one."""
    parts = tuple(checks)
    return DeliveryCheck(
        lost=sum(check.lost for check in parts),
        duplicated=sum(check.duplicated for check in parts),
        missing=tuple(number for check in parts for number in check.missing)[:NAMED],
        doubled=tuple(number for check in parts for number in check.doubled)[:NAMED],
    )


def _total(answer: object) -> int:
    return number_at(answer, "hits", "total", "value")


def _search(client: EngineClient, pattern: str, body: JSON) -> object:
    """Search all shards: by default the engine leaves out the results of failed ones."""
    options = "request_cache=false&allow_partial_search_results=false"
    return client.request("POST", f"/{pattern}/_search?{options}", body)


def _counts(client: EngineClient, pattern: str) -> Iterator[tuple[Numbers, Numbers]]:
    """Every number in the engine and how many documents have it, one partition at a time.

    Partitions are so small that no shard leaves a number out, so the counts are exact ("Filtering
    values with partitions", terms aggregation).  There are at most as many numbers as documents.
    """
    documents = _total(_search(client, pattern, {"size": 0, "track_total_hits": True}))
    partitions = documents // _PARTITION + 1
    for partition in range(partitions):
        part = {"partition": partition, "num_partitions": partitions}
        terms = {"field": FIELD, "size": _MOST_BUCKETS, "include": part}
        body: JSON = {"size": 0, "aggs": {"numbers": {"terms": terms}}}
        buckets = _buckets(_search(client, pattern, body), "numbers")
        numbers, counts = (
            np.array([number_at(bucket, key) for bucket in buckets], dtype=np.int64)
            for key in ("key", "doc_count")
        )
        yield numbers, counts


def _buckets(answer: object, name: str) -> list[object]:
    """The buckets of an aggregation, of a whole answer or inside one of its buckets."""
    return list_at(at(answer, "aggregations") or answer, name, "buckets")


def check_arrivals(
    arrivals: Numbers, sent: SentEvents, documents: Numbers | None = None
) -> DeliveryCheck:
    """The delivery check by `arrivals`: how often each number below `sent.end` arrived.

    `documents` are the expected arrivals of each sent event, in the order of event numbers: one
    each if None, any number for -1.
    """
    numbers = numbers_of(sent)
    expected = np.ones(len(numbers), dtype=np.int64) if documents is None else documents
    excess = np.where(expected < 0, 0, arrivals[numbers] - expected)
    missing, doubled = numbers[excess < 0], numbers[excess > 0]
    return DeliveryCheck(
        lost=int(-excess.clip(max=0).sum()),
        duplicated=int(excess.clip(min=0).sum()),
        missing=tuple(int(number) for number in missing[:NAMED]),
        doubled=tuple(int(number) for number in doubled[:NAMED]),
    )
