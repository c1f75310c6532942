from __future__ import annotations

import re
import time

import pytest

from tuner.errors import BadUsage
from tuner.flood.messages import AWKWARD, POOL, Messages, stamp
from tuner.flood.spec import LEAST_MESSAGE_BYTES, FloodSpec

EPOCH_S = 1_790_000_000
SHAPE = re.compile(
    rb"<(\d{1,3})>([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) (\S+) ([a-z]+)\[(\d+)\]: "
    rb"run=([0-9a-f]{8}) seq=(\d{12}) ([ -~]+)"
)


def taken(messages: Messages, count: int, most: int = 300, epoch_s: int = EPOCH_S) -> bytes:
    data = b""
    while count > 0:
        block = messages.take(min(most, count), epoch_s)
        data += bytes(block.data)
        count -= len(block.ends)
    return data


def test_the_same_seed_gives_the_same_bytes() -> None:
    once = taken(Messages(7, "0a1b2c3d", 244), 2500)
    assert once == taken(Messages(7, "0a1b2c3d", 244), 2500, most=77)
    assert once != taken(Messages(8, "0a1b2c3d", 244), 2500)


def test_another_time_changes_the_timestamps_only() -> None:
    messages = Messages(7, "0a1b2c3d", 244)
    early = taken(messages, POOL, epoch_s=EPOCH_S).splitlines()
    late = taken(Messages(7, "0a1b2c3d", 244), POOL, epoch_s=EPOCH_S + 86_400 * 40).splitlines()
    for before, after in zip(early, late, strict=True):
        start = before.index(b">") + 1
        assert before[:start] + before[start + 15 :] == after[:start] + after[start + 15 :]
        assert after[start : start + 15] == stamp(EPOCH_S + 86_400 * 40)


def test_every_message_is_rfc_3164_and_numbered_in_order() -> None:
    lines = taken(Messages(1, "deadbeef", 244), 3100).splitlines()
    for number, line in enumerate(lines):
        match = SHAPE.fullmatch(line)
        assert match is not None, line
        assert match[2] == stamp(EPOCH_S)
        assert match[6] == b"deadbeef"
        assert int(match[7]) == number
        assert 8 <= int(match[1]) <= 191


def test_numbers_carry_over_into_high_digits() -> None:
    messages = Messages(1, "deadbeef", 100)
    messages.taken = 999_999 * POOL
    lines = taken(messages, 2 * POOL).splitlines()
    assert b" seq=000999999999 " in lines[POOL - 1]
    assert b" seq=001000000000 " in lines[POOL]


@pytest.mark.parametrize("mean", [LEAST_MESSAGE_BYTES, 128, 244, 1000, 8000])
def test_lengths_have_the_mean_exactly_and_a_quarter_of_spread(mean: int) -> None:
    lines = taken(Messages(3, "deadbeef", mean), POOL).splitlines()
    lengths = [len(line) for line in lines]
    assert sum(lengths) == mean * POOL
    assert max(lengths) <= 1.25 * mean + 1
    if mean >= 128:
        assert min(lengths) == round(0.75 * mean)
    assert len(set(lengths)) > 10


def test_a_small_share_needs_json_escapes() -> None:
    lines = taken(Messages(3, "deadbeef", 244), POOL).splitlines()
    assert sum(b'"' in line or b"\\" in line for line in lines) == AWKWARD


def test_messages_vary() -> None:
    lines = taken(Messages(3, "deadbeef", 244), POOL).splitlines()
    found = [SHAPE.fullmatch(line) for line in lines]
    for group, least in ((1, 30), (3, 9), (4, 9), (8, 990)):
        assert len({match[group] for match in found if match}) >= least


def test_the_day_is_padded_with_a_space() -> None:
    third = int(time.mktime((2026, 3, 3, 4, 5, 6, 0, 0, -1)))
    assert stamp(third) == b"Mar  3 04:05:06"
    assert stamp(third + 86_400 * 20) in {b"Mar 23 04:05:06", b"Mar 23 05:05:06"}


@pytest.mark.parametrize(
    ("connections", "mean", "run_id", "count"),
    [
        (0, 244, "deadbeef", None),
        (1, LEAST_MESSAGE_BYTES - 1, "deadbeef", None),
        (1, 244, "DEADBEEF", None),
        (1, 244, "deadbeef", -1),
    ],
)
def test_what_cannot_be_sent_is_refused(
    connections: int, mean: int, run_id: str, count: int | None
) -> None:
    with pytest.raises(BadUsage):
        FloodSpec("127.0.0.1", 514, connections, mean, 1, run_id, count)
