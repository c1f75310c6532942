"""The world of all tests of searches: a pipeline that is computed, and a whole search of it.

The outcome of a trial follows from its settings and its number alone, so that a search can be
resumed.  As a program it makes its trials last a little, to be killed in them:
`python -m tests.search.simulated FOLDER SECONDS`.
"""

from __future__ import annotations

import math
import os
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import reduce
from pathlib import Path
from typing import Any

from tests.measure.factory import failed, itemised, measured
from tests.measure.paced import paced
from tests.search.random_points import strategy
from tests.search.test_journal import HEADER
from tuner.errors import Interrupted
from tuner.lint.candidate import Checker
from tuner.lint.load import parse_profile
from tuner.measure.measurement import FailureKind, Measurement, Result
from tuner.measure.speed import Speed
from tuner.profile.model import Profile
from tuner.search.budget import NODE_PACE, trial_seconds
from tuner.search.farm import Candidates, Farm, FarmOfOne, Lost, Setup
from tuner.search.journal import NAME, Ended, Intent, journal, read, record_of, recorded, reopened
from tuner.search.runner import Runner
from tuner.search.search import Search
from tuner.search.study import Asked, Axis, Changes, Ending, Note, Phase, Session, Step, Study
from tuner.space.knob import Level
from tuner.space.knobs import knobs

TEXT = """\
name: small
release: {rsyslog: "8.2302", elasticsearch: "8.19"}
inputs: [{type: imptcp, port: 10514}]
main_queue: {size: 100000, workerThreads: 1}
outputs:
  - name: logs
    type: omelasticsearch
    servers: ["http://127.0.0.1:9200"]
    queue: {type: LinkedList, size: 50000, dequeueBatchSize: 1000, workerThreads: 1}
    index: {name: syslog, settings: {number_of_replicas: 0}}
"""
LOADED = parse_profile(TEXT, "small.yaml")
PROFILE = LOADED.profile
CHECKER = Checker(LOADED)
BUDGET_S = 1000.0
# An engine that starts soon: restarts for the pairs are affordable.
PACE = replace(NODE_PACE, start_s=5)
START_S = 20.0
ASKED = replace(
    HEADER,
    profile_text=TEXT,
    profile_path="small.yaml",
    profile_layers=(),
    budget_s=BUDGET_S,
    space=tuple(Axis.of(knob) for knob in knobs(PROFILE)),
)


Levels = Mapping[str, Level]
"""The levels of the settings that a point changes."""
MIB = 1024**2
WORKERS = "outputs[logs].queue.workerThreads"


def waves(levels: Levels) -> float:
    """A rate in which every setting matters a little (events per second)."""
    gain = 0.0
    for path, level in levels.items():
        gain += 0.1 * math.sin(len(path) + len(str(level)))
    return 50_000 * math.exp(gain)


def by_workers(gain: float) -> Callable[[Levels], float]:
    """A rate that grows by this share with each worker of the action."""
    return lambda levels: 50_000 * (1 + gain * (workers_in(levels) - 1))


def workers_in(levels: Levels) -> int:
    """The workers of the action."""
    return int(str(levels.get(WORKERS, 1)))


class Probe(Enum):
    """What is known of a machine's speed: nothing, what a probe sees of it, or what a probe shows
    that sees something else which varies as much."""

    NONE = "none"
    SEES = "sees"
    BLIND = "blind"


@dataclass(frozen=True)
class Machine:
    """A machine of varying speed, for `World.adds`: `sigma` is the standard deviation of what it
    adds to the logarithm of a rate, half of which lasts for two trials; `moved` is what settings
    add to the logarithm of what the probe's pieces take."""

    sigma: float
    probe: Probe
    seed: int = 0
    moved: Callable[[Levels], float] = lambda _: 0.0

    def __call__(self, asked: Asked, run: Measurement) -> Measurement:
        faster = self._speed("rate", asked.number)
        factor = math.exp(faster)
        run = replace(run, eps=run.eps * factor, eps_paid=run.eps_paid * factor)
        if self.probe is Probe.NONE:
            return run
        shown = faster if self.probe is Probe.SEES else self._speed("other", asked.number)
        # Both pieces together have the slope of the published runs.
        slower = self.moved(dict(asked.changes)) - shown / 2.4
        rng = random.Random(f"pieces {self.seed} {asked.number}")
        zlib_us, socket_us = (each * math.exp(slower + rng.gauss(0, 0.02)) for each in (900, 180))
        return replace(run, speed=Speed(zlib_us, socket_us))

    def _speed(self, what: str, number: int) -> float:
        each = [
            random.Random(f"{what} {self.seed} {at}").gauss(0, self.sigma)
            for at in (number, number + 1)
        ]
        return sum(each) / math.sqrt(2)


