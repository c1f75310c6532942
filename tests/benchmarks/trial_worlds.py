"""How often a trial in production is wrong, and how often it shows what is there: many trials in
each world of tests/deploy/worlds.

    python -m tests.benchmarks.trial_worlds [--trials 1000] [--worlds NAME ...]
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from tests.deploy.world import World, trial_in, worlds
from tuner.deploy.switchback import Switchback


def outcome(name: str, seed: int) -> tuple[str, bool | None, float, float | None]:
    """What a trial claimed, whether its interval covers the truth, its hours, and the smallest
    change that its plan promised to show."""
    world = worlds()[name]
    record = trial_in(world, seed)
    ratio = record.ratio
    covers = None
    if ratio is not None and world.allowed.covers:
        covers = ratio.low <= world.candidate.cost <= ratio.high
    return record.claim.name, covers, hours_of(record), record.detects


def hours_of(record: Switchback) -> float:
    """How long the blocks took."""
    return (record.design.alone + 2 * record.begun) * record.design.block_s / 3600


def wrongs(world: World, shares: dict[str, float]) -> Iterator[str]:
    """What a world does not allow."""
    for claim, least in world.allowed.least.items():
        if shares.get(claim, 0.0) < least:
            yield f"{claim} in {shares.get(claim, 0.0):.1%}, at least {least:.1%}"
    for claim, most in world.allowed.most.items():
        if shares.get(claim, 0.0) > most:
            yield f"{claim} in {shares.get(claim, 0.0):.1%}, at most {most:.1%}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--worlds", nargs="*", default=sorted(worlds()))
    options = parser.parse_args()
    sys.stdout.write("| world | claims | interval covers | hours | promised to show | |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n")
    with ProcessPoolExecutor() as processes:
        for name in options.worlds:
            seeds = range(options.trials)
            found = list(processes.map(partial(outcome, name), seeds, chunksize=20))
            claims = Counter(claim for claim, *_ in found)
            shares = {claim: count / len(found) for claim, count in claims.items()}
            known = [covers for _, covers, *_ in found if covers is not None]
            promised = [detects for *_, detects in found if detects is not None]
            cells = (
                name,
                ", ".join(f"{claim} {share:.1%}" for claim, share in sorted(shares.items())),
                f"{statistics.fmean(known):.1%}" if known else "-",
                f"{statistics.fmean(hours for _, _, hours, _ in found):.1f}",
                f"{statistics.median(promised):.1%}" if promised else "-",
                "; ".join(wrongs(worlds()[name], shares)),
            )
            sys.stdout.write(f"| {' | '.join(cells)} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
