from __future__ import annotations

import numpy as np

from tuner.engine.delivery import ArrivedRun, DeliveryCheck, check_arrivals
from tuner.engine.numbering import SentEvents
from tuner.lab.sink_store import Tally, arrived, arrived_run, identities


def document(number: int, run: str = "0a1b2c3d") -> bytes:
    return b'{"host":"run=now","message":"run=%b seq=%012d quoted \\"x\\""}' % (
        run.encode(),
        number,
    )


def tally(*numbers: int) -> Tally:
    counted = Tally()
    counted.add(np.array(numbers, dtype=np.int64))
    return counted


def check(tallies: list[Tally], count: int) -> DeliveryCheck:
    sent = SentEvents((count,))
    return check_arrivals(arrived(tallies, sent), sent)


def test_identities_are_found_by_run() -> None:
    found = identities([document(7), document(123_456), document(9, "ffffffff"), b"{}"])
    assert {run: list(numbers) for run, numbers in found.items()} == {
        b"0a1b2c3d": [7, 123_456],
        b"ffffffff": [9],
    }


def test_a_document_counts_once_though_it_carries_its_message_twice() -> None:
    assert list(identities([document(3) + document(4)])[b"0a1b2c3d"]) == [3]


def test_documents_without_identity_give_nothing() -> None:
    assert identities([]) == {}
    assert identities([b"{}", b'{"a":"run=0a1b2c3d seq=123"}']) == {}


def test_a_number_beyond_any_flood_takes_no_memory() -> None:
    assert list(identities([document(999_999_999_999), document(1)])[b"0a1b2c3d"]) == [1]


def test_losses_and_repetitions_are_counted_apart_and_named() -> None:
    tallies = [tally(0, 1, 1, 1, 70_000), tally(1, 5)]
    assert check(tallies, 10) == DeliveryCheck(7, 3, (2, 3, 4, 6, 7, 8, 9), (1,))


def test_a_loss_is_not_hidden_by_a_repetition() -> None:
    assert check([tally(0, 0)], 2) == DeliveryCheck(1, 1, (1,), (0,))


def test_at_most_ten_are_named() -> None:
    assert check([], 1000) == DeliveryCheck(1000, 0, tuple(range(10)), ())


def test_hundreds_of_repetitions_are_counted() -> None:
    assert check([tally(*[4] * 700)], 5).duplicated == 699


def test_of_a_run_its_highest_number_counts_as_the_last() -> None:
    found = arrived_run(b"0a1b2c3d", tally(0, 1, 1, 3))
    assert found == ArrivedRun("0a1b2c3d", 3, DeliveryCheck(1, 1, (2,), (1,)))


def test_a_number_that_a_lab_added_comes_before_one_in_the_message() -> None:
    added = b'{"msg":"run=0a1b2c3d seq=000000000009","rsyslog_tune_seq":%b}'
    documents = [added % b"10790000000042", added % b' "10790000000007"']
    found = identities(documents)
    assert {run: list(numbers) for run, numbers in found.items()} == {b"10790": [42, 7]}
