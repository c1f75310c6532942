"""The cells of the table of repairs in which most would be lost: no repair and no advice loses an
event that the configuration as written keeps.  tests/live/test_every_repair.py has all of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import pytest

from tests.live.outage import Outage
from tests.live.repair_scorecard import CELL
from tests.live.repair_table import Cell, Compared, Outages, row
from tests.live.shapes import configuration

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

AWAY = Outage("away", 2, 1000)
STOPPED = Outage("away", 2, 1000, is_stopped=True)
CELLS = (
    Cell("failover to a file", False, STOPPED),
    Cell("failover to a file, old form", False, STOPPED),
    Cell("failover by a forwarder that is away to a file", False, STOPPED),
    Cell("failover to an engine", False, AWAY),
    Cell("Direct, a file beside", True, AWAY),
    Cell("memory that discards, a file beside", False, STOPPED),
    Cell("memory that discards, a file beside", True, AWAY),
    Cell("disk, a file beside", False, STOPPED),
    Cell("disk-assisted of 1000, a file beside", False, AWAY),
    Cell("disk-assisted of 10000, a file beside", False, STOPPED),
)
FAILOVER = CELLS[0]


@pytest.fixture(scope="module")
def outages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outages]:
    ran = Outages(tmp_path_factory.mktemp("outages"))
    ran.begin(CELLS, Compared.ADVICE)
    yield ran
    ran.pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_nothing_that_is_advised_loses_an_event(
    cell: Cell, outages: Outages, record_property: Callable[[str, object], None]
) -> None:
    figures = outages.figures(cell)
    record_property(CELL, row(cell, figures))
    assert figures.fewer() == []
    assert figures.unsaid() == []


def test_a_retry_without_an_end_takes_all_from_what_would_take_over(outages: Outages) -> None:
    """The control: the same cell with what is no repair of it."""
    text = configuration(FAILOVER.shape, udp=False)
    forever = outages.account(FAILOVER, text.replace('RetryCount="2"', 'RetryCount="-1"'))
    assert forever.kept < outages.figures(FAILOVER).written.kept // 2


def test_a_disk_assisted_queue_of_the_default_size_writes_to_disk_once_repaired(
    outages: Outages,
) -> None:
    figures = outages.figures(CELLS[8])
    assert "RT134" in figures.made
    assert figures.written.stood
    assert not figures.changed["advice"].stood
