"""The counters of a host whose clock and time zone are others than here."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.deploy.test_block import SETTINGS, text_of
from tests.deploy.world import Time
from tuner.deploy.block import BlockFigures, block_figures
from tuner.deploy.block_counters import BlockCounters
from tuner.deploy.host_files import CountersTail
from tuner.host.remote import connect

POLL_S = 10.0


@dataclass
class Writer:
    """A host that writes a round every ten seconds, by a clock that is years from ours."""

    path: Path
    time: Time = field(default_factory=Time)
    number: int = 0
    dropped: int = 0
    counters: BlockCounters = field(init=False)

    def __post_init__(self) -> None:
        self.path.write_text(text_of(0, {}))
        tail = CountersTail(connect("collector1", "local://"), self.path, lambda _: None)
        self.counters = BlockCounters(tail, lambda: self.dropped, self.time.now)

    def writes(self, text: str) -> None:
        with self.path.open("a") as file:
            file.write(text)

    def passes(self, polls: int, drops: int = 0) -> None:
        for _ in range(polls):
            self.time.wait(POLL_S)
            self.number, self.dropped = self.number + 1, self.dropped + drops
            self.writes(text_of(self.number, {}))
            self.counters.read_on()

    def figures(self, since: float) -> BlockFigures | None:
        counted = self.counters.since(since)
        return block_figures(counted.rounds, SETTINGS, counted.udp_drops)


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(tmp_path / "impstats.log")


def test_what_was_read_in_a_block_counts_whatever_the_clock_of_the_host_says(
    writer: Writer,
) -> None:
    writer.passes(2, drops=5)
    begin = writer.time.now()
    writer.counters.read_on()
    writer.passes(1, drops=1)
    assert writer.figures(begin) is None, "one round is not enough"
    writer.passes(1, drops=1)
    figures = writer.figures(begin)
    assert figures is not None
    assert (figures.seconds, figures.events, figures.udp_drops) == (10, 10_000, 2)


def test_a_burn_in_does_not_count(writer: Writer) -> None:
    writer.passes(1, drops=100)
    begin = writer.time.now()
    writer.passes(3)
    figures = writer.figures(begin)
    assert figures is not None
    assert (figures.seconds, figures.udp_drops) == (20, 0)


def test_a_new_rsyslogd_counts_from_0_and_the_last_rounds_of_the_old_one_are_over(
    writer: Writer,
) -> None:
    writer.passes(3, drops=7)
    writer.writes(text_of(4, {}))
    writer.counters.begin_anew()
    writer.number = writer.dropped = 0
    begin = writer.time.now()
    writer.counters.read_on()
    writer.passes(2, drops=1)
    figures = writer.figures(begin)
    assert figures is not None
    assert (figures.seconds, figures.events, figures.udp_drops) == (10, 10_000, 2)


def test_a_round_that_is_being_written_is_read_once_it_is_whole(writer: Writer) -> None:
    begin = writer.time.now()
    writer.passes(1)
    text = text_of(2, {})
    writer.writes(text[: len(text) // 2])
    writer.counters.read_on()
    writer.writes(text[len(text) // 2 :])
    writer.counters.read_on()
    assert len(writer.counters.since(begin).rounds) == 2
