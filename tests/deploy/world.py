"""A simulated day on production hosts, for a trial: minutes with a load and a cost per event, and
what happens in between.  Each file of `worlds` is one."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from tuner.deploy.block import BlockFigures, Side
from tuner.deploy.production_trial import EndOfTrial, ProductionTrial
from tuner.deploy.switchback import Switchback, TrialDesign, TrialRestart, pairs_within
from tuner.profile.source import read

WORLDS = Path(__file__).parent / "worlds"
COST_US, MEMORY = 12.0, 200 * 2**20
DAY_S, MINUTE_S, BEGIN = 86_400, 60, 1_800_000_000.0


class Bursts(BaseModel):
    """In so many of all minutes there come so many times as many events."""

    model_config = ConfigDict(extra="forbid")
    share: float
    factor: float


class Outage(BaseModel):
    """The engine is away for some minutes, after so many hours of the trial."""

    model_config = ConfigDict(extra="forbid")
    at_h: float
    minutes: float


class Step(BaseModel):
    """After so many hours the load, or the cost of an event, is another by this factor."""

    model_config = ConfigDict(extra="forbid")
    at_h: float
    load: float = 1.0
    cost: float = 1.0


class Candidate(BaseModel):
    """What B does: its cost over that of A, also where the load is above the mean; what part of
    the events it discards, and of which load its queue is full; its memory over A's."""

    model_config = ConfigDict(extra="forbid")
    cost: float = 1.0
    cost_at_peak: float | None = None
    discards: float = 0.0
    queue: float = 0.0
    memory: float = 1.0
    starts: bool = True


class Allowed(BaseModel):
    """What part of many trials may end with each claim: at least, and at most."""

    model_config = ConfigDict(extra="forbid")
    least: dict[str, float] = {}
    most: dict[str, float] = {}
    covers: bool = True


class World(BaseModel):
    """A day, and what a trial in it may come to.  `noise` is the standard deviation of the
    logarithm of a minute's cost, of which `lasting` is carried on to the next minute; `slope` is by
    how much the logarithm of the cost falls with that of the load; `carry_over` what the first
    minute after a switch costs more."""

    model_config = ConfigDict(extra="forbid")
    about: str
    hours: float = 8.0
    hosts: int = 1
    block_min: float = 10.0
    per_second: float = 5000.0
    daily: float = 0.5
    hour: float = 6.0
    noise: float = 0.1
    lasting: float = 0.8
    slope: float = 0.2
    drift_per_h: float = 0.0
    carry_over: float = 0.5
    bursts: Bursts | None = None
    outage: Outage | None = None
    steps: tuple[Step, ...] = ()
    heavy: bool = False
    edited_at_h: float | None = None
    restarted_at_h: float | None = None
    candidate: Candidate = Candidate()
    allowed: Allowed = Allowed()


@cache
def worlds() -> dict[str, World]:
    """All of them, by name."""
    return {
        path.stem: World.model_validate(read(path.read_text(encoding="utf-8"), path.name).data)
        for path in sorted(WORLDS.glob("*.yaml"))
    }


@dataclass
class Time:
    """The clock of a world."""

    at: float = BEGIN

    def now(self) -> float:
        return self.at

    def wait(self, seconds: float) -> None:
        self.at += seconds


Minutes = NDArray[np.float64]


