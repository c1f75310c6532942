"""The course of a trial at a rate, on a pipeline that follows a script."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.measure.test_trial import Course
from tests.measure.test_watch import Engine, counted, prepared_for
from tests.profile.examples import small
from tuner.flood.pace import Timeline, fixed
from tuner.flood.spec import Punctuality
from tuner.lab.lab import Lab
from tuner.measure.measurement import (
    DoubtKind,
    Failure,
    FailureKind,
    Measurement,
    Outcome,
    PacedMeasurement,
    StageClock,
    TrialPlan,
)
from tuner.measure.paced import Pacing, run_paced
from tuner.measure.place import LabTrials
from tuner.measure.trial import run_trial
from tuner.modules.pstats import ElasticsearchCounters, QueueCounters, ResourceUsage, Snapshot
from tuner.profile.objective import Objective

RATE, LASTS_S, BEHIND_S = 1000.0, 12.0, 0.2
JUDGED = 2.0, 10.0
PACING = Pacing(fixed(RATE), LASTS_S, *JUDGED)


@dataclass
class Paced(Course):
    """A trial at a rate, of which the engine takes this share a little later and can be searched
    for it after each refresh."""

    takes: float = 1.0
    refreshes_s: float | None = 1.0
    looked: list[float] = field(default_factory=list)
    widths: set[int] = field(default_factory=set)
    search_s: float = 0.0
    slow_outside: float = 0.0
    senders: int = 0
    wants: Mapping[str, object] = field(default_factory=dict)

    def indexed(self, at_s: float) -> float:
        # A poll may come a moment after the end of a part.
        slow_s = min(at_s, JUDGED[0]) + max(0.0, min(at_s, LASTS_S) - JUDGED[1] - 0.5)
        slow_s *= 1.0 if at_s < LASTS_S else 0.0
        return self.takes * RATE * max(0.0, at_s - BEHIND_S - self.slow_outside * slow_s)

    def outcome(self) -> PacedMeasurement | Failure:
        lab = self.lab()
        return run_paced(
            prepared_for(lab, small(self.wants), self.script.began_s), PACING, self.told.append
        )

    def scored(self, plan: TrialPlan) -> Outcome:
        """A trial of a search at that rate."""
        ready = prepared_for(self.lab(), small(self.wants), self.script.began_s)
        return run_trial(ready, plan, self.told.append)

    def lab(self) -> Lab:
        script = self.script
        self.sent = RATE * LASTS_S
        script.sent = lambda at_s: RATE * min(at_s, LASTS_S)
        script.indexed = lambda at_s: min(self.sent - self.loses, self.indexed(at_s))
        for module in ("watch", "settle", "trial", "freshness"):
            self.patch.setattr(f"tuner.measure.{module}.time", script)
        self.patch.setattr("tuner.host.process.time", script)
        clock = partial(StageClock, clock=script.monotonic)
        self.patch.setattr("tuner.measure.trial.StageClock", clock)
        self.patch.setattr("tuner.measure.trial.pipeline", self.pipeline)
        for module in ("paced", "trial"):
            self.patch.setattr(f"tuner.measure.{module}.Flood", self.traffic)
        self.patch.setattr("tuner.measure.watch.refreshing", self.refreshing)
        self.patch.setattr("tuner.measure.watch.counters_now", lambda *_: self.counters())
        engine = SimpleNamespace(
            stand_in=None, check_delivery=counted(script),
            facts=SimpleNamespace(processors=2, data_nodes=1),
            sampled=lambda *_: (),
            refresh_s=lambda _: self.refreshes_s, tells_apart=lambda _: True,
            refreshes=lambda *_: self.round(), searchable=self.searchable, turns=tuple,
            run_with=lambda _: 0, restarts=False,
        )  # fmt: skip
        lab = SimpleNamespace(
            client=Engine(script), loss=script.loss, engine=engine, check=lambda: None,
            loads=lambda: ("a load host",) * self.senders, is_ours=self.is_ours, is_here=False,
        )  # fmt: skip
        return cast(Lab, lab)

    def round(self) -> int:
        """How many refreshes there were."""
        return math.floor(self.script.at_s / (self.refreshes_s or 1.0))

    def searchable(self, _pattern: str, _run: str, _output: int, width: int) -> dict[int, int]:
        """What was indexed before the last of them, by blocks of numbers."""
        self.looked.append(self.script.at_s)
        self.widths.add(width)
        self.script.sleep(self.search_s)
        found = int(self.script.indexed(self.round() * (self.refreshes_s or 1.0)))
        return {first: min(width, found - first) for first in range(0, found, width)}

    @contextmanager
    def traffic(self, *_: object) -> Iterator[object]:
        with super().traffic() as flood:
            flood.timeline = lambda: Timeline(PACING.schedule, 0, self.script.began_s)  # type: ignore[attr-defined]
            yield flood


def measured(course: Paced) -> PacedMeasurement:
    outcome = course.outcome()
    assert isinstance(outcome, PacedMeasurement), outcome
    return outcome


@pytest.fixture
def course(monkeypatch: pytest.MonkeyPatch) -> Paced:
    return Paced(monkeypatch)


def test_a_pipeline_that_keeps_up_is_measured_over_the_judged_part(course: Paced) -> None:
    found = measured(course)
    assert course.followed == [(PACING.schedule,)]
    assert found.offered_per_second == pytest.approx(RATE, rel=0.02)
    assert found.eps == pytest.approx(RATE, rel=0.003)
    assert found.growth_per_second == pytest.approx(0.0, abs=10)
    assert (found.sent, found.delivery.exact, found.pace_kept) == (RATE * LASTS_S, True, True)
    assert found.engine_cpu_us == pytest.approx(300, rel=0.05)
    assert found.shipper_cpu_us == pytest.approx(100, rel=0.05)
    assert course.told == ["sending", "waiting until all is searchable"]
    # The drain begins after the judged part, and ends when the last event can be searched for.
    assert found.spent is not None
    each = {name: pytest.approx(lasted_s, abs=0.5) for name, lasted_s in vars(found.spent).items()}
    assert each == {
        "restart_s": 0.0, "start_s": 0.0, "warm_up_s": JUDGED[0], "window_s": JUDGED[1] - JUDGED[0],
        "drain_s": LASTS_S - JUDGED[1] + 1.0, "settle_s": 0.0, "stop_s": 0.0,
    }  # fmt: skip
    assert (found.shipper_rss_bytes, found.blocked_s, found.spool_bytes) == (1, 2.5, 0)
    assert (found.late, found.max_late_s, found.doubts, found.speed) == (0, 0.0, (), None)
    # Two moments a second, from the first second on.
    assert len(found.trace) == pytest.approx(2 * LASTS_S, abs=2)


@pytest.mark.parametrize(
    ("per_second", "kind", "told"),
    [
        (RATE, PacedMeasurement, ["sending", "waiting until all is searchable"]),
        (None, Measurement, ["warm-up", "window", "drain"]),
    ],
)
def test_a_lab_follows_a_rate_where_one_is_named_and_tells_of_the_stages(
    course: Paced,
    per_second: float | None,
    kind: type[Outcome],
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lab = course.lab()
    ready = prepared_for(lab, small(course.wants), course.script.began_s)
    monkeypatch.setattr("tuner.measure.place.prepare", lambda *_: ready)
    place = LabTrials(lab, small(), TrialPlan(1.0, 1.0))
    plan = TrialPlan(2.0, 8.0)
    found = place.trial(small(course.wants), plan, per_second, "t1", course.told.append)
    assert isinstance(found, kind), found
    assert course.told == told


def test_what_is_slow_before_the_judged_part_and_after_it_does_not_count(course: Paced) -> None:
    course.slow_outside = 0.5
    found = measured(course)
    assert found.eps == pytest.approx(RATE, rel=0.003)
    assert found.growth_per_second == pytest.approx(0.0, abs=10)


def test_freshness_is_from_when_an_event_was_due_until_a_search_finds_it(course: Paced) -> None:
    """Each refresh shows what came in the second before it."""
    found = measured(course).freshness_s
    assert found is not None
    assert BEHIND_S < found.p50 < BEHIND_S + 1.0
    assert found.p50 < found.p99 < BEHIND_S + 1.6
    # After each refresh once, and no more often, by blocks of what is due in a tenth of a second.
    assert len(course.looked) < LASTS_S + 6
    assert course.widths == {RATE / 10}


FRESH = TrialPlan(2.0, 4.0, objective=Objective.FRESHNESS, offered=RATE)


@pytest.mark.parametrize("interval_s", [1.0, 6.0])
def test_a_trial_for_freshness_has_an_interval_between_refreshes_and_none_of_ours(
    course: Paced, interval_s: float
) -> None:
    course.refreshes_s = interval_s
    run = course.scored(FRESH)
    assert isinstance(run, Measurement), run
    assert run.window_s == pytest.approx(max(4.0, interval_s), abs=0.3)
    assert run.fresh_p99_s == pytest.approx(BEHIND_S + interval_s, abs=0.4)
    assert run.figure == run.fresh_p99_s
    assert (run.delivery.exact, run.doubts) == (True, ())


def test_a_trial_whose_events_no_search_can_find_has_no_number(course: Paced) -> None:
    course.refreshes_s = None
    outcome = course.scored(FRESH)
    assert isinstance(outcome, Failure)
    assert "its index is never refreshed" in outcome.reason


def test_an_event_is_found_when_the_search_is_over(course: Paced) -> None:
    course.search_s = 0.3
    found = measured(course).freshness_s
    assert found is not None
    assert found.p50 > BEHIND_S + 0.5


def test_of_several_senders_a_block_holds_what_each_sends_in_that_time(course: Paced) -> None:
    course.senders = 2
    measured(course)
    assert course.widths == {RATE / 20}


def test_an_engine_that_refreshes_seldom_is_less_fresh(course: Paced) -> None:
    course.refreshes_s = 3.0
    found = measured(course).freshness_s
    assert found is not None
    assert 2.0 < found.p99 < BEHIND_S + 3.6


def test_an_engine_that_never_refreshes_shows_no_freshness(course: Paced) -> None:
    course.refreshes_s = None
    assert measured(course).freshness_s is None
    assert course.looked == []


def test_a_pace_that_was_missed_and_a_busy_machine_are_doubts(course: Paced) -> None:
    course.punctuality = Punctuality(12_000, 600, 0.7, 0, course.script.began_s)
    course.is_ours, course.busy_cores = True, 100.0
    found = measured(course)
    assert (found.late, found.max_late_s, found.pace_kept) == (600, 0.7, False)
    assert [one.kind for one in found.doubts] == [DoubtKind.PACE_MISSED, DoubtKind.DISTURBED]


def test_a_pipeline_that_falls_behind_is_told_with_how_fast(course: Paced) -> None:
    course.takes = 0.8
    found = measured(course)
    assert found.eps == pytest.approx(0.8 * RATE, rel=0.02)
    assert found.growth_per_second == pytest.approx(0.2 * RATE, rel=0.05)


def test_a_trial_that_lost_an_event_has_no_number(course: Paced) -> None:
    course.loses = 1
    outcome = course.outcome()
    assert isinstance(outcome, Failure)
    assert (outcome.kind, outcome.sent) == (FailureKind.DELIVERY, RATE * LASTS_S)


def test_a_flood_that_was_cut_short_has_no_number(course: Paced) -> None:
    course.truncated = True
    outcome = course.outcome()
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.FLOOD


def test_what_queues_held_is_told_from_rsyslogds_own_counters(course: Paced) -> None:
    counted = QueueCounters(5, 12_000, 0, discarded_full=2, discarded_nf=1, maxqsize=700)
    queues = {"main Q": counted, "logs queue": counted}
    queues["logs queue[DA]"] = replace(counted, maxqsize=9)
    at_s = course.script.now_s + 5
    snapshot = Snapshot(at_s, queues, {}, ElasticsearchCounters(), ResourceUsage())
    course.patch.setattr("tuner.measure.settle.read", lambda _: (snapshot,))
    found = measured(course)
    assert found.uses_disk
    assert [(one.most_held, one.most_on_disk, one.discarded) for one in found.effective.queues] == [
        (700, None, 3), (700, 9, 6),
    ]  # fmt: skip


QUEUE_FILES = {
    "global": {"workDirectory": "/var/spool/rsyslog"},
    "main_queue.filename": "main",
    "outputs[logs].queue.filename": "logs",
    "outputs[logs].retryfailures.file": "/var/log/rejected.json",
}


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("main.00000001", True), ("logs.qi", True), ("logs.segq/segment-1", True),
        ("logs-retry.00000002", True), ("logs-again.00000001", True), ("rsyslog.conf", False),
        ("other.00000001", False),
    ],
)  # fmt: skip
def test_what_queues_had_on_disk_is_told(
    course: Paced, tmp_path: Path, name: str, counts: bool
) -> None:
    """Those of refused documents too, and nothing else."""
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"x" * 4096)
    course.folder, course.wants = tmp_path, QUEUE_FILES
    assert measured(course).spool_bytes == (4096 if counts else 0)
