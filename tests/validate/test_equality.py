"""In what two deliveries of the same events differ, on arrivals as a sink has them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from tuner.validate.equality import Arrival, Delivered, Discrepancy, discrepancies

UUIDS = ("0F" * 16, "A1" * 16)


def arrival(
    number: int = 1, *, index: str = "syslog", document_id: str | None = None, **more: object
) -> Arrival:
    """The document of an event with that number in its message."""
    return Arrival(index, document_id, json.dumps({"message": f"n{number:05d} text", **more}))


def found_in(one: Sequence[Arrival], other: Sequence[Arrival]) -> tuple[Discrepancy, ...]:
    """What differs between two deliveries."""
    return discrepancies(Delivered(one), Delivered(other))


def differing(one: Sequence[Arrival], other: Sequence[Arrival]) -> dict[str, int]:
    """What differs, and in how many events; the same from either side."""
    found = {each.what: each.events + each.others for each in found_in(one, other)}
    assert found == {each.what: each.events + each.others for each in found_in(other, one)}
    return found


def test_the_same_documents_in_any_order_are_equal() -> None:
    made = [arrival(number, index=index) for number in range(9) for index in ("a", "b")]
    assert differing(made, made[::-1]) == {}


def test_a_document_that_is_missing_or_there_twice_is_told() -> None:
    made = [arrival(number) for number in range(5)]
    assert differing(made, made[1:]) == {"documents": 1}
    assert differing(made, [*made, made[2]]) == {"documents": 1}
    assert differing(made, []) == {"documents": 5}


def test_one_that_is_missing_is_not_made_up_for_by_another_of_the_same_text() -> None:
    assert differing([arrival(1), arrival(2)], [arrival(1), arrival(1)]) == {"documents": 2}


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (arrival(index="other"), "_index"),
        (arrival(document_id="x"), "_id"),
        (arrival(host="web1"), "host"),
        (arrival(host=None), "host"),
        (arrival(host={}), "host"),
        (arrival(host={"name": "web1"}), "host.name"),
    ],
)
def test_index_id_and_each_field_are_compared(other: Arrival, what: str) -> None:
    assert differing([arrival()], [other]) == {what: 1}


@pytest.mark.parametrize(
    ("one", "other"),
    [("5", 5), (1, True), (0, False), (5, 5.0), ("", None), ([1], [1, 2]), ("a", "a ")],
)
def test_a_value_of_another_type_is_another_value(one: object, other: object) -> None:
    assert differing([arrival(v=one)], [arrival(v=other)]) == {"v": 1}


def test_how_often_a_field_differs_is_counted_and_the_first_is_the_example() -> None:
    ours = [arrival(number, v=number) for number in range(4)]
    theirs = [arrival(number, v=9 if number else 0) for number in range(4)]
    (found,) = found_in(theirs, ours)
    assert (found.what, found.events, found.example) == ("v", 3, "event 1: 9 and 1")


def test_the_original_stands_first_in_what_is_told() -> None:
    (found,) = found_in([arrival(index="theirs")], [arrival(index="ours")])
    assert found.example == "event 1: theirs and ours"
    (found,) = found_in([arrival()], [])
    assert found.example == "event 1: 1 of the original, 0 of the profile"


def test_the_time_at_which_an_event_came_to_each_is_the_same_and_another_time_is_not() -> None:
    now = datetime.now(UTC)
    times = [(now + timedelta(seconds=seconds)).isoformat() for seconds in (0, 5, -3600)]
    assert differing([arrival(at=times[0])], [arrival(at=times[1])]) == {}
    assert differing([arrival(at=times[0])], [arrival(at=times[2])]) == {"at": 1}
    without_zone = now.replace(tzinfo=None).isoformat()
    assert differing([arrival(at=times[0])], [arrival(at=without_zone)]) == {"at": 1}


def test_ids_that_rsyslog_makes_for_each_event_are_no_difference() -> None:
    made = [arrival(document_id=one) for one in UUIDS]
    assert differing(made[:1], made[1:]) == {}
    assert differing(made[:1], [arrival(document_id="host-1")]) == {"_id": 1}
    assert differing(made[:1], [arrival()]) == {"_id": 1}


def test_what_is_no_json_is_compared_as_it_came() -> None:
    torn, other = (Arrival("syslog", None, f"n00001 {text}") for text in ('{"a": ', "{"))
    assert differing([torn], [arrival()]) == {"JSON": 1}
    assert differing([torn], [torn]) == {}
    assert differing([torn], [other]) == {"JSON": 1}


def test_documents_without_a_number_are_compared_within_their_index() -> None:
    def bare(index: str, text: str) -> Arrival:
        return Arrival(index, None, json.dumps({"m": text}))

    assert differing([bare("a", "x"), bare("b", "y")], [bare("b", "y"), bare("a", "x")]) == {}
    assert differing([bare("a", "x")], [bare("a", "z")]) == {"m": 1}
    assert differing([bare("a", "x")], [bare("b", "x")]) == {"documents": 2}


def line(text: str, place: str = "/var/log/all") -> Arrival:
    """A line in a file."""
    return Arrival(place, None, text, place=place)


def test_lines_are_compared_within_their_file() -> None:
    made = [line(f"n{number:05d} a") for number in range(3)]
    assert differing(made, made[::-1]) == {}
    assert differing(made, made[1:]) == {"/var/log/all": 1}
    assert differing(made[:1], [line("n00000 b")]) == {"/var/log/all": 1}
    elsewhere = [line(one.text, "/var/log/other") for one in made]
    assert differing(made, elsewhere) == {"/var/log/all": 3, "/var/log/other": 3}
    assert differing([arrival(1)], [line("n00001 a")]) == {"documents": 1, "/var/log/all": 1}


def test_json_in_a_file_is_compared_by_its_members() -> None:
    one, other = line('{"m":"n00001","a":1}'), line('{"a":1, "m":"n00001"}')
    assert differing([one], [other]) == {}
    (found,) = found_in([one], [line('{"m":"n00001","a":2}')])
    assert (found.what, found.example) == ("/var/log/all", "event 1: a 1 and 2")


def test_the_time_at_which_a_line_was_written_is_no_difference() -> None:
    now = datetime.now().astimezone()
    stamps = (now, now + timedelta(seconds=9), now - timedelta(hours=3))
    for written in ("%b %d %H:%M:%S", "%Y-%m-%dT%H:%M:%S+00:00"):
        lines = [line(f"{one.astimezone(UTC) if '+' in written else one:{written}} n00001")
                 for one in stamps]  # fmt: skip
        assert differing([lines[0]], [lines[1]]) == {}
        assert differing([lines[0]], [lines[2]]) == {"/var/log/all": 1}


def test_the_time_of_arrival_is_no_difference_in_any_format_of_a_date_and_its_format_is() -> None:
    now = datetime.now().astimezone()
    formats = (
        "%b %d %H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y%m%d%H%M%S", "%s", "%b %d %Y %H:%M:%S",
        "%d-%b-%Y %H:%M:%S.7",
    )  # fmt: skip
    soon, past = now + timedelta(seconds=9), now - timedelta(hours=3)
    written = [[f"{one:{each}}" for each in formats] for one in (now, soon, past)]
    for one, later, before in zip(*written, strict=True):
        assert differing([arrival(at=one)], [arrival(at=later)]) == {}
        assert differing([line(f"n00001 {one}")], [line(f"n00001 {later}")]) == {}
        assert differing([arrival(at=one)], [arrival(at=before)]) == {"at": 1}
    seconds = [int(one[3]) for one in written]
    assert differing([arrival(at=seconds[0])], [arrival(at=seconds[1])]) == {}
    assert differing([arrival(at=seconds[0])], [arrival(at=seconds[2])]) == {"at": 1}
    others = (written[0][0], now.isoformat(timespec="seconds"))
    assert differing(*([line(f"n00001 {one}")] for one in others)) == {"/var/log/all": 1}


def test_lines_of_one_event_are_compared_in_the_order_in_which_they_came_by_neither() -> None:
    """By a socket and a port it came at two seconds, which stand before what else differs."""
    now = datetime.now().astimezone()
    before, after = (f"{now - timedelta(seconds=ago):%b %e %H:%M:%S}" for ago in (9, 0))
    lines = [
        [Arrival("f", None, f"{one} vm n00001 x", place="f"),
         Arrival("f", None, f"{other} n00001 x", place="f")]
        for one, other in ((before, after), (after, before))
    ]  # fmt: skip
    assert differing(*lines) == {}


def test_documents_that_are_no_json_differ_where_they_differ_and_not_in_their_time() -> None:
    now = datetime.now(UTC)
    broken = '{"m":"n00001 "x" ' + "y" * 300 + '","at":"%s","tag":"%s"}'
    made = [
        Arrival("i", None, broken % ((now - timedelta(seconds=ago)).isoformat(), tag))
        for ago, tag in ((5, "one"), (0, "one"), (0, "two"))
    ]
    assert differing(made[:1], made[1:2]) == {}
    (found,) = found_in(made[:1], made[2:])
    assert found.what == "JSON"
    assert 'yy","at":"0000-00-00T' in found.example
    assert '"tag":"one"} and ...' in found.example
    assert found.example.endswith('"tag":"two"}')


def test_no_more_events_differ_than_there_are() -> None:
    ours = [arrival(number, v=1, index=index) for number in range(3) for index in ("a", "b")]
    theirs = [arrival(number, v=2, index=index) for number in range(3) for index in ("a", "b")]
    bare, other = Arrival("a", None, '{"v":3}'), Arrival("a", None, '{"v":4}')
    (found,) = found_in([*ours, bare], [*theirs, other])
    assert (found.events, found.others) == (3, 1)
    assert str(found).startswith("v: different for 3 of 300 events and 1 without a number, such as")


def test_servers_sockets_and_pipelines_are_compared() -> None:
    one = Delivered([], frozenset({"http://a:9200"}), frozenset({"tcp [::]:1", "tcp 0.0.0.0:1"}))
    other = Delivered([], frozenset({"http://a:443"}), frozenset({"tcp 0.0.0.0:1"}))
    assert [str(each) for each in discrepancies(one, other)] == [
        "servers differ: http://a:9200 of the original alone; http://a:443 of the profile alone",
        "listening sockets differ: tcp [::]:1 of the original alone",
    ]
    assert discrepancies(one, one) == ()
    unseen = Delivered([], one.servers)
    assert discrepancies(one, unseen) == ()
    piped = [Arrival("a", None, '{"m":"n00001"}', name) for name in ("x", "y")]
    assert differing(piped[:1], piped[1:]) == {"pipeline": 1}


def test_how_much_arrived_is_said_in_words() -> None:
    lines = [line("n00001 a"), line("n00002 a")]
    assert Delivered(lines).counted == "2 lines in 1 place,"
    both = Delivered([arrival(1), *lines, line("n00003", "omfwd:udp:up:514")])
    assert both.counted == "1 documents, with their indices and ids, and 3 lines in 2 places,"
