"""Every repair and every advised value against every shape of a pipeline and every fault.

`OUTAGE_SECONDS` says how long the engine is away, `OUTAGES_AT_ONCE` how many daemons run beside
each other.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import pytest

from tests.live.outage import Outage
from tests.live.repair_scorecard import CELL
from tests.live.repair_table import Cell, Compared, Outages, row
from tests.live.shapes import SHAPES

pytestmark = [
    pytest.mark.live,
    pytest.mark.full,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

SECONDS = float(os.environ.get("OUTAGE_SECONDS", "5"))
RATE = 400
# By transport: a sender over UDP does not wait, whatever it is that an action waits for.
FAULTS = {False: ("away", "hang", "429", "400", "503"), True: ("away", "hang")}
CELLS = tuple(
    Cell(shape, udp, outage)
    for shape in SHAPES
    for udp, faults in FAULTS.items()
    for outage in (
        *(Outage(fault, SECONDS, RATE) for fault in faults),
        Outage("away", SECONDS, RATE, is_stopped=True),
    )
)


def compared(cell: Cell) -> Compared:
    """Each value by itself where events come over TCP and the engine is away and comes back."""
    is_each = cell.outage == CELLS[0].outage and not cell.udp
    return Compared.EACH if is_each else Compared.REPAIRS


@pytest.fixture(scope="module")
def outages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outages]:
    ran = Outages(tmp_path_factory.mktemp("outages"))
    for cell in CELLS:
        ran.begin([cell], compared(cell))
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
