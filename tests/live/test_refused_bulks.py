"""What the rsyslogd at hand makes of bulks that are not taken: what the product says of its
release, row by row."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lab.test_sink_live import account
from tests.live.outputs import bulks_to, lines, place, rendered_for_it, wait
from tests.modules.refused_bulks import REFUSED_BULKS, Fate, RefusedBulk
from tests.shipped import release_at_hand
from tuner.engine.client import EngineClient
from tuner.engine.delivery import DeliveryCheck, FaultCount, fault_counts
from tuner.lab.sink import Sink, parse_fault

pytestmark = [
    pytest.mark.live,
    pytest.mark.each_rsyslogd("faults"),
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

EVENTS = 3000
BATCH = 250
QUEUE: dict[str, object] = {
    "type": "LinkedList", "size": 20000, "dequeueBatchSize": BATCH, "workerThreads": 1,
    "workerThreadMinimumMessages": BATCH, "timeoutEnqueue": 86400000, "timeoutShutdown": 100,
}  # fmt: skip
LASTS = 1_000_000
QUIET_S = 1.5  # more than action.resumeInterval
HUNG_S = 3.0  # more than indexTimeout


def of_each(kind: str, *statuses: int) -> tuple[str, ...]:
    """Two bulks that are answered so, for each status."""
    return tuple(f"{kind}={status},after=3,times=2" for status in statuses)


# What the sink is told, for each row of the table.
FAULTS: Mapping[str, tuple[str, ...]] = {
    "401, 403 in JSON": of_each("status", 401, 403),
    "401, 403 as HTML": of_each("html", 401, 403),
    "429, 5xx in JSON": of_each("status", 429, 500, 502, 503),
    "429, 5xx as HTML": of_each("html", 502, 429, 500, 503),
    "400, 404, 413 in JSON": of_each("status", 413, 400, 404),
    "400, 404, 413 as HTML": of_each("html", 413, 400, 404),
    "401, 403 without a body": of_each("empty", 401, 403),
    "429, 5xx without a body": of_each("empty", 429, 503),
    "413 without a body, the engine's own": of_each("empty", 413),
    "200, but every document 429": of_each("items", 429),
    "200, but some documents 429 or 400": ("errors,after=3,times=2",),
    "the same with `retryfailures`, 429": of_each("items", 429),
    "the same with `retryfailures`, 400": of_each("items", 400),
    "connection reset, nothing stored": ("reset-before,after=3,times=3",),
    "connection reset after storing": ("reset,after=3",),
    "half an answer": ("truncate,after=3",),
    "no answer within `indexTimeout`": ("hang,after=3",),
}
# One for each fate of a batch is tried in `make test`.
QUICK = {
    "200, but some documents 429 or 400", "413 without a body, the engine's own",
    "the same with `retryfailures`, 429", "the same with `retryfailures`, 400",
    "connection reset after storing",
}  # fmt: skip
ROWS = {row.reply: row for row in REFUSED_BULKS}
CASES = [
    pytest.param(ROWS[reply], fault, id=fault, marks=[] if reply in QUICK else [pytest.mark.full])
    for reply, faults in FAULTS.items()
    for fault in faults
]  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What became of the events, and what the sink did wrong."""

    check: DeliveryCheck
    faults: tuple[FaultCount, ...]
    in_errorfile: int
    in_file: int

    @property
    def refused(self) -> int:
        """Documents that were not stored when they were sent the first time."""
        return sum(one.documents - one.stored for one in self.faults)


