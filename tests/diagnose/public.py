"""Public questions with a known answer, rebuilt from the figures that were quoted there: what the
counters said first and last, and evenly in between.  `https://github.com/rsyslog/rsyslog/issues/N`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Ends = Mapping[str, Mapping[str, tuple[float, ...]]]
"""Of each object, `name: origin`, each counter in the order of rounds; fewer values than rounds are
spread evenly, and what lies between two is on the line between them."""


@dataclass(frozen=True)
class PublicCase:
    """The objects of a number of rounds, every `interval_s`; `answer` is what was found there."""

    answer: str
    objects: Ends
    rounds: int
    interval_s: int = 10

    @property
    def text(self) -> str:
        """A file of impstats' in the format legacy."""
        return "".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for number in range(self.rounds):
            head = time.ctime(1_700_000_000 + number * self.interval_s)
            for name, counters in self.objects.items():
                said = " ".join(
                    f"{key}={round(_at(values, number / (self.rounds - 1)))}"
                    for key, values in counters.items()
                )
                yield f"{head}: {name} {said} \n"


def _at(values: tuple[float, ...], part: float) -> float:
    place = part * (len(values) - 1)
    first = min(int(place), len(values) - 2) if len(values) > 1 else 0
    if len(values) == 1:
        return values[0]
    return values[first] + (values[first + 1] - values[first]) * (place - first)


def queue(size: tuple[float, ...], enqueued: tuple[float, ...], full: tuple[float, ...] = (0,),
          discarded: tuple[float, ...] = (0,)) -> Mapping[str, tuple[float, ...]]:  # fmt: skip
    return {
        "size": size, "enqueued": enqueued, "full": full, "discarded.full": discarded,
        "discarded.nf": (0,), "maxqsize": (max(size),),
    }  # fmt: skip


def action(processed: tuple[float, ...]) -> Mapping[str, tuple[float, ...]]:
    return {"processed": processed, "failed": (0,), "suspended": (0,), "suspended.duration": (0,)}


def usage(cpu_us: float, kib: float) -> Mapping[str, tuple[float, ...]]:
    return {"utime": (0, cpu_us), "stime": (0, 0), "maxrss": (kib,), "openfiles": (17,)}


PROCESS = "resource-usage: origin=impstats"
MAIN = "main Q: origin=core.queue"

