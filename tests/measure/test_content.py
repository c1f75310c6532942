"""What documents hold against what was sent: swapped numbers and altered texts are found, and what
is as it should be is not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.profile.examples import small
from tuner.engine.delivery import Expectation
from tuner.engine.numbering import FIELD, event_of
from tuner.engine.sampled import LearntDocuments, StoredDocument, learnt_documents
from tuner.flood.messages import Messages
from tuner.flood.spec import FloodSpec
from tuner.flood.workload import flood_spec
from tuner.measure.content import (
    NOT_COMPARED,
    Content,
    content_of_base,
    content_of_outputs,
    read_as,
)
from tuner.modules.field import FieldType
from tuner.profile.documents import fields_of
from tuner.profile.model import Profile

RUN = "0a1b2c3d"
Document = dict[str, object]


def spec_of(bound: Profile, **more: object) -> FloodSpec:
    return replace(flood_spec(bound, RUN), **more)  # type: ignore[arg-type]


def document(bound: Profile, spec: FloodSpec, number: int, senders: int = 1) -> Document:
    """What rsyslogd writes of an event, with its number."""
    sender, event = event_of(number, senders)
    messages = Messages(replace(spec, sender=sender, senders=senders))
    text = messages.message(event, 1e9).decode()
    known = read_as(text, spec.format, bound.inputs[0])
    made: Document = {FIELD: f"{number:012}"}
    for field in fields_of(bound.measured):
        value = known.get(str(field.property)) or "2026-01-01T00:00:00+00:00"
        *above, leaf = field.name.split(".")
        here = made
        for name in above:
            here = here.setdefault(name, {})  # type: ignore[assignment]
        here[leaf] = int(value) if field.type is FieldType.INTEGER else value
    return made


def compared(
    bound: Profile, spec: FloodSpec, documents: list[Document | None], senders: int = 1
) -> Content:
    return content_of_outputs(bound, spec, senders, {"logs": documents})


@pytest.mark.parametrize(
    "workload",
    [{}, {"format": "rfc5424"}, {"message_bytes.mean": 600, "seed": 7}],
    ids=["rfc3164", "rfc5424", "longer"],
)
def test_what_arrives_as_it_was_sent_is_not_said_to_differ(workload: Mapping[str, object]) -> None:
    bound = small({f"workload.{key}": value for key, value in workload.items()})
    spec = spec_of(bound)
    numbers = (0, 1, 999, 1000, 2001, 123_456)
    documents: list[Document | None] = [document(bound, spec, one) for one in numbers]
    assert compared(bound, spec, documents) == Content(compared=6)


def test_events_of_several_senders_are_told_apart() -> None:
    bound = small()
    spec = spec_of(bound)
    documents: list[Document | None] = [document(bound, spec, one, 3) for one in (5, 1005, 2005)]
    assert compared(bound, spec, documents, 3) == Content(compared=3)
    assert compared(bound, spec, documents, 1).different == 0
    other: list[Document | None] = [document(bound, spec, 3005, 3)]
    assert compared(bound, spec, other, 3) == Content(compared=1)


def test_numbers_that_two_events_swapped_are_found() -> None:
    bound = small()
    spec = spec_of(bound)
    one, other = document(bound, spec, 17), document(bound, spec, 18)
    one[FIELD], other[FIELD] = other[FIELD], one[FIELD]
    found = compared(bound, spec, [one, other, document(bound, spec, 19)])
    assert (found.compared, found.different) == (3, 2)
    assert found.first[0].startswith("event 18: ")
    assert "message" in found.first[0]


def test_numbers_that_were_swapped_in_the_texts_too_are_found() -> None:
    """As the sink sees it: there the number is that of the text."""
    bound = small()
    spec = spec_of(bound)
    one, other = document(bound, spec, 17), document(bound, spec, 18)
    for each, number in ((one, 18), (other, 17)):
        del each[FIELD]
        each["message"] = str(each["message"]).replace(f"{35 - number:012}", f"{number:012}")
    found = compared(bound, spec, [one, other])
    assert (found.compared, found.different) == (2, 2)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("message", "cut"), ("host.name", "elsewhere"), ("log.syslog.severity.code", 0),
        ("log.syslog.procid", "1"), ("process.name", None),
    ],
)  # fmt: skip
def test_each_field_that_is_another_is_named(path: str, value: object) -> None:
    bound = small()
    spec = spec_of(bound)
    altered = document(bound, spec, 4)
    *above, leaf = path.split(".")
    here = altered
    for name in above:
        here = here[name]  # type: ignore[assignment]
    here[leaf] = str(here[leaf])[:-1] if value == "cut" else value
    found = compared(bound, spec, [altered])
    assert found == Content(1, 1, (f"event 4: {path}",))
    said = "1 of 1 documents compared hold something else than was sent: event 4: "
    assert str(found) == said + path


def test_what_cannot_be_known_is_not_compared(tmp_path: Path) -> None:
    bound = small()
    spec = spec_of(bound)
    stranger: Document = {"message": "of somebody else"}
    assert compared(bound, spec, [None, stranger]) == NOT_COMPARED
    assert compared(bound, spec, []) == NOT_COMPARED
    altered = document(bound, spec, 4) | {"message": "x"}
    parsing = small({"parser": ["rsyslog.rfc3164"]})
    assert compared(parsing, spec, [altered]) == NOT_COMPARED
    escaping = small({"global": {"parser.escape8BitCharactersOnReceive": True}})
    assert compared(escaping, spec, [altered]) == NOT_COMPARED
    file = {"type": "imfile", "file": "/var/log/app.log", "tag": "app:", "needParse": True}
    in_files = small({"inputs": [file], "global": {"workDirectory": "/var/spool/rsyslog"}})
    assert compared(in_files, spec, [altered]) == NOT_COMPARED
    hiding = small({"steps": [{"type": "mmanon"}]})
    assert compared(hiding, spec, [altered]) == Content(compared=1)
    lines = tmp_path / "lines"
    lines.write_bytes(b"caf\xe9\nplain\n")
    replayed = spec_of(bound, replay=str(lines))
    some: list[Document | None] = [document(bound, spec, one) | {"message": "x"} for one in (0, 1)]
    assert compared(bound, replayed, some).compared == 1


def test_only_the_first_are_named() -> None:
    bound = small()
    spec = spec_of(bound)
    wrong: list[Document | None] = [document(bound, spec, n) | {"message": ""} for n in range(5)]
    found = compared(bound, spec, wrong)
    assert str(found).endswith("event 0: message; event 1: message; event 2: message; ...")


BASE_RUN = "1700000"


def of_base(output: int, number: int, **members: object) -> Document:
    return {**members, FIELD: (10 + output) * 10**16 + 1_700_000_000_000_000 + number}


def bulks(*documents: Document) -> bytes:
    return b"".join(b'{"index":{}}\n%b\n' % json.dumps(one).encode() for one in documents)


def two_rounds() -> LearntDocuments:
    """Of a pool of three messages, whose second output takes the first only; each document has the
    text, where it comes from, the hour, and when it came."""
    texts = ["a", "b", "c"]
    every = [
        of_base(0, number, m=texts[number % 3], by={"host": texts[number % 3]}, hour=13, at=number)
        for number in range(6)
    ]
    more = [of_base(1, 0, m="a"), of_base(1, 3, m="a")]
    lines = bulks(*every, *more, of_base(5, 0, m="x"), {"m": "without a number"})
    return learnt_documents(lines, BASE_RUN, Expectation(((1, 1, 1), (1, 0, 0))))


def test_of_a_base_the_same_messages_give_the_same_documents() -> None:
    learnt = two_rounds()
    good = [
        of_base(0, 7, m="b", by={"host": "b"}, hour=14, at=99),
        of_base(0, 6, m="a", by={"host": "a"}),
    ]
    assert content_of_base(learnt, BASE_RUN, 1, good) == Content(compared=2)
    wrong = [of_base(0, 8, m="b", by={"host": "c"}), of_base(0, 7, m="b"), of_base(0, 6)]
    assert content_of_base(learnt, BASE_RUN, 1, wrong) == Content(
        3, 3, ("event 8: m", "event 7: by.host", "event 6: m, by.host")
    )


def test_of_a_base_what_says_nothing_of_a_message_is_not_compared() -> None:
    """What all documents have in common may be of the hour; of an output with one message nothing
    tells it from another."""
    unknown: list[StoredDocument | None] = [
        None, {}, {FIELD: "x"}, {FIELD: 5}, of_base(1, 0, m="b"), of_base(7, 0, m="b"),
        {FIELD: 10**17 + 1_600_000_000_000_000},
    ]  # fmt: skip
    assert content_of_base(two_rounds(), BASE_RUN, 1, unknown) == NOT_COMPARED
    pool = Expectation(((1, -1), (2, 0)))
    lines = bulks(*(of_base(0, n, m=str(n % 2)) for n in range(4)))
    learnt = learnt_documents(lines + b'{}\n{"m": broken', BASE_RUN, pool)
    assert content_of_base(learnt, BASE_RUN, 1, [of_base(0, 1, m="x")]) == NOT_COMPARED


def test_of_a_line_that_has_its_number_in_the_text_the_rest_is_compared() -> None:
    micros = 1_700_000_000_000_000
    lines = bulks(*(of_base(0, n, m=f"{micros + n} {n % 2}") for n in range(4)))
    learnt = learnt_documents(lines, BASE_RUN, Expectation(((1, 1),)))
    some = [of_base(0, 6, m=f"{micros + 6} 0"), of_base(0, 7, m=f"{micros + 6} 1")]
    found = content_of_base(learnt, BASE_RUN, 1, [*some, of_base(0, 8, m=f"{micros + 8} 1")])
    assert found == Content(3, 2, ("event 7: m", "event 8: m"))