@dataclass
class World:
    """The pipeline and its clock: time passes only in trials.

    `rate` is the true rate of a point, `noise` the standard deviation of a trial's logarithm,
    `crashes` the share of the search's trials that fail, `loses` says which of them lose events,
    and `transient_failures`, those which stall whatever their settings.  A trial costs
    `computes_s` of the search's own and `overhead_s` beside its window; where it has other node
    settings `restart_s` and the share `cold` of its rate.  rsyslogd takes `rss_mib` MiB,
    `rss_allowed_mib` at most, and the 99th percentile of the freshness is `p99_s`.  `lasts_s` is
    what a trial really takes; `stop` hears of each before it runs, and may raise; `adds` says what
    else was measured.
    """

    now_s: float
    rate: Callable[[Levels], float] = waves
    noise: float = 0.03
    crashes: float = 0.05
    loses: Callable[[Asked], bool] = lambda _: False
    transient_failures: Callable[[Asked], bool] = lambda _: False
    computes_s: float = 0.0
    restart_s: float = 0.0
    cold: float = 0.0
    overhead_s: float = 2.0
    rss_mib: Callable[[Levels], float] = lambda _: 90.0
    rss_allowed_mib: float = math.inf
    p99_s: Callable[[Levels], float] = lambda _: 0.9
    lasts_s: float = 0.0
    stop: Callable[[Asked], None] = lambda _: None
    adds: Callable[[Asked, Measurement], Measurement] = lambda _, measurement: measurement
    seed: str = ""
    node: Changes = ()

    @property
    def farm(self) -> Farm:
        """This machine alone."""
        return FarmOfOne(self.measure)

    def measure(self, asked: Asked, _profile: Profile) -> Result:
        """What a trial shows; it follows from the settings and the number alone."""
        self.stop(asked)
        time.sleep(self.lasts_s)
        node = tuple(one for one in asked.changes if one[0].startswith("node."))
        restart_s = self.restart_s if node != self.node else 0.0
        self.node = node
        self.now_s += self.computes_s + restart_s
        rng = random.Random(f"{self.seed}{asked.number} {asked.changes}")
        if asked.phase is Phase.CHECK:
            fresh = paced(p99_s=self.p99_s(dict(asked.changes)))
            outcome: Result = failed() if self.loses(asked) else fresh
            total_s = asked.plan.warm_up_s + asked.plan.window_s + 2.0
        else:
            total_s = trial_seconds(asked.plan, self.overhead_s, NODE_PACE) + rng.random()
            outcome = self._saturated(asked, rng, restart_s)
        self.now_s += total_s
        return replace(outcome, total_s=total_s, spent=itemised(asked.plan, total_s, restart_s))

    def _saturated(self, asked: Asked, rng: random.Random, restart_s: float) -> Result:
        levels = dict(asked.changes)
        breaks = rng.random() < self.crashes and asked.changes and asked.phase is Phase.SEARCH
        eps = self.rate(levels) * math.exp(rng.gauss(0, self.noise))
        if self.transient_failures(asked):
            return replace(failed("no events for 10 s"), kind=FailureKind.STALLED)
        if self.loses(asked) or breaks:
            return failed()
        rss_mib = self.rss_mib(levels)
        if rss_mib > self.rss_allowed_mib:
            reason = f"rsyslogd used {rss_mib:.0f} MiB"
            rss_bytes = int(rss_mib * MIB)
            return replace(failed(reason), kind=FailureKind.GUARDRAIL, shipper_rss_bytes=rss_bytes)
        if restart_s > 0:
            eps *= 1 - self.cold
        return self.adds(asked, measured(eps, rss_mib=rss_mib))