def shipped(folder: Path, fault: str, **more: object) -> Outcome:
    """What became of the events when this fault happens, a while after nothing happens any more."""
    with Sink(faults=[parse_fault(fault)]) as sink, place(folder) as site:
        client = EngineClient(sink.url)
        client.request("PUT", "/syslog", {})
        errors, file = site.folder / "errors.json", site.folder / "refused.json"
        if more.pop("retries", False):
            more["retryfailures"] = {"file": str(file)}
        output = bulks_to(sink.url, errorfile=str(errors), queue=QUEUE, **more)
        with site.running([output], rendered_for_it()) as running:
            site.send(
                b"<13>Nov 21 01:02:03 web1 app: run=0123abcd seq=%012d text" % number
                for number in range(EVENTS)
            )
            quiet_s = HUNG_S if fault.startswith("hang") else QUIET_S
            wait(lambda: _is_quiet(client, quiet_s))
            running.stop()
        outcome = Outcome(
            account(client, "syslog", EVENTS),
            fault_counts(client),
            len(set(re.findall(r"seq=(\d{12})", "".join(lines(errors))))),
            len(set(re.findall(r"seq=(\d{12})", "".join(lines(file))))),
        )
        client.close()
    return outcome


def _is_quiet(client: EngineClient, quiet_s: float) -> bool:
    """Whether the fault struck and then nothing arrives for so long."""
    before = (account(client, "syslog", EVENTS), len(fault_counts(client)))
    deadline = time.monotonic() + quiet_s
    while time.monotonic() < deadline:
        time.sleep(0.05)
        if (account(client, "syslog", EVENTS), len(fault_counts(client))) != before:
            return False
    return before[1] > 0


def test_each_row_of_the_table_is_tried() -> None:
    assert set(FAULTS) == set(ROWS)


@pytest.mark.parametrize(("row", "fault"), CASES)
def test_a_release_does_what_the_product_says_of_it(
    tmp_path: Path, row: RefusedBulk, fault: str
) -> None:
    if "indexTimeout" in row.reply and "indexTimeout" not in bulks_to(""):
        pytest.skip("it has no indexTimeout")
    outcome = shipped(tmp_path, fault, retries="retryfailures" in row.reply)
    lost, doubled = outcome.check.lost, outcome.check.duplicated
    match row.fate_in(release_at_hand()):
        case Fate.WAITS:
            assert (lost, doubled) == (0, 0)
            assert (outcome.in_errorfile, outcome.in_file) == (0, 0)
        case Fate.DROPPED:
            assert (lost, doubled) == (outcome.refused, 0)
            assert lost > 0
            assert outcome.in_errorfile >= lost, "errorfile has the whole of such a bulk"
        case Fate.VANISHED:
            assert (lost, doubled) == (outcome.refused, 0)
            assert lost > 0
            assert outcome.in_errorfile == 0
        case Fate.REPEATED:
            assert lost == 0
            assert doubled > 0
            assert doubled % BATCH == 0
            assert outcome.in_errorfile == 0
        case Fate.FILED:
            assert (lost, doubled) == (outcome.refused, 0)
            assert lost == outcome.in_file > 0
            assert outcome.in_errorfile == 0


@pytest.mark.parametrize(
    "fault",
    [pytest.param("html=413,after=3,times=2", marks=pytest.mark.full), "reset,after=3"],
)
def test_an_id_keeps_what_is_sent_again_once(tmp_path: Path, fault: str) -> None:
    outcome = shipped(tmp_path, fault, bulkid="uuid", writeoperation="create")
    assert (outcome.check.lost, outcome.check.duplicated) == (0, 0)


@pytest.mark.full
def test_a_proxy_that_goes_on_refusing_blocks_the_output(tmp_path: Path) -> None:
    """Each try has one event more, until it is too large for good: no retry can succeed."""
    outcome = shipped(tmp_path, f"limit=30000,after=1,times={LASTS}")
    sizes = [one.documents for one in outcome.faults]
    # Where the events come slowly, the batch that meets the limit first is a smaller one.
    first = sizes[0]
    assert 1 < first <= BATCH
    assert sizes[:4] == [first, first + 1, first + 2, first + 3]
    assert outcome.check.lost >= EVENTS - 4 * BATCH
    assert outcome.in_errorfile == 0
