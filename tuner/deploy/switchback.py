"""A switchback on production hosts: blocks of what runs and of the candidate, in which order, what
ends a block early, and what the blocks show; pure."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from tuner.deploy.block import BlockFigures, Side
from tuner.measure.switchback import (
    FEWEST_PAIRS,
    PairDifference,
    SwitchbackRatio,
    at_the_end,
    early,
    shown_by,
    sigma_of,
    slope_of,
)

_HALF_FULL = 0.5
_MOST_BREACHES = 2
# What a switch takes beside its block: SSH, the check of the configuration, the restart.
_SWITCH_S = 5.0


@dataclass(frozen=True)
class TrialDesign:
    """How a trial is cut into time: `alone` blocks of A, then `pairs` of one block of each side; a
    block begins with `burn_in_s` that are not counted, because connections, queues and caches are
    those of the side before.  A block of B restores A by itself `margin_s` after its end.  Where it
    `is_together`, all hosts have the same side at one time.  In a duet both sides run in each
    block, and a pair is one block."""

    pairs: int
    block_s: float = 600.0
    burn_in_s: float = 60.0
    alone: int = 4
    poll_s: float = 15.0
    margin_s: float = 60.0
    seed: int = 0
    is_together: bool = False
    is_duet: bool = False

    @property
    def silence_s(self) -> float:
        """How long a host may count nothing: half of what counts of a block."""
        return (self.block_s - self.burn_in_s) / 2

    @property
    def total_s(self) -> float:
        """About how many seconds it takes."""
        return self.alone * self.block_s + self.pairs * self.pair_s

    @property
    def pair_s(self) -> float:
        """About how many seconds a pair takes, with its two switches."""
        return (1 if self.is_duet else 2) * (self.block_s + _SWITCH_S)

    @property
    def restarts(self) -> int:
        """Restarts of rsyslogd on each host: to B and back in each pair, of a duet once."""
        return 2 if self.is_duet else 2 * self.pairs

    def order(self, pair: int, hosts: Sequence[str]) -> dict[str, tuple[Side, Side]]:
        """The sides of each host in a pair: of several hosts half begin with A, so that the hour is
        the same for both sides, unless all go together; which half is drawn for each pair."""
        drawn = random.Random(f"{self.seed}:{pair}")
        shuffled = drawn.sample(list(hosts), len(hosts))
        first, second = drawn.sample([Side.A, Side.B], 2)
        if self.is_together:
            return dict.fromkeys(hosts, (first, second))
        return {
            host: (first, second) if at % 2 == 0 else (second, first)
            for at, host in enumerate(shuffled)
        }


def pairs_within(for_s: float, design: TrialDesign, most_restarts: int | None = None) -> int:
    """How many pairs fit a time, and a number of restarts on each host."""
    fit = int((for_s - design.alone * design.block_s) // design.pair_s)
    return max(0, fit if most_restarts is None else min(fit, most_restarts // 2))


class TrialGuard(Enum):
    """What ends a block of B."""

    DISCARDED = "events discarded"
    FAILED = "attempts that failed"
    REJECTED = "bulk items rejected by the engine"
    AWAY = "seconds with an output away"
    QUEUE = "share of a queue"
    MEMORY = "bytes of memory"
    DROPPED = "datagrams dropped by the kernel"


# The engine's state, not the candidate's, explains them where A has them just afterwards, too.
OF_THE_ENGINE = frozenset({TrialGuard.FAILED, TrialGuard.REJECTED, TrialGuard.AWAY})


@dataclass(frozen=True)
class Breach:
    """A guard that a block of B broke: on which host, in which pair, by which figure, above what A
    had at its worst."""

    host: str
    pair: int
    guard: TrialGuard
    figure: float
    limit: float

    def __str__(self) -> str:
        return (
            f"{self.host}, pair {self.pair + 1}: {self.guard.value}: {_amount(self.figure)}, "
            f"A at its worst {_amount(self.limit)}"
        )


def _amount(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.3g}"


def breach_of(
    host: str, pair: int, seen: BlockFigures, before: Sequence[BlockFigures], most_bytes: int | None
) -> Breach | None:
    """The first guard that the block of B breaks, by what A's blocks before it had at worst."""
    for guard, name in _FIGURES.items():
        figure = float(getattr(seen, name))
        limit = max((float(getattr(block, name)) for block in before), default=0.0)
        if guard is TrialGuard.QUEUE:
            limit = max(limit, _HALF_FULL)
        if guard is TrialGuard.MEMORY:
            if most_bytes is None:
                continue
            limit = float(most_bytes)
        if figure > limit:
            return Breach(host, pair, guard, figure, limit)
    return None


