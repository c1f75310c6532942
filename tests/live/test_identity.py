"""Accounting by identity in a real Elasticsearch: one event lost or doubled is found and named."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pytest
import requests

from tuner.engine.client import EngineClient
from tuner.engine.delivery import (
    DeliveryCheck,
    Expectation,
    check_by_identity,
    numbers_of,
    searchable,
)
from tuner.engine.numbering import FIELD, MAPPING, SentEvents, first_number
from tuner.engine.sampled import SAMPLE, sampled

pytestmark = [pytest.mark.live, pytest.mark.full]

INDEX = "rsyslog-tune-test-identity"
SPREAD = f"{INDEX}-spread"
RUN = "999"
EVENTS = 120_000
EACH = Expectation(((1,),))
ALL_WELL = DeliveryCheck(0, 0, (), ())


@pytest.fixture
def index(elasticsearch: EngineClient) -> Iterator[EngineClient]:
    """An index of one shard, and one of two."""
    mappings = {"dynamic": False, "properties": {FIELD: MAPPING}}
    for name, shards in ((INDEX, 1), (SPREAD, 2)):
        settings = {"number_of_shards": shards}
        body: dict[str, object] = {"mappings": mappings, "settings": settings}
        elasticsearch.request("PUT", f"/{name}", body)
    yield elasticsearch
    elasticsearch.request("DELETE", f"/{INDEX},{SPREAD}")


def store(
    client: EngineClient,
    numbers: Iterable[int],
    name: str = INDEX,
    output: int = 0,
    run: str = RUN,
) -> None:
    """Events of an output with the numbers that a lab adds."""
    first = first_number(run, output)
    lines = [f'{{"index":{{}}}}\n{{"{FIELD}":{first + number}}}\n' for number in numbers]
    for begin in range(0, len(lines), 20_000):
        body = "".join(lines[begin : begin + 20_000])
        answer = requests.post(
            f"{client.url}/{name}/_bulk", data=body, timeout=60,
            headers={"Content-Type": "application/x-ndjson"},
        )  # fmt: skip
        assert json.loads(answer.text)["errors"] is False
    client.request("POST", f"/{name}/_refresh")


def check(
    client: EngineClient,
    *sent: int,
    name: str = INDEX,
    expectation: Expectation = EACH,
) -> DeliveryCheck:
    return check_by_identity(client, name, SentEvents(sent), RUN, expectation)


@pytest.mark.parametrize("name", [INDEX, SPREAD])
def test_every_event_once_is_no_loss_and_no_double(
    index: EngineClient, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(index, range(EVENTS), name)
    if name == INDEX:
        monkeypatch.delattr("tuner.engine.delivery._counts")
    assert check(index, EVENTS, name=name) == ALL_WELL


@pytest.mark.parametrize("name", [INDEX, SPREAD])
def test_a_loss_that_a_double_hides_from_the_count_is_found_and_named(
    index: EngineClient, name: str
) -> None:
    """As many documents as events: only their numbers tell."""
    store(index, [number for number in range(EVENTS) if number != 77_777], name)
    store(index, [5], name)
    assert check(index, EVENTS, name=name) == DeliveryCheck(1, 1, (77_777,), (5,))


def test_a_batch_lost_and_a_batch_doubled_twice_are_counted(index: EngineClient) -> None:
    store(index, [number for number in range(EVENTS) if not 1000 <= number < 3000])
    store(index, [*range(50_000, 50_500)] * 2)
    assert check(index, EVENTS) == DeliveryCheck(
        2000, 1000, tuple(range(1000, 1010)), tuple(range(50_000, 50_010))
    )


OF_TWO = SentEvents((40_500, 2_010))
NUMBERS = numbers_of(OF_TWO).tolist()


@pytest.mark.parametrize("name", [INDEX, SPREAD])
def test_two_senders_that_have_sent_different_counts(index: EngineClient, name: str) -> None:
    store(index, NUMBERS, name)
    assert check(index, *OF_TWO.counts, name=name) == ALL_WELL


@pytest.mark.parametrize("stranger", [OF_TWO.end + 500, 5_010])
@pytest.mark.parametrize("run", [RUN, "998"])
def test_a_number_that_nobody_sent_does_not_make_up_for_a_loss(
    index: EngineClient, stranger: int, run: str
) -> None:
    assert stranger not in NUMBERS
    store(index, NUMBERS[:-1])
    store(index, [stranger], run=run)
    assert check(index, *OF_TWO.counts) == DeliveryCheck(1, 0, (NUMBERS[-1],), ())


def test_several_outputs_are_told_apart_and_found_while_they_come(index: EngineClient) -> None:
    """Every event in the first, no event in the second, and every other one in the third."""
    store(index, range(1000))
    all_of_one = Expectation(((1, 1), (0, 0)))
    assert check(index, 1000, expectation=all_of_one) == ALL_WELL
    store(index, range(0, 1000, 2), SPREAD, output=2)
    some = Expectation(((1, 1), (0, 0), (1, 0)))
    assert check(index, 1000, name=f"{INDEX}*", expectation=some) == ALL_WELL
    store(index, [7], SPREAD, output=1)
    found = check(index, 1000, name=f"{INDEX}*", expectation=some)
    assert found == DeliveryCheck(0, 1, (), (7,))
    ways = {0: {0: 300, 300: 300, 600: 300, 900: 100}, 1: {0: 1}}
    for output, blocks in ways.items():
        assert searchable(index, f"{INDEX}*", RUN, output, 300) == blocks
    assert sum(searchable(index, f"{INDEX}*", RUN, 2, 300).values()) == 500


def test_a_sample_is_drawn_from_all_documents_as_they_are(index: EngineClient) -> None:
    store(index, range(EVENTS))
    found = sampled(index, f"{INDEX}*", EVENTS)
    first = first_number(RUN, 0)
    numbers = sorted(int(str(one[FIELD])) - first for one in found if one is not None)
    assert len(set(numbers)) == SAMPLE
    assert 0.35 * EVENTS < sum(numbers) / SAMPLE < 0.65 * EVENTS
    assert found == sampled(index, f"{INDEX}*", EVENTS)
    assert found != sampled(index, f"{INDEX}*", EVENTS + 1)
