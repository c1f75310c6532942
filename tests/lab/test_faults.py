from __future__ import annotations

import pytest

from tuner.errors import BadUsage
from tuner.lab.sink import Fault, FaultKind, parse_fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("status=429", Fault(FaultKind.STATUS, 429, 5, 1)),
        ("status=413,after=2,times=3", Fault(FaultKind.STATUS, 413, 2, 3)),
        ("html=503, times=2", Fault(FaultKind.HTML, 503, 5, 2)),
        ("empty=413", Fault(FaultKind.EMPTY, 413)),
        ("errors", Fault(FaultKind.ERRORS)),
        ("items=429,after=1", Fault(FaultKind.ITEMS, 429, 1)),
        ("limit=1048576,times=9", Fault(FaultKind.LIMIT, 1_048_576, times=9)),
        ("truncate,after=1", Fault(FaultKind.TRUNCATE, after=1)),
        ("reset", Fault(FaultKind.RESET)),
        ("reset-before", Fault(FaultKind.RESET_BEFORE)),
        ("delay=0.5", Fault(FaultKind.DELAY, 0.5)),
        ("hang", Fault(FaultKind.HANG)),
        ("drop-event=123456", Fault(FaultKind.DROP_EVENT, 123_456)),
        ("double-event=0,times=2", Fault(FaultKind.DOUBLE_EVENT, 0, times=2)),
        ("drop-event=999999999999", Fault(FaultKind.DROP_EVENT, 999_999_999_999)),
    ],
)
def test_a_fault_is_read_and_written_back(text: str, fault: Fault) -> None:
    assert parse_fault(text) == fault
    assert parse_fault(str(fault)) == fault


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'' is not a fault: use one of status, html"),
        ("nonsense", "'nonsense' is not a fault"),
        ("status", "status wants a whole number from 400 to 599"),
        ("status=200", "from 400 to 599"),
        ("status=429.5", "whole number"),
        ("status=nan", "whole number"),
        ("html=inf", "whole number"),
        ("delay=0", "delay wants seconds"),
        ("truncate=3", "truncate takes no value"),
        ("reset,after=0", "after wants a whole number from 1"),
        ("reset,times=-1", "times wants a whole number from 1"),
        ("reset,times=x", "times wants"),
        ("reset,often=3", "takes no 'often'"),
        ("drop-event=3,after=2", "drop-event takes no 'after'"),
        ("drop-event=-3", "whole number from 0"),
    ],
)
def test_what_is_no_fault_is_refused_in_words(text: str, said: str) -> None:
    with pytest.raises(BadUsage, match=said) as refused:
        parse_fault(text)
    assert str(refused.value).startswith(f"--fault {text}: ")


def test_it_applies_from_after_on_as_often_as_told() -> None:
    fault = parse_fault("reset,after=3,times=2")
    assert [number for number in range(1, 8) if fault.applies_to(number)] == [3, 4]


def test_every_kind_says_what_it_does() -> None:
    assert all(kind.meaning for kind in FaultKind)
