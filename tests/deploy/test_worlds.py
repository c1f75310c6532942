"""Trials in simulated days: what they may claim, that the time is kept, and that A is back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.deploy.world import BEGIN, SimulatedHost, Time, World, minutes_of, trial_in, worlds
from tuner.deploy.block import BlockFigures, Side
from tuner.deploy.production_trial import EngineUse, ProductionTrial
from tuner.deploy.switchback import (
    Switchback,
    TrialClaim,
    TrialDesign,
    TrialGuard,
    TrialRestart,
    breach_of,
    pairs_within,
)

WORLDS = worlds()
# Claims that nearly every trial of a world makes are made by these, too; the shares of the others,
# of which many trials are needed, are a benchmark's.
SEEDS, CERTAIN = range(3), 0.9
CALM = BlockFigures(600, 3_000_000, 36.0, 200 * 2**20, 0.1, 0, 0, 0, 0.0)


@pytest.mark.parametrize("name", WORLDS)
def test_a_trial_claims_what_its_world_allows(name: str) -> None:
    world = WORLDS[name]
    certain = [claim for claim, share in world.allowed.least.items() if share >= CERTAIN]
    never = [claim for claim, share in world.allowed.most.items() if share < 0.001]
    for seed in SEEDS:
        record = trial_in(world, seed)
        assert not certain or record.claim.name in certain, record.claim
        assert record.claim.name not in never, record.claim
        assert record.begun <= record.design.pairs


def test_half_of_the_hosts_begin_with_each_side() -> None:
    design, hosts = TrialDesign(pairs=20, seed=3), ["a", "b", "c", "d"]
    orders = [design.order(pair, hosts) for pair in range(20)]
    for order in orders:
        first = [sides[0] for sides in order.values()]
        assert first.count(Side.A) == first.count(Side.B) == 2
        assert all(set(sides) == {Side.A, Side.B} for sides in order.values())
    assert len({tuple(order.items()) for order in orders}) > 3
    assert orders[7] == design.order(7, hosts), "the same after a resume"


def test_the_pairs_fit_the_time_and_the_restarts() -> None:
    design = TrialDesign(pairs=0, block_s=600)
    assert pairs_within(8 * 3600, design) == 21
    assert pairs_within(8 * 3600, design, most_restarts=13) == 6
    assert pairs_within(3600, design) == 0
    planned = replace(design, pairs=21)
    assert planned.total_s <= 8 * 3600
    assert planned.restarts == 42


@pytest.mark.parametrize(
    ("guard", "seen"),
    [
        (TrialGuard.DISCARDED, replace(CALM, discarded=1)),
        (TrialGuard.FAILED, replace(CALM, failed=1)),
        (TrialGuard.REJECTED, replace(CALM, rejected=1)),
        (TrialGuard.AWAY, replace(CALM, away_s=1.0)),
        (TrialGuard.QUEUE, replace(CALM, queue_share=0.51)),
        (TrialGuard.MEMORY, replace(CALM, memory_bytes=2**31)),
        (TrialGuard.DROPPED, replace(CALM, udp_drops=1)),
    ],
)
def test_each_guard_ends_a_block(guard: TrialGuard, seen: BlockFigures) -> None:
    breach = breach_of("h", 0, seen, [CALM], 2**30)
    assert breach is not None
    assert breach.guard is guard
    assert guard is TrialGuard.MEMORY or breach_of("h", 0, seen, [CALM, seen], 2**30) is None
    assert breach_of("h", 0, CALM, [CALM], 2**30) is None


def short(world: World) -> tuple[tuple[SimulatedHost, ...], Time, Switchback]:
    time = Time()
    hosts = tuple(
        SimulatedHost(f"host{number}", world, time, *minutes_of(world, 1, number))
        for number in range(world.hosts)
    )
    design = TrialDesign(pairs=6, block_s=600, poll_s=200, seed=5)
    return hosts, time, Switchback(design, tuple(host.name for host in hosts))


@pytest.mark.parametrize(("of_a", "of_b"), [(5, 5), (0, 1), (4, 5)])
def test_what_a_did_at_its_worst_b_may_do_too(of_a: int, of_b: int) -> None:
    hosts, time, record = short(World(about=""))

    class Dropping(SimulatedHost):
        def figures(self, since: float) -> BlockFigures | None:
            seen = super().figures(since)
            drops = of_a if self.side is Side.A else of_b
            return seen and replace(seen, udp_drops=drops)

    host = Dropping("host0", hosts[0].world, time, hosts[0].loads, hosts[0].costs)
    done = ProductionTrial((host,), time, lambda _: None, lambda _: None).run(record)
    expected = {(TrialGuard.DROPPED, of_b, of_a)} if of_b > of_a else set()
    assert {(one.guard, one.figure, one.limit) for one in done.breaches} == expected
    assert done.failed is (TrialGuard.DROPPED if of_b > of_a else None)


@pytest.mark.parametrize(
    ("side", "lasts_s", "ended", "took_s"),
    [
        (Side.A, 500, "", 400),
        (Side.A, 1e9, "host0: 8", 600),
        (Side.B, 1e9, "", 30),
    ],
)
def test_a_restart_waits_for_what_it_would_lose_and_b_does_not_stay_for_that(
    side: Side, lasts_s: float, ended: str, took_s: float
) -> None:
    """From a moment before the first pair on 90,000 events wait on that side for so long."""
    hosts, time, record = short(World(about="", daily=0.0, per_second=5000))
    full = BEGIN + 4 * 600 - 100

    class Full(SimulatedHost):
        def figures(self, since: float) -> BlockFigures | None:
            seen, now = super().figures(since), self.time.now()
            waits = self.side is side and full <= now < full + lasts_s
            return seen and replace(seen, waiting=90_000 if waits else 0)

    host = Full("host0", hosts[0].world, time, hosts[0].loads, hosts[0].costs)
    one = replace(record, design=replace(record.design, pairs=1, alone=4, seed=2))
    whole = ProductionTrial(hosts, time, lambda _: None, lambda _: None)
    done = replace(whole, hosts=(host,)).run(one)
    assert done.ended.startswith(ended)
    assert bool(done.ended) is bool(ended)
    assert host.switches == (0 if ended else 2)
    assert host.side is Side.A
    blocks_s = 4 * 600 if ended else 6 * 600 + 4
    assert took_s <= time.now() - BEGIN - blocks_s < took_s + 200


def test_a_trial_that_was_cut_short_goes_on_with_the_next_pair() -> None:
    hosts, time, record = short(World(about=""))
    notes: list[Switchback] = []

    class Cut(Exception):
        pass

    def note(known: Switchback) -> None:
        notes.append(known)
        if known.begun == 3:
            raise Cut

    with pytest.raises(Cut):
        ProductionTrial(hosts, time, note, lambda _: None).run(record)
    assert all(host.side is Side.A for host in hosts)
    whole = ProductionTrial(hosts, time, notes.append, lambda _: None).run(notes[-1])
    assert whole.begun == 6
    assert [block.pair for block in whole.blocks if block.side is Side.B] == list(range(6))
    assert len(whole.differences) == 6


def test_a_host_that_cannot_be_put_back_does_not_keep_the_others() -> None:
    hosts, time, record = short(World(about="", hosts=2))

    class Lost(Exception):
        pass

    class Gone(SimulatedHost):
        def put_back(self) -> TrialRestart | None:
            if self.switches > 2:
                raise Lost
            return super().put_back()

    gone = Gone("host0", hosts[0].world, time, hosts[0].loads, hosts[0].costs)
    with pytest.raises(Lost):
        ProductionTrial((gone, hosts[1]), time, lambda _: None, lambda _: None).run(record)
    assert hosts[1].side is Side.A


@pytest.mark.parametrize("is_together", [True, False])
def test_what_restarts_cost_is_kept_and_the_engine_is_compared_while_all_have_one_side(
    is_together: bool,
) -> None:
    """Of an engine that spends a fifth less on B; half of the hosts each way show nothing of it."""
    world = World(about="", hosts=2)

    class Restarting(SimulatedHost):
        def put_candidate(self, within_s: float) -> TrialRestart:
            super().put_candidate(within_s)
            return TrialRestart(self.name, 0.5, 3, 40)

        def put_back(self) -> TrialRestart | None:
            was = self.side
            super().put_back()
            return TrialRestart(self.name, 0.7, 0, 0) if was is Side.B else None

    hosts, time, record = short(world)
    both = [Restarting(host.name, world, time, host.loads, host.costs) for host in hosts]
    spent_s, asked_at = 0.0, time.now()

    def engine() -> EngineUse:
        nonlocal spent_s, asked_at
        spent_s += (0.8 if both[0].side is Side.B else 1.0) * (time.now() - asked_at)
        asked_at = time.now()
        return EngineUse(spent_s, round(10 * spent_s), 2 * spent_s)

    record = replace(record, design=replace(record.design, is_together=is_together, pairs=8))
    done = ProductionTrial(
        tuple(both), time, lambda _: None, lambda _: None, engine=engine
    ).run(record)  # fmt: skip
    assert len(done.restarts) == 2 * 2 * 8
    assert {restart.datagrams for restart in done.restarts} == {0, 3}
    if is_together:
        assert len(done.engine) == 2 * 8
        assert {round(block.bulks / block.cpu_s) for block in done.engine} == {10}
        assert {round(block.bulk_s / block.cpu_s) for block in done.engine} == {2}
        assert done.engine_ratio is not None
        assert done.engine_ratio.low < 0.8 < done.engine_ratio.high
    else:
        assert (done.engine, done.engine_ratio) == ((), None)


def test_quiet_hours_are_waited_for() -> None:
    hosts, time, record = short(World(about=""))
    waits: Iterator[float] = iter([0.0, 3600.0, 0.0, 0.0, 0.0, 0.0])
    begun = time.now()
    ProductionTrial(
        hosts, time, lambda _: None, lambda _: None, quiet=lambda _at, _for: next(waits)
    ).run(record)
    assert time.now() - begun > record.design.total_s - 60 + 3600 - 120


def test_too_few_pairs_say_so_and_a_trial_without_events_claims_nothing() -> None:
    silent = World(about="", per_second=1e-9)
    hosts, time, record = short(silent)
    done = ProductionTrial(hosts, time, lambda _: None, lambda _: None).run(record)
    assert done.claim is TrialClaim.TOO_SHORT
    assert math.isnan(done.noise[1])
    assert time.now() > BEGIN


@pytest.mark.parametrize("silent", [Side.A, Side.B])
def test_a_host_whose_counters_do_not_come_ends_the_trial_and_has_a(silent: Side) -> None:
    """Guards that see nothing guard nothing."""
    hosts, time, record = short(World(about=""))

    class Silent(SimulatedHost):
        def figures(self, since: float) -> BlockFigures | None:
            return None if self.side is silent else super().figures(since)

    host = Silent("host0", hosts[0].world, time, hosts[0].loads, hosts[0].costs)
    ended = ProductionTrial((host,), time, lambda _: None, lambda _: None).run(record)
    assert ended.claim is TrialClaim.ENDED
    assert "counted nothing for" in ended.ended
    assert host.side is Side.A
    assert not [block for block in ended.blocks if block.side is silent]