_FIGURES: Mapping[TrialGuard, str] = {
    TrialGuard.DISCARDED: "discarded",
    TrialGuard.FAILED: "failed",
    TrialGuard.REJECTED: "rejected",
    TrialGuard.AWAY: "away_s",
    TrialGuard.QUEUE: "queue_share",
    TrialGuard.MEMORY: "memory_bytes",
    TrialGuard.DROPPED: "udp_drops",
}


@dataclass(frozen=True)
class TrialBlock:
    """A block that counts: the host, the pair (None before B ever ran), the side, when it began in
    seconds since 1970, and its figures without the burn-in."""

    host: str
    pair: int | None
    side: Side
    begin: float
    figures: BlockFigures


@dataclass(frozen=True)
class TrialRestart:
    """What a restart of a host's rsyslogd cost: seconds until it listened again, datagrams that
    found no socket meanwhile, and events that waited in its queues before."""

    host: str
    away_s: float
    datagrams: int
    waiting: int


@dataclass(frozen=True)
class EngineBlock:
    """What the engine spent while all hosts were on one side: CPU seconds of all nodes, for
    whatever they did, and the events of the hosts; its bulk operations, one for each request and
    shard, and the seconds that they took, 0 where it does not count them."""

    pair: int
    side: Side
    cpu_s: float
    events: int
    seconds: float
    bulks: int = 0
    bulk_s: float = 0.0


@dataclass(frozen=True)
class MarkFigures:
    """What became of the marks that were sent while the hosts had a side: how many were handed
    over and how many a host did not take; how many no search found within a minute, and how many
    it may still find; how many are there more than once in one index, None where not all were
    searched for at the end; and the seconds until they were found, to a second (median and 99th
    percentile), None where none was."""

    side: Side
    sent: int
    refused: int
    lost: int
    pending: int
    doubled: int | None
    median_s: float | None
    p99_s: float | None


class TrialClaim(Enum):
    """What a trial may say of the candidate."""

    LESS = "less CPU per event"
    MORE = "more CPU per event"
    NOT_SHOWN = "no difference shown"
    FAILED = "the candidate failed"
    ENDED = "the trial was ended"
    TOO_SHORT = "too short to show anything"


@dataclass(frozen=True)
class LabFigure:
    """What a search in a lab had shown of the candidate: rsyslogd's CPU per event of B over A, with
    its 95 % interval."""

    ratio: float
    low: float
    high: float


class LabHolds(Enum):
    """Whether production shows what the lab had, by the two intervals."""

    YES = "the lab holds"
    LESS_HERE = "the lab promised more than the hosts show"
    MORE_HERE = "the hosts show more than the lab promised"


