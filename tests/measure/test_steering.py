"""The sender keeps the backlog between the marks; checked on a simulated pipeline."""

from __future__ import annotations

from tuner.engine.delivery import Expectation
from tuner.engine.numbering import SentEvents
from tuner.measure.watch import ExpectedDocuments, steer
from tuner.measure.window import Poll
from tuner.profile.placement import BacklogMarks

MARKS = BacklogMarks(low=20_000, room=47_500)
STEP_S = 0.1


def backlogs(capacity: float, seconds: float) -> list[int]:
    """The backlog at each poll of a pipeline that indexes `capacity` events per second."""
    sent = indexed = 0.0
    samples: list[Poll] = []
    for step in range(int(seconds / STEP_S)):
        samples.append(Poll(step * STEP_S, int(indexed), int(sent)))
        order = steer(samples, MARKS)
        may = order.limit - sent
        sent += may if order.per_second is None else min(may, order.per_second * STEP_S)
        indexed = min(sent, indexed + capacity * STEP_S)
    return [sample.backlog for sample in samples]


def test_the_backlog_settles_between_the_marks() -> None:
    for capacity in (5_000, 50_000, 120_000):
        settled = backlogs(capacity, 10)[30:]
        assert min(settled) >= MARKS.low
        assert max(settled) <= MARKS.high


def test_the_high_mark_is_never_passed() -> None:
    assert max(backlogs(80_000, 10)) <= MARKS.high


def test_a_slow_pipeline_gets_what_it_can_index_in_time() -> None:
    settled = backlogs(500, 60)[30:]
    assert min(settled) >= MARKS.low
    assert max(settled) <= MARKS.low + 500 * 20


def test_a_pipeline_that_takes_nothing_gets_what_keeps_its_workers_busy() -> None:
    assert backlogs(0, 5)[-1] == MARKS.low


def test_a_base_whose_first_messages_give_no_document_is_sent_the_next() -> None:
    """As the lines of a replayed log may that its filters leave out."""
    expectation = Expectation(((0,) * 3 * MARKS.high + (1,) * MARKS.high,))
    expected = ExpectedDocuments(expectation, (0.0,))
    sent, samples = 0, list[Poll]()
    for step in range(100):
        documents = max(0, sent - 3 * MARKS.high)
        events = expected.events(documents, SentEvents((sent,)))
        samples.append(Poll(step * STEP_S, events, sent))
        sent = steer(samples, MARKS).limit
    assert samples[-1].indexed > 3 * MARKS.high
