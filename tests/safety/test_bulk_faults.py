"""F07, F08: what the engine does to a batch makes the trial invalid, never slow or fast, and the
next trial works.

The trial runs in this process, beside a sink that says exactly what it did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.modules.refused_bulks import REFUSED_BULKS, Fate
from tests.safety.scorecard import control, row
from tests.safety.trials import (
    PROFILE,
    SHORT,
    assert_next_trial_works,
    books,
    delivery_of,
    require_true_score,
    silent,
    sink_lab,
)
from tests.shipped import release_at_hand
from tuner.engine.delivery import FaultCount, fault_counts
from tuner.measure import summary
from tuner.measure.measurement import Failure, FailureKind, Measurement, TrialPlan
from tuner.measure.place import run_profile

pytestmark = pytest.mark.live

MILLION = 1_000_000


@dataclass(frozen=True)
class Case:
    """A fault of the sink, and the row of the table of refused bulks that says what the rsyslogd at
    hand makes of the batch that it strikes; without one the trial ends before anything comes of it.

    `repeats`: how often each event comes again where they do.
    """

    fault: str
    reply: str | None = None
    repeats: int = 1

    @property
    def fate(self) -> Fate:
        """What becomes of the batch."""
        release = release_at_hand()
        rows = {row.reply: row for row in REFUSED_BULKS}
        return Fate.VANISHED if self.reply is None else rows[self.reply].fate_in(release)

    def expected(self, struck: tuple[FaultCount, ...]) -> tuple[int, int]:
        """Events lost and repetitions, from what the sink says that it did."""
        if self.fate is Fate.WAITS:
            return 0, 0
        if self.fate is Fate.REPEATED:
            return 0, self.repeats * sum(one.documents for one in struck)
        return sum(one.documents - one.stored for one in struck), 0


CASES = (
    # The batch was stored, is sent again, and then each of its events once more.
    Case("truncate", "half an answer", repeats=2),
    Case("errors", "200, but some documents 429 or 400"),
)
MORE_CASES = (
    Case("status=429", "429, 5xx in JSON"),
    # libcurl repeats a request on a connection that was reset; it was stored the first time.
    Case("reset", "connection reset after storing"),
    Case("hang"),
    *(Case(f"status={code}", "401, 403 in JSON") for code in (401, 403)),
    Case("status=413", "400, 404, 413 in JSON"),
    Case("empty=413", "413 without a body, the engine's own"),
    Case("html=503", "429, 5xx as HTML"),
    Case("html=413", "400, 404, 413 as HTML"),
)


@row("F08")
@pytest.mark.parametrize(
    "case",
    [
        *(pytest.param(case, marks=pytest.mark.each_rsyslogd("faults")) for case in CASES),
        *(pytest.param(case, marks=pytest.mark.full) for case in MORE_CASES),
    ],
    ids=lambda case: case.fault,
)
def test_what_the_sink_does_to_a_batch_is_found_to_the_event(
    site: Path, case: Case, run: int
) -> None:
    with sink_lab(site, f"{case.fault},after=20") as lab:
        outcome = run_profile(lab, PROFILE, SHORT, "struck", silent)
        delivery = delivery_of(outcome)
        assert isinstance(outcome, Failure)
        struck = fault_counts(lab.client)
        assert len(struck) == 1
        assert struck[0].documents > 1
        assert (delivery.lost, delivery.duplicated) == case.expected(struck)
        if case.fate is Fate.WAITS:
            assert outcome.kind is FailureKind.RSYSLOGD
            assert "omelasticsearch" in outcome.reason
            assert_next_trial_works(lab)
            return
        assert outcome.kind is FailureKind.DELIVERY
        assert delivery.indexed == delivery.sent - delivery.lost + delivery.duplicated
        assert len(delivery.missing) == min(10, delivery.lost)
        assert bool(delivery.doubled) is (delivery.duplicated > 0)
        assert f"{delivery.lost} lost, {delivery.duplicated} duplicated" in outcome.reason
        assert_next_trial_works(lab)


@pytest.mark.full
@row("F08")
def test_a_failed_request_that_rsyslog_made_good_is_no_measurement_either(
    site: Path, run: int
) -> None:
    """Of three requests one of the two workers sends two, the second being libcurl's repetition of
    the first: then rsyslog sees the failure, suspends itself and repeats the batch."""
    with sink_lab(site, "reset-before,after=20,times=3") as lab:
        outcome = run_profile(lab, PROFILE, SHORT, "struck", silent)
        assert delivery_of(outcome).exact
        assert isinstance(outcome, Failure)
        assert outcome.kind is FailureKind.RSYSLOGD
        assert "suspending" in outcome.reason
        assert_next_trial_works(lab)


@row("F08")
@pytest.mark.parametrize(
    "fault", [pytest.param("delay=0.3", marks=pytest.mark.full), "reset-before"]
)
def test_what_harms_no_event_is_measured(site: Path, fault: str, run: int) -> None:
    """An engine that is slow once is slow; libcurl repeats a batch that was reset unread."""
    with sink_lab(site, f"{fault},after=20") as lab:
        outcome = run_profile(lab, PROFILE, SHORT, "struck", silent)
        assert isinstance(outcome, Measurement), outcome
        assert outcome.delivery.exact
        assert len(fault_counts(lab.client)) == 1


@row("F08")
@pytest.mark.full
def test_one_event_lost_and_one_doubled_in_a_million_are_found_and_named(site: Path) -> None:
    """Both in one run, so that every sum is right and only the identities tell."""
    with sink_lab(site, "drop-event=876543", "double-event=987654") as lab:
        quick = run_profile(lab, PROFILE, SHORT, "quick", silent)
        assert isinstance(quick, Measurement), quick
        plan = TrialPlan(0.5, min(40.0, 1.8 * MILLION / quick.eps))
        outcome = run_profile(lab, PROFILE, plan, "million", silent)
        delivery = delivery_of(outcome)
        assert delivery.sent >= MILLION
        assert delivery.sent == delivery.indexed == delivery.found
        assert (delivery.lost, delivery.duplicated) == (1, 1)
        assert (delivery.missing, delivery.doubled) == ((876543,), (987654,))
        assert isinstance(outcome, Failure)
        assert "missing: 876543" in outcome.reason
        assert "doubled: 987654" in outcome.reason


def some(share: int, fault: str) -> Sequence[str]:
    """The fault in this many of every ten bulks."""
    return [f"{fault},after={ten + 1},times={share}" for ten in range(0, 2000, 10)]


@row("F07")
@pytest.mark.full
@pytest.mark.parametrize("share", [3, 10], ids=["30 %", "100 %"])
def test_f07_refused_bulks_are_no_throughput(site: Path, share: int, run: int) -> None:
    with sink_lab(site, *some(share, "status=429")) as lab, books() as counted:
        outcome = run_profile(lab, PROFILE, SHORT, "struck", silent)
        assert isinstance(outcome, Failure), outcome
        assert fault_counts(lab.client)
        require_true_score(outcome, counted[0])


def without_delivery_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every trial that comes to its end is a measurement."""
    monkeypatch.setattr(summary, "failure_of", lambda settled, profile: None)


@pytest.mark.full
@pytest.mark.parametrize(
    "faults",
    [
        # Every release drops these, 429 only old ones.  What is lost counts as under way, so that
        # a flood ends that loses more than the queues hold.
        pytest.param(("status=400,after=20,times=3",), marks=control("F07"), id="F07"),
        pytest.param(("errors,after=20",), marks=control("F08"), id="F08"),
    ],
)
def test_control_lost_events_are_seen_where_the_product_does_not_look(
    site: Path, faults: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    without_delivery_check(monkeypatch)
    with sink_lab(site, *faults) as lab, books() as counted:
        outcome = run_profile(lab, PROFILE, SHORT, "struck", silent)
    with pytest.raises(AssertionError, match="the trial has a score"):
        require_true_score(outcome, counted[0])
