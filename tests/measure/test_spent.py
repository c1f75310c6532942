"""Where the time of a trial goes."""

from __future__ import annotations

from tuner.measure.measurement import Spent, StageClock, TrialPart


def test_each_part_gets_the_seconds_until_the_next_begins() -> None:
    now_s, told = [100.0], list[str]()
    stages = StageClock(told.append, now_s[0], lambda: now_s[0])
    for at_s, part, text in (
        (102.0, TrialPart.WARM_UP, "warm-up"),
        (105.0, TrialPart.WINDOW, "window"),
        (110.0, TrialPart.WINDOW, "window, extended"),
        (115.0, TrialPart.DRAIN, "drain"),
    ):
        now_s[0] = at_s
        stages.begin(part, text)
    now_s[0] = 117.0
    stages.begin(TrialPart.SETTLE, at_s=115.5)
    stages.begin(TrialPart.STOP)
    now_s[0] = 117.25
    found = stages.spent()
    assert found == Spent(0.0, 2.0, 3.0, 10.0, 0.5, 1.5, 0.25)
    assert found.total_s == 17.25
    assert told == ["warm-up", "window", "window, extended", "drain"]


def test_a_trial_that_never_began_spent_its_time_on_the_start() -> None:
    now_s = [5.0]
    stages = StageClock(lambda _: None, now_s[0], lambda: now_s[0])
    now_s[0] = 7.0
    assert stages.spent() == Spent(start_s=2.0)
