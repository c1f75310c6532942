"""A fault during a trial makes it invalid, never slow or fast, and the next trial works.

`make test` runs each kind once, `make test-all` all of them five times on the sink and three times
on an engine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.live.engines import WatchedNode
from tuner.engine import owned
from tuner.engine.delivery import FaultCount, fault_counts
from tuner.engines.release import Release
from tuner.engines.versions import distribution_for
from tuner.errors import Unreachable
from tuner.host.programs import rsyslog_version
from tuner.lab.distribution import fetch
from tuner.lab.engine import SinkEngine
from tuner.lab.faults import parse_fault
from tuner.lab.lab import Lab, lab_of, new_run_id
from tuner.lab.node import NodePlan, NodeProcess
from tuner.lab.scratch import scratch, subfolder
from tuner.lab.sink import Sink
from tuner.lint.load import load_profile
from tuner.measure.measurement import Delivery, Failure, FailureKind, Measurement, TrialPlan
from tuner.measure.trial import run_trial

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left_behind")]

ROOT = Path(__file__).parents[2]
PROFILE = load_profile(ROOT / "profiles" / "default.yaml").profile
SHORT = TrialPlan(0.5, 1.0)
ON_ENGINE = TrialPlan(1.0, 2.0)
MILLION = 1_000_000


@dataclass(frozen=True)
class Case:
    """A fault of the sink, and what rsyslog 8.2302 makes of the batch that it strikes.

    `loses`: whether the events that the sink did not store are lost.  `repeats`: how often each
    event of the batch comes again.
    """

    fault: str
    loses: bool = False
    repeats: int = 0

    def expected(self, struck: tuple[FaultCount, ...]) -> tuple[int, int]:
        """Events lost and repetitions, from what the sink says that it did."""
        lost = sum(one.documents - one.stored for one in struck) if self.loses else 0
        return lost, self.repeats * sum(one.documents for one in struck)


CASES = (
    # A JSON error for the whole request: the batch is dropped in silence.
    Case("status=401", loses=True),
    Case("status=429", loses=True),
    # No JSON: the batch is sent again, and then each of its events once more.
    Case("html=503", repeats=1),
    Case("truncate", repeats=2),
    # 200 with errors inside: the refused documents are lost.
    Case("errors", loses=True),
    # libcurl repeats a request on a connection that was reset; it was stored the first time.
    Case("reset", repeats=1),
    Case("hang", loses=True),
)
# As 401 and 429 are.
MORE_CASES = (Case("status=403", loses=True), Case("status=413", loses=True))


def repeated(soak: int) -> list[object]:
    """One run, and `soak` more among the tests marked so."""
    more = [pytest.param(number, marks=pytest.mark.soak) for number in range(1, soak + 1)]
    return [pytest.param(0, id="once"), *more]


def silent(_phase: str) -> None:
    pass


@contextmanager
def sink_lab(tmp_path: Path, *faults: str) -> Iterator[Lab]:
    wanted = [parse_fault(text) for text in faults]
    with Sink(faults=wanted) as sink, scratch(tmp_path) as folder:
        lab = lab_of(SinkEngine(sink), folder, new_run_id())
        yield lab
        assert list(folder.iterdir()) == []
        lab.client.close()
    assert list(tmp_path.iterdir()) == []


@contextmanager
def node_lab(folder: Path) -> Iterator[tuple[Lab, NodeProcess]]:
    distribution = distribution_for(Release(elasticsearch="8.19"))
    fetch(distribution)
    with scratch(folder) as inner:
        engine = subfolder(inner, "engine")
        with small_disk(engine) if folder.name == "full" else unlimited():
            node = NodeProcess(NodePlan(distribution, "1g"), engine)
            try:
                lab = lab_of(WatchedNode(node), inner, new_run_id())
                yield lab, node
                assert [path.name for path in inner.iterdir()] == ["engine"]
                lab.client.close()
            finally:
                node.stop()


@contextmanager
def unlimited() -> Iterator[None]:
    yield


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A file system of 4 MB on `folder`."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        # The engine's processes are being ended and may hold it for another moment.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def delivery_of(outcome: object) -> Delivery:
    assert isinstance(outcome, Failure), outcome
    assert outcome.delivery is not None, outcome
    return outcome.delivery


def assert_next_trial_works(lab: Lab, plan: TrialPlan = SHORT) -> None:
    assert owned.indices(lab.client, lab.owner.prefix) == ()
    outcome = run_trial(lab, PROFILE, plan, "next", silent)
    assert isinstance(outcome, Measurement), outcome
    assert outcome.delivery.exact
    assert owned.indices(lab.client, lab.owner.prefix) == ()


@pytest.mark.parametrize("run", repeated(5))
@pytest.mark.parametrize(
    "case",
    [*CASES, *(pytest.param(case, marks=pytest.mark.soak) for case in MORE_CASES)],
    ids=lambda case: case.fault,
)
def test_what_the_sink_does_to_a_batch_is_found_to_the_event(
    tmp_path: Path, case: Case, run: int
) -> None:
    with sink_lab(tmp_path, f"{case.fault},after=20") as lab:
        outcome = run_trial(lab, PROFILE, SHORT, "struck", silent)
        delivery = delivery_of(outcome)
        assert isinstance(outcome, Failure)
        assert outcome.kind is FailureKind.DELIVERY
        struck = fault_counts(lab.client)
        assert len(struck) == 1
        assert struck[0].documents > 1
        if rsyslog_version().startswith("8.2302"):
            assert (delivery.lost, delivery.duplicated) == case.expected(struck)
        assert delivery.indexed == delivery.sent - delivery.lost + delivery.duplicated
        assert len(delivery.missing) == min(10, delivery.lost)
        assert bool(delivery.doubled) is (delivery.duplicated > 0)
        assert f"{delivery.lost} lost, {delivery.duplicated} duplicated" in outcome.reason
        assert_next_trial_works(lab)


@pytest.mark.parametrize("run", repeated(5))
def test_a_failed_request_that_rsyslog_made_good_is_no_measurement_either(
    tmp_path: Path, run: int
) -> None:
    """Of three requests one of the two workers sends two, the second being libcurl's repetition of
    the first: then rsyslog sees the failure, suspends itself and repeats the batch."""
    with sink_lab(tmp_path, "reset-before,after=20,times=3") as lab:
        outcome = run_trial(lab, PROFILE, SHORT, "struck", silent)
        assert delivery_of(outcome).exact
        assert isinstance(outcome, Failure)
        assert outcome.kind is FailureKind.RSYSLOGD
        assert "suspending" in outcome.reason
        assert_next_trial_works(lab)


@pytest.mark.parametrize("run", repeated(5))
@pytest.mark.parametrize("fault", ["delay=0.3", "reset-before"])
def test_what_harms_no_event_is_measured(tmp_path: Path, fault: str, run: int) -> None:
    """An engine that is slow once is slow; libcurl repeats a batch that was reset unread."""
    with sink_lab(tmp_path, f"{fault},after=20") as lab:
        outcome = run_trial(lab, PROFILE, SHORT, "struck", silent)
        assert isinstance(outcome, Measurement), outcome
        assert outcome.delivery.exact
        assert len(fault_counts(lab.client)) == 1


@pytest.mark.full
def test_one_event_lost_and_one_doubled_in_a_million_are_found_and_named(tmp_path: Path) -> None:
    """Both in one run, so that every sum is right and only the identities tell."""
    with sink_lab(tmp_path, "drop-event=876543", "double-event=987654") as lab:
        quick = run_trial(lab, PROFILE, SHORT, "quick", silent)
        assert isinstance(quick, Measurement), quick
        plan = TrialPlan(0.5, min(40.0, 1.8 * MILLION / quick.eps))
        outcome = run_trial(lab, PROFILE, plan, "million", silent)
        delivery = delivery_of(outcome)
        assert delivery.sent >= MILLION
        assert delivery.sent == delivery.indexed == delivery.found
        assert (delivery.lost, delivery.duplicated) == (1, 1)
        assert (delivery.missing, delivery.doubled) == ((876543,), (987654,))
        assert isinstance(outcome, Failure)
        assert "missing: 876543" in outcome.reason
        assert "doubled: 987654" in outcome.reason


def kill_rsyslogd() -> None:
    (process,) = [p for p in psutil.Process().children() if p.name() == "rsyslogd"]
    process.kill()


@pytest.mark.parametrize("run", repeated(5))
@pytest.mark.parametrize(
    ("phase", "after_s"),
    [
        ("window", 0.0),
        *(
            pytest.param(*when, marks=pytest.mark.full)
            for when in (("warm-up", 0.3), ("window", 0.5), ("drain", 0.0))
        ),
    ],
)
def test_a_killed_rsyslogd_is_named(tmp_path: Path, phase: str, after_s: float, run: int) -> None:
    def tell(now: str) -> None:
        if now == phase:
            threading.Timer(after_s, kill_rsyslogd).start() if after_s else kill_rsyslogd()

    with sink_lab(tmp_path) as lab:
        outcome = run_trial(lab, PROFILE, SHORT, "struck", tell)
        assert isinstance(outcome, Failure), outcome
        assert outcome.kind is FailureKind.RSYSLOGD
        assert "SIGKILL" in outcome.reason
        assert_next_trial_works(lab)


@pytest.mark.parametrize("run", repeated(3))
def test_an_engine_that_stops_is_noticed_and_one_that_dies_ends_the_search(
    tmp_path: Path, run: int
) -> None:
    with node_lab(tmp_path) as (lab, node):

        def stop(phase: str) -> None:
            if phase == "window":
                os.killpg(node.pid, signal.SIGSTOP)
                threading.Timer(5.0, os.killpg, (node.pid, signal.SIGCONT)).start()

        def kill(phase: str) -> None:
            if phase == "window":
                children = psutil.Process(node.pid).children(recursive=True)
                max(children, key=lambda child: child.memory_info().rss).kill()

        stopped = run_trial(lab, PROFILE, ON_ENGINE, "stopped", stop)
        assert isinstance(stopped, Failure), stopped
        assert stopped.kind is FailureKind.STALLED
        assert_next_trial_works(lab, ON_ENGINE)
        for name in ("killed", "after"):
            with pytest.raises(Unreachable, match="died with"):
                run_trial(lab, PROFILE, ON_ENGINE, name, kill)


@pytest.mark.parametrize("run", repeated(3))
def test_an_engine_whose_disk_is_full_gives_no_number(tmp_path: Path, run: int) -> None:
    if os.geteuid() != 0:
        pytest.skip("a small file system can be mounted by root only")
    folder = tmp_path / "full"
    folder.mkdir()
    with node_lab(folder) as (lab, _):
        outcome = run_trial(lab, PROFILE, TrialPlan(1.0, 10.0), "full", silent)
        assert isinstance(outcome, Failure), outcome
        assert outcome.kind in {FailureKind.STALLED, FailureKind.ENGINE, FailureKind.DELIVERY}
