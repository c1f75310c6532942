"""What the stages show one by one: signs of a bottleneck, with the thresholds behind them; pure."""

from __future__ import annotations

from tuner.measure.stages import Pool, Stages

# The share of samples below which the sender, and not the pipeline, set the rate: the same fifth
# that makes a measurement doubtful as sender-limited.
FED = 0.8
# Sockets full half of the time: the pipeline did not take what the sender had.
REFUSED = 0.5
# A thread that is the bottleneck never waits for work; what is missing to 1 is locks and the
# kernel.  rsyslog's maintainers say the same: add a worker only when a thread is at 100 % in
# `top -H` (rsyslog issue 1778).
SATURATED = 0.9
# More events stood in this queue than in all other places together.
HOLDS = 0.5
# A queue as full as this holds up what stands before it, however much more that is: above 70 %
# of the main queue (lightDelayMark) rsyslog slows its inputs down.
FILLED = 0.65
# Indexing throttled for a tenth of the window.  It means one thread a shard instead of all, so
# a tenth of the time costs up to a tenth of the rate; less is lost in the noise.
THROTTLED = 0.1
# A fifth of all cores idle for a disk: on two cores one thread that waits for fsync two fifths of
# the time.  Below it the workers' other waits are longer.
DISK = 0.2
# The cores of this machine: queues hand over in batches, which leaves gaps at full load too.
FULL = 0.9
# The engine on cores of its own, whose garbage collection and merges come in bursts.
ENGINE_FULL = 0.85
# On shared cores: the engine took twice what all others took together.
ENGINE_PART = 2 / 3


def is_rejecting(stages: Stages) -> bool:
    """Whether the engine turned bulks away."""
    return stages.rejected > 0


def is_unfed(stages: Stages) -> bool:
    """Whether the pipeline ran out of work, although it would have taken more."""
    return stages.backlog_kept < FED and stages.sender_blocked < REFUSED


def is_throttled(stages: Stages) -> bool:
    """Whether the engine held indexing back for its merges.

    Merges throttled alone are no reason: that limit spares indexing the disk.
    """
    return stages.index_throttled_ms >= THROTTLED * stages.window_s * 1000


def waits_for_disk(stages: Stages) -> bool:
    """Whether cores idled because of a disk."""
    return stages.io_wait >= DISK


def bulk_workers_full(stages: Stages) -> bool:
    """Whether the workers that send bulks had no time left, and work before them."""
    workers = stages.bulk_workers
    return _may_hold(workers) and workers.cpu >= SATURATED


def main_worker_full(stages: Stages) -> bool:
    """Whether one worker of the main queue had no time left, with work before it and room in the
    action queue behind it; the other workers may never have started."""
    main, action = stages.main, stages.action
    has_room = action is not None and not _is_filled(action)
    return has_room and _may_hold(main) and main.busiest >= SATURATED


def input_full(stages: Stages) -> bool:
    """Whether an input thread had no time left, and the events stood in no queue, so in the
    sockets before it."""
    elsewhere = any(map(_known_to_hold, (stages.main, stages.bulk_workers)))
    return not elsewhere and stages.input_cpu >= SATURATED


def engine_full(stages: Stages) -> bool:
    """Whether the engine used up the cores it may use, or most of what was used of shared ones."""
    if stages.engine_cpu >= ENGINE_FULL:
        return True
    return machine_full(stages) and stages.engine_here >= ENGINE_PART * stages.machine_cpu


def machine_full(stages: Stages) -> bool:
    """Whether this machine had no core left."""
    return stages.machine_cpu >= FULL


def stands_in_main(stages: Stages) -> bool:
    """Whether the backlog stood in the main queue, with room in the action queue behind it."""
    action = stages.action
    return action is not None and not _is_filled(action) and _known_to_hold(stages.main)


def stands_in_sockets(stages: Stages) -> bool:
    """Whether the backlog stood in no queue, and the sockets were full."""
    pools = (stages.main, stages.bulk_workers)
    known = all(pool.held is not None for pool in pools)
    return known and not any(map(_may_hold, pools)) and stages.sender_blocked >= REFUSED


def waits_most(stages: Stages) -> bool:
    """Whether the workers that send bulks had work and waited for most of the time."""
    workers = stages.bulk_workers
    return workers.workers > 0 and _may_hold(workers) and workers.waiting >= 0.5


def works_most(stages: Stages) -> bool:
    """Whether they had work and were busy for most of the time: below saturation too that is the
    larger part of it, and what to shorten."""
    workers = stages.bulk_workers
    return workers.workers > 0 and _may_hold(workers) and workers.waiting < 0.5


def _may_hold(pool: Pool) -> bool:
    """Whether the backlog stood in this queue, or may have for all we know."""
    return pool.held is None or _known_to_hold(pool)


def _known_to_hold(pool: Pool) -> bool:
    return _is_filled(pool) or (pool.held is not None and pool.held >= HOLDS)


def _is_filled(pool: Pool) -> bool:
    return pool.fill is not None and pool.fill >= FILLED
