from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest

from tuner.errors import BadUsage, JobFailed
from tuner.flood.heads import STYLES, stamp_3164, stamp_5424
from tuner.flood.messages import AWKWARD, POOL, Messages, route_of
from tuner.flood.replayed import replayed_file
from tuner.flood.spec import FloodSpec, Transport, loopback
from tuner.modules.input import Framing
from tuner.profile.workload import MessageSizes

EPOCH_S = 1_790_000_000
LEAST = 96
SHAPE = re.compile(
    rb"<(\d{1,3})>([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) (\S+) ([a-z]+)\[(\d+)\]: "
    rb"run=([0-9a-f]{8}) seq=(\d{12}) ([ -~]+)"
)


PLAIN = FloodSpec(Transport((loopback(514),)), 1, MessageSizes(244), 1, "deadbeef")
P8 = replace(PLAIN, sizes=MessageSizes(400, 137, 2133, "lognormal"))
SHAPE_5424 = re.compile(
    rb"<(\d{1,3})>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d) (\S+) ([a-z]+) (\d+) "
    rb"([A-Z]{5}|-) (-|\[origin ip=\"[0-9.]+\" software=\"\4\"\]) "
    rb"run=([0-9a-f]{8}) seq=(\d{12}) ([ -~]+)"
)


def made(seed: int, run_id: str, mean: int) -> Messages:
    return Messages(replace(PLAIN, seed=seed, run_id=run_id, sizes=MessageSizes(mean)))


def stamp(epoch_s: float) -> bytes:
    return stamp_3164(datetime.fromtimestamp(epoch_s).astimezone()).encode()


def frames(data: bytes) -> Iterator[bytes]:
    """The messages of an octet-counted stream."""
    while data:
        length, _, rest = data.partition(b" ")
        yield rest[: int(length)]
        data = rest[int(length) :]


def sizes(spec: FloodSpec) -> list[int]:
    return [len(line) for line in taken(Messages(spec), POOL).splitlines()]


def taken(messages: Messages, count: int, most: int = 300, epoch_s: int = EPOCH_S) -> bytes:
    data = b""
    while count > 0:
        block = messages.take(min(most, count), epoch_s)
        data += bytes(block.data)
        count -= len(block.ends)
    return data


def test_the_same_seed_gives_the_same_bytes() -> None:
    once = taken(made(7, "0a1b2c3d", 244), 2500)
    assert once == taken(made(7, "0a1b2c3d", 244), 2500, most=77)
    assert once != taken(made(8, "0a1b2c3d", 244), 2500)


def test_another_time_changes_the_timestamps_only() -> None:
    messages = made(7, "0a1b2c3d", 244)
    early = taken(messages, POOL, epoch_s=EPOCH_S).splitlines()
    late = taken(made(7, "0a1b2c3d", 244), POOL, epoch_s=EPOCH_S + 86_400 * 40).splitlines()
    for before, after in zip(early, late, strict=True):
        start = before.index(b">") + 1
        assert before[:start] + before[start + 15 :] == after[:start] + after[start + 15 :]
        assert after[start : start + 15] == stamp(EPOCH_S + 86_400 * 40)


def test_every_message_is_rfc_3164_and_numbered_in_order() -> None:
    lines = taken(made(1, "deadbeef", 244), 3100).splitlines()
    for number, line in enumerate(lines):
        match = SHAPE.fullmatch(line)
        assert match is not None, line
        assert match[2] == stamp(EPOCH_S)
        assert match[6] == b"deadbeef"
        assert int(match[7]) == number
        assert 8 <= int(match[1]) <= 191


def test_numbers_carry_over_into_high_digits() -> None:
    messages = made(1, "deadbeef", 100)
    messages.taken = 999_999 * POOL
    lines = taken(messages, 2 * POOL).splitlines()
    assert b" seq=000999999999 " in lines[POOL - 1]
    assert b" seq=001000000000 " in lines[POOL]


@pytest.mark.parametrize("mean", [LEAST, 128, 244, 1000, 6400])
def test_lengths_have_the_mean_exactly_and_a_quarter_of_spread(mean: int) -> None:
    lines = taken(made(3, "deadbeef", mean), POOL).splitlines()
    lengths = [len(line) for line in lines]
    assert sum(lengths) == mean * POOL
    assert max(lengths) <= 1.25 * mean + 1
    if mean >= 128:
        assert min(lengths) == round(0.75 * mean)
    assert len(set(lengths)) > 10


def test_a_small_share_needs_json_escapes() -> None:
    lines = taken(made(3, "deadbeef", 244), POOL).splitlines()
    assert sum(b'"' in line or b"\\" in line for line in lines) == AWKWARD


