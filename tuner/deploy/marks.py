"""Marks of a trial: a few numbered messages a second to each host, sent like any other and looked
for in the engine, so that some events are identified and not only counted."""

from __future__ import annotations

import json
import math
import re
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from tuner.deploy.block import Side
from tuner.deploy.switchback import MarkFigures
from tuner.engine.client import EngineClient, EngineRefused, at, list_at
from tuner.errors import JobFailed, Refused, Unreachable
from tuner.flood.marker import Marker
from tuner.lab.confined import TLS
from tuner.script.objects import Base

_NAME = "rsyslogtunemark"
# So many numbers have a beginning in common, which one search finds.
_BLOCK = 100
_LOOK_S = 1.0
PATIENCE_S = 60.0
"""A mark that is not found after so long is lost."""
_MOST_HITS = 10_000
_WORD = re.compile(rf"{_NAME}([0-9a-f]+)x\d+n(\d+)")

FoundMark = tuple[str, str]
"""The index of a document, and the word of a mark that it has."""


@dataclass
class _SideMarks:
    """What was sent while a host had a side."""

    sent: int = 0
    refused: int = 0
    took_s: list[float] = field(default_factory=list)
    doubled: int = 0


class MarkBook:
    """What was sent by a run of marks, and what was found of it, by their numbers."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._of = {side: _SideMarks() for side in Side}
        self._sides: list[Side] = []
        self._missing: dict[int, float] = {}
        self._doubled: set[int] = set()
        self._looked_at = -math.inf
        self._is_whole = False

    def word(self) -> str:
        """What the next mark has in its text."""
        number = len(self._sides)
        return f"{self._beginning(number)}{number}"

    def add(self, side: Side, at_s: float) -> None:
        """The next mark was handed over while a host had that side."""
        self._missing[len(self._sides)] = at_s
        self._sides.append(side)
        self._of[side].sent += 1

    def refuse(self, side: Side) -> None:
        """A host with that side did not take the next mark."""
        self._of[side].refused += 1

    def sought(self, now_s: float) -> list[str]:
        """What the words begin with that may still come."""
        young = (n for n, at_s in self._missing.items() if at_s > now_s - PATIENCE_S)
        return [*dict.fromkeys(self._beginning(number) for number in young)]

    def all_beginnings(self) -> list[str]:
        """What all words begin with."""
        return [self._beginning(number) for number in range(0, len(self._sides), _BLOCK)]

    def find(self, documents: Sequence[FoundMark], at_s: float) -> None:
        """These documents were there when a search began."""
        often = Counter((index, self._number(word)) for index, word in documents)
        for (_, number), times in often.items():
            if number is None:
                continue
            of = self._of[self._sides[number]]
            if number in self._missing:
                of.took_s.append(at_s - self._missing.pop(number))
            if times > 1 and number not in self._doubled:
                self._doubled.add(number)
                of.doubled += 1

    def looked(self, at_s: float, *, for_all: bool = False) -> None:
        """All that was sought was searched for at that time, or all that there is."""
        self._looked_at = at_s
        self._is_whole = for_all

    def figures(self) -> tuple[MarkFigures, ...]:
        """What became of the marks of each side so far."""
        late = Counter(
            self._sides[number]
            for number, at_s in self._missing.items()
            if at_s <= self._looked_at - PATIENCE_S
        )
        return tuple(
            self._figures(side, of, late[side])
            for side, of in self._of.items()
            if of.sent or of.refused
        )

    def _figures(self, side: Side, of: _SideMarks, lost: int) -> MarkFigures:
        took_s = sorted(of.took_s)
        return MarkFigures(
            side,
            sent=of.sent,
            refused=of.refused,
            lost=lost,
            pending=of.sent - len(took_s) - lost,
            doubled=of.doubled if self._is_whole else None,
            median_s=statistics.median(took_s) if took_s else None,
            p99_s=took_s[math.ceil(0.99 * len(took_s)) - 1] if took_s else None,
        )

    def _beginning(self, number: int) -> str:
        return f"{_NAME}{self._run}x{number // _BLOCK}n"

    def _number(self, word: str) -> int | None:
        """The number of a mark of this run."""
        match = _WORD.fullmatch(word)
        if match is None or match[1] != self._run or int(match[2]) >= len(self._sides):
            return None
        return int(match[2])


@dataclass(frozen=True)
class MarkSearch:
    """Finds marks in the indices of a `pattern`, in the `field` that has them."""

    client: EngineClient
    pattern: str
    field: str

    def documents(self, beginning: str) -> list[FoundMark]:
        """All documents with words that begin so."""
        query = {"prefix": {self.field: {"value": beginning}}}
        return [
            (str(at(hit, "_index")), word)
            for hit in _hits(self.client, self.pattern, query, [self.field])
            for word in {match[0] for match in _WORD.finditer(json.dumps(hit))}
        ]


def _hits(
    client: EngineClient, pattern: str, query: Mapping[str, object], fields: Sequence[str] = ("*",)
) -> list[object]:
    path = f"/{pattern}/_search?ignore_unavailable=true&allow_no_indices=true"
    body = {"size": _MOST_HITS, "query": {**query}, "_source": [*fields]}
    return list_at(client.request("POST", path, body), "hits", "hits")


def field_of(client: EngineClient, pattern: str, word: str) -> str | None:
    """The field in which a search finds documents with that word; None where none does yet."""
    query = {"query_string": {"query": word, "fields": ["*"], "lenient": True}}
    for hit in _hits(client, pattern, query):
        source = hit.get("_source") if isinstance(hit, dict) else None
        for path in _paths_with(word, source):
            if _hits(client, pattern, {"prefix": {path: {"value": word}}}):
                return path
    return None


def _paths_with(word: str, value: object, path: str = "") -> Iterator[str]:
    if isinstance(value, str) and word in value.lower():
        yield path
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _paths_with(word, inner, f"{path}.{key}" if path else str(key))


def marker_for(name: str, address: str, base: Base) -> Marker:
    """A way for marks into the first input of a host that takes lines over TCP, or datagrams,
    without TLS; raises Refused where it has none."""
    for _, source in base.of_kind("input"):
        port = source.text("port") or ""
        if source.type in _TAKES and port.isdecimal() and 0 < int(port) < 1 << 16:
            settings = (*source.parameters, *base.module_parameters.get(source.type, ()))
            is_plain = not any(parameter.key.startswith(TLS) for parameter in settings)
            if is_plain and not source.text("address"):
                return Marker(address, int(port), is_udp=source.type == "imudp")
    raise Refused(
        f"{name}: --mark needs an {', '.join(_TAKES[:-1])} or {_TAKES[-1]} without TLS that takes "
        "what comes to the address of the host: leave --mark out"
    )


_TAKES = ("imtcp", "imptcp", "imudp")


class MarkedHost(Protocol):
    """A host of a trial, for marks."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def side(self) -> Side:
        """What it runs now."""


