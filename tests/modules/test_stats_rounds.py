"""Lines of impstats as logs keep them: with heads, of several hosts, cut, and beside others."""

from __future__ import annotations

import random
import time
from datetime import datetime
from pathlib import Path

import pytest

from tuner.modules.stats_rounds import (
    Numbered,
    StatsRound,
    Unreadable,
    UnreadLine,
    numbered,
    read_rounds,
)

EXAMPLES = sorted((Path(__file__).parent / "pstats").glob("*.txt"))
JSON = Path(__file__).parent / "pstats" / "2302-json.txt"


def read(
    text: str, latest: datetime | None = None
) -> tuple[list[StatsRound], list[tuple[int, Unreadable]]]:
    every = list(read_rounds(numbered(text), latest))
    unread = [(one.number, one.why) for one in every if isinstance(one, UnreadLine)]
    return [one for one in every if isinstance(one, StatsRound)], unread


def with_heads(text: str, head: str) -> str:
    """The lines as a log has them, without the time that impstats writes into a file."""
    return "".join(f"{head}{line.partition(': ')[2]}\n" for line in text.splitlines())


HEADS = {
    "RSYSLOG_FileFormat": "2026-11-25T04:32:57.123456+00:00 web1 rsyslogd-pstats: ",
    "RSYSLOG_TraditionalFileFormat": "Nov 25 04:32:57 web1 rsyslogd-pstats: ",
    "RSYSLOG_SyslogProtocol23Format": (
        "<46>1 2026-11-25T04:32:57.123456+00:00 web1 rsyslogd-pstats - - - "
    ),
    "journalctl -o short": "Nov 25 04:32:57 web1 rsyslogd-pstats[714]: ",
    "journalctl -o short-iso": "2026-11-25T04:32:57+0000 web1 rsyslogd-pstats[714]: ",
    "a format of one's own": "2026-11-25T04:32:57Z web1 stats ",
}


# Nothing tells a line of the old format with a head of one's own from another program's.
KINDS = [
    (name, kind)
    for name in HEADS
    for kind in ("json", "legacy", "cee", "json-elasticsearch")
    if kind != "legacy" or "own" not in name
]


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_heads_of_logs_are_read(name: str, kind: str) -> None:
    head = HEADS[name]
    text = (JSON.parent / f"2302-{kind}.txt").read_text("utf-8")
    lines = with_heads(text, head)
    if "rsyslogd-pstats" not in head:
        lines = "".join(line for line in lines.splitlines(keepends=True) if "{" in line)
    (one,), unread = read(lines, datetime(2026, 12, 1))
    assert unread == []
    assert one.host == "web1"
    assert one.at is not None
    at = datetime.fromtimestamp(one.at)
    assert (at.year, at.month, at.minute, at.second) == (2026, 11, 32, 57)
    found = {each.name: each.counters for each in one.objects}
    assert found["main Q"]["enqueued"] == 300
    assert found["main Q"]["discarded.full"] == 0


def test_a_date_without_a_year_is_of_the_last_such_day() -> None:
    line = "Dec 31 23:59:59 web1 rsyslogd-pstats: main Q: origin=core.queue size=1 \n"
    (one,), _ = read(line, datetime(2026, 1, 2))
    assert one.at == datetime(2025, 12, 31, 23, 59, 59).timestamp()
    (without,), _ = read(line)
    assert without.at is None
    leap = line.replace("Dec 31", "Feb 29")
    (one,), _ = read(leap, datetime(2026, 1, 2))
    assert one.at == datetime(2024, 2, 29, 23, 59, 59).timestamp()


def test_the_journals_export_is_read() -> None:
    content = [line.partition(": ")[2] for line in JSON.read_text("utf-8").splitlines()]
    text = "".join(
        f"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1795581177123456\nPRIORITY=6\n"
        f"SYSLOG_IDENTIFIER=rsyslogd-pstats\nMESSAGE={line}\n\n"
        for line in content
    )
    (one,), unread = read(text)
    assert unread == []
    assert one.at == 1795581177
    assert len(one.objects) > 4


def test_hosts_that_write_into_one_file_are_told_apart() -> None:
    text = JSON.read_text("utf-8")
    head = "2026-11-25T04:32:57+00:00 {} rsyslogd-pstats: "
    pairs = zip(
        with_heads(text, head.format("a")).splitlines(),
        with_heads(text.replace("300", "500"), head.format("b")).splitlines(),
        strict=True,
    )
    every, unread = read("\n".join(line for pair in pairs for line in pair))
    assert unread == []
    assert [one.host for one in every] == ["a", "b"]
    queues = [next(each for each in one.objects if each.name == "main Q") for one in every]
    assert [queue.counters["enqueued"] for queue in queues] == [300, 500]


