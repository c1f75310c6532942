"""Inputs that fall silent, although there is something to read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.diagnose.worlds import CALM, MAIN, Counters, World, made, only, queue
from tuner.diagnose.finding import Cause, Certainty

TCP = ("imptcp", "imptcp(*/514)")
# An hour.
LONG = 361


def tcp(count: Callable[[int], int], opened: int = 12, more_bytes: int = 0) -> World:
    """An input of 100 events a round, as `count` gives, by connections that stay open."""

    def of(n: int) -> Counters:
        return {
            "submitted": count(n),
            "sessions.opened": opened,
            "sessions.closed": 0,
            "bytes.received": count(n) * 200 + n * more_bytes,
        }

    return {**CALM, TCP: of}


def stops(n: int) -> int:
    return 100 * min(n, 240)


def test_an_input_that_falls_silent_with_senders_connected_is_told() -> None:
    found = only(tcp(stops), number=LONG)
    assert (found.cause, found.certainty) == (Cause.IDLE_INPUT, Certainty.POSSIBLE)
    assert found.span == (2400.0, 3600.0)
    assert "no event for 1,200 s, before 10 a second, while 12 sessions were open" in found.evidence


def test_an_input_of_any_module_is_watched() -> None:
    found = only({**CALM, ("imhttp", "imhttp"): tcp(stops)[TCP]}, number=LONG)
    assert (found.cause, found.where) == (Cause.IDLE_INPUT, "imhttp")


def test_bytes_without_events_are_a_matter_of_framing() -> None:
    found = only(tcp(stops, more_bytes=500), number=LONG)
    assert (found.cause, found.certainty) == (Cause.IDLE_INPUT, Certainty.LIKELY)
    assert "60,000 bytes came" in found.evidence


@pytest.mark.parametrize(
    "world",
    [
        tcp(lambda n: 100 * n),
        # Nobody is connected.
        tcp(stops, opened=0),
        # Four minutes.
        tcp(lambda n: 100 * min(n, 336)),
        # It is often silent.
        tcp(lambda n: 100 * (min(n, 240) // 12)),
        # Hardly anything came before.
        tcp(lambda n: min(n, 240) // 2),
    ],
    ids=("busy", "not-connected", "short", "often", "little"),
)
def test_silence_that_is_usual_is_no_finding(world: World) -> None:
    assert made(world, number=LONG).findings == ()


def test_an_input_that_waits_for_room_is_held_up_by_its_queue() -> None:
    def full(n: int) -> Counters:
        more = max(0, n - 240)
        return {**queue(100, 100)(n), "size": 900 * more, "enqueued": 100 * n + 900 * more}

    found = only({**tcp(stops), MAIN: full}, number=LONG)
    assert found.cause is Cause.SLOW_WORKERS


def files(other: Callable[[int], int]) -> World:
    """Two files of imfile, as 8.2606 and later count them."""

    def of(count: Callable[[int], int]) -> Callable[[int], Counters]:
        return lambda n: {"bytes.processed": 80 * count(n), "lines.processed": count(n)}

    first, second = ("imfile", "/var/log/a.log"), ("imfile", "/var/log/b.log")
    return {**CALM, MAIN: queue(2000, 2000), first: of(stops), second: of(other)}


def test_a_file_that_is_read_no_more_while_others_are_is_told() -> None:
    found = only(files(lambda n: 100 * n), number=LONG)
    assert (found.cause, found.where) == (Cause.STOPPED_FILE, "/var/log/a.log")
    assert made(files(stops), number=LONG).findings == ()


def test_lines_of_files_are_events_that_came_in() -> None:
    host = made(files(lambda n: 100 * n), number=LONG)
    assert sum(host.came) == 100 * (240 + 360)
