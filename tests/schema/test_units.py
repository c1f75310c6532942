"""Numbers with units, as people write them."""

from __future__ import annotations

import pytest

from tuner.schema.units import cores_text, count, seconds, share


@pytest.mark.parametrize(
    ("text", "value"),
    [("244", 244), ("10k", 10_000), ("2.5M", 2_500_000), ("1G", 1e9), ("", None), ("10K", None),
     ("1e6", None), ("-1", None), ("10kb", None), ("nan", None)],
)  # fmt: skip
def test_counts_have_powers_of_a_thousand(text: str, value: float | None) -> None:
    assert count(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("500micros", 0.0005), ("5nanos", 5e-9), ("1.5ms", 0.0015), ("2d", 172_800.0), ("-1", None)],
)
def test_durations_have_the_units_of_an_engine(text: str, value: float | None) -> None:
    assert seconds(text) == (None if value is None else pytest.approx(value))


@pytest.mark.parametrize(
    ("text", "value"), [("30%", 0.3), ("0.3", 0.3), ("0", 0), ("%", None), ("-5%", None)]
)
def test_shares_are_percentages_or_fractions(text: str, value: float | None) -> None:
    assert share(text) == value


@pytest.mark.parametrize(
    ("count", "text"), [(1.0, "1 core"), (0.5, "0.5 cores"), (1.5, "1.5 cores"), (8, "8 cores")]
)
def test_cores_are_counted_as_people_do(count: float, text: str) -> None:
    assert cores_text(count) == text