def test_lines_of_other_programs_are_no_trouble_and_cut_ones_are_named() -> None:
    text = JSON.read_text("utf-8")
    lines = text.splitlines()
    lines[3] = lines[3][:60]
    lines.insert(5, "Nov 25 17:00:01 web1 sshd[7]: Connection closed by 192.0.2.7 port 5022")
    lines.insert(6, "what is this")
    (one,), unread = read("\n".join(lines))
    assert unread == [(4, Unreadable.CUT), (6, Unreadable.OTHER), (7, Unreadable.UNKNOWN)]
    assert one.is_whole
    assert len(one.objects) == len(lines) - 5


def test_a_cut_line_of_the_old_format_gives_no_wrong_number() -> None:
    line = "Wed Nov 25 04:33:13 2026: main Q: origin=core.queue size=0 enqueued=1234 "
    counters = {"size": 0, "enqueued": 1234}
    (one,), _ = read(line)
    assert one.objects[0].counters == counters
    for cut in range(1, len(line)):
        (first, *more), unread = read(f"{line}\n{line.replace('04:33', '04:43')[:-cut]}")
        assert len(more) + len(unread) <= 1
        for each in (first, *more):
            assert each.objects[0].counters.items() <= counters.items()


def test_lines_without_the_space_that_ends_them_are_read_where_none_has_one() -> None:
    """As an editor leaves them, or a form of a web page."""
    text = (JSON.parent / "2302-legacy.txt").read_text("utf-8")
    trimmed = "\n".join(line.rstrip() for line in text.splitlines())
    assert read(trimmed) == read(text)


def test_rounds_of_which_lines_are_missing_are_told_from_whole_ones() -> None:
    text = JSON.read_text("utf-8")
    later = text.replace("04:32:57", "04:33:57")
    for number, line in enumerate(later.splitlines()):
        without = "\n".join(one for one in later.splitlines() if one != line)
        every, _ = read(f"{text}{without}\n{text.replace('04:32', '05:32')}")
        whole = 3 if "BEGIN" not in line and "END" not in line else 2
        assert sum(one.is_whole for one in every) == whole, number


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_damaged_lines_give_no_traceback(path: Path) -> None:
    text, dice = path.read_text("utf-8"), random.Random(path.stem)
    begun = time.monotonic()
    for _ in range(30):
        read(mutated(text, dice))
    assert time.monotonic() - begun < 60


def mutated(text: str, dice: random.Random) -> str:
    """The text with some of it cut, doubled, moved, or something else."""
    for _ in range(dice.randint(1, 6)):
        at, by = dice.randrange(len(text)), dice.randint(1, 200)
        piece = dice.choice((
            "", "\0", "\n", "9" * 5000, "-1", "[" * 2000, "{", "}", '"', "1e999", "NaN",
            ": origin=", "\u202e", "BEGIN\n", "END\n", text[at : at + by], "# HELP ", "=",
        ))  # fmt: skip
        text = text[:at] + piece + text[at + dice.choice((0, by)) :] or "x"
    return text


def test_lines_are_read_as_they_come() -> None:
    """A round is given before the next file is opened."""

    def lines() -> list[Numbered]:
        return list(numbered(JSON.read_text("utf-8")))

    def endless() -> object:
        while True:
            yield from lines()

    first = next(iter(read_rounds(endless())))  # type: ignore[arg-type]
    assert isinstance(first, StatsRound)


def test_of_two_objects_with_one_name_what_one_counted_is_not_lost() -> None:
    """imudp for IPv4 and IPv6 (rsyslog#4364), in two rounds of the same second."""
    head = "Wed Nov 25 04:32:57 2026: "
    one = (
        f"{head}a: origin=x n={{n}}\n"
        f"{head}imudp(*:514): origin=imudp submitted={{n}} disallowed=0\n"
        f"{head}imudp(*:514): origin=imudp submitted=2 disallowed=1\n"
        f"{head}main Q: origin=core.queue size={{n}} enqueued={{n}}\n"
    )
    (found,), unread = read(one.format(n=5) + one.format(n=7))
    assert unread == []
    counted = {(one.name, key): n for one in found.objects for key, n in one.counters.items()}
    assert counted["imudp(*:514)", "submitted"] == 7
    assert counted["imudp(*:514)", "disallowed"] == 1
    assert counted["main Q", "enqueued"] == 7
