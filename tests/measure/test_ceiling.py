"""The engine's ceiling: which combination counts and how it is measured, on an engine and clients
that follow a script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Self, cast

import pytest

from tests.engine.test_owned import META, OURS, Objects
from tests.engine.test_owned import Engine as Keeper
from tests.measure.test_watch import Script
from tests.profile.examples import small
from tuner.engine.client import JSON, EngineRefused
from tuner.engine.feed import Bulk, FeedProgress
from tuner.errors import JobFailed, Unreachable
from tuner.host.usage import CoreTime
from tuner.lab.engine import LabEngine
from tuner.lab.lab import Lab
from tuner.measure.ceiling import (
    Ceiling,
    CeilingPlan,
    Combination,
    ceiling,
    imbalance,
)

PLAN = CeilingPlan((1, 2), (10, 20), 100, warm_up_s=1.0, window_s=4.0, engine_warm_up_s=0.0)
LINES = b"".join(b'{"index":{}}\n{"n":%d}\n' % number for number in range(100))
ENGINE_US, CLIENT_US, OTHERS_CORES = 40.0, 10.0, 0.5


@dataclass
class Feeds:
    """An engine that is fed by clients as a script says: events per second by the number of
    documents of a bulk and of clients, a tenth of it until a feed has lasted as long as a warm-up;
    the n-th feed meets a fault in its window, leaves events unindexed, or is refused."""

    patch: pytest.MonkeyPatch
    rates: Mapping[tuple[int, int], float]
    faults: Mapping[int, str] = field(default_factory=dict)
    loses: Mapping[int, int] = field(default_factory=dict)
    refuses: Mapping[int, Exception] = field(default_factory=dict)
    alive: bool = True
    lines: bytes = LINES
    dies: str | None = None
    script: Script = field(default_factory=Script)
    fed: list[tuple[int, int, int, float]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    indices: list[str] = field(default_factory=list)
    busy_s: float = 0.0
    now: Feeding | None = None
    engine: Engine = field(init=False)

    def measured(self, plan: CeilingPlan = PLAN) -> Ceiling:
        self.patch.setattr("tuner.measure.ceiling.time", self)
        self.patch.setattr("tuner.measure.ceiling.Feed", lambda *given: Feeding(self, *given))
        self.patch.setattr("tuner.measure.ceiling.refreshing", self.refreshing)
        self.patch.setattr("tuner.measure.ceiling.core_time", self.cores_used)
        self.patch.setattr("tuner.measure.ceiling.cores", lambda: 2.0)
        self.patch.setattr(
            "tuner.measure.trial.answers", lambda one: self.alive and one is self.engine
        )
        self.patch.setattr("tuner.measure.ceiling.documents_of", self.documents)
        self.engine = Engine(self)
        return ceiling(lab_of(self.engine), PROFILE, self.told.append, plan)

    def documents(self, _lab: Lab, _profile: object, name: str, count: int) -> bytes:
        assert (name, count) == ("ceiling", 100)
        if self.dies is not None:
            raise JobFailed(self.dies)
        return self.lines

    def monotonic(self) -> float:
        return self.script.now_s

    def sleep(self, seconds: float) -> None:
        self.script.sleep(seconds)

    def process_time(self) -> float:
        """The clients are threads of this process."""
        return self.spent(CLIENT_US)

    def cores_used(self) -> CoreTime:
        ours = self.spent(ENGINE_US) + self.spent(CLIENT_US)
        return CoreTime(ours + OTHERS_CORES * self.script.at_s, 0.0, 0.0)

    def spent(self, each_us: float) -> float:
        return each_us * (self.busy_s + (self.now.sent if self.now else 0)) / 1e6

    @contextmanager
    def refreshing(self, client: object, pattern: str) -> Iterator[object]:
        assert (client, pattern) == (self.engine, f"{OURS.prefix}ceiling-*")
        began_s = self.script.now_s
        yield lambda: self.script.now_s > began_s + 0.25


@dataclass
class Feeding:
    """The clients of one combination."""

    world: Feeds
    client: object
    path: str
    bulks: Sequence[Bulk]
    clients: int
    began_s: float = 0.0
    ended_s: float | None = None

    @property
    def lasted_s(self) -> float:
        return (self.ended_s or self.world.script.now_s) - self.began_s

    @property
    def sent(self) -> int:
        rate = self.world.rates[self.bulks[0].documents, self.clients]
        warm_s = max(0.0, self.lasted_s - PLAN.warm_up_s)
        return int(rate * (0.1 * min(self.lasted_s, PLAN.warm_up_s) + warm_s))

    def __enter__(self) -> Self:
        self.world.paths.add(self.path)
        self.world.now, self.began_s = self, self.world.script.now_s
        return self

    def __exit__(self, *_: object) -> None:
        world = self.world
        self.ended_s = world.script.now_s
        world.fed.append((
            self.bulks[0].documents, len(self.bulks), self.clients, round(self.lasted_s, 1)
        ))  # fmt: skip

    def progress(self) -> FeedProgress:
        fault = self.world.faults.get(len(self.world.indices)) if self.lasted_s > 2.5 else None
        sent = self.sent
        return FeedProgress(sent, sent, CLIENT_US * (self.world.busy_s + sent) / 1e6, fault)


class Engine(Keeper):
    """It counts what is fed to it."""

    def __init__(self, world: Feeds) -> None:
        super().__init__(Objects())
        self.url = "http://127.0.0.1:9200"
        self.world = world

    def request(
        self, method: str, path: str, body: JSON | None = None, *, timeout_s: float | None = None
    ) -> object:
        world = self.world
        number = len(world.indices)
        if method == "PUT" and "template" not in path:
            if world.now is not None:
                world.busy_s, world.now = world.busy_s + world.now.sent, None
            name = path[1:].partition("?")[0]
            self.objects.indices[name] = META
            world.indices.append(name)
            if (error := world.refuses.get(number + 1)) is not None:
                raise error
        sent = world.now.sent if world.now else 0
        arrived = sent - world.loses.get(number, 0)
        if "_stats" in path and "_nodes" not in path:
            return {"_all": {"primaries": {"indexing": {"index_total": arrived}}}}
        if "_nodes/stats" in path:
            spent_ms = round(1000 * world.spent(ENGINE_US))
            return {"nodes": {"n": {"process": {"cpu": {"total_in_millis": spent_ms}}}}}
        if path.endswith("_count"):
            return {"count": arrived}
        if method == "POST":
            return {}
        return super().request(method, path, body, timeout_s=timeout_s)


def lab_of(client: Keeper) -> Lab:
    facts = SimpleNamespace(version="8.19.0", distribution="elasticsearch", data_nodes=1)
    engine = SimpleNamespace(
        client=client, facts=facts, stand_in=None, heap=None, heap_for=lambda _: None,
        keeps_credentials=False, ending=lambda: None, name="Elasticsearch",
        tells_apart=lambda _: True,
    )  # fmt: skip
    return Lab(cast(LabEngine, engine), OURS, Path("/nonexistent"), "8.2302")


PROFILE = small({"outputs[logs].filter_path": ["errors", "items.*.status"]})
RATES = {(10, 1): 1000.0, (10, 2): 1500.0, (20, 1): 1200.0, (20, 2): 1900.0}
TRIED = [(10, 10, 1), (10, 10, 2), (20, 5, 1), (20, 5, 2)]


@pytest.fixture
def feeds(monkeypatch: pytest.MonkeyPatch) -> Feeds:
    return Feeds(monkeypatch, RATES)


def test_each_combination_is_fed_and_the_best_again_over_a_window_twice_as_long(
    feeds: Feeds,
) -> None:
    found = feeds.measured()
    assert [one[:3] for one in feeds.fed] == [*TRIED, TRIED[-1]]
    lasted_s = [one[3] for one in feeds.fed]
    # Beside its window each pays for the segments before and after it.
    assert lasted_s[-1] - lasted_s[0] == pytest.approx(PLAN.window_s, abs=0.2)
    assert lasted_s[0] == pytest.approx(PLAN.warm_up_s + PLAN.window_s + 0.6, abs=0.3)
    assert [(one.bulk, one.clients, one.invalid) for one in found.combinations] == [
        (10, 1, None), (10, 2, None), (20, 1, None), (20, 2, None)
    ]  # fmt: skip
    assert [one.eps for one in found.combinations] == pytest.approx([*RATES.values()], rel=0.02)
    assert found.best == found.combinations[-1]
    assert found.documents == 100
    assert feeds.told == [
        "writing the documents with rsyslog",
        *(str(one) for one in found.combinations),
        f"again: 2 clients, bulks of 20: {found.eps:,.0f} EPS",
    ]


def test_each_figure_is_of_the_window_and_of_one_event(feeds: Feeds) -> None:
    found = feeds.measured()
    each: list[Ceiling | Combination] = [found, *found.combinations]
    for one in each:
        assert one.engine_cpu_us == pytest.approx(ENGINE_US, rel=0.02)
        assert one.client_cpu_us == pytest.approx(CLIENT_US, rel=0.02)
        # Of two cores, without those that the engine and the clients used.
        assert one.others_cpu == pytest.approx(OTHERS_CORES / 2, rel=0.05)
        assert 0 <= one.eps_se < 0.02 * one.eps
    assert found.eps == pytest.approx(1900, rel=0.02)


def test_each_is_fed_into_a_fresh_index_by_the_requests_of_the_profile(feeds: Feeds) -> None:
    feeds.measured()
    assert feeds.indices == [f"{OURS.prefix}ceiling-syslog"] * 5
    assert feeds.engine.deleted == [f"/{one}" for one in feeds.indices]
    assert feeds.paths == {"/_bulk?filter_path=errors,items.*.status"}


def test_an_engine_that_was_just_started_is_warmed_up_by_all_clients_first(feeds: Feeds) -> None:
    found = feeds.measured(replace(PLAN, engine_warm_up_s=9.0))
    first, *rest = feeds.fed
    assert first[:3] == (10, 10, 2)
    assert first[3] == pytest.approx(rest[0][3] + 5.0, abs=0.2)
    assert len(found.combinations) == 4
    assert "getting the engine warm" in feeds.told


def test_bulks_larger_than_all_there_is_are_tried_once(feeds: Feeds) -> None:
    feeds.rates = {**RATES, (100, 1): 2000.0, (100, 2): 2100.0}
    found = feeds.measured(replace(PLAN, bulks=(10, 500, 1000)))
    assert [one.bulk for one in found.combinations] == [10, 10, 100, 100]


@pytest.mark.parametrize("number", [2, 4])
def test_a_combination_with_a_fault_does_not_count(feeds: Feeds, number: int) -> None:
    feeds.faults = {number: "HTTP 429: no"}
    found = feeds.measured()
    said = [one.invalid for one in found.combinations]
    assert said == [*[None] * (number - 1), "HTTP 429: no", *[None] * (4 - number)]
    assert found.best.eps == pytest.approx(1900 if number == 2 else 1500, rel=0.02)


def test_one_that_loses_an_event_does_not_count(feeds: Feeds) -> None:
    feeds.loses = {4: 1}
    found = feeds.measured()
    assert "acknowledged" in (found.combinations[-1].invalid or "")
    assert found.best.clients == 2
    assert found.best.bulk == 10


def test_one_that_indexes_nothing_does_not_count(feeds: Feeds) -> None:
    feeds.rates = {**RATES, (10, 1): 0.0}
    assert feeds.measured().combinations[0].invalid == "nothing was indexed within the window"


def test_one_that_the_engine_refuses_has_no_figures(feeds: Feeds) -> None:
    feeds.refuses = {1: EngineRefused("no such setting", 400, "no")}
    found = feeds.measured()
    assert found.combinations[0] == Combination(1, 10, 0, 0, 0, 0, 0, "no such setting")
    assert found.best.eps == pytest.approx(1900, rel=0.02)


def test_where_the_best_does_not_count_again_the_next_best_is_measured(feeds: Feeds) -> None:
    feeds.faults = {5: "HTTP 500: no"}
    found = feeds.measured()
    assert (found.best.bulk, found.best.clients) == (10, 2)
    assert found.eps == pytest.approx(1500, rel=0.02)


def test_where_nothing_counts_the_last_reason_is_told(feeds: Feeds) -> None:
    feeds.faults = {number: f"HTTP 50{number}" for number in range(1, 5)}
    with pytest.raises(JobFailed, match=r"could not be measured: 2 clients.* HTTP 504"):
        feeds.measured()


def test_an_engine_that_is_gone_ends_it_and_one_that_was_silent_does_not(feeds: Feeds) -> None:
    feeds.refuses = {1: Unreachable("timed out")}
    assert feeds.measured().combinations[0].invalid == "timed out"
    # What a fresh index would meet is gone all the same.
    assert feeds.engine.deleted == [f"/{one}" for one in feeds.indices]
    feeds.alive, feeds.refuses = False, {len(feeds.indices) + 1: Unreachable("timed out")}
    with pytest.raises(Unreachable, match="timed out"):
        feeds.measured()


def test_without_documents_there_is_nothing_to_feed(feeds: Feeds) -> None:
    feeds.lines = b""
    with pytest.raises(JobFailed, match="none of the messages reaches an engine action"):
        feeds.measured()


def test_what_keeps_rsyslog_from_writing_documents_is_told(feeds: Feeds) -> None:
    feeds.dies = "rsyslogd died with SIGSEGV"
    with pytest.raises(JobFailed, match="no documents to feed the engine with: rsyslogd died"):
        feeds.measured()


def test_an_account_that_balances_is_no_objection() -> None:
    assert imbalance(FeedProgress(5000, 5000, 1.0, None), 5000, 5000) is None


@pytest.mark.parametrize(
    ("sent", "acknowledged", "arrived", "found"),
    [(6000, 5000, 5000, 5000), (5000, 5000, 4999, 4999), (5000, 5000, 5000, 5001),
     (5000, 5000, 6000, 6000)],
)  # fmt: skip
def test_one_counter_that_differs_is_an_objection_with_all_of_them(
    sent: int, acknowledged: int, arrived: int, found: int
) -> None:
    said = imbalance(FeedProgress(sent, acknowledged, 1.0, None), arrived, found)
    assert said == (
        f"{sent:,} sent, {acknowledged:,} acknowledged, {arrived:,} indexed, {found:,} found"
    )


def test_a_combination_says_what_it_reached_or_why_it_does_not_count() -> None:
    assert str(Combination(1, 1000, 81_234.5, 900.0, 12.0, 0.4, 0.0)) == (
        "1 client, bulks of 1,000: 81,234 EPS"
    )
    assert str(Combination(4, 5000, 0.0, 0.0, 0.0, 0.0, 0.0, "HTTP 429: no")) == (
        "4 clients, bulks of 5,000: invalid: HTTP 429: no"
    )
