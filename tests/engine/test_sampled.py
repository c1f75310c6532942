"""The sample of documents that an engine, and our sink, gives."""

from __future__ import annotations

import json

import pytest

from tuner.engine.client import JSON, EngineClient, EngineRefused
from tuner.engine.sampled import SAMPLE, sampled, sampled_by_sink
from tuner.lab.sink_http import HttpRequest
from tuner.lab.sink_server import answer
from tuner.lab.sink_store import DrawnSample, Store


class Keeping(EngineClient):
    """An engine with two documents, of which it keeps one as it is; or one that refuses."""

    def __init__(self, refused: int = 0) -> None:
        super().__init__("http://127.0.0.1:9")
        self.refused, self.asked = refused, list[object]()

    def request(
        self, method: str, path: str, body: JSON | None = None, *, timeout_s: float | None = None
    ) -> object:
        self.asked.append((method, path, body))
        if self.refused:
            raise EngineRefused("no", self.refused)
        return {"hits": {"hits": [{"_source": {"m": "a"}}, {"_id": "1"}, {"_source": 5}]}}


def test_an_engine_draws_them_at_random() -> None:
    engine = Keeping()
    assert sampled(engine, "a,b", 7) == ({"m": "a"},)
    score = {"random_score": {"seed": 7, "field": "_seq_no"}}
    body = {"size": SAMPLE, "query": {"function_score": score}}
    assert engine.asked == [("POST", "/a,b/_search?request_cache=false", body)]
    assert sampled(Keeping(400), "a", 7) == ()


def test_each_document_is_as_likely_as_any_other() -> None:
    drawn, came = DrawnSample(100), 0
    for size in (1, 99, 3, 5000, 1, *[500] * 50):
        drawn.add([b"%d" % one for one in range(came, came + size)])
        came += size
        assert len(drawn.documents) == min(100, came)
    numbers = sorted(map(int, drawn.documents))
    assert len(set(numbers)) == 100
    assert 0.35 * came < sum(numbers) / 100 < 0.65 * came
    assert numbers[-1] > 0.9 * came


def test_the_sink_gives_what_it_drew() -> None:
    store = Store()
    store.add("a-1", [b'{"m":"a"}', b"broken", b"[1]", b'{"m":"\xff"}'])
    store.add("b", [b"{}"] * 3)

    class Sink(EngineClient):
        def request(self, method: str, path: str, *_: object, **__: object) -> object:
            return json.loads(answer(store, HttpRequest(method, path, {}, b"")).body)

    found = sampled_by_sink(Sink("http://127.0.0.1:9"), "a*")
    assert found == ({"m": "a"}, None, None, {"m": "\ufffd"})
    for number in range(SAMPLE):
        store.add(f"c-{number}", [b"{}"] * 3)
    assert len(sampled_by_sink(Sink("http://127.0.0.1:9"), "c-*")) == SAMPLE


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5000])
def test_what_python_does_not_read_is_no_document(text: str) -> None:
    store = Store()
    store.add("a", [text.encode()])
    assert store.sample("a") == [text.encode()]
