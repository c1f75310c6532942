"""What the sink remembers: names, mappings, templates, and how often each event arrived; documents
only if told to."""

from __future__ import annotations

import math
import re
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from itertools import starmap
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from tuner.engine.client import JSON, list_at, object_at
from tuner.engine.delivery import (
    Arrived,
    ArrivedRun,
    DeliveryCheck,
    Expectation,
    Numbers,
    check_arrivals,
    joined,
)
from tuner.engine.numbering import FIRST_OUTPUT, STAMPED, SentEvents
from tuner.engine.sampled import SAMPLE
from tuner.lab.sink import Fault
from tuner.lab.sink_bulk import FaultInjector

# The routes as Elasticsearch names them.
_ROUTES = ("/_bulk", "/{index}/_bulk")
# Where the buckets end, from 1 to 65536 ms; one more has no end (its HandlingTimeTracker).
_ENDS_MS = tuple(1 << power for power in range(17))


class ReplyTimes:
    """Bulk requests by route and by how long they took; may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = {route: [0] * (len(_ENDS_MS) + 1) for route in _ROUTES}
        self._body_bytes = dict.fromkeys(_ROUTES, 0)

    def add(self, path: str, body_bytes: int, took_s: float) -> None:
        """Count a request that was answered; `took_s` is from its last byte read to its reply
        handed over to the socket."""
        route = path if path in self._counts else _ROUTES[1]
        # The bits of the whole milliseconds number the buckets: 0 | 1 | 2, 3 | 4 to 7 | ...
        bucket = min(int(1000 * took_s).bit_length(), len(_ENDS_MS))
        with self._lock:
            self._counts[route][bucket] += 1
            self._body_bytes[route] += body_bytes

    def routes(self) -> dict[str, object]:
        """What `_nodes/stats/http` says of the routes."""
        with self._lock:
            return {
                route: {
                    "requests": {
                        "count": sum(self._counts[route]),
                        "total_size_in_bytes": self._body_bytes[route],
                    },
                    "responses": {"handling_time_histogram": _histogram(self._counts[route])},
                }
                for route in _ROUTES
            }


def _histogram(counts: list[int]) -> list[dict[str, int]]:
    """The buckets; the first has no lower edge and the last no upper."""
    buckets = []
    for place, count in enumerate(counts):
        lower = {"ge_millis": _ENDS_MS[place - 1]} if place > 0 else {}
        upper = {"lt_millis": _ENDS_MS[place]} if place < len(_ENDS_MS) else {}
        buckets.append({**lower, **upper, "count": count})
    return buckets


MOST_BYTES = 64 * 1024**2


class KeptLines:
    """The action and document lines of the first `documents` that arrive, byte for byte.

    It keeps `most_bytes` at the most; its methods may be called from any thread.
    """

    def __init__(self, documents: int = 0, most_bytes: int = MOST_BYTES) -> None:
        self._lock = threading.Lock()
        self._documents_left = documents
        self._bytes_left = most_bytes
        self._parts: list[bytes] = []

    @property
    def lines(self) -> bytes:
        """The lines that are kept, as the body of one bulk request."""
        with self._lock:
            return b"".join(self._parts)

    def add(self, body: bytes) -> None:
        """Keep what there is room for of a bulk body."""
        if self._documents_left == 0:
            return
        with self._lock:
            end, documents = _fitting(body, self._documents_left, self._bytes_left)
            self._parts.append(body[:end])
            self._bytes_left -= end
            # The first document that does not fit ends it: what is kept has no gaps.
            self._documents_left = self._documents_left - documents if end == len(body) else 0


def _fitting(body: bytes, documents: int, most_bytes: int) -> tuple[int, int]:
    """Where the last of the first documents ends that fit, and how many these are."""
    end = 0
    for number in range(documents):
        document_at = body.find(b"\n", end) + 1
        next_at = body.find(b"\n", document_at) + 1
        if next_at == 0 or document_at == 0 or next_at > most_bytes:
            return end, number
        end = next_at
    return end, documents


class DrawnSample:
    """A sample of all documents that came, each as likely in it as any other: those to which chance
    gives the lowest numbers."""

    def __init__(self, size: int = SAMPLE) -> None:
        self._size, self._came, self._below = size, 0, 1.0
        self._drawn: list[tuple[float, int, bytes]] = []
        self._random = np.random.default_rng(0)

    @property
    def documents(self) -> list[bytes]:
        """The sample, in the order in which it came."""
        return [document for _, _, document in sorted(self._drawn, key=itemgetter(1))]

    def add(self, documents: Sequence[bytes]) -> None:
        """Take some of these, or none."""
        chances = self._random.random(len(documents))
        for at in np.flatnonzero(chances < self._below).tolist():
            self._drawn.append((float(chances[at]), self._came + at, documents[at]))
        self._came += len(documents)
        if len(self._drawn) > self._size:
            self._drawn = nsmallest(self._size, self._drawn)
            self._below = self._drawn[-1][0]


class Missing(Exception):
    """There is no such index or template; the message is its name."""


class Exists(Exception):
    """There is such an index or template already; the message is its name."""


def matches(name: str, pattern: str) -> bool:
    """Whether a name is one of a comma-separated list, whose items may end in `*`."""
    return any(
        name.startswith(item[:-1]) if item.endswith("*") else name == item
        for item in pattern.replace("_all", "*").split(",")
    )


class SinkIndex:
    """One index: its mappings, and the counts of what arrived."""

    def __init__(self, name: str, mappings: JSON) -> None:
        self.name = name
        self.mappings = mappings
        self.documents = 0
        self.tallies: dict[bytes, Tally] = {}
        self.drawn = DrawnSample()
        self.created: set[str] = set()


class Store:
    """All indices and templates of the sink; its methods may be called from any thread."""

    def __init__(self, faults: Sequence[Fault] = (), keep: int = 0) -> None:
        self.injector = FaultInjector(faults)
        self.kept = KeptLines(keep)
        self.times = ReplyTimes()
        self._lock = threading.Lock()
        self._indices: dict[str, SinkIndex] = {}
        self._templates: dict[str, JSON] = {}

    def add(self, name: str, documents: Sequence[bytes]) -> int:
        """Count documents into an index, created if need be; returns how many it had before."""
        numbers_by_run = identities(documents)
        with self._lock:
            index = self._indices.get(name) or self._create(name, {})
            before = index.documents
            index.documents += len(documents)
            index.drawn.add(documents)
            for run, arrived in numbers_by_run.items():
                numbers = self.injector.tampered(arrived)
                index.documents += len(numbers) - len(arrived)
                index.tallies.setdefault(run, Tally()).add(numbers)
        return before

    def claim(self, name: str, document_id: str) -> bool:
        """Whether no document of an index was created under that id yet; it counts as created
        from now on."""
        with self._lock:
            created = (self._indices.get(name) or self._create(name, {})).created
            before = len(created)
            created.add(document_id)
            return len(created) > before

    def create(self, name: str, body: JSON) -> None:
        """Create an index, from the best matching template and the body."""
        with self._lock:
            if name in self._indices:
                raise Exists(name)
            self._create(name, body)

    def delete(self, names: str) -> None:
        """Delete indices by their exact names, a comma between two; all of them or none."""
        with self._lock:
            for name in names.split(","):
                if name not in self._indices:
                    raise Missing(name)
            for name in names.split(","):
                self._indices.pop(name, None)

    def indices(self, pattern: str) -> list[SinkIndex]:
        """The indices of a pattern by name; a name that stands for itself must exist."""
        with self._lock:
            for item in pattern.replace("_all", "*").split(","):
                if not item.endswith("*") and item not in self._indices:
                    raise Missing(item)
            return [self._indices[name] for name in sorted(self._indices) if matches(name, pattern)]

    def check_delivery(
        self, pattern: str, sent: SentEvents, run: str, expectation: Expectation
    ) -> DeliveryCheck:
        """Check a run whose documents carry their output, each against what is expected of it."""
        with self._lock:
            return joined(
                check_arrivals(
                    arrived(self._tallies(pattern, run, output), sent),
                    sent,
                    expectation.of_events(output, sent),
                )
                for output in range(len(expectation.outputs))
            )

    def arrived(self, pattern: str, run: str, output: int, count: int) -> list[int]:
        """How often each of the first events of a run came by an output."""
        with self._lock:
            tallies = self._tallies(pattern, run, output)
            return [int(times) for times in arrived(tallies, SentEvents((count,)))]

    def _tallies(self, pattern: str, run: str, output: int) -> list[Tally]:
        """The tallies of a run that a lab numbered, and of one output."""
        name = f"{FIRST_OUTPUT + output}{run}".encode()
        indices = (index for index in self._indices.values() if matches(index.name, pattern))
        return [index.tallies[name] for index in indices if name in index.tallies]

    def sample(self, pattern: str) -> list[bytes]:
        """Documents of the indices of a pattern, drawn as they came; equally many of each."""
        indices = self.indices(pattern)
        with self._lock:
            documents = [document for index in indices for document in index.drawn.documents]
        return documents[:: max(1, math.ceil(len(documents) / SAMPLE))]

    def numbers(self, pattern: str, run: str, output: int, width: int) -> dict[int, int]:
        """Different events of a run that arrived by an output, in blocks of `width`."""
        blocks = Counter[int]()
        with self._lock:
            for tally in self._tallies(pattern, run, output):
                blocks.update(tally.blocks(width))
        return dict(blocks)

    def arrivals(self) -> list[Arrived]:
        """Everything that was counted, by index."""
        with self._lock:
            return [
                Arrived(
                    index.name, index.documents, tuple(starmap(arrived_run, index.tallies.items()))
                )
                for index in self._indices.values()
            ]

    def put_template(self, name: str, body: JSON, *, must_be_new: bool) -> None:
        """Keep an index template."""
        with self._lock:
            if must_be_new and name in self._templates:
                raise Exists(name)
            self._templates[name] = body

    def templates(self, pattern: str) -> dict[str, JSON]:
        """The templates of a pattern by name; a name that stands for itself must exist."""
        with self._lock:
            if not pattern.endswith("*") and pattern not in self._templates:
                raise Missing(pattern)
            return {name: body for name, body in self._templates.items() if matches(name, pattern)}

    def delete_template(self, name: str) -> None:
        """Forget a template."""
        with self._lock:
            if self._templates.pop(name, None) is None:
                raise Missing(name)

    def _create(self, name: str, body: JSON) -> SinkIndex:
        of_template = object_at(self._template_of(name), "template", "mappings")
        mappings = of_template | object_at(body, "mappings")
        index = self._indices[name] = SinkIndex(name, mappings)
        return index

    def _template_of(self, name: str) -> JSON:
        """The template of highest priority whose patterns match."""
        matching = [
            template
            for template in self._templates.values()
            if any(matches(name, str(item)) for item in list_at(template, "index_patterns"))
        ]
        return max(matching, key=_priority, default={})


def _priority(template: JSON) -> int:
    priority = template.get("priority")
    return priority if isinstance(priority, int) else 0


Counts = NDArray[np.uint16]

# What a flood writes into its messages: where in it the run and the number stand.
_IDENTITY = re.compile(rb"(run=[0-9a-f]{8} seq=\d{12})")
_IN_IDENTITY = slice(4, 12), slice(17, 29)
# What a lab adds to documents: the output, and the last digits of the microseconds since 1970, of
# which nine are the number (StampNumbering begins with a multiple of a thousand seconds).
_IN_STAMPED = slice(0, 5), slice(5, 14)
_MOST = 1 << 29


def identities(documents: Sequence[bytes]) -> dict[bytes, Numbers]:
    """The sequence numbers in the documents, by run; the first identity of each document counts.

    A document without one is left out, and so is a number that no flood reaches.
    """
    for pattern, (run_at, number_at) in ((STAMPED, _IN_STAMPED), (_IDENTITY, _IN_IDENTITY)):
        matched = [match[1] for match in map(pattern.search, documents) if match is not None]
        if matched:
            return _by_run(matched, run_at, number_at)
    return {}


def _by_run(matched: Sequence[bytes], run_at: slice, number_at: slice) -> dict[bytes, Numbers]:
    rows = np.frombuffer(b"".join(matched), dtype=np.uint8).reshape(-1, len(matched[0]))
    digits = rows[:, number_at]
    powers = 10 ** np.arange(digits.shape[1] - 1, -1, -1, dtype=np.int64)
    numbers: Numbers = (digits - ord("0")).astype(np.int64) @ powers
    real = numbers < _MOST
    names = np.ascontiguousarray(rows[:, run_at])
    runs = names.view(f"S{names.shape[1]}").ravel()
    return {
        bytes(run): numbers[real & (runs == run)]
        for run in ([runs[0]] if bool((runs == runs[0]).all()) else np.unique(runs))
    }


class Tally:
    """How often each sequence number of one run arrived."""

    def __init__(self) -> None:
        self.counts: Counts = np.zeros(1 << 16, dtype=np.uint16)

    def add(self, numbers: Numbers) -> None:
        """Count arrivals."""
        if len(numbers) == 0:
            return
        needed = int(np.max(numbers)) + 1
        if needed > len(self.counts):
            grown = np.zeros(max(needed, 2 * len(self.counts)), dtype=np.uint16)
            grown[: len(self.counts)] = self.counts
            self.counts = grown
        np.add.at(self.counts, numbers, 1)

    @property
    def sent(self) -> int:
        """How many were sent at least: the highest number that arrived, plus one."""
        arrived = np.flatnonzero(self.counts)
        return int(arrived[-1]) + 1 if len(arrived) else 0

    def blocks(self, width: int) -> dict[int, int]:
        """How many different numbers arrived, by the first of each block of `width`."""
        arrived = self.counts[: self.sent] > 0
        if len(arrived) == 0:
            return {}
        firsts = np.arange(0, len(arrived), width)
        totals = np.add.reduceat(arrived.astype(np.int64), firsts)
        return {int(first): int(total) for first, total in zip(firsts, totals, strict=True)}


def arrived(tallies: Iterable[Tally], sent: SentEvents) -> Numbers:
    """How often each number below `sent.end` came."""
    times = np.zeros(sent.end, dtype=np.int64)
    for tally in tallies:
        counted = tally.counts[: sent.end]
        times[: len(counted)] += counted
    return times


def arrived_run(run: bytes, tally: Tally) -> ArrivedRun:
    """What arrived of a run, with its highest number for the last one sent."""
    sent = SentEvents((tally.sent,))
    check = check_arrivals(arrived([tally], sent), sent)
    return ArrivedRun(run.decode(), sent.total - check.lost, check)
