"""A pipeline that can be computed: rsyslog into an engine, with a known optimum.

Stages in a row (inputs, main queue, action, engine), each with a capacity; the slowest decides, not
quite sharply.  It has the traps of the real one: cliffs (rejections when too many bulks are under
way, memory), conditional knobs, special values, work deferred past a short window, cold starts
after a node restart, drift, heavy-tailed noise and crashes.  `variant` draws other machines.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tuner.search.space import Dimension, Floats, Observation, Point, Space

Points = NDArray[np.int64]
Settings = Mapping[str, Floats]
"""The levels of points by the names of the knobs."""

LEVELS: dict[str, tuple[float, ...]] = {
    "input threads": (1, 2, 4),
    "main batch": (64, 256, 1024, 2048, 4096, 8192),
    "main workers": (1, 2, 4, 8),
    "action queue": (0, 1, 2),  # direct, in memory, on disk
    "action queue size": (1e3, 1e4, 5e4, 2e5, 1e6),
    "action batch": (16, 64, 256, 512, 1024, 2048, 4096, 8192, 16384),
    "action workers": (1, 2, 3, 4, 6, 8, 12),
    "shortest batch": (0, 64, 256, 1024),
    "filter path": (0, 1),
    "parser": (0, 1, 2),
    "refresh": (0, 1, 5, 15, 30, 60),  # 0: never
    "shards": (1, 2, 4),
    "codec": (0, 1),
    "flush threshold": (128, 256, 512, 1024, 2048),
    "merge threads": (1, 2, 4),
    "index buffer": (0.1, 0.2, 0.3, 0.4),
    "heap": (1, 2, 4),
}
NAMES = tuple(LEVELS)
_UNORDERED = {"action queue", "filter path", "parser", "codec"}
_SPECIAL = {"refresh": frozenset({0}), "shortest batch": frozenset({0})}
_NODE = ("index buffer", "heap")
_IN_A_QUEUE = ((NAMES.index("action queue"), frozenset({1, 2})),)
_NEEDS = {"action queue size": _IN_A_QUEUE, "shortest batch": _IN_A_QUEUE}
_START = {"action queue": 1, "action queue size": 2, "action batch": 4, "action workers": 1}
_START |= {"refresh": 1, "flush threshold": 2, "heap": 1, "main batch": 1, "input threads": 1}
_ACTION = ("action queue", "action queue size", "action batch", "action workers")
_STAGES = (
    ("input threads",),
    ("main batch", "main workers", "parser"),
    (*_ACTION, "shortest batch", "filter path"),
    (
        *_ACTION[2:],
        "refresh",
        "shards",
        "codec",
        "flush threshold",
        "merge threads",
        *sorted(_NODE),
    ),
)
TRIAL_S, RESTART_S, COLD = 12.0, 25.0, 0.12


@dataclass(frozen=True)
class Troubles:
    """What makes measuring hard: standard deviations and shares, all of the logarithm.

    `verdict` is how often a trial names the slowest stage rightly, 0 when it names none.
    """

    sigma: float = 0.05
    drift: float = 0.0
    heavy: float = 0.0
    crashes: float = 0.0
    cold: bool = False
    deferral: bool = False
    verdict: float = 0.0


@dataclass(frozen=True)
class Machine:
    """What differs between the machines a variant draws."""

    receive: float
    process: float
    send: float
    index: float
    bulk_overhead: float
    contention: float
    pool: float
    memory_mb: float
    parser: tuple[float, ...]

    @classmethod
    def drawn(cls, variant: int) -> Machine:
        rng = np.random.default_rng([77, variant])
        one = rng.uniform
        parser = (1.0, *one(0.8, 1.3, 2).tolist())
        return cls(
            receive=one(60e3, 140e3), process=one(35e3, 80e3), send=one(14e3, 40e3),
            index=one(50e3, 130e3), bulk_overhead=one(30, 250), contention=one(0.02, 0.12),
            pool=one(12e3, 50e3), memory_mb=one(1300, 3500), parser=parser,
        )  # fmt: skip


@dataclass(frozen=True)
class Pipeline:
    """The simulated pipeline of one machine."""

    variant: int = 0
    cores: float = 4.0
    machine: Machine = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "machine", Machine.drawn(self.variant))

    def space(self, start: Point | None = None) -> Space:
        """Its knobs; every point is valid, some fail."""
        dimensions = tuple(
            Dimension(
                name,
                len(levels),
                name not in _UNORDERED,
                start=_START.get(name, 0) if start is None else start[at],
                special=_SPECIAL.get(name, frozenset()),
                needs=_NEEDS.get(name, ()),
                move_s=RESTART_S if name in _NODE else 0.0,
            )
            for at, (name, levels) in enumerate(LEVELS.items())
        )
        return Space(dimensions, is_valid=lambda _: True, trial_s=TRIAL_S)

    def log_eps(self, points: Points) -> Floats:
        """The true logarithm of EPS."""
        of = _values(points)
        cliffs = self._cliffs(of["action workers"] * of["action batch"], of["heap"])
        return carried(self._stages(of)) + cliffs

    def _stages(self, of: Settings) -> Floats:
        """What each stage carries, in the order of `_STAGES`."""
        return np.stack([*self._before_actions(of), self._sent(of), self._indexed(of)])

    def _before_actions(self, of: Settings) -> tuple[Floats, Floats]:
        """What the inputs and the main queue carry."""
        m = self.machine
        received = m.receive * _scaled(of["input threads"], 0.1)
        per_parser = np.array(m.parser)[of["parser"].astype(int)]
        batching = of["main batch"] / (of["main batch"] + 80)
        processed = (
            m.process * per_parser * batching * _scaled(of["main workers"], m.contention * 2)
        )
        return received, np.asarray(processed)

    def _mattering(
        self, row: Points, troubles: Troubles, rng: np.random.Generator
    ) -> frozenset[int] | None:
        """The knobs of the slowest stage; of any stage where the verdict errs."""
        if troubles.verdict == 0.0:
            return None
        slowest = int(np.argmin(self._stages(_values(row))[:, 0]))
        wrong = rng.uniform() > troubles.verdict
        stage = _STAGES[int(rng.integers(len(_STAGES))) if wrong else slowest]
        return frozenset(NAMES.index(name) for name in stage)

    def headroom(self, points: Points) -> Floats:
        """The logarithm of the memory allowed over the memory used; below 0 the trial fails."""
        of = _values(points)
        return self._left_of_memory(of, queued_mb(of))

    def _left_of_memory(self, of: Settings, queues_mb: Floats) -> Floats:
        used = 150 + queues_mb + 300 * of["heap"] + of["main workers"] * 10
        return np.asarray(np.log(self.machine.memory_mb / used))

    @cached_property
    def optimum(self) -> tuple[Point, float]:
        """The best point that keeps to the memory: coordinate search, two knobs at once."""
        rng = np.random.default_rng(5)
        sizes = self.space().sizes
        best, value = self.space().start, -math.inf
        for start in rng.integers(sizes, size=(24, len(sizes))):
            point, reached = self._climbed(start)
            if reached > value:
                best, value = point, reached
        return best, value

    def trial(
        self, point: Point, troubles: Troubles, rng: np.random.Generator, at_s: float,
        before: Point | None = None, long: bool = False,
    ) -> Observation:  # fmt: skip
        """What measuring `point` shows at that time; `before` is the point measured last."""
        row = np.array([point])
        value, headroom = float(self.log_eps(row)[0]), float(self.headroom(row)[0])
        margins = (("memory", headroom),)
        normal, uniform = rng.standard_normal(), rng.uniform(size=3)
        if headroom < 0 or uniform[0] < troubles.crashes:
            return Observation(point, math.nan, troubles.sigma, at_s, False, margins)
        value += troubles.sigma * normal + troubles.drift * math.sin(at_s / 700 + self.variant)
        value += math.log(0.5 + 0.3 * uniform[2]) if uniform[1] < troubles.heavy else 0.0
        restarts = before is not None and self._restarts(before, point)
        if troubles.cold and restarts:
            value -= COLD
        if troubles.deferral and not long:
            value += self._deferred(point)
        matters = self._mattering(row, troubles, rng)
        moved_s = RESTART_S if restarts else 0.0
        return Observation(point, value, troubles.sigma, at_s, True, margins, matters, moved_s)

    def _sent(self, of: Settings) -> Floats:
        m = self.machine
        replies = np.where(of["filter path"] == 1, 0.4, 1.0)
        bulk = of["action batch"]
        waits = np.where(of["shortest batch"] > 0, np.minimum(of["shortest batch"], bulk), bulk / 8)
        filled = np.where(of["action queue"] == 0, np.minimum(bulk, of["main batch"]), bulk)
        filled = np.maximum(np.minimum(filled, 4 * waits + 32), 1)
        each = m.send * filled / (filled * (0.6 + 0.4 * replies) + m.bulk_overhead)
        each = np.where(of["action queue"] == 2, np.minimum(each, 9e3), each)
        room = of["action queue size"] / (of["action queue size"] + 2 * bulk)
        many = np.where(of["action queue"] == 0, of["main workers"], of["action workers"])
        alone = np.where(of["action queue"] == 0, 0.45, room)
        return np.asarray(each * alone * _scaled(many, 0.06))

    def _indexed(self, of: Settings) -> Floats:
        return self._usable(at_once(of)) * self._indexed_one_by_one(of)

    def _usable(self, requests: Floats) -> Floats:
        """What the engine makes of so many requests at once."""
        usable = requests / (1 + self.machine.contention * np.maximum(requests - 1, 0)) / 3
        return np.asarray(np.minimum(usable, 1.6))

    def _indexed_one_by_one(self, of: Settings) -> Floats:
        m = self.machine
        refresh = np.where(of["refresh"] == 0, 1.0, of["refresh"] / (of["refresh"] + 0.35))
        bulk = of["action batch"] / (of["action batch"] + 100)
        codec = np.where(of["codec"] == 1, 0.9, 1.0)
        flush = of["flush threshold"] ** 0.04 / 1.3
        merge = np.where(of["merge threads"] > of["shards"], 0.95, 1.0)
        buffer = (of["index buffer"] * of["heap"]) ** 0.08
        shards = np.where(of["shards"] == 4, 0.93, 1.0)
        return np.asarray(m.index * refresh * bulk * codec * flush * merge * buffer * shards)

    def _cliffs(self, under_way: Floats, heap: Floats) -> Floats:
        """Rejected bulks are sent again and again once too many events are under way."""
        over = under_way / (self.machine.pool * heap)
        return np.asarray(np.where(over > 1, -0.4 - 0.2 * np.log(np.maximum(over, 1)), 0.0))

    def _deferred(self, point: Point) -> float:
        return float(deferred(_values(np.array([point])))[0])

    def _restarts(self, before: Point, point: Point) -> bool:
        return any(before[NAMES.index(name)] != point[NAMES.index(name)] for name in _NODE)

    def _climbed(self, start: Points) -> tuple[Point, float]:
        space, point, value = self.space(), start, -math.inf
        while True:
            beside = space.canonical(within_two(point, space.sizes))
            values = np.where(self.headroom(beside) >= 0, self.log_eps(beside), -np.inf)
            at = int(np.argmax(values))
            if values[at] <= value + 1e-12:
                return tuple(int(level) for level in point), value
            point, value = beside[at], float(values[at])


def carried(stages: Floats) -> Floats:
    """The logarithm of what stages in a row carry: not quite sharply what the slowest does."""
    return np.asarray(-np.log((stages**-6.0).sum(axis=0)) / 6)


def deferred(of: Settings) -> Floats:
    """What a short window gains by work that is put off past it, as a logarithm."""
    return np.asarray(0.08 * (of["refresh"] == 0) + 0.04 * (of["flush threshold"] >= 1024))


def at_once(of: Settings) -> Floats:
    """How many requests the engine works on at once."""
    return np.asarray(np.maximum(of["action workers"], 1) * of["shards"] ** 0.4)


def queued_mb(of: Settings) -> Floats:
    queued = np.where(of["action queue"] == 1, of["action queue size"] * 0.0012, 20)
    return np.asarray(queued + of["action batch"] * of["action workers"] * 0.003)


def _values(points: Points) -> dict[str, Floats]:
    """The levels of points by the names of the knobs."""
    return {
        name: np.array(levels)[points[:, at]] for at, (name, levels) in enumerate(LEVELS.items())
    }


def _scaled(many: Floats, contention: float) -> Floats:
    """Gunther's universal scalability law, without its coherence term's own knob."""
    return np.asarray(many / (1 + contention * (many - 1) + contention / 8 * many * (many - 1)))


def within_two(point: Points, sizes: Points) -> Points:
    rows = [point]
    for at, size in enumerate(sizes):
        for level in range(int(size)):
            one = point.copy()
            one[at] = level
            rows.append(one)
            for beside in range(at + 1, len(sizes)):
                many = np.repeat(one[np.newaxis], int(sizes[beside]), axis=0)
                many[:, beside] = np.arange(int(sizes[beside]))
                rows.extend(many)
    return np.array(rows)
