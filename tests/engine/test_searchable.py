"""What a search finds while events still come in, by the numbers in the documents."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from tuner.engine.client import JSON, EngineClient
from tuner.engine.delivery import searchable
from tuner.engine.numbering import FIELD, first_number

RUN = "042"


class Index(EngineClient):
    """An engine that holds documents with these numbers, and makes histograms of them."""

    def __init__(self, numbers: Iterable[int]) -> None:
        super().__init__("http://engine.invalid")
        self.held = tuple(numbers)

    def request(
        self, method: str, path: str, body: JSON | None = None, *, timeout_s: float | None = None
    ) -> object:
        asked: Any = body
        told = asked["aggs"]["numbers"]["histogram"]
        assert told["field"] == FIELD
        assert 0 <= told["offset"] < told["interval"]
        width, offset = float(told["interval"]), float(told["offset"])
        keys = Counter(math.floor((one - offset) / width) * width + offset for one in self.held)
        buckets = [{"key": key, "doc_count": count} for key, count in keys.items()]
        return {"aggregations": {"numbers": {"buckets": buckets}}}


@pytest.mark.parametrize("output", [0, 1, 7])
@pytest.mark.parametrize("width", [300, 1_000, 7])
def test_documents_are_found_by_the_first_number_of_their_block(output: int, width: int) -> None:
    first = first_number(RUN, output)
    found = searchable(Index(range(first, first + 2 * width + 1)), "logs-*", RUN, output, width)
    assert found == {0: width, width: width, 2 * width: 1}


@pytest.mark.parametrize(("run", "output"), [("041", 1), ("043", 1), (RUN, 0), (RUN, 2)])
def test_those_of_another_run_or_output_are_left_out(run: str, output: int) -> None:
    stranger = first_number(run, output) + 500
    held = Index([first_number(RUN, 1), stranger])
    assert searchable(held, "logs-*", RUN, 1, 300) == {0: 1}
