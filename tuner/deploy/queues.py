"""How full a host's queues are, and whether events move through them: by rsyslogd's own counters,
where the profile has impstats write them to a file."""

from __future__ import annotations

from tuner.deploy.target import RemoteHost
from tuner.host.process import wait_until
from tuner.lab.impstats import Snapshot, last_figures
from tuner.profile.model import Profile
from tuner.profile.placement import queues
from tuner.render.rulesets import counter_names

# Enough for a set of counters of a large configuration.
_TAIL_BYTES = 262_144
# What an apply waits for new counters beyond their interval, and the longest interval it awaits.
_SLACK_S = 5
_LONGEST_S = 30


def figures_text(host: RemoteHost, profile: Profile) -> str | None:
    """The end of the file of counters; None where the profile has none, or the host not yet."""
    path = None if profile.impstats is None else profile.impstats.log_file
    if path is None:
        return None
    answer = host.host.run(["tail", "-c", str(_TAIL_BYTES), "--", str(path)])
    return answer.out.decode(errors="replace") if answer.code == 0 else None


def figures_note(host: RemoteHost, profile: Profile) -> str:
    """A sentence on the last figures of a host."""
    name, impstats = host.machine.name, profile.impstats
    if impstats is None or impstats.log_file is None:
        return f"{name}: no figures of its queues: the profile has no impstats with log.file"
    figures = last_figures(figures_text(host, profile) or "")
    if figures is None:
        return f"{name}: no figures of its queues in {impstats.log_file}"
    return f"{name}: {'; '.join((*_sizes(profile, figures), *_losses(figures)))}"


def movement_note(host: RemoteHost, profile: Profile, before: str | None) -> str:
    """Whether a queue moves, by figures that are newer than those in the text `before`: waits for
    them."""
    name, impstats = host.machine.name, profile.impstats
    if impstats is None or impstats.log_file is None:
        return figures_note(host, profile)
    if impstats.interval > _LONGEST_S:
        return f"{name}: its queues are counted every {impstats.interval} s: verify reads that"
    latest = before

    def is_newer() -> bool:
        nonlocal latest
        latest = figures_text(host, profile)
        return latest is not None and latest != before

    if not wait_until(is_newer, impstats.interval + _SLACK_S, 1.0):
        return f"{name}: no new figures of its queues in {impstats.log_file}"
    figures = last_figures(latest or "")
    moved = [] if figures is None else [
        f"{queue} took {counts.enqueued:,}" for queue, counts in figures.queues.items()
        if counts.enqueued
    ]  # fmt: skip
    if figures is None or not moved:
        return f"{name}: no queue moves yet: nothing came in"
    every = (*moved, *_sizes(profile, figures), *_losses(figures))
    return f"{name}: queues move: {'; '.join(every)}"


def _sizes(profile: Profile, figures: Snapshot) -> list[str]:
    limits = {
        name: queue.size
        for queue in queues(profile)
        if not queue.is_direct
        for name in counter_names(profile, queue)
    }
    return [
        f"{name} holds {figures.queues[name].size:,} of {limit:,}"
        for name, limit in limits.items()
        if name in figures.queues
    ]


def _losses(figures: Snapshot) -> tuple[str, str]:
    discarded = sum(one.discarded_full for one in figures.queues.values())
    failed = [f"{one.failed:,} in {name}" for name, one in figures.actions.items() if one.failed]
    return f"discarded.full {discarded:,}", f"failed {', '.join(failed) or 0}"
