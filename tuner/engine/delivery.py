"""The delivery check: which events of a flood an engine, or our sink, has."""

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
    """How many events of a flood arrived never, and how many arrivals were repetitions.

    `missing` and `doubled` name the first ten of each by their sequence numbers.  Where documents
    have none they are counted, not `identified`: one event lost and another doubled look like none.
    """

    lost: int
    duplicated: int
    missing: tuple[int, ...]
    doubled: tuple[int, ...]
    identified: bool = True


@dataclass(frozen=True)
class Expectation:
    """How many documents each message of a flood's pool gives, for each output; -1 where that
    differs from time to time, of which nothing is expected."""

    outputs: tuple[tuple[int, ...], ...]

    def of_events(self, output: int, sent: SentEvents) -> Numbers:
        """The documents of each event that was sent, in the order of their numbers."""
        pool = np.array(self.outputs[output], dtype=np.int64)
        blocks, places = np.divmod(numbers_of(sent), BLOCK)
        events = blocks // len(sent.counts) * BLOCK + places
        documents: Numbers = pool[events % len(pool)]
        return documents

    def documents(self, sent: SentEvents) -> int:
        """All documents that are expected."""
        counts = (self.of_events(number, sent) for number in range(len(self.outputs)))
        return sum(int(documents.clip(min=0).sum()) for documents in counts)

    @property
    def is_sure(self) -> bool:
        """Whether it is known of each message what it gives."""
        return all(documents >= 0 for output in self.outputs for documents in output)

    @property
    def first_sure(self) -> int | None:
        """The first output with documents of which it is known of each message whether it gives
        one."""
        sure = (
            n
            for n, documents in enumerate(self.outputs)
            if {*documents} <= {0, 1} and any(documents)
        )
        return next(sure, None)


def check_by_sink(
    client: EngineClient, pattern: str, sent: SentEvents, run: str, expectation: Expectation
) -> DeliveryCheck:
    """What became of the events of a run in the sink."""
    body: JSON = {
        "sent": list(sent.counts),
        "run": run,
        "expected": [list(documents) for documents in expectation.outputs],
    }
    return check_of(client.request("POST", f"/_sink/{pattern}/account", body))


def check_by_counters(sent: int, indexed: int, counted: int) -> DeliveryCheck:
    """What became of `sent` events whose documents carry no number, in the ceiling tier: `indexed`
    is the engine's index_total, `counted` its _count.

    Where the two disagree the worse counts.  A loss that a repetition makes up for is not seen.
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
    """Documents of an output that a search finds already, by the number of their event: how many
    there are of `width` numbers each, under the first of these.

    A search switches on the refresh of a shard that was idle: it belongs into a phase of its own.
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
    """The same of our sink, whose documents can be found the moment they arrive."""
    path = f"/_sink/{pattern}/numbers?run={run}&output={output}&width={width}"
    return _by_key(list_at(client.get(path), "buckets"))


def _by_key(buckets: list[object]) -> dict[int, int]:
    return {number_at(bucket, "key"): number_at(bucket, "doc_count") for bucket in buckets}


@dataclass(frozen=True)
class FaultCount:
    """One fault at work: how many documents it met, and how many the sink counted of them."""

    fault: str
    documents: int
    stored: int


def fault_counts(client: EngineClient) -> tuple[FaultCount, ...]:
    """What the sink did wrong so far, as it was told to."""
    return tuple(
        FaultCount(
            str(at(strike, "fault")), number_at(strike, "documents"), number_at(strike, "stored")
        )
        for strike in list_at(client.get("/_sink/faults"), "strikes")
    )


@dataclass(frozen=True)
class ArrivedRun:
    """What arrived of one flood: how many different events, and their delivery check.

    How much was sent is not known here: the highest number counts as the last event.
    """

    run_id: str
    events: int
    account: DeliveryCheck


@dataclass(frozen=True)
class Arrived:
    """What arrived in one index of the sink: all documents, and each flood by its identity."""

    index: str
    documents: int
    runs: tuple[ArrivedRun, ...]


def arrived(client: EngineClient) -> tuple[Arrived, ...]:
    """Everything that the sink counted, by index."""
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


# Each is read by going through all documents, and has 1 % more or less than its share.
_PARTITION = 40_000
# Below `search.max_buckets`, 65,536.
_MOST_BUCKETS = 60_000
# Far below `search.max_buckets`, 65,536.
_MOST_RANGES = 10_000


