"""Made-up counters: what no log in `logs/` has."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tuner.diagnose.course import courses
from tuner.diagnose.diagnosis import Diagnosed, diagnose
from tuner.diagnose.finding import ProductionFinding
from tuner.diagnose.settings import Settings
from tuner.modules.stats_rounds import StatsObject, StatsRound

Counters = Mapping[str, int]
World = Mapping[tuple[str, str], Callable[[int], Counters]]

ROUNDS, INTERVAL_S = 40, 10.0


USAGE = ("impstats", "resource-usage")


def made(
    world: World,
    settings: Settings | None = None,
    number: int = ROUNDS,
    every_s: float = INTERVAL_S,
) -> Diagnosed:
    """The diagnosis of rounds in which each object has the counters that a function of the round's
    number gives; the process uses half of nothing unless the world says so."""
    default: World = {USAGE: lambda n: {"utime": n, "stime": n, "maxrss": 9000, "openfiles": 20}}
    rounds = (
        StatsRound(
            n * INTERVAL_S,
            tuple(StatsObject(*key, dict(of(n))) for key, of in {**default, **world}.items()),
        )
        for n in range(number)
    )
    (one,) = diagnose(courses(rounds), settings or Settings())
    return one


def only(world: World, settings: Settings | None = None, number: int = ROUNDS) -> ProductionFinding:
    (found,) = made(world, settings, number).findings
    return found


def queue(came: int, left: int, start: int = 0) -> Callable[[int], Counters]:
    """A queue that `came` events enter in each round and `left` leave."""

    def of(n: int) -> Counters:
        size = start + n * (came - left)
        return {"size": size, "enqueued": n * came, "full": 0, "discarded.full": 0,
                "discarded.nf": 0, "maxqsize": max(size, start, 0)}  # fmt: skip

    return of


MAIN, ES = ("core.queue", "main Q"), ("core.queue", "es queue")
ACTION = ("core.action", "es")


def action(n: int) -> Counters:
    return {"processed": n * 1000, "failed": 0, "suspended": 0, "suspended.duration": 0}


CALM: World = {MAIN: queue(1000, 1000), ES: queue(1000, 1000), ACTION: action}