@dataclass
class SimulatedHost:
    """A host of a world."""

    name: str
    world: World
    time: Time
    loads: Minutes
    costs: Minutes
    side: Side = Side.A
    switched: float = field(default=-1e12)
    switches: int = 0

    def put_candidate(self, within_s: float) -> TrialRestart | None:
        self._switch(Side.B)
        return None

    def put_back(self) -> TrialRestart | None:
        if self.side is Side.B:
            self._switch(Side.A)
        return None

    def _switch(self, side: Side) -> None:
        self.side, self.switches = side, self.switches + 1
        self.time.wait(2.0)
        self.switched = self.time.now()

    def figures(self, since: float) -> BlockFigures | None:
        now, world = self.time.now(), self.world
        for at_h, what in (
            (world.edited_at_h, "somebody edited rsyslog.conf"),
            (world.restarted_at_h, "somebody restarted rsyslogd"),
        ):
            if at_h is not None and now >= BEGIN + 3600 * at_h:
                raise EndOfTrial(what)
        first, last = (int((at - BEGIN) // MINUTE_S) for at in (since, now))
        if last <= first:
            return None
        minutes = slice(first, last)
        loads, costs = self.loads[minutes], self.costs[minutes].copy()
        candidate = world.candidate
        if self.side is Side.B:
            peaks = loads > world.per_second
            at_peak = candidate.cost_at_peak
            costs *= np.where(peaks, candidate.cost if at_peak is None else at_peak, candidate.cost)
        if int((self.switched - BEGIN) // MINUTE_S) >= first:
            costs[0] *= 1 + world.carry_over
        events = MINUTE_S * loads
        away_s = 0.0
        if world.outage is not None:
            begin = BEGIN + 3600 * world.outage.at_h
            end = begin + 60 * world.outage.minutes
            away_s = max(0.0, min(now, end) - max(since, begin))
        is_b = self.side is Side.B
        full = float(loads.max()) / candidate.queue if is_b and candidate.queue else 0.1
        return BlockFigures(
            seconds=float(MINUTE_S * len(loads)),
            events=int(events.sum()),
            cpu_s=float((events * costs).sum()) / 1e6,
            memory_bytes=int(MEMORY * (candidate.memory if is_b else 1)),
            queue_share=min(1.0, full + (0.6 if away_s else 0.0)),
            discarded=int(candidate.discards * events.sum()) if is_b else 0,
            failed=int(away_s),
            rejected=0,
            away_s=away_s,
        )


def minutes_of(world: World, seed: int, host: int) -> tuple[Minutes, Minutes]:
    """The load and the cost of an event in each minute of one day of a host."""
    drawn = np.random.default_rng((seed, host))
    number = int(world.hours * 60) + 240
    hours = np.arange(number) / 60
    loads = world.per_second * (1 + world.daily * np.sin(2 * np.pi * (hours + world.hour) / 24))
    # Hosts share the bursts of their senders.
    shared = np.random.default_rng((seed, 1000))
    if world.bursts is not None:
        loads *= np.where(shared.random(number) < world.bursts.share, world.bursts.factor, 1.0)
    loads *= np.exp(drawn.normal(0.0, 0.05, number))
    fresh = drawn.standard_t(3, number) / 1.7 if world.heavy else drawn.normal(0.0, 1.0, number)
    fresh *= world.noise * np.sqrt(1 - world.lasting**2)
    noise = np.empty(number)
    last = drawn.normal(0.0, world.noise)
    for at, new in enumerate(fresh):
        last = world.lasting * last + new
        noise[at] = last
    costs = COST_US * (loads / world.per_second) ** -world.slope
    costs *= np.exp(noise + world.drift_per_h * hours)
    for step in world.steps:
        after = hours >= step.at_h
        loads = np.where(after, loads * step.load, loads)
        costs = np.where(after, costs * step.cost, costs)
    return loads, costs


def trial_in(world: World, seed: int) -> Switchback:
    """The record of one trial in a world."""
    time = Time()
    hosts = tuple(
        SimulatedHost(f"host{number + 1}", world, time, *minutes_of(world, seed, number))
        for number in range(world.hosts)
    )
    block_s = 60 * world.block_min
    design = TrialDesign(
        0, block_s=block_s, poll_s=block_s / 3, seed=random.Random(seed).randrange(2**32)
    )
    pairs = pairs_within(3600 * world.hours, design)
    design = TrialDesign(
        pairs, block_s=block_s, poll_s=block_s / 3, seed=design.seed,
    )  # fmt: skip
    trial = ProductionTrial(hosts, time, lambda _: None, lambda _: None, most_bytes=2 * MEMORY)
    record = trial.run(Switchback(design, tuple(host.name for host in hosts)))
    assert all(host.side is Side.A for host in hosts), "every host has A at the end"
    return record
