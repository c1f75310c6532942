"""What documents hold against what was sent: swapped numbers and altered texts are found, and what
is as it should be is not."""

from __future__ import annotations

import json

from tuner.engine.delivery import Expectation
from tuner.engine.numbering import FIELD
from tuner.engine.sampled import (
    NOT_COMPARED,
    Content,
    LearntDocuments,
    StoredDocument,
    learnt_documents,
)

Document = dict[str, object]
RUN = "700"


def document(output: int, number: int, **members: object) -> Document:
    return {**members, FIELD: (10 + output) * 10**12 + 700_000_000_000 + number}


def bulks(*documents: Document) -> bytes:
    return b"".join(b'{"index":{}}\n%b\n' % json.dumps(one).encode() for one in documents)


def two_rounds() -> LearntDocuments:
    """Of a pool of three messages, whose second output takes the first only; each document has the
    text, where it comes from, the hour, and when it came."""
    texts = ["a", "b", "c"]
    every = [
        document(0, number, m=texts[number % 3], by={"host": texts[number % 3]}, hour=13, at=number)
        for number in range(6)
    ]
    more = [document(1, 0, m="a"), document(1, 3, m="a")]
    lines = bulks(*every, *more, document(5, 0, m="x"), {"m": "without a number"})
    return learnt_documents(lines, RUN, Expectation(((1, 1, 1), (1, 0, 0))))


def test_the_same_messages_give_the_same_documents() -> None:
    learnt = two_rounds()
    good = [
        document(0, 7, m="b", by={"host": "b"}, hour=14, at=99),
        document(0, 6, m="a", by={"host": "a"}),
    ]
    assert learnt.content(good, RUN, 1) == Content(compared=2)
    wrong = [document(0, 8, m="b", by={"host": "c"}), document(0, 7, m="b"), document(0, 6)]
    assert learnt.content(wrong, RUN, 1) == Content(
        3, 3, ("event 8: m", "event 7: by.host", "event 6: m, by.host")
    )


def test_what_says_nothing_of_a_message_is_not_compared() -> None:
    """What all documents have in common may be of the hour; of an output with one message nothing
    tells it from another."""
    unknown: list[StoredDocument | None] = [
        None, {}, {FIELD: "x"}, {FIELD: 5}, document(1, 0, m="b"), document(7, 0, m="b"),
        {FIELD: 10**13 + 600_000_000_000},
    ]  # fmt: skip
    assert two_rounds().content(unknown, RUN, 1) == NOT_COMPARED
    pool = Expectation(((1, -1), (2, 0)))
    lines = bulks(*(document(0, n, m=str(n % 2)) for n in range(4)))
    learnt = learnt_documents(lines + b'{}\n{"m": broken', RUN, pool)
    assert learnt.content([document(0, 1, m="x")], RUN, 1) == NOT_COMPARED


def test_of_a_line_that_has_its_number_in_the_text_the_rest_is_compared() -> None:
    micros = 1_790_700_000_000_000
    lines = bulks(*(document(0, n, m=f"{micros + n} {n % 2}") for n in range(4)))
    learnt = learnt_documents(lines, RUN, Expectation(((1, 1),)))
    some = [document(0, 6, m=f"{micros + 6} 0"), document(0, 7, m=f"{micros + 6} 1")]
    found = learnt.content([*some, document(0, 8, m=f"{micros + 8} 1")], RUN, 1)
    assert found == Content(3, 2, ("event 7: m", "event 8: m"))


def test_only_the_first_are_named() -> None:
    wrong = [document(0, number, m="x") for number in range(6, 12)]
    found = two_rounds().content(wrong, RUN, 1)
    assert str(found).startswith("6 of 6 documents compared hold something else than the same ")
    assert str(found).endswith("event 6: m, by.host; event 7: m, by.host; event 8: m, by.host; ...")
