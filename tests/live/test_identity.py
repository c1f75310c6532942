"""Accounting by identity in a real Elasticsearch: one event lost or doubled is found and named."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pytest
import requests

from tuner.engine.client import EngineClient
from tuner.engine.delivery import check_by_identity
from tuner.engine.numbering import FIELD, MAPPING, SentEvents
from tuner.engine.sampled import SAMPLE, sampled

pytestmark = [pytest.mark.live, pytest.mark.full]

INDEX = "rsyslog-tune-test-identity"
EVENTS = 120_000


@pytest.fixture
def index(elasticsearch: EngineClient) -> Iterator[EngineClient]:
    mappings = {"dynamic": False, "properties": {FIELD: MAPPING}}
    elasticsearch.request("PUT", f"/{INDEX}", {"mappings": mappings})
    yield elasticsearch
    elasticsearch.request("DELETE", f"/{INDEX}")


def store(client: EngineClient, numbers: Iterable[int]) -> None:
    """Numbers as messages carry them: twelve digits, as text."""
    lines = [f'{{"index":{{}}}}\n{{"{FIELD}":"{number:012d}"}}\n' for number in numbers]
    for first in range(0, len(lines), 20_000):
        body = "".join(lines[first : first + 20_000])
        answer = requests.post(
            f"{client.url}/{INDEX}/_bulk", data=body, timeout=60,
            headers={"Content-Type": "application/x-ndjson"},
        )  # fmt: skip
        assert json.loads(answer.text)["errors"] is False
    client.request("POST", f"/{INDEX}/_refresh")


def test_every_event_once_is_no_loss_and_no_double(index: EngineClient) -> None:
    store(index, range(EVENTS))
    for shards in (1, 2):  # the proof in one aggregation, and the whole tally
        found = check_by_identity(index, INDEX, SentEvents((EVENTS,)), shards)
        assert (found.lost, found.duplicated) == (0, 0)


def test_a_loss_that_a_double_hides_from_the_count_is_found_and_named(index: EngineClient) -> None:
    """As many documents as events: only their numbers tell."""
    store(index, [number for number in range(EVENTS) if number != 77_777])
    store(index, [5])
    found = check_by_identity(index, INDEX, SentEvents((EVENTS,)), shards=1)
    assert (found.lost, found.duplicated) == (1, 1)
    assert found.missing == (77_777,)
    assert found.doubled == (5,)


def test_a_batch_lost_and_a_batch_doubled_twice_are_counted(index: EngineClient) -> None:
    store(index, [number for number in range(EVENTS) if not 1000 <= number < 3000])
    store(index, [*range(50_000, 50_500)] * 2)
    found = check_by_identity(index, INDEX, SentEvents((EVENTS,)), shards=1)
    assert (found.lost, found.duplicated) == (2000, 1000)
    assert found.missing == tuple(range(1000, 1010))
    assert found.doubled == tuple(range(50_000, 50_010))


OF_TWO = SentEvents((40_500, 2_010))
NUMBERS = [number for first, end in OF_TWO.ranges() for number in range(first, end)]


def test_two_senders_that_have_sent_different_counts(index: EngineClient) -> None:
    store(index, NUMBERS)
    for shards in (1, 2):
        found = check_by_identity(index, INDEX, OF_TWO, shards)
        assert (found.lost, found.duplicated) == (0, 0)


def test_a_number_that_nobody_sent_does_not_make_up_for_a_loss(index: EngineClient) -> None:
    store(index, [*NUMBERS[:-1], OF_TWO.end + 500])
    found = check_by_identity(index, INDEX, OF_TWO, shards=1)
    assert (found.lost, found.missing) == (1, (NUMBERS[-1],))


def test_a_sample_is_drawn_from_all_documents_as_they_are(index: EngineClient) -> None:
    store(index, range(EVENTS))
    found = sampled(index, f"{INDEX}*", EVENTS)
    numbers = sorted(int(str(one[FIELD])) for one in found if one is not None)
    assert len(set(numbers)) == SAMPLE
    assert 0.35 * EVENTS < sum(numbers) / SAMPLE < 0.65 * EVENTS
    assert found == sampled(index, f"{INDEX}*", EVENTS)
    assert found != sampled(index, f"{INDEX}*", EVENTS + 1)