def test_messages_vary() -> None:
    lines = taken(made(3, "deadbeef", 244), POOL).splitlines()
    found = [SHAPE.fullmatch(line) for line in lines]
    for group, least in ((1, 30), (3, 9), (4, 9), (8, 990)):
        assert len({match[group] for match in found if match}) >= least


def test_the_day_is_padded_with_a_space() -> None:
    third = int(time.mktime((2026, 3, 3, 4, 5, 6, 0, 0, -1)))
    assert stamp(third) == b"Mar  3 04:05:06"
    assert stamp(third + 86_400 * 20) in {b"Mar 23 04:05:06", b"Mar 23 05:05:06"}


def test_every_message_can_be_rfc_5424_with_the_same_identity() -> None:
    lines = taken(Messages(replace(PLAIN, format="rfc5424")), 3100).splitlines()
    with_data = 0
    for number, line in enumerate(lines):
        match = SHAPE_5424.fullmatch(line)
        assert match is not None, line
        assert match[8] == b"deadbeef"
        assert int(match[9]) == number
        assert 8 <= int(match[1]) <= 191
        with_data += match[7] != b"-"
    assert 0.3 < with_data / len(lines) < 0.7


def test_rfc_5424_times_have_microseconds_and_an_offset() -> None:
    messages = Messages(replace(PLAIN, format="rfc5424"))
    for epoch_s in (EPOCH_S + 0.000001, EPOCH_S + 0.25, EPOCH_S + 59.999999):
        line = bytes(messages.take(1, epoch_s).data)
        written = datetime.fromisoformat(line.split()[1].decode())
        assert written.timestamp() == pytest.approx(epoch_s, abs=2e-6)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/St_Johns"])
