"""What is to be found in which log: a confusion matrix over all, which docs/diagnose.md shows.

`python -m tests.diagnose.expected` writes its table into that page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.diagnose.logged import NAMES, diagnosed, settings_of, text_of
from tests.diagnose.public import PUBLIC
from tuner.diagnose.finding import Cause

PAGE = Path(__file__).parents[2] / "docs/diagnose.md"
_HEAD = "| finding | found in its own logs | in healthy logs | in other logs |"

# All that is found in each log, with the configuration at hand.
_OF_CASES: Mapping[str, set[Cause]] = {
    "healthy": set(),
    "healthy-legacy": set(),
    "healthy-reset": set(),
    "healthy-durable": set(),
    "healthy-ten-minutes": set(),
    # The main queue reached its lightDelayMark for a moment.
    "burst": set(),
    "slow-engine": {Cause.SLOW_OUTPUT},
    "slow-engine-reset": {Cause.SLOW_OUTPUT},
    "queue-full": {Cause.QUEUE_FULL, Cause.SLOW_OUTPUT},
    "enqueue-timeout": {Cause.QUEUE_FULL, Cause.SLOW_OUTPUT},
    "less-severe-discarded": {Cause.LESS_SEVERE, Cause.SLOW_OUTPUT},
    "refused-bulks": {Cause.REFUSED_BULKS},
    "refused-items": {Cause.REFUSED_BULKS},
    "retried-items": {Cause.REFUSED_DOCUMENTS},
    "engine-away": {Cause.UNREACHABLE, Cause.SENT_AGAIN},
    "engine-away-gives-up": {Cause.UNREACHABLE, Cause.GIVEN_UP},
    "transport-errors": {Cause.UNREACHABLE, Cause.SENT_AGAIN},
    "connection-reset": {Cause.UNREACHABLE, Cause.SENT_AGAIN},
    "frozen-engine": {Cause.STANDS_STILL},
    "forward-away": {Cause.STANDS_STILL},
    "no-action-queue": {Cause.DIRECT_OUTPUT, Cause.SENDERS_SLOWED},
    "to-disk": {Cause.SLOW_OUTPUT, Cause.ON_DISK},
    "disk-queue": {Cause.DISK_QUEUE, Cause.SLOW_OUTPUT},
    "dynafile-cache": {Cause.DYNAFILES},
    "restarts": {Cause.RESTARTS},
    "in-band": {Cause.QUEUE_FULL, Cause.DIRECT_OUTPUT, Cause.COUNTERS_DELAYED},
    "local-socket-limit": {Cause.RATE_LIMIT},
    "workers-not-started": {Cause.SLOW_OUTPUT, Cause.FEW_WORKERS},
    "rebinds": {Cause.REBINDS},
}
# Where a release does otherwise, or the machine was slower than the case meant.
_OF_RELEASES: Mapping[str, set[Cause]] = {
    # Since 8.2606 a bulk that is refused with 429 is tried again.
    "8.2610/refused-bulks": {Cause.UNREACHABLE, Cause.SENT_AGAIN},
    # 55 events found the queue full before it began to write to disk.
    "8.2102/to-disk": {Cause.QUEUE_FULL, Cause.SLOW_OUTPUT, Cause.ON_DISK},
    # Its limit dropped nothing, the sink has all 5,000 events.
    "8.2102/local-socket-limit": set(),
    # So little came to the queue on disk that nothing waited in it, but before it.
    "8.2504/disk-queue": {Cause.DISK_QUEUE},
    "8.2610/disk-queue": {Cause.DISK_QUEUE},
}

OF_PUBLIC: Mapping[str, set[Cause]] = {
    "issue-4746": {Cause.SLOW_WORKERS},
    "issue-1284": {Cause.QUEUE_FULL, Cause.STANDS_STILL},
    "issue-785": {Cause.SLOW_WORKERS},
    "issue-4519": {Cause.QUEUE_FULL, Cause.STANDS_STILL},
    "issue-4869": {Cause.MEMORY},
    "issue-3917": set(),
    "issue-5256": {Cause.QUEUE_FULL, Cause.SLOW_WORKERS, Cause.DYNAFILES},
    "issue-3543": {Cause.SLOW_OUTPUT, Cause.ON_DISK},
    "issue-2646": {Cause.STANDS_STILL, Cause.ON_DISK},
}

# What only the settings show.
OF_SETTINGS = {Cause.FEW_WORKERS, Cause.SENDERS_SLOWED}


EXPECTED: Mapping[str, set[Cause]] = {
    name: _OF_RELEASES.get(name, _OF_CASES[name.rpartition("/")[2]]) for name in NAMES
}


@cache
def found_in(name: str) -> frozenset[Cause]:
    """The causes that are found in a log, with its configuration where there is one."""
    case = PUBLIC.get(name)
    made = diagnosed(text_of(name), settings_of(name)) if case is None else diagnosed(case.text)
    return frozenset(one.cause for one in made.findings)


def table() -> Iterator[str]:
    """The matrix: for each cause in how many logs it is found, of those that have it, of the
    healthy ones, and of all others."""
    every = {**EXPECTED, **OF_PUBLIC}
    healthy = [name for name, causes in every.items() if not causes]
    yield _HEAD
    yield "|---|---|---|---|"
    for cause in sorted(
        {one for causes in every.values() for one in causes}, key=lambda c: c.value
    ):
        own = [name for name, causes in every.items() if cause in causes]
        others = [name for name in every if name not in own and name not in healthy]
        cells = (
            f"{sum(cause in found_in(name) for name in names)} of {len(names)}"
            for names in (own, healthy, others)
        )
        yield f"| {cause.value} | {' | '.join(cells)} |"


def with_table(page: str) -> str:
    """The page with the matrix in the place of the one that is there."""
    before, _, rest = page.partition(_HEAD)
    return before + "\n".join(table()) + rest[rest.index("\n\n") :]


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
