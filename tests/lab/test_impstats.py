"""rsyslog's counters: the statement that switches them on, and files as 8.2302 and 8.2602 write
them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from tuner.lab.rsyslogd import impstats_section, read
from tuner.modules.pstats import (
    ActionCounters,
    ElasticsearchCounters,
    QueueCounters,
    ResourceUsage,
    within,
)

LINES = (
    "BEGIN",
    '{ "name": "global", "origin": "dynstats", "values": { } }',
    '{ "name": "omelasticsearch", "origin": "omelasticsearch", "submitted": 86532, '
    '"failed.http": 3, "failed.httprequests": 1, "failed.checkConn": 2, "failed.es": 4, '
    '"response.success": 0, "response.bad": 0, "rebinds": 0 }',
    '{ "name": "logs", "origin": "core.action", "processed": 132749, "failed": 5, '
    '"suspended": 1, "suspended.duration": 0, "resumed": 0 }',
    r'{ "name": "imptcp(127.0.0.1\/43989\/IPv4)", "origin": "imptcp", "submitted": 176130 }',
    '{ "name": "resource-usage", "origin": "impstats", "utime": 621524, "stime": 163610, '
    '"maxrss": 147440, "minflt": 62672, "majflt": 29, "nvcsw": 205, "nivcsw": 671 }',
    '{ "name": "logs queue", "origin": "core.queue", "size": 48284, "enqueued": 132817, '
    '"full": 35, "discarded.full": 6, "discarded.nf": 7, "maxqsize": 50000 }',
    '{ "name": "main Q", "origin": "core.queue", "size": 43626, "enqueued": 175646, '
    '"full": 0, "discarded.full": 0, "discarded.nf": 0, "maxqsize": 70000 }',
    "END",
)
ROUND = "".join(f"Sat Nov 21 03:25:50 2026: {line}\n" for line in LINES)


@pytest.fixture
def stats(tmp_path: Path) -> Path:
    return tmp_path / "impstats.log"


def test_all_counters_of_a_round_are_read(stats: Path) -> None:
    stats.write_text(ROUND, encoding="utf-8")
    (one,) = read(stats)
    assert one.at == datetime(2026, 11, 21, 3, 25, 50).timestamp()
    assert one.queues == {
        "logs queue": QueueCounters(48284, 132817, 35, 6, 7, 50000),
        "main Q": QueueCounters(43626, 175646, 0, 0, 0, 70000),
    }
    assert one.actions == {"logs": ActionCounters(132749, 5, 1, None)}
    assert one.omelasticsearch == ElasticsearchCounters(86532, 3, 1, 2, 4)
    assert one.usage == ResourceUsage(621524, 163610, 147440, 205, 671)


def test_newer_releases_count_batches(stats: Path) -> None:
    stats.write_text(ROUND.replace('"resumed": 0', '"resumed": 0, "batchesprocessed": 66'))
    assert read(stats)[0].actions["logs"].batches == 66


@pytest.mark.parametrize("kept", range(len(ROUND.splitlines())))
def test_a_round_without_its_end_is_none(stats: Path, kept: int) -> None:
    later = ROUND.replace("03:25:50", "03:25:51")
    begun = "".join(later.splitlines(keepends=True)[:kept])
    stats.write_text(ROUND + begun, encoding="utf-8")
    assert len(read(stats)) == 1


@pytest.mark.parametrize("cut", [1, 3, 30])
def test_a_cut_last_line_costs_only_its_own_round(stats: Path, cut: int) -> None:
    later = ROUND.replace("03:25:50", "03:25:51").rstrip("\n")
    stats.write_text(ROUND + later[:-cut], encoding="utf-8")
    assert len(read(stats)) == 1


def test_a_round_that_another_one_interrupts_is_none(stats: Path) -> None:
    interrupted = "".join(ROUND.splitlines(keepends=True)[:4])
    stats.write_text(interrupted + ROUND.replace("03:25:50", "03:25:51"), encoding="utf-8")
    (one,) = read(stats)
    assert one.at == datetime(2026, 11, 21, 3, 25, 51).timestamp()


def test_a_line_that_is_no_json_is_left_out(stats: Path) -> None:
    stats.write_text(ROUND.replace('"size": 43626', '"si'), encoding="utf-8")
    assert set(read(stats)[0].queues) == {"logs queue"}


def test_no_file_is_no_snapshot(stats: Path) -> None:
    assert read(stats) == ()


def test_snapshots_of_a_span(stats: Path) -> None:
    stats.write_text("".join(ROUND.replace("03:25:50", f"03:25:5{n}") for n in range(5)))
    every = read(stats)
    assert within(every, every[1].at, every[3].at) == every[1:4]


def test_the_path_cannot_become_syntax() -> None:
    section = impstats_section(Path('/run/a" interval="9\\'))
    assert '\\" interval=\\"9\\\\"' in section
    assert section.count('interval="1"') == 1
    assert section.startswith('module(load="impstats"')