def check_by_identity(
    client: EngineClient, pattern: str, sent: SentEvents, run: str, expectation: Expectation
) -> DeliveryCheck:
    """What became of the events of a run in an engine, after a refresh.

    Of outputs that take every event once, or none, one answer proves that all is well: no number
    twice, and as many documents in all and in each range of numbers as events.  Of one that takes
    some, and where a number could be in two shards, every number is read.
    """
    if _adds_up(client, pattern, sent, run, expectation):
        return DeliveryCheck(0, 0, (), ())
    outputs = range(len(expectation.outputs))
    end = sent.end
    arrivals = np.zeros((len(outputs), end), dtype=np.int64)
    for values, times in _counts(client, pattern):
        places, micros = np.divmod(values, 10**MICRO_DIGITS)
        at_output, numbers = places - FIRST_OUTPUT, micros - int(run) * RUN_MICROS
        ours = (at_output >= 0) & (at_output < len(outputs)) & (numbers >= 0) & (numbers < end)
        arrivals[at_output[ours], numbers[ours]] = times[ours]
    return joined(
        check_arrivals(arrivals[output], sent, expectation.of_events(output, sent))
        for output in outputs
    )


def _adds_up(
    client: EngineClient, pattern: str, sent: SentEvents, run: str, expectation: Expectation
) -> bool:
    """By the number that is there most often, with which terms begin, and counts of ranges."""
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
    answer = _asked(client, pattern, body)
    # An index for each output, of one shard.
    is_spread = number_at(answer, "_shards", "total") > len(_buckets(answer, "indices"))
    if is_spread or any(
        len(_buckets(bucket, "indices")) > 1 for bucket in _buckets(answer, "outputs")
    ):
        return False
    repeated = any(number_at(bucket, "doc_count") > 1 for bucket in _buckets(answer, "most"))
    held = [number_at(bucket, "doc_count") for bucket in _buckets(answer, "within")]
    wanted = [end - first for first, end in ranges]
    return not repeated and held == wanted and _total(answer) == sum(wanted)


def _in_ranges(ranges: Iterable[tuple[int, int]]) -> JSON:
    within = [{"from": first, "to": end} for first, end in ranges]
    return {"range": {"field": FIELD, "ranges": within}}


def joined(checks: Iterable[DeliveryCheck]) -> DeliveryCheck:
    """Several checks of the same events as one."""
    parts = tuple(checks)
    return DeliveryCheck(
        lost=sum(check.lost for check in parts),
        duplicated=sum(check.duplicated for check in parts),
        missing=tuple(number for check in parts for number in check.missing)[:NAMED],
        doubled=tuple(number for check in parts for number in check.doubled)[:NAMED],
    )


def _total(answer: object) -> int:
    return number_at(answer, "hits", "total", "value")


def _asked(client: EngineClient, pattern: str, body: JSON) -> object:
    """The answer of every shard; of some alone none, which the engine gives by default."""
    options = "request_cache=false&allow_partial_search_results=false"
    return client.request("POST", f"/{pattern}/_search?{options}", body)


def _counts(client: EngineClient, pattern: str) -> Iterator[tuple[Numbers, Numbers]]:
    """Every number in the engine, of which there are no more than documents, with how often it is
    there, in several parts.

    In partitions small enough that no shard leaves a number out, so that the counts are exact
    ("Filtering values with partitions", terms aggregation).
    """
    documents = _total(_asked(client, pattern, {"size": 0, "track_total_hits": True}))
    partitions = documents // _PARTITION + 1
    for partition in range(partitions):
        part = {"partition": partition, "num_partitions": partitions}
        terms = {"field": FIELD, "size": _MOST_BUCKETS, "include": part}
        body: JSON = {"size": 0, "aggs": {"numbers": {"terms": terms}}}
        buckets = _buckets(_asked(client, pattern, body), "numbers")
        numbers, times = (
            np.array([number_at(bucket, key) for bucket in buckets], dtype=np.int64)
            for key in ("key", "doc_count")
        )
        yield numbers, times


def _buckets(answer: object, name: str) -> list[object]:
    """Those of an aggregation of an answer, or of one below a bucket."""
    return list_at(at(answer, "aggregations") or answer, name, "buckets")


def check_arrivals(
    arrivals: Numbers, sent: SentEvents, wanted: Numbers | None = None
) -> DeliveryCheck:
    """What became of the events that were sent, where `arrivals` says how often each number below
    `sent.end` came: once each is right, or as often as `wanted` says in the order of the numbers,
    where -1 is always right."""
    numbers = numbers_of(sent)
    right = np.ones(len(numbers), dtype=np.int64) if wanted is None else wanted
    over = np.where(right < 0, 0, arrivals[numbers] - right)
    missing, doubled = numbers[over < 0], numbers[over > 0]
    return DeliveryCheck(
        lost=int(-over.clip(max=0).sum()),
        duplicated=int(over.clip(min=0).sum()),
        missing=tuple(int(number) for number in missing[:NAMED]),
        doubled=tuple(int(number) for number in doubled[:NAMED]),
    )
