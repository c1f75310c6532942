"""From which count on something is a finding: one less is none."""

from __future__ import annotations

import pytest

from tests.diagnose.worlds import CALM, MAIN, ROUNDS, World, made, queue
from tuner.diagnose.finding import Cause
from tuner.diagnose.settings import QueueSettings, Settings
from tuner.modules.queue import Place, Queue, resolve
from tuner.schema.numerals import counted


def causes(world: World, settings: Settings | None = None) -> set[Cause]:
    return {one.cause for one in made(world, settings).findings}


@pytest.mark.parametrize(
    ("requests", "missed", "evicted", "is_told"),
    [
        (2000, 100, 1, True), (2000, 99, 1, False), (2000, 100, 0, False),
        (3, 3, 1, True), (2, 2, 1, False),
    ],
)  # fmt: skip
def test_files_that_are_closed_too_early(
    requests: int, missed: int, evicted: int, is_told: bool
) -> None:
    """At least 5 % of at least 100 events, by what is counted in each of 40 rounds."""
    cache = ("omfile", "dynafile cache path")
    world: World = {
        **CALM,
        cache: lambda n: {"requests": requests * n, "missed": missed * n, "evicted": evicted * n},
    }
    assert (Cause.DYNAFILES in causes(world)) is is_told


@pytest.mark.parametrize(
    ("highest", "others", "is_told"),
    [(1000, 950, True), (999, 950, False), (1000, 749, True), (1000, 0, True)],
)
def test_senders_that_are_slowed(highest: int, others: int, is_told: bool) -> None:
    """The mark must be reached; rounds at 95 % of it are those that are told."""
    written = Queue.model_validate({"size": 2000, "lightDelayMark": 1000})
    settings = Settings({"main Q": QueueSettings("main_queue", resolve(written, Place.MAIN))})

    def main(n: int) -> dict[str, int]:
        size = highest if n == ROUNDS // 2 else others
        return {"size": size, "enqueued": 1000 * n, "full": 0, "maxqsize": highest}

    world: World = {**CALM, MAIN: main, ("imtcp", "imtcp"): lambda n: {"submitted": 1000 * n}}
    told = [one for one in made(world, settings).findings if one.cause is Cause.SENDERS_SLOWED]
    assert bool(told) is is_told
    if told:
        rounds = ROUNDS - 1 if others >= 950 else 1
        assert f"events in {counted(rounds, 'round')};" in told[0].evidence


@pytest.mark.parametrize(("missing", "is_told"), [(15, False), (25, True)])
def test_events_that_no_queue_saw(missing: int, is_told: bool) -> None:
    """More than 2 % of what inputs counted: as much may be on its way between the two."""

    def taken(n: int) -> dict[str, int]:
        return {**queue(1000, 1000)(n), "enqueued": (1000 - missing) * 1000 * n}

    world: World = {MAIN: taken, ("imtcp", "imtcp"): lambda n: {"submitted": 1_000_000 * n}}
    assert (Cause.RATE_LIMIT in causes(world)) is is_told
