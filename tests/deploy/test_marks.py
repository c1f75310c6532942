"""Marks of a trial: numbered messages, of which each is found, missing or there twice."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.script.test_in_place import base
from tuner.deploy.block import Side
from tuner.deploy.marks import PATIENCE_S, FoundMark, MarkBook, marker_for
from tuner.deploy.switchback import MarkFigures
from tuner.errors import Refused
from tuner.flood.marker import Marker


def book(*sides: Side) -> tuple[MarkBook, list[FoundMark]]:
    """A mark a second, from second 100 on, and a document of each."""
    made, found = MarkBook("0a1b2c3d"), list[FoundMark]()
    for number, side in enumerate(sides):
        found.append(("logs", made.word()))
        made.add(side, 100.0 + number)
    return made, found


def test_of_each_side_it_tells_what_is_missing_or_there_twice_and_how_long_it_took() -> None:
    marks, found = book(Side.A, Side.A, Side.B, Side.B, Side.B)
    marks.find([found[0], found[2]], 103.0)
    marks.find([found[0], found[0], found[2], found[3]], 110.0)
    marks.looked(110.0)
    a, b = marks.figures()
    assert a == MarkFigures(Side.A, 2, 0, lost=0, pending=1, doubled=None, median_s=3.0, p99_s=3.0)
    assert b == MarkFigures(Side.B, 3, 0, lost=0, pending=1, doubled=None, median_s=4.0, p99_s=7.0)
    marks.looked(104.0 + PATIENCE_S, for_all=True)
    a, b = marks.figures()
    assert (a.lost, a.pending, a.doubled) == (1, 0, 1)
    assert (b.lost, b.pending, b.doubled) == (1, 0, 0)


def test_a_mark_that_comes_late_is_not_lost_any_more() -> None:
    marks, found = book(Side.A)
    marks.looked(100.0 + PATIENCE_S)
    assert [figures.lost for figures in marks.figures()] == [1]
    assert not marks.sought(100.0 + PATIENCE_S)
    marks.find(found, 200.0)
    assert [figures.lost for figures in marks.figures()] == [0]


def test_the_same_in_two_indices_is_not_there_twice() -> None:
    marks, found = book(Side.A)
    marks.find([*found, ("other", found[0][1])], 101.0)
    marks.looked(101.0, for_all=True)
    assert [figures.doubled for figures in marks.figures()] == [0]


def test_what_a_host_did_not_take_is_not_lost() -> None:
    marks, found = book(Side.A)
    marks.refuse(Side.B)
    marks.find(found, 101.0)
    assert marks.figures() == (
        MarkFigures(Side.A, 1, 0, 0, 0, None, 1.0, 1.0),
        MarkFigures(Side.B, 0, 1, 0, 0, None, None, None),
    )


def test_words_of_others_are_none_of_ours() -> None:
    marks, ((_, word),) = book(Side.A)
    marks.find([("logs", word.replace("0a1b2c3d", "ffffffff")), ("logs", f"{word}9")], 101.0)
    assert [figures.pending for figures in marks.figures()] == [1]


def test_a_search_is_for_the_hundreds_that_miss_some_and_at_the_end_for_all() -> None:
    marks, found = book(*[Side.A] * 250)
    marks.find(found[:130] + found[200:], 349.0)
    (beginning,) = marks.sought(150.0)
    assert [word for _, word in found if word.startswith(beginning)] == [
        word for _, word in found[100:200]
    ]
    assert not marks.sought(400.0)
    assert len(marks.all_beginnings()) == 3


INPUT = 'module(load="{type}")\ninput(type="{type}" port="10514"{more})\n'


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (INPUT.format(type="imtcp", more=""), "192.0.2.1:10514"),
        (INPUT.format(type="imptcp", more=""), "192.0.2.1:10514"),
        ("$ModLoad imudp\n$UDPServerRun 514\n", "192.0.2.1:514"),
    ],
)
def test_marks_go_to_the_first_input_that_takes_plain_text(
    tmp_path: Path, text: str, name: str
) -> None:
    assert marker_for("web", "192.0.2.1", base(tmp_path, text)).name == name


@pytest.mark.parametrize(
    "text",
    [
        'module(load="imuxsock")\n',
        INPUT.format(type="imtcp", more=' StreamDriver.Mode="1"'),
        INPUT.replace('"{type}")', '"{type}" StreamDriver.Mode="1")', 1).format(
            type="imtcp", more=""
        ),
        INPUT.replace("10514", "0").format(type="imtcp", more=""),
        INPUT.format(type="imtcp", more=' address="127.0.0.1"'),
    ],
)
def test_a_host_without_such_an_input_takes_none(tmp_path: Path, text: str) -> None:
    with pytest.raises(Refused, match="web: --mark needs an imtcp"):
        marker_for("web", "192.0.2.1", base(tmp_path, text))


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server


def test_a_marker_connects_again_where_it_was_cut_off(listening: socket.socket) -> None:
    marker = Marker("127.0.0.1", listening.getsockname()[1])
    assert marker.send(b"one")
    first, _ = listening.accept()
    assert first.recv(10) == b"one\n"
    first.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    first.close()
    assert not marker.send(b"two")
    assert marker.send(b"three")
    second, _ = listening.accept()
    assert second.recv(10) == b"three\n"
    second.close()
    marker.close()


def test_where_nobody_listens_it_is_not_taken(listening: socket.socket) -> None:
    marker = Marker("127.0.0.1", listening.getsockname()[1])
    listening.close()
    assert not marker.send(b"one")


def test_a_datagram_ends_with_itself() -> None:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as receiver:
        receiver.bind(("127.0.0.1", 0))
        marker = Marker("127.0.0.1", receiver.getsockname()[1], is_udp=True)
        assert marker.send(b"one")
        assert receiver.recv(10) == b"one"
        marker.close()
