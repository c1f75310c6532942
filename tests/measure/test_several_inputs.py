"""Several inputs of a base: what each brings is learnt of it, and a loss of any is named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from tests.flood.receiver import Receiver
from tuner.engine.delivery import Expectation
from tuner.engine.numbering import FIELD, FIRST_OUTPUT, SentEvents
from tuner.flood.flood import Flood
from tuner.flood.messages import POOL, route_of
from tuner.flood.spec import FloodSpec, Transport, loopback
from tuner.lab.sink_store import Store
from tuner.profile.workload import MessageSizes

BEGINS_S = 1_790_000_000
HEAD = re.compile(rb"^<\d+>\S+T\d\d:(\d\d):(\d\d)\.(\d{6})\+", re.MULTILINE)


def documents(receiver: Receiver, output: int) -> Iterator[bytes]:
    """What an output that takes all of an input would write."""
    for stream in receiver.streams:
        for minute, second, micros in HEAD.findall(stream):
            passed_s = 60 * int(minute) + int(second) - BEGINS_S % 3600
            digits = f"{FIRST_OUTPUT + output}{str(BEGINS_S + passed_s)[-6:]}{micros.decode()}"
            yield b'{"%b": %b}' % (FIELD.encode(), digits.encode())


def came(count: int) -> list[list[bytes]]:
    """The documents of a flood of two inputs, by output: each has one of its own."""
    with ExitStack() as opened:
        inputs = [opened.enter_context(Receiver()) for _ in range(2)]
        first, *others = (Transport((loopback(one.port),)) for one in inputs)
        spec = FloodSpec(first, 4, MessageSizes(244), 1, "0a1b2c3d", count, begins_s=BEGINS_S)
        with Flood(replace(spec, beside=tuple(others))) as flood:
            flood.steer(count, None)
            assert flood.wait_until_idle(60).sent == count
            assert flood.finish().error is None
        return [list(documents(one, number)) for number, one in enumerate(inputs)]


def learnt(store: Store, count: int) -> Expectation:
    run = str(BEGINS_S // 1000)[-3:]
    return Expectation(tuple(tuple(store.arrived("x", run, one, count)) for one in range(2)))


@pytest.mark.parametrize("output", [0, 1])
def test_an_event_of_any_input_that_is_lost_or_doubled_is_named(output: int) -> None:
    learning, count = Store(), 3 * POOL
    for one in came(POOL):
        learning.add("x", one)
    expectation = learnt(learning, POOL)
    ways = [route_of(place, 2) for place in range(POOL)]
    assert expectation.outputs == tuple(tuple(int(w == one) for w in ways) for one in range(2))

    def checked(each: list[list[bytes]]) -> tuple[int, int, tuple[int, ...]]:
        store = Store()
        for one in each:
            store.add("x", one)
        run = str(BEGINS_S // 1000)[-3:]
        check = store.check_delivery("x", SentEvents((count,)), run, expectation)
        return check.lost, check.duplicated, (*check.missing, *check.doubled)

    whole = came(count)
    assert checked(whole) == (0, 0, ())
    number = int(re.findall(rb"\d+(?=})", whole[output][700])[0]) % 10**9
    assert route_of(number % POOL, 2) == output
    lost = [list(one) for one in whole]
    del lost[output][700]
    assert checked(lost) == (1, 0, (number,))
    doubled = [list(one) for one in whole]
    doubled[output].append(doubled[output][700])
    assert checked(doubled) == (0, 1, (number,))
