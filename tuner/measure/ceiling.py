"""The engine's own ceiling: the same documents in the same index, fed without rsyslog."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tuner.engine.client import EngineRefused
from tuner.engine.feed import Bulk, Feed, FeedProgress, bulk_path, bulks_of
from tuner.engine.status import SILENCE_S, count, indexed, make_durable, node_counters, refreshing
from tuner.errors import JobFailed, Unreachable
from tuner.host.usage import core_time, cores
from tuner.lab.bind import Bound
from tuner.lab.lab import Lab
from tuner.measure.learning import documents_of
from tuner.measure.pipeline import install, removed
from tuner.measure.trial import Tell, failure_of
from tuner.measure.watch import POLL_S
from tuner.measure.window import Poll, rate_over
from tuner.profile.model import Profile

# One name for all: the lines that rsyslog wrote for it can be fed as they are.
_NAME = "ceiling"


@dataclass(frozen=True)
class CeilingPlan:
    """Which client counts and bulk sizes are tried, how many different documents they send, and
    how long each is warmed up and measured, in seconds; `engine_warm_up_s` is for an engine that
    was started a moment ago, 0 for one that is warm."""

    clients: tuple[int, ...] = (1, 2, 4)
    bulks: tuple[int, ...] = (1000, 2500, 5000)
    documents: int = 50_000
    warm_up_s: float = 1.0
    window_s: float = 4.0
    engine_warm_up_s: float = 10.0


@dataclass(frozen=True)
class Combination:
    """What so many clients reached that sent bulks of so many documents: indexed events per second
    over the window with its standard error, CPU microseconds per event of engine and clients, and
    the share of this machine's cores that others took meanwhile, which lowers the rate.

    `invalid` says why the figures do not count, None when they do.
    """

    clients: int
    bulk: int
    eps: float
    eps_se: float
    engine_cpu_us: float
    client_cpu_us: float
    others_cpu: float
    invalid: str | None = None

    def __str__(self) -> str:
        clients = f"{self.clients} clients" if self.clients > 1 else "1 client"
        reached = f"{self.eps:,.0f} EPS" if self.invalid is None else f"invalid: {self.invalid}"
        return f"{clients}, bulks of {self.bulk:,}: {reached}"


@dataclass(frozen=True, kw_only=True)
class Ceiling(Combination):
    """The best combination, measured afresh over a window twice as long, because the highest of
    many noisy figures is too high (the winner's curse); and all that were tried.

    `documents` is how many different ones were sent, over and over.
    """

    combinations: tuple[Combination, ...]
    best: Combination
    documents: int


def ceiling(lab: Lab, profile: Profile, tell: Tell, plan: CeilingPlan) -> Ceiling:
    """Measure what the engine of `lab` indexes of the documents of `profile` when clients send it
    bulks that are ready; about 90 s with the defaults of a plan, after rsyslogd has written the
    documents.

    Raises JobFailed when no combination is valid, and Unreachable when the engine is gone.
    """
    lab.check()
    tell("writing the documents with rsyslog")
    try:
        lines = documents_of(lab, profile, _NAME, plan.documents)
    except JobFailed as error:
        raise JobFailed(f"rsyslog wrote no documents to feed the engine with: {error}") from None
    if not lines:
        raise JobFailed("none of the messages reaches an engine action: the engine is fed nothing")
    return _Experiment(lab, lab.bind(profile, _NAME), lines, plan, tell).measure()


@dataclass(frozen=True)
class _Experiment:
    """All combinations on one engine."""

    lab: Lab
    bound: Bound
    lines: bytes
    plan: CeilingPlan
    tell: Tell

    def measure(self) -> Ceiling:
        """Every combination, and the best of them again."""
        if self.plan.engine_warm_up_s > 0:
            self.tell("getting the engine warm")
            bulks = bulks_of(self.lines, self.plan.bulks[0])
            self._combination(bulks, max(self.plan.clients), self.plan.engine_warm_up_s)
        by_size: dict[tuple[int, int], Combination] = {}
        for size, clients in itertools.product(self.plan.bulks, self.plan.clients):
            bulks = bulks_of(self.lines, size)
            # Sizes beyond what the engine takes in one request become one and the same.
            if (bulks[0].documents, clients) not in by_size:
                tried = self._combination(bulks, clients, self.plan.window_s)
                by_size[tried.bulk, tried.clients] = tried
                self.tell(str(tried))
        return self._ceiling(tuple(by_size.values()))

    @property
    def _pattern(self) -> str:
        return f"{self.bound.site.index_prefix}*"

    def _ceiling(self, combinations: tuple[Combination, ...]) -> Ceiling:
        """The best combination measured again; the next best should that be invalid."""
        valid = [tried for tried in combinations if tried.invalid is None]
        objections = [tried for tried in combinations if tried.invalid is not None]
        for best in sorted(valid, key=lambda tried: tried.eps, reverse=True):
            bulks = bulks_of(self.lines, best.bulk)
            fresh = self._combination(bulks, best.clients, 2 * self.plan.window_s)
            self.tell(f"again: {fresh}")
            if fresh.invalid is None:
                documents = self.lines.count(b"\n") // 2
                return Ceiling(
                    **vars(fresh), combinations=combinations, best=best, documents=documents
                )
            objections.append(fresh)
        raise JobFailed(f"the engine's ceiling could not be measured: {objections[-1]}")

    def _combination(self, bulks: Sequence[Bulk], clients: int, window_s: float) -> Combination:
        """Feed a fresh index, which is gone afterwards."""
        size = bulks[0].documents
        try:
            with removed(self.lab, _NAME):
                install(self.lab, self.bound.copy)
                return self._feed(bulks, clients, window_s)
        except (EngineRefused, Unreachable) as error:
            why = failure_of(error, self.lab, _NAME).reason
            return Combination(clients, size, 0.0, 0.0, 0.0, 0.0, 0.0, why)

    def _feed(self, bulks: Sequence[Bulk], clients: int, window_s: float) -> Combination:
        path = bulk_path(self.bound.profile.measured)
        with Feed(self.lab.client, path, bulks, clients) as feed:
            self._follow(feed, self.plan.warm_up_s)
            self._refresh(feed)
            before = self._used(feed)
            samples = (*self._follow(feed, window_s), *self._refresh(feed))
            after = self._used(feed)
        rate = rate_over(samples)
        events = max(1, samples[-1].indexed - samples[0].indexed)
        grown = (now - then for now, then in zip(after, before, strict=True))
        passed_s, engine_s, clients_s, others_s = grown
        return Combination(
            clients=clients,
            bulk=bulks[0].documents,
            eps=rate.per_second,
            eps_se=rate.standard_error,
            engine_cpu_us=engine_s * 1e6 / events,
            client_cpu_us=clients_s * 1e6 / events,
            others_cpu=max(0.0, others_s) / (cores() * passed_s),
            invalid=self._objection(feed.progress()) or _idle(samples),
        )

    def _refresh(self, feed: Feed) -> tuple[Poll, ...]:
        """Segments are made of what the engine holds, so that each window pays for its own."""
        with refreshing(self.lab.client, self._pattern) as ended:
            return self._follow(feed, math.inf, ended)

    def _follow(
        self, feed: Feed, duration_s: float, enough: Callable[[], bool] = lambda: False
    ) -> tuple[Poll, ...]:
        """Poll for `duration_s` seconds, until it is enough, or until a client meets a fault."""
        samples: list[Poll] = []
        deadline = time.monotonic() + duration_s
        while True:
            fed = feed.progress()
            asked_s = time.monotonic()
            arrived = indexed(self.lab.client, self._pattern, SILENCE_S)
            samples.append(Poll((asked_s + time.monotonic()) / 2, arrived, fed.sent))
            if samples[-1].at_s >= deadline or fed.fault is not None or enough():
                return tuple(samples)
            time.sleep(max(0.0, min(POLL_S, deadline - time.monotonic())))

    def _used(self, feed: Feed) -> tuple[float, float, float, float]:
        """The time (monotonic), and the CPU seconds so far of engine, clients and others."""
        engine_s = node_counters(self.lab.client, SILENCE_S).cpu_ms / 1000
        engine_here_s = engine_s if self.lab.is_here else 0
        others_s = core_time().busy_s - engine_here_s - time.process_time()
        return time.monotonic(), engine_s, feed.progress().cpu_s, others_s

    def _objection(self, fed: FeedProgress) -> str | None:
        """Why a finished feed does not count: a fault, or counters that differ."""
        if fed.fault is not None:
            return fed.fault
        client, pattern = self.lab.client, self._pattern
        make_durable(client, pattern)
        return imbalance(fed, indexed(client, pattern), count(client, pattern))


def imbalance(fed: FeedProgress, arrived: int, searched: int) -> str | None:
    """What is wrong with the account of a finished feed: what was sent must be acknowledged,
    counted as indexed and found by a search."""
    if fed.sent == fed.acknowledged == arrived == searched:
        return None
    return (
        f"{fed.sent:,} sent, {fed.acknowledged:,} acknowledged, {arrived:,} indexed, "
        f"{searched:,} found"
    )


def _idle(samples: Sequence[Poll]) -> str | None:
    moved = samples[-1].indexed > samples[0].indexed
    return None if moved else "nothing was indexed within the window"
