"""Files that outputs wrote: every event must be in them once, or there is no figure."""

from __future__ import annotations

from tuner.lab.written import WrittenFile
from tuner.measure.measurement import Delivery, FailureKind
from tuner.measure.summary import incomplete

ALL = Delivery(1000, 1000, 1000, 0, 0)


def written(name: str, events: int) -> WrittenFile:
    return WrittenFile(name, 5000, events, 0.1)


def test_complete_files_are_no_failure() -> None:
    assert incomplete((written("a", 1000), written("b", 1000)), ALL) is None
    assert incomplete((), ALL) is None


def test_a_file_that_lacks_an_event_or_has_one_twice_is_named() -> None:
    for events in (999, 1001):
        failure = incomplete((written("a", 1000), written("b", events)), ALL)
        assert failure is not None
        assert failure.kind is FailureKind.DELIVERY
        assert failure.reason == f"outputs[b]: {events} of 1000 events in its files"
