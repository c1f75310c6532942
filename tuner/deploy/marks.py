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
from tuner.engine.client import EngineClient, EngineRefused, list_at
from tuner.errors import JobFailed, Refused, Unreachable
from tuner.flood.marker import Marker
from tuner.lab.confined import TLS
from tuner.script.objects import Base

_NAME = "rsyslogtunemark"
# So many numbers have a beginning in common, which one search finds.
_BLOCK = 100
_LOOK_S = 1.0
_PATIENCE_S = 60.0
_MOST_HITS = 10_000


@dataclass
class MarkBook:
    """What was sent by a run of marks, and what was found of it, by their numbers."""

    run: str
    _sent: list[tuple[Side, float]] = field(default_factory=list)
    _refused: Counter[Side] = field(default_factory=Counter)
    _took_s: dict[int, float] = field(default_factory=dict)
    _often: Counter[int] = field(default_factory=Counter)

    def token(self) -> str:
        """The word that the next mark has."""
        return self._token(len(self._sent))

    def note(self, side: Side, at_s: float, *, is_taken: bool) -> None:
        """The next mark was handed over while a host had that side, or not taken."""
        if is_taken:
            self._sent.append((side, at_s))
        else:
            self._refused[side] += 1

    def beginnings(self, *, all_of_them: bool = False) -> list[str]:
        """What the words begin with that are still to be found, or all of them."""
        missing = range(len(self._sent))
        numbers = missing if all_of_them else (n for n in missing if n not in self._took_s)
        blocks = sorted({number // _BLOCK for number in numbers})
        return [f"{_NAME}{self.run}x{block}n" for block in blocks]

    def see(self, words: Sequence[str], at_s: float) -> None:
        """These words were found by a search that began then; each is there as often as it is
        named."""
        for number, often in Counter(self._numbers(words)).items():
            self._often[number] = max(often, self._often[number])
            self._took_s.setdefault(number, at_s - self._sent[number][1])

    def _numbers(self, words: Sequence[str]) -> Iterator[int]:
        for word in words:
            run, _, number = word.removeprefix(_NAME).partition("x")
            place = int(number.partition("n")[2])
            if run == self.run and place < len(self._sent):
                yield place

    def _token(self, number: int) -> str:
        return f"{_NAME}{self.run}x{number // _BLOCK}n{number}"

    def figures(self) -> tuple[MarkFigures, ...]:
        """What became of the marks of each side so far."""
        return tuple(figures for side in Side if (figures := self._of(side)) is not None)

    def _of(self, side: Side) -> MarkFigures | None:
        numbers = [n for n, (sent_as, _) in enumerate(self._sent) if sent_as is side]
        if not numbers and not self._refused[side]:
            return None
        took_s = sorted(self._took_s[n] for n in numbers if n in self._took_s)
        return MarkFigures(
            side,
            sent=len(numbers),
            refused=self._refused[side],
            lost=len(numbers) - len(took_s),
            doubled=sum(self._often[number] > 1 for number in numbers),
            median_s=statistics.median(took_s) if took_s else None,
            p99_s=took_s[math.ceil(0.99 * len(took_s)) - 1] if took_s else None,
        )


_WORD = re.compile(rf"{_NAME}[0-9a-f]+x\d+n\d+")


@dataclass(frozen=True)
class MarkSearch:
    """Finds marks in the indices of a `pattern`, in the `field` that has them."""

    client: EngineClient
    pattern: str
    field: str

    def words(self, beginnings: Sequence[str]) -> list[str]:
        """All words there that begin so, one for each document that has it."""
        found = list[str]()
        for beginning in beginnings:
            query = {"prefix": {self.field: {"value": beginning}}}
            for hit in _hits(self.client, self.pattern, query):
                found += sorted(set(_WORD.findall(json.dumps(hit))))
        return found


def _hits(client: EngineClient, pattern: str, query: Mapping[str, object]) -> list[object]:
    path = f"/{pattern}/_search?ignore_unavailable=true&allow_no_indices=true"
    answer = client.request("POST", path, {"size": _MOST_HITS, "query": {**query}})
    return list_at(answer, "hits", "hits")


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
        if source.type in {"imtcp", "imptcp", "imudp"} and port.isdecimal():
            is_plain = source.without_beginning(TLS) == source
            if is_plain and not source.text("address"):
                return Marker(address, int(port), is_udp=source.type == "imudp")
    raise Refused(
        f"{name}: --mark needs an imtcp, imptcp or imudp without TLS that takes what comes to the "
        "address of the host: leave --mark out"
    )


class MarkedHost(Protocol):
    """A host of a trial, for marks."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def side(self) -> Side:
        """What it runs now."""


class Marks:
    """Marks of a `run` to hosts, `per_second` to each, by a thread that looks for them too, in the
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
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._search: MarkSearch | None = None

    def begin(self) -> None:
        """Send the first ones, and go on once they are found.  Raises JobFailed where those of a
        host are not, Unreachable without an engine."""
        words = {}
        for host, marker in self._hosts:
            words[host.name] = self._send(host, marker)
            if words[host.name] == self._book.token():
                raise JobFailed(f"{host.name} takes no marks at {marker.name}: leave --mark out")
        until_s = time.monotonic() + _PATIENCE_S
        while words:
            name, word = next(iter(words.items()))
            path = field_of(self._client, self._pattern, word)
            if path is not None:
                self._search = MarkSearch(self._client, self._pattern, path)
                del words[name]
            elif time.monotonic() > until_s:
                raise JobFailed(
                    f"a mark that {name} took is in no index of {self._pattern} that a search finds"
                    f" after {_PATIENCE_S:.0f} s: does its configuration let messages of the "
                    "program rsyslog-tune through, and can the message be searched? Leave --mark "
                    "out otherwise"
                )
            else:
                time.sleep(_LOOK_S)
        self._thread.start()

    def figures(self) -> tuple[MarkFigures, ...]:
        """What became of all that was sent so far."""
        with self._lock:
            return self._book.figures()

    def await_last(self) -> None:
        """Send no more, wait for those that still come, and count each once more."""
        self._stop()
        until_s = time.monotonic() + _PATIENCE_S
        while self._search is not None and self._book.beginnings() and time.monotonic() < until_s:
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
        if self._thread.is_alive():
            self._thread.join()

    def _go_on(self) -> None:
        looked_s = 0.0
        while not self._over.wait(self._pause_s):
            for host, marker in self._hosts:
                self._send(host, marker)
            if time.monotonic() - looked_s >= _LOOK_S:
                looked_s = time.monotonic()
                self._look()

    def _send(self, host: MarkedHost, marker: Marker) -> str:
        """One mark; the word that it has."""
        with self._lock:
            word = self._book.token()
            stamp = time.strftime("%b %e %H:%M:%S")
            message = f"<14>{stamp} rsyslog-tune rsyslog-tune: mark {word}"
            self._book.note(host.side, time.time(), is_taken=marker.send(message.encode()))
            return word

    def _look(self, *, for_all: bool = False) -> None:
        """Search for what is missing; an engine that does not answer is asked again later."""
        if self._search is None:
            return
        with self._lock:
            beginnings = self._book.beginnings(all_of_them=for_all)
        began_s = time.time()
        with suppress(Unreachable, EngineRefused, JobFailed):
            words = self._search.words(beginnings)
            with self._lock:
                self._book.see(words, began_s)