@dataclass
class Rack:
    """Machines with a trial each at a time, and one clock, for what a `World` is one of.

    `fate` says of a trial that begins what becomes of it instead: lost after so many seconds, or
    never heard of again (infinitely many).
    """

    worlds: Mapping[str, World]
    fate: Callable[[Asked], tuple[float, Lost] | None] = lambda _: None
    now_s: float = START_S
    dropped: list[str] = field(default_factory=list)
    begun: list[Asked] = field(default_factory=list)
    _open: dict[int, tuple[float, Result | Lost]] = field(default_factory=dict)

    @property
    def machines(self) -> tuple[str, ...]:
        return tuple(self.worlds)

    @property
    def farm(self) -> Farm:
        return self

    def start(self, asked: Asked, profile: Profile) -> None:
        self.begun.append(asked)
        fate, world = self.fate(asked), self.worlds[asked.machine]
        if fate is None:
            world.now_s = self.now_s
            outcome: Result | Lost = world.measure(asked, profile)
            self._open[asked.number] = (world.now_s, outcome)
        else:
            self._open[asked.number] = (self.now_s + fate[0], fate[1])

    def wait(self, timeout_s: float) -> dict[int, Result | Lost]:
        until_s = min(ends_s for ends_s, _ in self._open.values())
        self.now_s = max(self.now_s, min(until_s, self.now_s + timeout_s))
        ended = {
            number: outcome
            for number, (ends_s, outcome) in self._open.items()
            if ends_s <= self.now_s
        }
        for number in ended:
            del self._open[number]
        return ended

    def drop(self, machine: str) -> None:
        self.dropped.append(machine)


def rack(count: int, **kinds: object) -> Rack:
    """So many machines that are alike but for their noise."""
    names = [f"lab{number}" for number in range(1, count + 1)]
    return Rack({name: World(START_S, seed=f"{name} ", **kinds) for name in names})  # type: ignore[arg-type]


def setup(world: World | Rack, *, seed: int = 1, name: str = "random") -> Setup:
    """A search of this world without a journal."""
    return Setup(
        record=record_of(ASKED, ()),
        candidates=Candidates(knobs(PROFILE), lambda _: PROFILE, CHECKER.is_valid),
        farm=world.farm,
        strategy=lambda space, sigma: strategy(name, space, seed, sigma),
        rng=random.Random(seed),
        used_s=lambda: world.now_s,
        pace=PACE,
    )


PLACES = (("candidates",), ("record", "study", "header", "options"))


def changed(asked: Setup, **parts: object) -> Setup:
    """A search with other parts, each in that of it which has one of the name."""
    for name, value in parts.items():
        asked = next(
            with_part(asked, place[:depth], name, value)
            for place in PLACES
            for depth in range(len(place) + 1)
            if hasattr(reduce(getattr, place[:depth], asked), name)
        )
    return asked


def with_part(noun: Any, place: Sequence[str], name: str, value: object) -> Any:
    """A copy in which the part at that place has another value of that name."""
    if not place:
        return replace(noun, **{name: value})
    part = with_part(getattr(noun, place[0]), place[1:], name, value)
    return replace(noun, **{place[0]: part})


def unheard(_search: Search, _step: Step) -> None:
    """Nobody looks."""


def search(
    folder: Path,
    world: World | Rack,
    *,
    seed: int = 1,
    name: str = "random",
    hear: Callable[[Search, Step], None] = unheard,
) -> Study:
    """Start the search of `folder`, or resume it, and run it to its end; `hear` gets each step."""
    has_begun = (folder / NAME).exists()
    record = recorded(folder) if has_begun else record_of(ASKED, ())
    world.now_s = max(world.now_s, record.spent_s)
    known = record.study.trials
    session = Session("now", os.getpid(), "0a1b2c3d", len(known), world.now_s, world.farm.machines)
    with reopened(folder) if has_begun else journal(folder, ASKED) as lines:
        lines.write(session)
        asked = replace(
            setup(world, seed=seed + len(known), name=name),
            record=record,
            begins=lambda asked: lines.write(Intent(asked, world.now_s)),
            ended=lines.write,
        )
        searching = Search(Runner(asked))
        ending = Ending.FAILED
        try:
            for step in searching.run():
                if isinstance(step, Note):
                    lines.write(step)
                hear(searching, step)
            ending = Ending.FINISHED
        except Interrupted:
            ending = Ending.INTERRUPTED
            raise
        finally:
            lines.write(Ended(ending, world.now_s))
    return read(folder)


if __name__ == "__main__":
    search(Path(sys.argv[1]), World(START_S, lasts_s=float(sys.argv[2])))
