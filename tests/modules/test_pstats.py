"""What impstats writes, read in each format: lines of real rsyslogds, cut to a few objects, in
`pstats/RELEASE-FORMAT.txt`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.modules.pstats import QueueCounters, snapshots
from tuner.modules.stats_rounds import rounds

EXAMPLES = sorted((Path(__file__).parent / "pstats").glob("*.txt"))
NAMES = {"omelasticsearch", "logs", "resource-usage", "logs queue[DA]", "logs queue", "main Q"}


def unbracketed(text: str) -> str:
    """The text as it is without bracketing."""
    lines = text.splitlines()
    return "\n".join(line for line in lines if not line.endswith((": BEGIN", ": END"))) + "\n"


def second(text: str) -> str:
    """The round one second later."""
    return text.replace("04:3", "05:3")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("form", [str, unbracketed], ids=["bracketing", "plain"])
def test_a_round_of_every_release_and_format_is_read(path: Path, form: type[str]) -> None:
    text = form(path.read_text("utf-8"))
    (one,) = rounds(text)
    assert {each.name for each in one.objects} >= NAMES
    (snapshot,) = snapshots(text)
    queue = snapshot.queues["logs queue"]
    assert (queue.size, queue.enqueued, queue.discarded_full) == (0, 300, 0)
    assert 0 < queue.maxqsize <= 300
    assert snapshot.queues["main Q"].enqueued == snapshot.omelasticsearch.submitted == 300
    assert snapshot.actions["logs"].processed == 300
    assert snapshot.usage.utime_us + snapshot.usage.stime_us > 0
    assert snapshot.usage.maxrss_kib > 5000
    assert len(rounds(text + second(text))) == 2


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_only_newer_releases_count(path: Path) -> None:
    (one,) = snapshots(path.read_text("utf-8"))
    engine, is_new = one.omelasticsearch, path.stem.startswith("2610")
    assert (engine.requests is not None) == (engine.requests_ms is not None) == is_new
    assert (one.actions["logs"].batches is not None) == is_new


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_cut_end_costs_its_own_round_only(path: Path) -> None:
    text = path.read_text("utf-8")
    whole = rounds(text)
    later = second(text)
    for cut in (1, 6, 40, len(later) // 2, len(later) - 10):
        assert rounds(text + later[:-cut].rstrip("\n"))[:1] == whole, cut
        assert rounds(later[cut:] + text)[-1:] == whole, cut


def test_counters_that_are_events_are_read_from_a_file_of_logs() -> None:
    head = "2026-11-25T04:33:08.123456+00:00 web1 rsyslogd-pstats: "
    line = "main Q: origin=core.queue size=1 enqueued=2 full=3 discarded.full=4 maxqsize=5 "
    (one,) = snapshots(f"{head}{line}\n")
    assert one.at == 1795581188
    assert one.queues == {"main Q": QueueCounters(1, 2, 3, 4, 0, 5)}


def test_names_and_values_of_others_are_no_trouble() -> None:
    lines = (
        'Wed Nov 25 04:33:13 2026: # HELP x__total rsyslog stats: origin="o" '
        'object="a "b", c", counter="n"',
        "# TYPE x__total counter",
        "x__total 7",
        "Wed Nov 25 04:33:13 2026: a: b: origin=core.action processed=5 x==3 y=z ",
        "Wed Nov 25 04:33:13 2026: [1, 2]",
        'Wed Nov 25 04:33:13 2026: {"stats": [1], "other": "x"}',
        'Wed Nov 25 04:33:13 2026: {"name": "global", "origin": "dynstats", "values": {"k": 4}}',
    )
    (one,) = rounds("\n".join(lines))
    found = {each.name: dict(each.counters) for each in one.objects}
    assert found == {
        'a "b", c': {"n": 7},
        "a: b": {"processed": 5, "x=": 3},
        "global": {"k": 4},
    }