@dataclass(frozen=True)
class Switchback:
    """All that a trial has shown so far: its design, the hosts, the blocks that count, the breaches
    of B, and why it was `ended` before its time, if it was; what a `lab` had shown of it, what the
    restarts cost, what the `engine` spent, and what became of `marks`, for each session of it."""

    design: TrialDesign
    hosts: tuple[str, ...]
    blocks: tuple[TrialBlock, ...] = ()
    breaches: tuple[Breach, ...] = ()
    begun: int = 0
    ended: str = ""
    void: tuple[str, ...] = ()
    lab: LabFigure | None = None
    restarts: tuple[TrialRestart, ...] = ()
    engine: tuple[EngineBlock, ...] = ()
    marks: tuple[MarkFigures, ...] = ()

    @property
    def lab_holds(self) -> LabHolds | None:
        """Whether the hosts show what the lab had; None where one of them shows nothing."""
        lab, here = self.lab, self.ratio
        if lab is None or here is None:
            return None
        if here.low > lab.high:
            return LabHolds.LESS_HERE
        return LabHolds.MORE_HERE if here.high < lab.low else LabHolds.YES

    def of_a(self, host: str) -> tuple[BlockFigures, ...]:
        """All blocks of A on a host."""
        return tuple(b.figures for b in self.blocks if b.host == host and b.side is Side.A)

    @cached_property
    def noise(self) -> tuple[float, float]:
        """From the blocks before B: the slope of CPU per event over load, and the standard
        deviation of a pair's difference; NaN where that is not known."""
        slopes, sigmas = [], []
        for host in self.hosts:
            alone = [b.figures for b in self.blocks if b.host == host and b.pair is None]
            measured = [block for block in alone if block.is_measured]
            figures = [block.cpu_us for block in measured]
            loads = [block.per_second for block in measured]
            slope = slope_of(figures, loads)
            slopes.append(slope)
            sigmas.append(sigma_of(figures, loads, slope))
        # Hosts of one pair are averaged.
        return statistics.fmean(slopes), statistics.fmean(sigmas) / math.sqrt(len(self.hosts))

    @cached_property
    def differences(self) -> tuple[PairDifference, ...]:
        """B over A in each pair that is whole on every host, averaged over the hosts."""
        return tuple(self._differences())

    def _differences(self) -> Iterator[PairDifference]:
        whole = {(b.pair, b.host, b.side): b.figures for b in self.blocks if b.pair is not None}
        for pair in sorted({block.pair for block in self.blocks if block.pair is not None}):
            sides = [
                (whole.get((pair, host, Side.A)), whole.get((pair, host, Side.B)))
                for host in self.hosts
            ]
            pairs = [
                (a, b) for a, b in sides
                if a is not None and b is not None and a.is_measured and b.is_measured
            ]  # fmt: skip
            if len(pairs) == len(self.hosts):
                yield PairDifference(
                    statistics.fmean(math.log(b.cpu_us / a.cpu_us) for a, b in pairs),
                    statistics.fmean(math.log(b.per_second / a.per_second) for a, b in pairs),
                )

    @property
    def failed(self) -> TrialGuard | None:
        """The guard that B broke twice."""
        broken = [breach.guard for breach in self.breaches]
        return next((guard for guard in broken if broken.count(guard) >= _MOST_BREACHES), None)

    @cached_property
    def looked(self) -> SwitchbackRatio | None:
        """What may be said at any moment; None with too few pairs, or where nothing is known of the
        noise.  A duet is judged at its end alone: what holds at any moment rests on a drawn
        order."""
        if self.design.is_duet:
            return None
        slope, sigma = self.noise
        if len(self.differences) < FEWEST_PAIRS or math.isnan(sigma):
            return None
        return early(self.differences, slope, sigma)

    @property
    def is_over(self) -> bool:
        """Whether no further pair is wanted."""
        looked = self.looked
        is_shown = looked is not None and (looked.shows_less or looked.shows_more)
        is_done = self.begun >= self.design.pairs
        return bool(self.ended) or self.failed is not None or is_shown or is_done

    @cached_property
    def ratio(self) -> SwitchbackRatio | None:
        """CPU per event of B over A, as far as it may be said; None with too few pairs."""
        looked = self.looked
        if looked is not None and (looked.shows_less or looked.shows_more):
            return looked
        if self.begun < self.design.pairs:
            # It ended on its own, or by other hands: only what holds at any moment may be said.
            return looked
        if len(self.differences) < FEWEST_PAIRS:
            return None
        return at_the_end(self.differences, 0.0 if self.design.is_duet else self.noise[0])

    @cached_property
    def engine_ratio(self) -> SwitchbackRatio | None:
        """The engine's CPU per event of B over A at the end; None with too few pairs.  What the
        load explains is taken off where the pairs show it."""
        spent = {(block.pair, block.side): block for block in self.engine}
        pairs = []
        for pair in sorted({pair for pair, _ in spent}):
            a, b = (spent.get((pair, side)) for side in (Side.A, Side.B))
            if a and b and min(a.cpu_s, b.cpu_s, a.events, b.events) > 0:
                cost = math.log(b.cpu_s / b.events * a.events / a.cpu_s)
                load = math.log(b.events / b.seconds * a.seconds / a.events)
                pairs.append(PairDifference(cost, load))
        return at_the_end(pairs, 0.0) if len(pairs) >= FEWEST_PAIRS else None

    @property
    def claim(self) -> TrialClaim:
        """What may be said of the candidate."""
        ratio = self.ratio
        if self.failed is not None:
            return TrialClaim.FAILED
        if ratio is not None and ratio.shows_less:
            return TrialClaim.LESS
        if ratio is not None and ratio.shows_more:
            return TrialClaim.MORE
        if self.ended:
            return TrialClaim.ENDED
        return TrialClaim.TOO_SHORT if ratio is None else TrialClaim.NOT_SHOWN

    @property
    def detects(self) -> float | None:
        """The smallest change of CPU per event that the planned pairs show, by the noise so far."""
        return shown_by(self.design.pairs, self.noise[1])
