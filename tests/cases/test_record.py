"""Cases from sample lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cases.factory import cases_of, document, line
from tuner.cases.case_file import ExpectedArrival, FieldRule
from tuner.cases.judge import judged
from tuner.cases.record import is_now, recorded
from tuner.cases.run import Arrival, Came
from tuner.errors import JobFailed

NOW = datetime(2026, 3, 4, 5, 6, 7, 123456, tzinfo=UTC)
RFC3339 = r"\d+-\d+-\d+T\d+:\d+:\d+\.\d+\+\d+:\d+"
ID, OTHER = "03AC3025AE1C453BB7DD10B988562BDC", "90BF51F161BA4C76806BD3C1ABECFFA2"


def expected(sent: str, first: Came, again: Came, folder: Path) -> ExpectedArrival:
    """What is recorded of a line, read again; what came then passes."""
    text = recorded({"conf": "a.conf"}, [sent], [[first], [again]], NOW)
    loaded = cases_of(text, folder)
    for came in (first, again):
        (done,) = judged(loaded, [[came]])
        assert done.passed, done.problems
    (case,) = loaded.cases.cases
    assert case.line == sent
    assert case.outputs == (first.output,)
    (one,) = case.expect
    return one


def test_what_stays_is_exact(tmp_path: Path) -> None:
    value = {"message": 'a "q" \\ \t\u00e9\U0001f418 *', "n": 7, "ok": True, "none": None, "l": [1]}
    one = expected("x", document(value, "logs", "7"), document(value, "logs", "7"), tmp_path)
    assert one.fields == value
    assert (one.index, one.id) == ("logs", "7")


@pytest.mark.parametrize(
    ("text", "sent", "pattern"),
    [
        (NOW.isoformat(), "x", RFC3339),
        (f"{NOW.year}-01-02T03:04:05+00:00", "Jan  2 03:04:05", r"\d{4}-01-02T03:04:05\+00:00"),
        (f"{NOW.year}-01-02T03:04:05+00:00", f"<13>1 {NOW.year}-01-02T03:04:05Z", None),
        ("1999-01-02T03:04:05+00:00", "x", None),
        (f"at {NOW.isoformat()} (*)", "x", rf"at {RFC3339} \(\*\)"),
        (f"{NOW:%b %e %H:%M:%S} web1", "x", r"[A-Z][a-z]{2} +\d+ \d+:\d+:\d+ web1"),
        (f"{NOW.timestamp():.0f}", "x", r"\d+"),
        ("1234567890", "x", None),
    ],
    ids=["now", "no year", "with year", "another year", "within", "old form", "seconds", "other"],
)
def test_times_of_today_and_years_that_no_line_says_are_patterns(
    text: str, sent: str, pattern: str | None, tmp_path: Path
) -> None:
    came = document({"time": text})
    wanted = text if pattern is None else FieldRule(pattern=pattern)
    assert expected(sent, came, came, tmp_path).fields == {"time": wanted}


@pytest.mark.parametrize(
    "written",
    ["%Y-%m-%dT%H:%M:%S%z", "%b %d %H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y%m%d%H%M%S", "%s",
     "%s000", "%H:%M:%S"],
)  # fmt: skip
def test_a_time_is_that_of_a_clock_in_any_format_of_rsyslogs(written: str) -> None:
    now = datetime(2026, 11, 5, 12, 30).astimezone()
    for minutes, wanted in ((-9, True), (9, True), (-11, False), (11, False)):
        then = (now + timedelta(minutes=minutes)).strftime(written)
        if written == "%Y-%m-%dT%H:%M:%S%z":
            then = f"{then[:-2]}:{then[-2:]}"
        assert is_now(then, now) is wanted, then


DATED = f"<13>1 {NOW.year}-01-02T03:04:05Z web1 app - - - x"


@pytest.mark.parametrize(
    ("index", "sent", "pattern"),
    [
        (f"logs-{NOW:%Y.%m.%d}", "x", r"logs-\d+\.\d+\.\d+"),
        (f"logs-{NOW:%Y.%m.%d}", DATED, r"logs-\d+\.\d+\.\d+"),
        (
            f"logs-{NOW:%Y-%m-%d}",
            f"<13>1 {NOW:%Y-%m-%d}T03:04:05Z - - - - - x",
            r"logs-\d+-\d+-\d+",
        ),
        (f"logs-{NOW:%Y.%m}", DATED, r"logs-\d+\.\d+"),
        (f"logs-{NOW.year}.01.02", "x", r"logs-\d{4}\.01\.02"),
        (f"logs-{NOW.year}.01.02", DATED, None),
        (f"logs-{NOW.year}", "x", r"logs-\d{4}"),
        (f"logs-{NOW.year}7", "x", None),
        ("logs-1999.01.02", "x", None),
    ],
)
def test_so_are_dates_in_names(index: str, sent: str, pattern: str | None, tmp_path: Path) -> None:
    one = expected(sent, document({"a": 1}, index), document({"a": 1}, index), tmp_path)
    assert one.index == index if pattern is None else getattr(one.index, "pattern", "") == pattern


def test_a_time_of_today_that_the_line_has_is_its_own(tmp_path: Path) -> None:
    """Twelve hours from now, on the same day."""
    at = f"{NOW:%Y-%m-%d}T{(NOW.hour + 12) % 24:02}:04:05Z"
    came = document({"time": at})
    assert expected(f"<13>1 {at} web1 app - - - x", came, came, tmp_path).fields == {"time": at}
    rule = FieldRule(pattern=r"\d+-\d+-\d+T\d+:\d+:\d+Z")
    assert expected("x", came, came, tmp_path).fields == {"time": rule}


def test_a_number_that_is_a_time_of_today_is_no_number_to_expect(tmp_path: Path) -> None:
    came = document({"at": int(NOW.timestamp()), "ms": NOW.timestamp() * 1000, "n": 1234567890})
    rule = FieldRule(pattern=".+")
    assert expected("x", came, came, tmp_path).fields == {"at": rule, "ms": rule, "n": 1234567890}


def test_what_differs_each_time_is_anything(tmp_path: Path) -> None:
    first, again = document({"a": 1, "b": "x"}, "l", ID), document({"a": 2, "b": "y"}, "l", OTHER)
    one = expected("x", first, again, tmp_path)
    assert one.fields == {"a": FieldRule(pattern=".+"), "b": FieldRule(pattern=".+")}
    assert getattr(one.id, "pattern", "") == "[0-9A-F]{32}"


def test_lines_have_their_file(tmp_path: Path) -> None:
    one = expected("x", line("a b"), line("a b"), tmp_path)
    assert (one.output, one.file, one.line) == ("file", "/var/log/all", "a b")


def names(lines: Sequence[str], folder: Path) -> list[str]:
    text = recorded({"profile": "p.yaml"}, lines, [[] for _ in range(2 * len(lines))], NOW)
    loaded = cases_of(text, folder)
    assert all(one.outputs == () for one in loaded.cases.cases)
    return [one.name for one in loaded.cases.cases]


def test_cases_are_called_by_their_lines(tmp_path: Path) -> None:
    assert names(["a\tb", "c" * 99, "c" * 80, "\x00"], tmp_path) == [
        "a?b", "c" * 60, f"{'c' * 60} (2)", "?"
    ]  # fmt: skip


def test_what_is_no_document_is_not_recorded_as_one_without_fields() -> None:
    """An engine refuses it, and a case with no fields would pass."""
    came = Came("es", Arrival("logs", None, '{"a":1'))
    with pytest.raises(JobFailed, match=r"es writes no JSON object for the line 'x'"):
        recorded({"conf": "a.conf"}, ["x"], [[came], [came]], NOW)


def test_no_secret_of_a_configuration_is_recorded_or_told(tmp_path: Path) -> None:
    came = document({"message": "a", "password": "Canary1x", "db": {"token": "Canary2x"}})
    told = recorded({"conf": "a.conf"}, ["x"], [[came], [came]], NOW)
    assert "Canary" not in told
    assert expected("x", came, came, tmp_path).fields["password"] == FieldRule(pattern=".+")
    wrong = cases_of(told.replace('password:\n        pattern: ".+"', "password: x"), tmp_path)
    (done,) = judged(wrong, [[came]])
    assert [one.message for one in done.problems] == ['x: es: password should be "x", is ***']
    extra = document({"password": 'Canary"1x', "pin": {"token": 4711}}, "other")
    (done,) = judged(wrong, [[came, extra]])
    assert "index other" in str(done.problems)
    assert not {"Canary", "4711", "1x"} & set(re.findall(r"Canary|4711|1x", str(done.problems)))
    broken = replace(came, arrival=replace(came.arrival, text='{"password": "Canary1x'))
    (done,) = judged(wrong, [[broken]])
    assert "no JSON object" in str(done.problems)
    assert "Canary" not in str(done.problems)
