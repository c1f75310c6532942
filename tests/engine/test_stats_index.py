"""Counters of impstats in an index: documents of several shapes, in the order of their time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import cast

import pytest

import tuner.engine.stats_index as stats_index_module
from tests.diagnose.logged import TRUTH, rounds_in, text_of
from tuner.diagnose.course import courses
from tuner.diagnose.diagnosis import diagnose
from tuner.diagnose.finding import Cause
from tuner.diagnose.settings import Settings
from tuner.engine.client import JSON, EngineClient, EngineRefused
from tuner.engine.stats_index import StatsIndex, stats_index, stats_lines
from tuner.errors import JobFailed
from tuner.modules.stats_rounds import StatsObject, StatsRound, read_rounds

Document = dict[str, object]
DAY_S = 86_400


class Engine:
    """As much of an engine as is asked: it sorts, filters by time, counts and scrolls."""

    url = "http://engine:9200"

    def __init__(self, documents: Sequence[Document], time: str = "@timestamp") -> None:
        self.documents = sorted(documents, key=lambda one: str(one.get(time, "")))
        self.time = time
        self.asked: list[str] = []
        self.left: list[Document] = []
        self.page = 0

    def request(self, method: str, path: str, body: JSON) -> object:
        self.asked.append(f"{method} {path}")
        if method == "DELETE":
            return {"succeeded": True}
        if path == "/_search/scroll":
            assert body["scroll_id"] == f"at {len(self.left)}"
            return self._page()
        found = self._matching(cast(Mapping[str, Mapping[str, list[JSON]]], body["query"]))
        if path.endswith("/_count"):
            return {"count": len(found)}
        if "desc" in json.dumps(body.get("sort")):
            found.reverse()
        self.left, self.page = found, cast(int, body["size"])
        return self._page()

    def _matching(self, query: Mapping[str, Mapping[str, list[JSON]]]) -> list[Document]:
        begin = ""
        for one in query["bool"]["filter"]:
            if "range" in one:
                limits = cast(Mapping[str, Mapping[str, str]], one["range"])
                begin = limits[self.time]["gte"]
        return [one for one in self.documents if str(one.get(self.time, "")) >= begin[:19]]

    def _page(self) -> object:
        page, self.left = self.left[: self.page], self.left[self.page :]
        hits = [{"_source": one} for one in page]
        return {"hits": {"hits": hits}, "_scroll_id": f"at {len(self.left)}"}


def client_of(engine: Engine) -> EngineClient:
    return cast(EngineClient, engine)


def stamp(at: float, fraction: int = 0) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{fraction:03}Z"


def fields(one: StatsObject) -> Document:
    return {"name": one.name, "origin": one.origin, **one.counters}


def nested(one: StatsObject) -> Document:
    """As an engine shows what came with dots, where something made objects of them."""
    made: Document = {"name": one.name, "origin": one.origin}
    for key, value in one.counters.items():
        first, _, rest = key.partition(".")
        if rest and first not in one.counters:
            cast(Document, made.setdefault(first, {}))[rest] = value
        else:
            made[key] = value
    return made


SHAPES: Mapping[str, Callable[[StatsObject], Document]] = {
    "fields": fields,
    "with-marks": lambda one: {key.replace(".", "!"): value for key, value in fields(one).items()},
    "nested": nested,
    "below": lambda one: {"pstats": fields(one), "severity": 6},
    "text": lambda one: {"message": " " + json.dumps(fields(one)), "syslogtag": "rsyslogd-pstats:"},
    "cee": lambda one: {"msg": "@cee:" + json.dumps(fields(one))},
}


def documents(name: str, shape: str = "fields", host: object = "web1") -> list[Document]:
    rounds = [one for one in rounds_in(text_of(name)) if one.at is not None]
    return [
        {"@timestamp": stamp(one.at or 0, n), "host": host, **SHAPES[shape](each)}
        for one in rounds
        for n, each in enumerate(one.objects)
    ]


def rounds_of(engine: Engine) -> list[StatsRound]:
    client = client_of(engine)
    lines = stats_lines(client, stats_index(client, "stats-*"))
    every = list(read_rounds(lines))
    assert all(isinstance(one, StatsRound) for one in every)
    return [one for one in every if isinstance(one, StatsRound)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["queue-full", "retried-items"])
def test_an_index_says_what_the_file_says(name: str, shape: str) -> None:
    (made,) = diagnose(courses(rounds_of(Engine(documents(name, shape)))), Settings())
    (of_file,) = diagnose(courses(rounds_in(text_of(name))), Settings())
    assert [(one.cause, one.events) for one in made.findings] == [
        (one.cause, one.events) for one in of_file.findings
    ]
    assert made.course.host == "web1"
    if name == "queue-full":
        assert made.findings[0].cause is Cause.QUEUE_FULL
        assert made.findings[0].events.most == TRUTH[name]["lost"]


def test_hosts_are_told_apart_by_their_names() -> None:
    both = documents("queue-full", host={"name": "web1"}) + documents("healthy", host="web 2")
    made = diagnose(courses(rounds_of(Engine(both))), Settings())
    assert {one.course.host: bool(one.findings) for one in made} == {"web1": True, "web2": False}


def test_brackets_among_the_documents_do_not_cut_rounds() -> None:
    every = documents("queue-full")
    for at in {str(one["@timestamp"])[:19] for one in every}:
        every += [
            {"@timestamp": f"{at}.003Z", "host": "web1", "message": said}
            for said in ("BEGIN", "END")
        ]
    assert all(one.is_whole for one in rounds_of(Engine(every)))


def test_only_the_newest_day_is_read_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats_index_module, "_PAGE", 7)
    old = [{**one, "@timestamp": stamp(n * 10.0)} for n, one in enumerate(documents("healthy"))]
    engine = Engine([*old, *documents("queue-full")])
    (course,) = courses(rounds_of(engine))
    assert course.steps[0].begin > 2 * DAY_S
    pages = engine.asked.count("POST /_search/scroll")
    assert pages == -(-len(documents("queue-full")) // 7)
    assert engine.asked[-1] == "DELETE /_search/scroll"
    assert engine.asked[0] == "POST /stats-*/_search"


def test_too_many_documents_shorten_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(
        [{"@timestamp": stamp(n * 60.0), "origin": "a", "name": "b", "c": n} for n in range(1440)]
    )
    assert not stats_index(client_of(engine), "x").is_part
    monkeypatch.setattr(stats_index_module, "_MOST", 100)
    found = stats_index(client_of(engine), "x")
    assert found.is_part
    assert len(list(stats_lines(client_of(engine), found))) == 91
    monkeypatch.setattr(stats_index_module, "_MOST", 0)
    with pytest.raises(JobFailed, match="more than 0 counters of its last minute"):
        stats_index(client_of(engine), "x")


def test_an_index_without_counters_or_dates_is_refused() -> None:
    with pytest.raises(JobFailed, match="has no counters of impstats"):
        stats_index(client_of(Engine([])), "x")
    with pytest.raises(JobFailed, match="has no date in a field @timestamp"):
        stats_index(client_of(Engine([{"origin": "a", "name": "b"}])), "x")


def test_dates_are_of_utc_or_milliseconds() -> None:
    for value in ("2026-11-26T00:00:10", 1_795_651_210_000, "2026-11-26T01:00:10.7+01:00"):
        engine = Engine([{"timestamp": value, "origin": "a", "name": "b", "c": 1}], "timestamp")
        ((_, _, line),) = stats_lines(
            client_of(engine), StatsIndex("x", "timestamp", datetime.min, False)
        )
        assert line.startswith("2026-11-26T00:00:10Z  rsyslogd-pstats: {")


def test_a_scroll_is_closed_although_the_engine_fails() -> None:
    engine = Engine(documents("healthy"))
    client = client_of(engine)
    index = stats_index(client, "x")

    def fails(method: str, path: str, body: JSON) -> object:
        engine.asked.append(f"{method} {path}")
        if path == "/_search/scroll" and method == "POST":
            raise EngineRefused("no", 500)
        return Engine.request(engine, method, path, body)

    engine.request = fails  # type: ignore[method-assign]
    with pytest.raises(EngineRefused):
        list(stats_lines(client, index))
    assert "DELETE /_search/scroll" in engine.asked