class Marks:
    """Marks of a `run` to hosts, `per_second` to each, and a search for them each second, in the
    indices of a pattern."""

    def __init__(
        self,
        client: EngineClient,
        pattern: str,
        hosts: Sequence[tuple[MarkedHost, Marker]],
        run: str,
        per_second: float,
    ) -> None:
        self._client, self._pattern = client, pattern
        self._hosts = hosts
        self._pause_s = 1 / per_second
        self._book = MarkBook(run)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=job, daemon=True) for job in (self._send_on, self._look_on)
        ]

    def begin(self) -> None:
        """Send the first ones, and go on once they are found.  Raises JobFailed where those of a
        host are not, Unreachable without an engine."""
        words = {}
        for host, marker in self._hosts:
            word = self._send(host, marker)
            if word is None:
                raise JobFailed(f"{host.name} takes no marks at {marker.name}: leave --mark out")
            words[host.name] = word
        until_s = time.monotonic() + PATIENCE_S
        while words:
            name, word = next(iter(words.items()))
            path = field_of(self._client, self._pattern, word)
            if path is not None:
                self._search = MarkSearch(self._client, self._pattern, path)
                self._look()
                del words[name]
            elif time.monotonic() > until_s:
                raise JobFailed(
                    f"a mark that {name} took is in no index of {self._pattern} that a search finds"
                    f" after {PATIENCE_S:.0f} s: does its configuration let messages of the "
                    "program rsyslog-tune through, and can the message be searched? Leave --mark "
                    "out otherwise"
                )
            else:
                time.sleep(_LOOK_S)
        for thread in self._threads:
            thread.start()

    def figures(self) -> tuple[MarkFigures, ...]:
        """What became of all that was sent so far."""
        with self._lock:
            return self._book.figures()

    def await_last(self) -> None:
        """Send no more, wait for those that may still come, and search for each once more."""
        self._stop()
        while True:
            with self._lock:
                is_over = not self._book.sought(time.time())
            if is_over:
                break
            self._look()
            time.sleep(_LOOK_S)
        self._look(for_all=True)

    def close(self) -> None:
        """Send no more, and hang up."""
        self._stop()
        for _, marker in self._hosts:
            marker.close()

    def _stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def _send_on(self) -> None:
        while not self._over.wait(self._pause_s):
            for host, marker in self._hosts:
                self._send(host, marker)

    def _look_on(self) -> None:
        while not self._over.wait(_LOOK_S):
            self._look()

    def _send(self, host: MarkedHost, marker: Marker) -> str | None:
        """One mark: the word that it has, None where the host did not take it."""
        with self._lock:
            word, side = self._book.word(), host.side
            stamp = time.strftime("%b %e %H:%M:%S")
            message = f"<14>{stamp} rsyslog-tune rsyslog-tune: mark {word}"
            if not marker.send(message.encode()):
                self._book.refuse(side)
                return None
            self._book.add(side, time.time())
            return word

    def _look(self, *, for_all: bool = False) -> None:
        """Search for what may still come, or for all; an engine that does not answer is asked again
        later."""
        began_s = time.time()
        with self._lock:
            book = self._book
            beginnings = book.all_beginnings() if for_all else book.sought(began_s)
        with suppress(Unreachable, EngineRefused, JobFailed):
            for beginning in beginnings:
                documents = self._search.documents(beginning)
                with self._lock:
                    book.find(documents, began_s)
            with self._lock:
                book.looked(began_s, for_all=for_all)
