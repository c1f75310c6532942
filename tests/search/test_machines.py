"""Machines at work: who does what next, and what becomes of a task whose machine fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from tests.measure.factory import failed, measured
from tests.search.simulated import PROFILE
from tuner.errors import Unreachable
from tuner.measure.measurement import Failure, FailureKind, Result, TrialPlan
from tuner.profile.model import Profile
from tuner.search.farm import (
    MOST_FAILURES,
    DroppedMachine,
    Event,
    FarmOfOne,
    Lost,
    LostTrial,
    MachineEvent,
    Machines,
    Task,
    TaskSteps,
)
from tuner.search.study import HERE, Asked, Note, Phase, Trial

PLAN = TrialPlan(2.0, 4.0)
LONGEST_S = 90.0
GOOD = measured(50_000)
STALLED = replace(failed("nothing came"), kind=FailureKind.STALLED)
DROPPED = Lost("the worker died", is_gone=True)
PASSING = Lost("cut off")


@dataclass
class Bench:
    """Machines on which each trial lasts for 10 s, on the n-th of them n more; `fate` says what
    comes of the trials by number, None for what never ends."""

    machines: tuple[str, ...] = ("a", "b")
    fate: dict[int, Result | Lost | None] = field(default_factory=dict)
    now_s: float = 100.0
    step_s: float = 1.0
    started: list[tuple[int, str]] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    heard: list[object] = field(default_factory=list)
    refused: dict[int, Failure] = field(default_factory=dict)
    _open: dict[int, float] = field(default_factory=dict)

    def start(self, asked: Asked, profile: Profile) -> None:
        assert profile is PROFILE
        self.started.append((asked.number, asked.machine))
        lasts_s = 10.0 + self.step_s * self.machines.index(asked.machine)
        never = self.fate.get(asked.number, GOOD) is None
        self._open[asked.number] = float("inf") if never else self.now_s + lasts_s

    def wait(self, timeout_s: float) -> dict[int, Result | Lost]:
        until_s = min(*self._open.values(), self.now_s + timeout_s)
        self.now_s = max(self.now_s, until_s)
        ended = [number for number, at_s in self._open.items() if at_s <= self.now_s]
        for number in ended:
            del self._open[number]
        return {number: self.fate.get(number, GOOD) or GOOD for number in ended}

    def drop(self, machine: str) -> None:
        self.dropped.append(machine)

    @property
    def at_work(self) -> Machines:
        return Machines(
            self, lambda: self.now_s, lambda _: PROFILE,
            lambda asked: self.heard.append(("begins", asked.number)),
            lambda event: self.heard.append(("ended", event.asked.number)),
            lambda asked: self.refused.get(asked.number),
            lambda _: LONGEST_S,
        )  # fmt: skip


def asked(number: int) -> Asked:
    return Asked(number, Phase.SEARCH, (("main_queue.size", number),), "", PLAN)


def tasks(*numbers: int) -> Callable[[str], Task | None]:
    """A trial each, for whoever asks first; done again, it is the trial 100 later."""
    left, again = list(numbers), dict.fromkeys(numbers, 0)

    def next_task(_machine: str) -> Task | None:
        if not left:
            return None
        number = left.pop(0)

        def work(machine: str) -> TaskSteps:
            yield Note(f"{number} on {machine}", 0.0)
            times, again[number] = again[number], again[number] + 1
            return (yield asked(number + 100 * times))

        return work

    return next_task


def told(happened: Iterator[MachineEvent]) -> list[object]:
    """What happened, in short."""
    found: list[object] = []
    for one in happened:
        match one:
            case Trial():
                found.append((one.number, one.machine, one.at_s, one.ended_s))
            case LostTrial():
                found.append(("lost", one.asked.number, one.reason, one.is_gone))
            case DroppedMachine():
                found.append(("dropped", one.machine, one.reason))
            case Note():
                found.append(one.text)
    return found


def test_each_machine_gets_the_next_task_as_soon_as_it_is_idle() -> None:
    """And what follows on a machine begins when what ran there ended."""
    bench = Bench()
    assert told(bench.at_work.run(tasks(1, 2, 3))) == [
        "1 on a", "2 on b", (1, "a", 100.0, 110.0), "3 on a", (2, "b", 100.0, 111.0),
        (3, "a", 110.0, 120.0),
    ]  # fmt: skip
    assert bench.started == [(1, "a"), (2, "b"), (3, "a")]
    assert bench.heard == [
        ("begins", 1), ("begins", 2), ("ended", 1), ("begins", 3), ("ended", 2), ("ended", 3),
    ]  # fmt: skip


def test_a_task_goes_on_on_its_machine_until_it_ends() -> None:
    """It gets what each of its trials showed, and says what it wants in between."""
    seen: list[float] = []

    def pair(_machine: str) -> TaskSteps:
        first = yield asked(1)
        seen.append(first.ended_s)
        yield Note("half", 0.0)
        second = yield asked(2)
        seen.append(second.at_s)
        return second

    bench = Bench(machines=("a",))
    left = [pair]
    done = told(bench.at_work.run(lambda _: left.pop() if left else None))
    assert done == [(1, "a", 100.0, 110.0), "half", (2, "a", 110.0, 120.0)]
    assert seen == [110.0, 110.0]


def test_what_is_under_way_is_known() -> None:
    bench = Bench()
    machines = bench.at_work
    running = machines.run(tasks(1, 2))
    assert [next(running) for _ in range(3)][-1].number == 1  # type: ignore[union-attr]
    assert [one.number for one in machines.under_way] == [2]
    assert machines.now_s() == 110.0
    assert list(running)
    assert machines.under_way == ()


def test_of_what_ends_at_once_the_first_is_told_first() -> None:
    bench = Bench(machines=("a", "b", "c"), step_s=0.0)
    done = [one for one in told(bench.at_work.run(tasks(5, 4, 6))) if isinstance(one, tuple)]
    assert done == [(4, "b", 100.0, 110.0), (5, "a", 100.0, 110.0), (6, "c", 100.0, 110.0)]


def test_what_is_refused_is_not_measured() -> None:
    bench = Bench(machines=("a",), refused={1: failed("deadly")})
    outcomes = [one.outcome for one in bench.at_work.run(tasks(1, 2)) if isinstance(one, Trial)]
    assert outcomes == [failed("deadly"), GOOD]
    assert bench.started == [(2, "a")]


@pytest.mark.parametrize("again", [True, False])
def test_a_lost_task_is_done_again_by_the_next_that_is_idle_where_it_should(again: bool) -> None:
    bench = Bench(fate={2: DROPPED})
    done = told(bench.at_work.run(tasks(1, 2, 3), again=again))
    assert ("lost", 2, "the worker died", True) in done
    assert ("dropped", "b", "the worker died") in done
    assert bench.dropped == ["b"]
    # Task 3 was under way on the other machine already.
    last: list[object] = ["2 on a", (102, "a", 120.0, 130.0)]
    assert done[-2:] == (last if again else [("dropped", "b", "the worker died"),
                                             (3, "a", 110.0, 120.0)])  # fmt: skip


def test_a_machine_that_lost_a_trial_in_passing_gets_the_next() -> None:
    bench = Bench(machines=("a",), fate={1: PASSING})
    done = told(bench.at_work.run(tasks(1)))
    assert done[1:] == [("lost", 1, "cut off", False), "1 on a", (101, "a", 110.0, 120.0)]
    assert bench.dropped == []


@pytest.mark.parametrize("fate", [STALLED, PASSING])
def test_a_machine_that_fails_three_times_in_a_row_is_dropped(fate: Result | Lost) -> None:
    bench = Bench(fate=dict.fromkeys((2, 4, 6, 102, 104), fate))
    done = told(bench.at_work.run(tasks(*range(1, 12)), again=False))
    assert [one for one in done if one[0] == "dropped"] == [  # type: ignore[index]
        ("dropped", "b", f"it failed {MOST_FAILURES} times in a row")
    ]
    assert [machine for _, machine in bench.started].count("b") == MOST_FAILURES


def test_a_trial_that_goes_well_begins_the_count_again() -> None:
    bench = Bench(fate=dict.fromkeys((2, 4, 8, 10), STALLED))
    done = told(bench.at_work.run(tasks(*range(1, 12)), again=False))
    assert [one for one in done if one[0] == "dropped"] == []  # type: ignore[index]


def test_what_its_settings_are_to_blame_for_is_no_failure_of_a_machine() -> None:
    bench = Bench(fate=dict.fromkeys((2, 4, 6, 8), failed("1 lost")))
    done = told(bench.at_work.run(tasks(*range(1, 10))))
    assert len([one for one in done if isinstance(one, tuple)]) == 9
    assert bench.dropped == []


def test_the_only_machine_is_never_dropped_for_its_failures() -> None:
    bench = Bench(machines=("a",), fate=dict.fromkeys(range(1, 9), STALLED))
    assert len(list(bench.at_work.run(tasks(*range(1, 9))))) == 16
    assert bench.dropped == []


def test_without_a_machine_nothing_goes_on() -> None:
    bench = Bench(fate={1: DROPPED, 2: DROPPED, 101: DROPPED, 102: DROPPED})
    with pytest.raises(Unreachable, match="no machine is left to measure on: b: the worker died"):
        list(bench.at_work.run(tasks(1, 2)))
    assert bench.dropped == ["a", "b"]


class Headless(Bench):
    """Machines of which after 5 s nothing is heard any more, as what led them ended."""

    def wait(self, timeout_s: float) -> dict[int, Result | Lost]:
        self.now_s += 5.0
        raise Unreachable("the scheduler ended")


def test_where_all_machines_go_at_once_each_trial_is_told_as_lost_then() -> None:
    machines, lost = Headless().at_work, list[Event]()
    machines.ended = lost.append
    with pytest.raises(Unreachable, match="the scheduler ended"):
        list(machines.run(tasks(1, 2)))
    assert lost == [
        LostTrial(one, "the scheduler ended", 105.0, is_gone=True) for one in machines.under_way
    ]
    assert [one.asked.number for one in lost] == [1, 2]


def test_a_trial_that_does_not_come_back_is_lost_with_its_machine() -> None:
    bench = Bench(fate={2: None})
    done = told(bench.at_work.run(tasks(1, 2)))
    assert ("lost", 2, "no answer for 90 s", True) in done
    assert ("dropped", "b", "no answer for 90 s") in done
    assert done[-1] == (102, "a", 100.0 + LONGEST_S, 110.0 + LONGEST_S)


def test_this_machine_alone_measures_while_it_is_waited_for() -> None:
    farm = FarmOfOne(lambda *given: GOOD if given == (asked(7), PROFILE) else STALLED)
    assert farm.machines == (HERE,)
    with pytest.raises(RuntimeError, match="no trial is under way"):
        farm.wait(1.0)
    farm.start(asked(7), PROFILE)
    assert farm.wait(1.0) == {7: GOOD}
    farm.start(asked(8), PROFILE)
    farm.drop(HERE)
    with pytest.raises(RuntimeError, match="no trial is under way"):
        farm.wait(1.0)