def test_the_offset_is_that_of_this_machine(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        epoch_s = EPOCH_S + len(zone)
        written = datetime.fromisoformat(stamp_5424(datetime.fromtimestamp(epoch_s).astimezone()))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert written.timestamp() == epoch_s


@pytest.mark.parametrize("spec", [PLAIN, replace(PLAIN, format="rfc5424"), P8])
def test_octet_counting_changes_the_framing_only(spec: FloodSpec) -> None:
    lines = taken(Messages(spec), 2500).splitlines()
    counted = taken(Messages(replace(spec, framing="octet-counted")), 2500)
    assert list(frames(counted)) == lines


def test_sizes_can_all_be_the_same() -> None:
    assert set(sizes(replace(PLAIN, sizes=MessageSizes(244, distribution="fixed")))) == {244}


def test_uniform_sizes_keep_to_their_bounds() -> None:
    found = sizes(replace(PLAIN, sizes=MessageSizes(300, 200, 400)))
    assert (min(found), max(found), sum(found) / POOL) == (200, 400, 300)
    quarters = [sum(low <= size < low + 50 for size in found) for low in (200, 250, 300, 350)]
    assert all(200 < quarter < 300 for quarter in quarters)


def test_no_message_is_so_long_that_rsyslog_would_cut_it() -> None:
    found = sizes(replace(PLAIN, sizes=MessageSizes(8000)))
    assert max(found) == 8096
    assert sum(found) == 8000 * POOL


@pytest.mark.parametrize(
    ("mean", "least", "most"),
    [(400, 137, 2133), (244, 120, 8096), (1200, 137, 2133), (2100, 137, 2133), (138, 137, 2133)],
)
def test_log_normal_sizes_have_the_mean_exactly(mean: int, least: int, most: int) -> None:
    found = sizes(replace(P8, sizes=MessageSizes(mean, least, most, "lognormal")))
    assert sum(found) == mean * POOL
    assert least <= min(found)
    assert max(found) <= most


def test_log_normal_sizes_are_skewed_as_real_logs_are() -> None:
    found = sorted(sizes(P8))
    assert found[POOL // 2] < 400
    assert found[-1] > 1500
    assert found[0] < 160
    logs = [found[POOL * share // 100] for share in (25, 50, 75)]
    assert logs[0] / logs[1] == pytest.approx(logs[1] / logs[2], rel=0.15)


def test_the_same_seed_gives_the_same_bytes_in_every_format() -> None:
    for spec in (replace(P8, format="rfc5424", framing="octet-counted"), P8):
        once = taken(Messages(spec), 2500)
        assert once == taken(Messages(spec), 2500, most=77)
        assert once != taken(Messages(replace(spec, seed=2)), 2500)


def replayed(tmp_path: Path, content: bytes, count: int) -> list[bytes]:
    """What stands behind the identity of the messages made from a file."""
    path = tmp_path / "own.log"
    path.write_bytes(content)
    data = taken(Messages(replace(PLAIN, replay=str(path))), count)
    lines = data.split(b"\n")[:-1]
    assert [int(line.split(b" seq=")[1][:12]) for line in lines] == list(range(count))
    assert all(b" run=deadbeef seq=" in line for line in lines)
    return [line.split(b" seq=")[1][13:] for line in lines]


@pytest.mark.parametrize("count", [1, 3, 7, 999, 1000, 1001, 2500])
def test_a_file_is_replayed_in_its_order_over_and_over(tmp_path: Path, count: int) -> None:
    content = [b"my line %d" % number for number in range(count)]
    bodies = replayed(tmp_path, b"\n".join(content), 3 * count + 5)
    assert bodies == (content * 4 + content * 5)[: 3 * count + 5]


def test_lines_of_a_file_cannot_break_the_framing(tmp_path: Path) -> None:
    content = b"a\tb\x00c\x1b[0m\r\n\n  \n\xc3\xa9t\xc3\xa9\n\xff\xfe raw"
    bodies = replayed(tmp_path, content, 3)
    assert bodies == [b"a b c [0m", "été".encode(), b"\xff\xfe raw"]


@pytest.mark.parametrize("shift", range(4))
def test_long_lines_are_cut_between_characters(tmp_path: Path, shift: int) -> None:
    path = tmp_path / "own.log"
    path.write_bytes(b"x" * shift + "é€😀".encode() * 2000)
    line = taken(Messages(replace(PLAIN, replay=str(path))), 1).rstrip(b"\n")
    assert 8092 < len(line) <= 8096
    line.decode("utf-8")


def test_a_line_may_be_as_long_as_rsyslog_takes_it(tmp_path: Path) -> None:
    path = tmp_path / "own.log"
    path.write_bytes(b"x" * 100_000)
    for longest, wanted in ((20_000, 20_000), (1000, 1000)):
        spec = replace(PLAIN, replay=str(path), longest_bytes=longest)
        assert len(taken(Messages(spec), 1).rstrip(b"\n")) == wanted


def test_what_of_a_file_is_not_sent_as_it_is_is_said(tmp_path: Path) -> None:
    path = tmp_path / "own.log"
    path.write_bytes(b"a\tb\r\n\n  \n\xff raw\nfine\r\n" + b"x" * 2000 + b"\n")
    file = replayed_file(str(path))
    assert len(file.lines) == 4
    found = list(file.remarks(STYLES["rfc3164"], 1000, repairs_utf8=False))
    assert [one.removeprefix(f"{path}: ").split(":")[0] for one in found] == [
        "2 lines are blank and left out",
        "1 line has control characters, such as tabs",
        "1 line is cut, so that with a head no message is longer than 1,000 bytes "
        "(global.maxMessageSize)",
        "1 line is not UTF-8, and nothing repairs that",
    ]
    assert len(list(file.remarks(STYLES["rfc3164"], 8096, repairs_utf8=True))) == 2


def test_binary_lines_are_cut_too(tmp_path: Path) -> None:
    (body,) = replayed(tmp_path, random.Random(1).randbytes(30_000).replace(b"\n", b"x"), 1)
    assert 7900 < len(body) < 8096


@pytest.mark.parametrize(("content", "said"), [(b"", "has no lines"), (None, "no such file")])
def test_a_file_without_lines_is_an_error(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "own.log"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(JobFailed, match=said):
        Messages(replace(PLAIN, replay=str(path)))


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        (MessageSizes(95), "a mean of at least 96"),
        (MessageSizes(244, distribution="lognormal"), "need min and max"),
        (MessageSizes(244, 200), "both min and max"),
        (MessageSizes(244, 300, 200), "above max"),
        (MessageSizes(244, 300, 400), "mean 244 lies outside min 300 to max 400"),
        (MessageSizes(244, 200, 400), "have a mean of 300, not 244"),
        (MessageSizes(244, 95, 393), "minimum of at least 96 bytes, not 95"),
        (MessageSizes(244, 200, 288, "fixed"), "remove min and max"),
        (MessageSizes(244, 244, 400, "lognormal"), "between min and max"),
        (MessageSizes(9000), "at most 8096"),
    ],
)
def test_sizes_that_contradict_each_other_are_refused(sizes: MessageSizes, said: str) -> None:
    with pytest.raises(BadUsage, match=said):
        replace(PLAIN, sizes=sizes)


def test_a_longer_head_needs_a_longer_message() -> None:
    with pytest.raises(BadUsage, match="at least 120"):
        replace(PLAIN, format="rfc5424", sizes=MessageSizes(119))


@pytest.mark.parametrize(
    ("connections", "mean", "run_id", "count"),
    [
        (0, 244, "deadbeef", None),
        (1, LEAST - 1, "deadbeef", None),
        (1, 244, "DEADBEEF", None),
        (1, 244, "deadbeef", -1),
    ],
)
def test_what_cannot_be_sent_is_refused(
    connections: int, mean: int, run_id: str, count: int | None
) -> None:
    with pytest.raises(BadUsage):
        FloodSpec(Transport((loopback(514),)), connections, MessageSizes(mean), 1, run_id, count)


SHAPE_LOCAL = re.compile(
    rb"<\d{1,3}>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [a-z]+\[\d+\]: "
    rb"run=[0-9a-f]{8} seq=\d{12} [ -~]+"
)
SHAPE_BARE = re.compile(rb"run=[0-9a-f]{8} seq=\d{12} [ -~]+")


@pytest.mark.parametrize(("written", "shape"), [("local", SHAPE_LOCAL), ("bare", SHAPE_BARE)])
def test_what_needs_no_host_or_no_header_has_none(
    written: Literal["local", "bare"], shape: re.Pattern[bytes]
) -> None:
    lines = taken(Messages(replace(PLAIN, format=written)), 2500).splitlines()
    assert all(shape.fullmatch(line) for line in lines)
    assert [int(line.partition(b" seq=")[2][:12]) for line in lines] == list(range(2500))


def test_a_datagram_is_its_message_and_nothing_else() -> None:
    whole = Transport((loopback(514),), "udp")
    block = Messages(replace(PLAIN, transport=whole, framing="none")).take(100, EPOCH_S)
    bounds = pairwise([0, *block.ends.tolist()])
    assert all(SHAPE.fullmatch(block.data[begin:end]) for begin, end in bounds)


STAMPED = replace(PLAIN, begins_s=1_790_000_000)


def test_the_time_of_a_message_may_be_its_number() -> None:
    lines = taken(Messages(STAMPED), 2_500, most=77).splitlines()
    for number, line in enumerate(lines):
        time_text = line[line.index(b">") + 1 :].split(b" ")[0].decode()
        micros = round(datetime.fromisoformat(time_text).timestamp() * 1e6)
        assert micros == 1_790_000_000 * 10**6 + number
        assert str(micros)[-12:] == f"{STAMPED.stamped_run}{number:09}"
        assert b"seq=" not in line


def test_numbers_in_times_go_on_beyond_a_second() -> None:
    messages = Messages(replace(STAMPED, format="rfc5424"))
    messages.taken = 1_000_999
    assert b">1 2026-09-21T14:13:21.000999+00:00 " in bytes(messages.take(1, 0).data)


def test_a_line_without_a_head_has_the_number_before_it() -> None:
    lines = taken(Messages(replace(STAMPED, format="bare")), 2_500, most=77).splitlines()
    numbers = [line.partition(b" ")[0] for line in lines]
    assert numbers == [b"%d" % (1_790_000_000 * 10**6 + number) for number in range(2_500)]
    later = Messages(replace(STAMPED, format="bare"))
    later.taken = 1_000_999
    assert bytes(later.take(1, 0).data).startswith(b"1790000001000999 ")


@pytest.mark.parametrize("ways", [1, 2, 3, 5, 8])
def test_of_several_transports_each_takes_equally_many_messages_and_always_the_same(
    ways: int,
) -> None:
    first, *others = (Transport((loopback(514 + number),)) for number in range(ways))
    messages = Messages(replace(PLAIN, transport=first, beside=tuple(others)))
    taken_by: list[int] = []
    while len(taken_by) < 3 * POOL:
        way = messages.route
        taken_by += [way] * len(messages.take(300, EPOCH_S).ends)
    assert taken_by == 3 * [route_of(place, ways) for place in range(POOL)]
    shares = [taken_by.count(way) for way in range(ways)]
    assert max(shares) - min(shares) <= 0.01 * POOL


def test_messages_end_as_their_transport_wants_it() -> None:
    ways = (Transport((loopback(514),)), Transport((loopback(514),), "udp"))
    cases: tuple[tuple[Framing, int], ...] = (("lf", 0), ("octet-counted", 1))
    for framing, first in cases:
        one = replace(PLAIN, transport=ways[first], beside=(ways[1 - first],), framing=framing)
        messages, ends = Messages(one), dict[str, bool]()
        while len(ends) < len(ways):
            kind = one.transports[messages.route].kind
            data = bytes(messages.take(1, EPOCH_S).data)
            ends[kind] = data.endswith(b"\n") if framing == "lf" else data[:1].isdigit()
        assert ends == {"tcp": True, "udp": False}
