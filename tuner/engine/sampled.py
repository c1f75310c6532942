"""A sample of the documents of a flood, as an engine or our sink has them, and what is known of
them beforehand."""

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
"""So many documents of an index: of what is so in 1 % of all, one is among them in 95 runs of
100."""
StoredDocument = Mapping[str, object]
_NAMED = 3


def sampled(client: EngineClient, pattern: str, seed: int) -> tuple[StoredDocument | None, ...]:
    """Documents of an engine that are drawn at random; none where it keeps or gives none."""
    score = {"random_score": {"seed": seed, "field": "_seq_no"}}
    body: JSON = {"size": SAMPLE, "query": {"function_score": score}}
    answer: object = None
    with contextlib.suppress(EngineRefused):
        answer = client.request("POST", f"/{pattern}/_search?request_cache=false", body)
    sources = (at(hit, "_source") for hit in list_at(answer, "hits", "hits"))
    return tuple(source for source in sources if isinstance(source, dict))


def sampled_by_sink(client: EngineClient, pattern: str) -> tuple[StoredDocument | None, ...]:
    """The same of our sink, which draws them as they come; None for one that is no JSON object."""
    listed = list_at(client.get(f"/_sink/{pattern}/sample"), "documents")
    return tuple(map(_document, map(str, listed)))


def _document(text: str | bytes) -> StoredDocument | None:
    try:
        made = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return made if isinstance(made, dict) else None


def leaves(document: StoredDocument, above: str = "") -> Iterator[tuple[str, object]]:
    """What a document holds, by its dotted path; lists and empty objects are values."""
    for key, value in document.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _texts(document: StoredDocument) -> dict[str, str]:
    """The same, each value as JSON."""
    return {path: json.dumps(value) for path, value in leaves(document)}


@dataclass(frozen=True)
class Content:
    """How many documents of a sample were compared with what was sent, how many of them hold
    something else, and the first of these: the event, and its fields."""

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
    """The documents that each message of a pool gave, two times, for each output.

    What is the same both times, and not in all documents of the output, must be so again: it tells
    one message from another, and has nothing of the hour.  `telling` are the paths of that.
    """

    pairs: tuple[Mapping[int, tuple[bytes, bytes]], ...]
    telling: tuple[frozenset[str], ...]
    pool: int

    def in_order(self, order: Sequence[int]) -> LearntDocuments:
        """The same of a pool whose messages are sent in that order."""
        pairs = tuple(
            {at: output[place] for at, place in enumerate(order) if place in output}
            for output in self.pairs
        )
        return LearntDocuments(pairs, self.telling, len(order))

    def content(
        self, documents: Iterable[StoredDocument | None], run: str, senders: int
    ) -> Content:
        """Of documents of a run, against those that came of the same messages before."""
        verdicts = [self._wrong(document, run, senders) for document in documents if document]
        compared = [verdict for verdict in verdicts if verdict is not None]
        wrong = [f"event {number}: {fields}" for number, fields in compared if fields]
        return Content(len(compared), len(wrong), tuple(wrong[:_NAMED]))

    def _wrong(self, document: StoredDocument, run: str, senders: int) -> tuple[int, str] | None:
        """The event that a document of a run is of, and which members are others than they should
        be, "" for none; None where nothing is known of it."""
        digits = str(document.get(FIELD, ""))
        place = _place(digits.encode(), run)
        if place is None or place[0] >= len(self.pairs):
            return None
        output, number = place
        pair = self.pairs[output].get(event_of(number, senders)[1] % self.pool)
        steady = {} if pair is None else _steady(pair)
        # A line without a head has the number in its text.
        members = {path: text.replace(digits[2:], "") for path, text in _texts(document).items()}
        compared = [path for path in steady if path in self.telling[output]]
        if not compared:
            return None
        return number, ", ".join(path for path in compared if members.get(path) != steady[path])


def learnt_documents(lines: bytes, run: str, expectation: Expectation) -> LearntDocuments:
    """From the bulks of two rounds of a pool: of messages that give one document of an output."""
    pool = len(expectation.outputs[0])
    rounds: list[dict[int, dict[int, bytes]]] = [{} for _ in expectation.outputs]
    for line in lines.split(b"\n")[1::2]:
        digits = STAMPED.search(line)
        place = None if digits is None else _place(digits[1], run)
        if digits is None or place is None or place[0] >= len(rounds):
            continue
        turn, message = divmod(place[1], pool)
        if expectation.outputs[place[0]][message] == 1:
            rounds[place[0]].setdefault(message, {})[turn] = line.replace(digits[1][2:], b"")
    pairs = tuple(
        {
            message: (lines_of[0], lines_of[1])
            for message, lines_of in output.items()
            if {0, 1} <= set(lines_of)
        }
        for output in rounds
    )
    return LearntDocuments(pairs, tuple(map(_telling, pairs)), pool)


def _place(digits: bytes, run: str) -> tuple[int, int] | None:
    """The output and the event of a number that a lab added; None for a number of another run."""
    if re.fullmatch(rb"\d{%d}" % (MICRO_DIGITS + 2), digits) is None:
        return None
    output, micros = divmod(int(digits), 10**MICRO_DIGITS)
    number = micros - int(run) * RUN_MICROS
    return (output - FIRST_OUTPUT, number) if output >= FIRST_OUTPUT and number >= 0 else None


def _steady(pair: tuple[bytes, bytes]) -> dict[str, str]:
    """What is the same in both, which both must be JSON objects for."""
    first, second = map(_document, pair)
    if first is None or second is None:
        return {}
    members = _texts(second)
    return {path: text for path, text in _texts(first).items() if members.get(path) == text}


def _telling(pairs: Mapping[int, tuple[bytes, bytes]]) -> frozenset[str]:
    """The members that differ from message to message."""
    values: dict[str, str] = {}
    telling: set[str] = set()
    for pair in pairs.values():
        for path, text in _steady(pair).items():
            if values.setdefault(path, text) != text:
                telling.add(path)
    return frozenset(telling)
