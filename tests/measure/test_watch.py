"""The watch over a run, and the account at its end, on a pipeline that follows a script.

The clock is the script's: only its sleep moves it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.profile.examples import small
from tuner.engine.client import JSON, EngineClient, EngineRefused
from tuner.engine.delivery import DeliveryCheck, Expectation
from tuner.engine.numbering import SentEvents
from tuner.engine.sampled import LearntDocuments
from tuner.engine.status import SILENCE_S
from tuner.errors import JobFailed, Unreachable
from tuner.flood.flood import Flood
from tuner.flood.spec import FloodProgress
from tuner.host.usage import Usage
from tuner.lab.bind import Bound
from tuner.lab.copy import LabCopy
from tuner.lab.lab import Lab, Learnt
from tuner.lab.rsyslogd import Rsyslogd, RsyslogdDied
from tuner.measure.pipeline import Pipeline
from tuner.measure.prepared import PreparedTrial
from tuner.measure.settle import settle
from tuner.measure.watch import DRAIN_S, QUIET_S, STALL_S, NodeLost, Stalled, Watch
from tuner.measure.window import Poll
from tuner.profile.model import Profile

SENDS = 1000.0
NOTHING: Callable[[object], None] = lambda _: None  # noqa: E731


@dataclass
class Script:
    """What is so at each second: events sent and indexed, the bytes of bulk requests in the engine
    and its merges, the CPU that it used, its lost shards of three, how processes ended, and how
    long the engine takes to answer."""

    sent: Callable[[float], float] = lambda s: SENDS * s
    indexed: Callable[[float], float] = lambda s: SENDS * s * 0.9
    bulk_bytes: Callable[[float], int] = lambda _: 0
    merges: Callable[[float], int] = lambda _: 0
    cpu_ms: Callable[[float], float] = lambda _: 700
    lost_shards: int = 0
    answers_s: Callable[[float], float] = lambda _: 0.0
    rsyslogd_died_s: float = float("inf")
    node_died_s: float = float("inf")
    engine_died_s: float = float("inf")
    flood_error: str | None = None
    now_s: float = field(default_factory=lambda: round(time.monotonic(), 6))
    began_s: float = 0.0

    def __post_init__(self) -> None:
        self.began_s = self.now_s

    @property
    def at_s(self) -> float:
        """Seconds since it began, the same however long the machine has been up."""
        return round(self.now_s - self.began_s, 6)

    def monotonic(self) -> float:
        return self.now_s

    def time(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s = round(self.now_s + max(seconds, 1e-3), 6)

    def check(self) -> None:
        if self.at_s >= self.rsyslogd_died_s:
            raise RsyslogdDied("rsyslogd died")

    def ending(self) -> str | None:
        """Of rsyslogd."""
        return "signal 11" if self.at_s >= self.rsyslogd_died_s else None

    def loss(self) -> str | None:
        """Of a node."""
        return "a node died" if self.at_s >= min(self.node_died_s, self.engine_died_s) else None

    def progress(self) -> FloodProgress:
        """Of the flood."""
        sent = int(self.sent(self.at_s))
        return FloodProgress(sent, 0.0, 2.5, None, None, False, self.flood_error, self.now_s)


class Engine(EngineClient):
    """An engine of that script."""

    def __init__(self, script: Script) -> None:
        super().__init__("http://127.0.0.1:9")
        self.script = script

    def request(
        self, method: str, path: str, body: JSON | None = None, *, timeout_s: float | None = None
    ) -> object:
        script = self.script
        script.now_s += script.answers_s(script.at_s)
        if script.at_s >= script.engine_died_s:
            raise Unreachable("nothing answers")
        if "_nodes/stats/process" in path:
            used_ms = round(script.cpu_ms(script.at_s))
            return {"nodes": {"n": {"process": {"cpu": {"total_in_millis": used_ms}}}}}
        if "indexing_pressure" in path:
            memory = {"memory": {"current": {"all_in_bytes": script.bulk_bytes(script.at_s)}}}
            return {"nodes": {"n": {"indexing_pressure": memory}}}
        if "/_cluster/health" in path:
            left = 3 - script.lost_shards
            indices = {"one": {"number_of_shards": 2}, "two": {"number_of_shards": 1}}
            return {"indices": indices, "active_primary_shards": left}
        if "_stats/merge" in path:
            merging = script.merges(script.at_s)
            return {"_all": {"total": {"merges": {"current": merging}}}}
        counted = int(script.indexed(script.at_s))
        return {"_all": {"primaries": {"indexing": {"index_total": counted}}}, "count": counted}


NO_SAMPLE: dict[str, object] = {"sampled": lambda *_: (), "tells_apart": lambda _: True}
"""An engine that keeps no documents."""
ONE_EACH = Learnt(Expectation(((1,),)), (0.0,), LearntDocuments(({},), (frozenset(),), 1), ())


def prepared_for(lab: Lab, profile: Profile, began_s: float = 0.0) -> PreparedTrial:
    """A trial of a profile, which is bound to a lab already, of one document an event."""
    site = SimpleNamespace(index_prefix=profile.measured.index.target)
    return PreparedTrial(
        lab=lab, name="t1", bound=cast(Bound, SimpleNamespace(profile=profile)),
        copy=cast(LabCopy, SimpleNamespace(site=site)),
        learnt=ONE_EACH, knobs=(), since_s=began_s,
    )  # fmt: skip


"""Each event gives one document."""


def lab_of(script: Script, **engine: object) -> Lab:
    known = {"check_delivery": counted(script)} | NO_SAMPLE | engine
    made = SimpleNamespace(client=Engine(script), loss=script.loss, engine=SimpleNamespace(**known))
    return cast(Lab, made)


@dataclass
class Run:
    """A watch over a script."""

    script: Script
    watch: Watch

    def follow(self, seconds: float) -> tuple[Poll, ...]:
        return self.watch.follow(seconds, NOTHING)


@pytest.fixture
def watching(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """Watches over scripts, whose clock the modules see."""

    def make(script: Script, profile: Profile | None = None, **engine: object) -> Run:
        for module in ("measure.watch", "measure.settle", "host.process", "engine.status"):
            monkeypatch.setattr(f"tuner.{module}.time", script)
        rsyslogd = SimpleNamespace(
            check=script.check, ending=script.ending, usage=lambda: Usage(1.0, 1),
            finish=lambda _: None,
        )  # fmt: skip
        lab = lab_of(script, **engine)
        bound = profile or small()
        stats, ready = Path("/nonexistent"), prepared_for(lab, bound)
        pipe = Pipeline(rsyslogd=cast(Rsyslogd, rsyslogd), stats=stats, prepared=ready)
        spec = SimpleNamespace(stamped_run="700")
        flood = cast(Flood, SimpleNamespace(progress=script.progress, spec=spec))
        return Run(script, Watch(pipe, flood, script.began_s))

    return make


def test_it_polls_to_the_end_and_tells_after_each_poll_but_the_last(
    watching: Callable[..., Run],
) -> None:
    run, told = watching(Script()), list[int]()
    samples = run.watch.follow(2.0, lambda so_far: told.append(len(so_far)))
    assert told == list(range(1, len(samples)))
    assert samples[-1].at_s - samples[0].at_s == pytest.approx(2.0, abs=0.15)
    assert samples[-1].sent == pytest.approx(2000, abs=150)


def test_it_ends_early_once_enough_was_seen(watching: Callable[..., Run]) -> None:
    samples = watching(Script()).watch.follow(9.0, NOTHING, lambda so_far: len(so_far) == 3)
    assert len(samples) == 3


def test_nothing_indexed_while_events_are_outstanding_is_a_stall(
    watching: Callable[..., Run],
) -> None:
    run = watching(Script(indexed=lambda s: min(900.0, 900 * s)))
    with pytest.raises(Stalled, match="nothing was indexed for 10 s: 900 of 11"):
        run.follow(60.0)
    assert run.script.at_s == pytest.approx(1.0 + STALL_S, abs=0.3)


def test_a_pause_in_which_nothing_is_outstanding_is_none(watching: Callable[..., Run]) -> None:
    watching(Script(sent=lambda _: 500.0, indexed=lambda _: 500.0)).follow(3 * STALL_S)


def test_one_event_in_time_is_no_stall(watching: Callable[..., Run]) -> None:
    watching(Script(indexed=lambda s: s // (STALL_S - 1))).follow(4 * STALL_S)


def test_a_counter_that_runs_backwards_gives_no_rate(watching: Callable[..., Run]) -> None:
    run = watching(Script(indexed=lambda s: 900 * s if s < 2 else 10.0))
    with pytest.raises(Stalled, match="ran backwards from 1"):
        run.follow(9.0)


def test_a_counter_that_was_out_of_sight_gives_no_rate(watching: Callable[..., Run]) -> None:
    run = watching(Script(answers_s=lambda s: SILENCE_S + 0.5 if 2 < s < 2.2 else 0.0))
    with pytest.raises(Stalled, match=r"could not be read for 3\.[56] s"):
        run.follow(9.0)


def test_a_counter_is_read_in_the_middle_between_question_and_answer(
    watching: Callable[..., Run],
) -> None:
    """Taken for the moment of the question, one slow answer at the end raised the rate by 10 %."""
    run = watching(Script(answers_s=lambda s: 1.0 if s > 0.5 else 0.0))
    samples = run.follow(0.55)
    assert samples[-1].at_s - run.script.began_s == pytest.approx(run.script.at_s - 0.5)


def test_queues_may_wait_for_a_batch_before_it_is_a_stall(watching: Callable[..., Run]) -> None:
    """Of two queues, one after the other."""
    waits = {"minDequeueBatchSize": 100, "minDequeueBatchSize.timeout": 8000}
    changes = {f"outputs[logs].queue.{name}": value for name, value in waits.items()}
    changes |= {f"main_queue.{name}": value for name, value in waits.items()}
    patience_s, last = 16.0, small(changes)
    late = watching(Script(indexed=lambda s: SENT if s > patience_s - 1 else SENT - 9), last)
    late.watch.drain(SentEvents((SENT,)))
    assert late.script.at_s == pytest.approx(patience_s - 1, abs=0.2)
    silent = watching(Script(indexed=lambda _: 900.0), last)
    with pytest.raises(Stalled, match="nothing was indexed for 26 s"):
        silent.follow(60.0)


def test_an_rsyslogd_that_died_ends_it(watching: Callable[..., Run]) -> None:
    with pytest.raises(RsyslogdDied):
        watching(Script(rsyslogd_died_s=1.0)).follow(9.0)


def test_a_node_that_died_beside_others_is_a_loss_and_an_engine_that_is_gone_is_none(
    watching: Callable[..., Run],
) -> None:
    with pytest.raises(NodeLost, match="a node died"):
        watching(Script(node_died_s=1.0)).follow(9.0)
    with pytest.raises(Unreachable):
        watching(Script(engine_died_s=1.0)).follow(9.0)


def test_a_flood_that_broke_off_is_blamed_on_rsyslogd_where_that_died(
    watching: Callable[..., Run],
) -> None:
    with pytest.raises(JobFailed, match="connection reset"):
        watching(Script(flood_error="connection reset")).follow(9.0)
    died = watching(Script(flood_error="connection reset", rsyslogd_died_s=0.5))
    with pytest.raises(RsyslogdDied):
        died.follow(9.0)


SENT = 1000


def test_the_drain_lasts_until_the_last_event_is_there(watching: Callable[..., Run]) -> None:
    run = watching(Script(indexed=lambda s: min(SENT, 200 * s)))
    run.watch.drain(SentEvents((SENT,)))
    assert run.script.at_s == pytest.approx(5.0, abs=0.1)


def test_the_drain_gives_up_soon_where_the_engine_has_nothing_to_do(
    watching: Callable[..., Run],
) -> None:
    idle = watching(Script(indexed=lambda _: SENT - 1))
    idle.watch.drain(SentEvents((SENT,)))
    assert 3.0 <= idle.script.at_s < 3.3
    busy = watching(Script(indexed=lambda _: SENT - 1, bulk_bytes=lambda s: 9 if s < 6 else 0))
    busy.watch.drain(SentEvents((SENT,)))
    assert 6.0 <= busy.script.at_s < 6.3
    stuck = watching(Script(indexed=lambda _: SENT - 1, bulk_bytes=lambda _: 9))
    stuck.watch.drain(SentEvents((SENT,)))
    assert STALL_S <= stuck.script.at_s < STALL_S + 0.3


def test_a_drain_that_crawls_has_a_limit(watching: Callable[..., Run]) -> None:
    run = watching(Script(indexed=lambda s: s))
    with pytest.raises(Stalled, match="documents are still not indexed 60 s after the flood"):
        run.watch.drain(SentEvents((SENT,)))
    assert run.script.at_s == pytest.approx(DRAIN_S, abs=0.5)


ALL_THERE = DeliveryCheck(0, 0, (), ())


def counted(script: Script) -> Callable[..., DeliveryCheck]:
    """By the numbers, as the engine of a script has them."""

    def check(_pattern: str, sent: SentEvents, _run: str, _expected: object) -> DeliveryCheck:
        short = sent.total - int(script.indexed(script.at_s))
        return replace(ALL_THERE, lost=short, missing=(SENT - 1,) if short else ())

    return check


def test_an_account_that_is_short_by_one_names_it(watching: Callable[..., Run]) -> None:
    watch = watching(Script(indexed=lambda _: SENT - 1)).watch
    delivery = settle(watch, SentEvents((SENT,))).delivery
    assert not delivery.exact
    assert (delivery.sent, delivery.indexed, delivery.found) == (SENT, SENT - 1, SENT - 1)
    assert delivery.missing == (SENT - 1,)


def test_the_account_is_made_once_rsyslogd_has_ended(watching: Callable[..., Run]) -> None:
    """As long as it runs it may repeat a batch that is counted already."""
    script = Script(indexed=lambda _: SENT)
    order: list[str] = []

    def check(*_: object) -> DeliveryCheck:
        order.append("account")
        return ALL_THERE

    run = watching(script, check_delivery=check)
    ended = SimpleNamespace(
        **{**vars(run.watch.pipe.rsyslogd), "finish": lambda _: order.append("end")}
    )
    watch = replace(run.watch, pipe=replace(run.watch.pipe, rsyslogd=cast(Rsyslogd, ended)))
    settled = settle(watch, SentEvents((SENT,)))
    assert order == ["end", "account"]
    assert settled.delivery.exact


def test_an_engine_that_refuses_to_tell_is_no_account(watching: Callable[..., Run]) -> None:
    def refuse(*_: object) -> DeliveryCheck:
        raise EngineRefused("some shards failed", 503, "some shards failed")

    watch = watching(Script(indexed=lambda _: SENT), check_delivery=refuse).watch
    with pytest.raises(EngineRefused):
        settle(watch, SentEvents((SENT,)))


# Every message goes to one output of a base, every other one to a second.
OF_A_BASE = Expectation(((1, 1), (1, 0)))


def based(run: Run, expectation: Expectation = OF_A_BASE) -> Watch:
    """The watch where not each event gives one document."""
    unsure = (1.0,) * len(expectation.outputs)
    learnt = Learnt(expectation, unsure, LearntDocuments((), (), 2), ())
    ready = replace(run.watch.pipe.prepared, learnt=learnt)
    pipe = replace(run.watch.pipe, prepared=ready)
    return replace(run.watch, pipe=pipe)


def test_rates_are_of_events_and_the_drain_waits_for_every_document(
    watching: Callable[..., Run],
) -> None:
    run = watching(Script(indexed=lambda s: min(1.5 * SENT, 300 * s)))
    watch = based(run)
    watch.drain(SentEvents((SENT,)))
    assert run.script.at_s == pytest.approx(5.0, abs=0.1)
    assert (watch.indexed(), watch.delivered()) == (SENT, 1500)


def test_where_it_is_not_known_what_each_event_gives_the_drain_waits_until_it_is_quiet(
    watching: Callable[..., Run],
) -> None:
    """Not for those documents alone that are expected; the wait itself is no part of the drain."""
    run = watching(Script(indexed=lambda s: min(0.8 * SENT, 100 * s)))
    watch = based(run, Expectation(((1, -1),)))
    ended_s = watch.drain(SentEvents((SENT,)))
    assert watch.delivered() == 800
    assert run.script.at_s == pytest.approx(8 + QUIET_S, abs=0.3)
    assert ended_s - run.script.began_s == pytest.approx(8, abs=0.1)


def test_a_queue_that_waits_for_a_batch_for_long_is_not_taken_for_documents_that_still_arrive(
    watching: Callable[..., Run],
) -> None:
    waits = {"minDequeueBatchSize": 100, "minDequeueBatchSize.timeout": round(1000 * DRAIN_S)}
    patient = small({f"outputs[logs].queue.{name}": value for name, value in waits.items()})
    run = watching(Script(indexed=lambda s: min(0.8 * SENT, 100 * s)), patient)
    based(run, Expectation(((1, -1),))).drain(SentEvents((SENT,)))
    assert run.script.at_s == pytest.approx(8 + DRAIN_S + QUIET_S, abs=0.3)
    crawling = watching(Script(indexed=lambda s: s), patient)
    with pytest.raises(Stalled, match="documents still arrive 60 s after the flood"):
        based(crawling, Expectation(((1, -1),))).drain(SentEvents((SENT,)))


@pytest.mark.parametrize(("documents", "counted"), [(1500, 1000), (1499, 999), (1501, 1001)])
def test_the_account_is_by_what_is_expected_of_its_run(
    watching: Callable[..., Run], documents: int, counted: int
) -> None:
    asked: list[tuple[object, ...]] = []

    def check(*given: object) -> DeliveryCheck:
        asked.append(given)
        return ALL_THERE

    watch = based(watching(Script(indexed=lambda _: documents), check_delivery=check))
    sent = SentEvents((SENT,))
    delivery = settle(watch, sent).delivery
    assert asked == [(watch.pipe.pattern, sent, "700", OF_A_BASE)]
    assert (delivery.sent, delivery.indexed, delivery.found) == (SENT, counted, counted)
    assert delivery.exact is (counted == SENT)


@pytest.mark.parametrize(("lost", "exact"), [(0, True), (3, False)])
def test_documents_of_which_nothing_is_expected_fail_no_run(
    watching: Callable[..., Run], lost: int, exact: bool
) -> None:
    check = DeliveryCheck(lost, 0, tuple(range(lost)), ())
    run = watching(Script(indexed=lambda _: 1700), check_delivery=lambda *_: check)
    watch = based(run, Expectation(((1, 1), (1, -1))))
    delivery = settle(watch, SentEvents((SENT,))).delivery
    assert (delivery.indexed, delivery.lost, delivery.exact) == (SENT - lost, lost, exact)
