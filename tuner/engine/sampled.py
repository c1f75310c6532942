"""Samples of the documents of a flood, from an engine or our sink, and their comparison with the
documents that the same messages gave in the slow pass."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tuner.engine.client import JSON, EngineClient, EngineRefused, at, list_at
from tuner.engine.delivery import Expectation
from tuner.engine.numbering import FIELD, FIRST_OUTPUT, MICRO_DIGITS, RUN_MICROS, STAMPED, event_of

SAMPLE = 300
"""The size of a sample.  A kind of documents that makes up 1 % of all is in 95 of 100 samples."""
StoredDocument = Mapping[str, object]
_NAMED = 3


def sampled(client: EngineClient, pattern: str, seed: int) -> tuple[StoredDocument | None, ...]:
    """Random documents of an engine; none if it keeps no `_source` or refuses the search."""
    score = {"random_score": {"seed": seed, "field": "_seq_no"}}
    body: JSON = {"size": SAMPLE, "query": {"function_score": score}}
    answer: object = None
    with contextlib.suppress(EngineRefused):
        answer = client.request("POST", f"/{pattern}/_search?request_cache=false", body)
    sources = (at(hit, "_source") for hit in list_at(answer, "hits", "hits"))
    return tuple(source for source in sources if isinstance(source, dict))


def sampled_by_sink(client: EngineClient, pattern: str) -> tuple[StoredDocument | None, ...]:
    """Documents of our sink, which draws them at random; None for one that is not a JSON object."""
    texts = list_at(client.get(f"/_sink/{pattern}/sample"), "documents")
    return tuple(map(_document, map(str, texts)))


def _document(text: str | bytes) -> StoredDocument | None:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def leaves(document: StoredDocument, above: str = "") -> Iterator[tuple[str, object]]:
    """The values of a document with their dotted paths; lists and empty objects count as values."""
    for key, value in document.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _texts(document: StoredDocument) -> dict[str, str]:
    """The values of a document by their dotted paths, each as JSON."""
    return {path: json.dumps(value) for path, value in leaves(document)}


@dataclass(frozen=True)
class Content:
    """The comparison of a sample: how many documents were compared, how many differ from the slow
    pass, and the first of these with their event and fields."""

    compared: int = 0
    different: int = 0
    first: tuple[str, ...] = ()

    def __str__(self) -> str:
        more = "; ..." if self.different > len(self.first) else ""
        return (
            f"{self.different} of {self.compared} documents compared hold something else than the "
            f"same messages gave in the slow pass before: {'; '.join(self.first)}{more}"
        )


NOT_COMPARED = Content()


@dataclass(frozen=True)
class LearntDocuments:
    """The two documents that each message of a pool gave in the slow pass, for each output.

    `distinctive` are the paths, for each output, whose values differ between messages.  If such a
    value is equal in both documents of a message, it must be so in a flood, too: it depends on the
    message and not on the time.
    """

    pairs: tuple[Mapping[int, tuple[bytes, bytes]], ...]
    distinctive: tuple[frozenset[str], ...]
    pool: int

    def in_order(self, order: Sequence[int]) -> LearntDocuments:
        """The documents of a pool that sends the messages in `order`."""
        pairs = tuple(
            {number: output[message] for number, message in enumerate(order) if message in output}
            for output in self.pairs
        )
        return LearntDocuments(pairs, self.distinctive, len(order))

    def content(
        self, documents: Iterable[StoredDocument | None], run: str, senders: int
    ) -> Content:
        """Compare documents of a run with those that the same messages gave in the slow pass."""
        verdicts = [self._changed(document, run, senders) for document in documents if document]
        compared = [verdict for verdict in verdicts if verdict is not None]
        wrong = [f"event {number}: {fields}" for number, fields in compared if fields]
        return Content(len(compared), len(wrong), tuple(wrong[:_NAMED]))

    def _changed(self, document: StoredDocument, run: str, senders: int) -> tuple[int, str] | None:
        """The number of a document's event, and the paths of the members that differ from the slow
        pass, "" for none; None if there is nothing to compare with."""
        digits = str(document.get(FIELD, ""))
        output_and_number = _output_and_number(digits.encode(), run)
        if output_and_number is None or output_and_number[0] >= len(self.pairs):
            return None
        output, number = output_and_number
        pair = self.pairs[output].get(event_of(number, senders)[1] % self.pool)
        steady = {} if pair is None else _steady(pair)
        # A line without a syslog header has the number in its text.
        members = {path: text.replace(digits[2:], "") for path, text in _texts(document).items()}
        compared = [path for path in steady if path in self.distinctive[output]]
        if not compared:
            return None
        return number, ", ".join(path for path in compared if members.get(path) != steady[path])


def learnt_documents(lines: bytes, run: str, expectation: Expectation) -> LearntDocuments:
    """The documents in the bulk lines of two rounds of a pool; only messages count that give one
    document of an output."""
    pool = len(expectation.outputs[0])
    rounds: list[dict[int, dict[int, bytes]]] = [{} for _ in expectation.outputs]
    for line in lines.split(b"\n")[1::2]:
        digits = STAMPED.search(line)
        place = None if digits is None else _output_and_number(digits[1], run)
        if digits is None or place is None or place[0] >= len(rounds):
            continue
        turn, message = divmod(place[1], pool)
        if expectation.outputs[place[0]][message] == 1:
            rounds[place[0]].setdefault(message, {})[turn] = line.replace(digits[1][2:], b"")
    pairs = tuple(
        {
            message: (documents[0], documents[1])
            for message, documents in output.items()
            if {0, 1} <= set(documents)
        }
        for output in rounds
    )
    return LearntDocuments(pairs, tuple(map(_distinctive, pairs)), pool)


def _output_and_number(digits: bytes, run: str) -> tuple[int, int] | None:
    """The output and the event number in a document's number; None if it is not of this run."""
    if re.fullmatch(rb"\d{%d}" % (MICRO_DIGITS + 2), digits) is None:
        return None
    output, micros = divmod(int(digits), 10**MICRO_DIGITS)
    number = micros - int(run) * RUN_MICROS
    return (output - FIRST_OUTPUT, number) if output >= FIRST_OUTPUT and number >= 0 else None


def _steady(pair: tuple[bytes, bytes]) -> dict[str, str]:
    """The members that are equal in both documents; none if one is not a JSON object."""
    first, second = map(_document, pair)
    if first is None or second is None:
        return {}
    members = _texts(second)
    return {path: text for path, text in _texts(first).items() if members.get(path) == text}


def _distinctive(pairs: Mapping[int, tuple[bytes, bytes]]) -> frozenset[str]:
    """The paths of the members that differ between messages."""
    values: dict[str, str] = {}
    distinctive: set[str] = set()
    for pair in pairs.values():
        for path, text in _steady(pair).items():
            if values.setdefault(path, text) != text:
                distinctive.add(path)
    return frozenset(distinctive)
