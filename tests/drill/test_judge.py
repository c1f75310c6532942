"""What the drill calls false, missed, within and exact."""

from __future__ import annotations

from typing import Any

from tests.drill.judge import judged, summary
from tests.drill.scenario import OutputTruth, Scenario, Truth

ROW = Scenario("", "1 end", may="queue_full slow_output restarts on_disk given_up")


def told(
    least: int | None = None, most: int | None = None, cause: str = "queue_full", **more: Any
) -> dict[str, Any]:
    return {
        "cause": cause, "where": "es queue", "effect": "lost", "certainty": "certain",
        "events": {"least": least, "most": most}, "evidence": "", "meaning": "", **more,
    }  # fmt: skip


def verdict(
    *findings: dict[str, Any], lost: int = 0, starts: int = 0, row: Scenario = ROW, text: str = ""
) -> str:
    truth = Truth(100, lost, 1, 10.0, {"es": OutputTruth(lost, 0, 10, 5.0, 0)})
    host = {"starts": [0.0] * starts, "findings": list(findings)}
    one = judged("a", row, truth, {"hosts": [host]}, text)
    assert summary([one]).startswith("1 cases: ")
    return one.text


def test_numbers_of_lost_events_are_held_against_the_truth() -> None:
    assert verdict(told(40, 40), lost=40, starts=1) == "exact"
    assert verdict(told(30, None), lost=40, starts=1) == "within"
    assert verdict(told(30, 50), lost=40, starts=1) == "within"
    assert verdict(told(41, None), lost=40, starts=1) == "FALSE"
    assert verdict(told(30, 39), lost=40, starts=1) == "missed"
    assert verdict(lost=40, starts=1) == "missed"
    assert verdict(told(30, 30), told(30, 30), lost=40, starts=1) == "FALSE"


def test_a_loss_that_counters_cannot_tell_is_not_missed() -> None:
    row = Scenario("", "1 end", untold="nobody counts it")
    assert verdict(lost=40, starts=1, row=row) == "not counted"


def test_restarts_are_counted() -> None:
    assert verdict(starts=0) == "missed"
    assert verdict(starts=2) == "FALSE"


def test_waits_are_neither_too_long_nor_too_short() -> None:
    def late(meaning: str) -> str:
        return verdict(told(cause="slow_output", effect="late", meaning=meaning), starts=1)

    assert late("events waited here for up to 6 s") == "exact"
    assert late("events waited here for up to 356 s") == "FALSE"
    assert late("events waited here for up to 2 s") == "exact"
    assert late("events waited here for up to 1 s") == "FALSE"
    assert late("events waited here for at least 2 s") == "exact"
    assert late("events waited here for at least 72 s") == "FALSE"


def test_what_came_back_must_have_come() -> None:
    back = told(cause="on_disk", effect="late", evidence="100 went to disk, 100 came back, 9 a s")
    assert verdict(back, starts=1) == "exact"
    assert verdict(back, told(50, 50), lost=50, starts=1) == "FALSE"


def test_other_causes_and_texts_are_false() -> None:
    assert verdict(told(cause="memory", effect="at risk"), starts=1) == "FALSE"
    row = Scenario("", "1 end", must="given_up", never="set errorfile")
    assert verdict(starts=1, row=row) == "missed"
    found = told(0, 5, cause="given_up")
    assert verdict(found, starts=1, row=row) == "within"
    assert verdict(found, starts=1, row=row, text="set errorfile to see") == "FALSE"