PUBLIC: Mapping[str, PublicCase] = {
    "issue-4746": PublicCase(
        "one worker of the ruleset's queue is at its limit, the engine is not",
        {
            "action-0-omelasticsearch: origin=core.action": action((0, 242_794)),
            "imptcp(0.0.0.0/1514/IPv4): origin=imptcp": {"submitted": (0, 668_944)},
            PROCESS: usage(32_814_523, 881_320),
            "action-0-omelasticsearch queue: origin=core.queue": queue((0, 11_314), (0, 242_794)),
            "myruleset: origin=core.queue": queue((0, 429_128), (0, 668_944)),
        },
        rounds=4,
    ),
    "issue-1284": PublicCase(
        "workers hang in the kernel (state D), the main queue fills and discards",
        {
            MAIN: queue(
                (0, 0, 6657, 36_963, 66_137, 94_697, 100_000, 100_000),
                (28_432, 28_992, 28_567, 30_306, 29_174, 28_560, 5328, 30),
                (0, 0, 0, 0, 0, 0, 25, 30), (0, 0, 0, 0, 0, 0, 24, 30),
            ),
        },
        rounds=8, interval_s=60,
    ),
    "issue-785": PublicCase(
        "the workers of the main queue, not omkafka, are slower than 3,500 events a second",
        {
            "action 0: origin=core.action": action((0, 3_719_772)),
            "imudp(*:1314): origin=imudp": {"submitted": (0, 7_957_563)},
            PROCESS: usage(2_142_307_509, 5_304_632),
            "action 0 queue[DA]: origin=core.queue": queue((0,), (0,)),
            "action 0 queue: origin=core.queue": queue((1,), (0, 3_719_771)),
            "main Q[DA]: origin=core.queue": queue((0,), (0,)),
            MAIN: queue((0, 4_237_790), (0, 7_957_563)),
        },
        rounds=40, interval_s=60,
    ),
    "issue-4519": PublicCase(
        "the receiver takes nothing: its queue is full and discards, and 40,000 lines of large "
        "files wait in the main queue",
        {
            "action-0-builtin:omfwd: origin=core.action": action((0, 119_590)),
            PROCESS: usage(12_000_000, 93_832),
            "action-0-builtin:omfwd queue: origin=core.queue": queue(
                (1000,), (0, 119_590), (0, 119_590), (0, 119_590)
            ),
            MAIN: queue((40_298, 40_510), (0, 119_800)),
        },
        rounds=11,
    ),
    "issue-4869": PublicCase(
        "imuxsock keeps a rate limiter for each process and frees none",
        {
            "imuxsock: origin=imuxsock": {
                "submitted": (13_749, 231_401), "ratelimit.discarded": (0,),
                "ratelimit.numratelimiters": (137, 2007),
            },
            "action-0-builtin:omfwd: origin=core.action": action((13_749, 231_401)),
            PROCESS: usage(6_757_980, 5700),
            "action-0-builtin:omfwd queue: origin=core.queue": queue((0,), (13_749, 231_401)),
            MAIN: queue((0,), (13_749, 231_401)),
        },
        rounds=26,
    ),
    "issue-3917": PublicCase(
        "local programs send without waiting, and their socket is full at times: no counter",
        {
            "imuxsock: origin=imuxsock": {"submitted": (0, 15_940), "ratelimit.discarded": (0,)},
            "collector-1: origin=core.action": action((0, 15_934)),
            "collector-2: origin=core.action": action((0, 15_934)),
            PROCESS: usage(3_844_240, 5764),
            "collector-1 queue: origin=core.queue": queue((0,), (0, 15_934)),
            "collector-2 queue: origin=core.queue": queue((0,), (0, 15_934)),
            MAIN: queue((0,), (0, 15_940)),
        },
        rounds=12,
    ),
    "issue-5256": PublicCase(
        "1,200 files without queues are too slow (their dynaFile cache was too small), the main "
        "queue stands full and discards",
        {
            "action-1183-builtin:omfile: origin=core.action": action((0, 800_000)),
            "imudp(*/514/IPv4): origin=imudp": {"submitted": (0, 782_880), "disallowed": (0,)},
            MAIN: queue((2_000_000,), (0, 800_190), (0, 230), (0, 190)),
            "dynafile cache WinterDynaFile: origin=omfile": {
                "requests": (0, 147_840), "level0": (0, 101_610), "missed": (0, 8120),
                "evicted": (0, 8120), "maxused": (0,),
            },
        },
        rounds=11,
    ),
    "issue-3543": PublicCase(
        "a million events take two minutes from memory and eight from the part on disk",
        {
            "es: origin=core.action": action((0, 1_000_000, 1_000_000, 1_000_000, 1_000_000)),
            PROCESS: usage(60_000_000, 200_000),
            "es queue[DA]: origin=core.queue": queue(
                (0, 700_000, 466_666, 233_333, 0), (0, 750_000, 750_000, 750_000, 750_000)
            ),
            "es queue: origin=core.queue": queue(
                (0, 50_000, 0, 0, 0), (0, 1_000_000, 1_000_000, 1_000_000, 1_000_000)
            ),
            MAIN: queue((0,), (0, 1_000_000, 1_000_000, 1_000_000, 1_000_000)),
        },
        rounds=49,
    ),
    "issue-2646": PublicCase(
        "after a restart nothing reads the part on disk while the part in memory is empty",
        {
            "forward: origin=core.action": action((0,)),
            PROCESS: usage(1_000_000, 9000),
            "forward queue[DA]: origin=core.queue": queue((1_000_000,), (0,)),
            "forward queue: origin=core.queue": queue((0,), (0,)),
            MAIN: queue((0,), (0,)),
        },
        rounds=30, interval_s=60,
    ),
}  # fmt: skip
