"""Which stage set the rate, and the figures that show it; pure.

A bottleneck has work waiting in front of it, room behind it, and nothing left to do it with.  Three
questions follow: where did the events under way stand, what were that stage's threads doing (on a
core, ready without one, waiting), and which resource was used up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tuner.host.usage import cores
from tuner.lab.lab import Lab
from tuner.measure import signs
from tuner.measure.counters import Window
from tuner.measure.stage_figures import StageFigure, figure
from tuner.measure.stages import CoreCounts, Stages, stages_of
from tuner.profile.model import Profile
from tuner.space.knob import Bottleneck as Bottleneck
from tuner.space.knob import Knob
from tuner.space.knobs import knobs
from tuner.space.remedies import remedies


@dataclass(frozen=True)
class Diagnosis:
    """The bottleneck, the figures that show it (name and text), and what can help.

    `knobs` are paths into the profile, the most promising first; none when no setting helps.
    `others_cpu` is the share of this machine's cores that went to none of sender, rsyslogd, engine.
    `stages` says how busy each stage was; None in journals from before that was kept.
    """

    bottleneck: Bottleneck
    figures: tuple[tuple[str, str], ...]
    knobs: tuple[str, ...]
    others_cpu: float
    stages: Stages | None = None


def verdict_of(window: Window, lab: Lab, profile: Profile) -> Diagnosis | None:
    """What limited the pipeline of `profile`, as bound; None for an engine on another machine,
    whose cores we cannot see."""
    if not lab.is_here:
        return None
    engine_cores = min(cores(), lab.engine.facts.processors)
    stages = stages_of(window, profile, CoreCounts(cores(), engine_cores, engine_is_here=True))
    return judge(stages, lab.engine.turns(knobs(profile)))


def judge(stages: Stages, knobs: Sequence[Knob] = ()) -> Diagnosis:
    """The first bottleneck that the figures show; UNCLEAR when they show none.  Of `knobs`, which
    a search may turn here, the verdict names those that can help and still have room.

    The order matters, because a fault further down makes every stage above it look slow:

    1. Rejections: the engine refused work in so many words, and rsyslog then waits before it tries
       again; idle workers and cores say nothing any more.
    2. The sender: of a pipeline without work nothing can be said.
    3. Merge throttling, then 4. the disk: the engine's cores have time to spare in both, and the
       workers wait for it, so both would pass for too few workers.
    5. Threads with a core of their own that have no more of it, behind a queue that holds the
       backlog: more cores would not help them, so they come before the machine.  From the engine
       backwards: action workers, main queue worker, input.
    6. The cores: the engine's when it used most of what was used, else the machine's.  Threads that
       were ready without a core belong here and not to 5, for `cpu` counts only time on a core.
    7. Nothing is used up: the workers before which the backlog stands set the rate by waiting, for
       the engine's answers or, in the main queue, for locks and disk.
    """
    found = next((kind for kind, shows in _TESTS if shows(stages)), Bottleneck.UNCLEAR)
    figures = tuple((item.value, figure(item, stages)) for item in _FIGURES[found])
    return Diagnosis(found, figures, _remedies(found, stages, knobs), stages.others_cpu, stages)


_TESTS: tuple[tuple[Bottleneck, Callable[[Stages], bool]], ...] = (
    (Bottleneck.REJECTIONS, signs.is_rejecting),
    (Bottleneck.SENDER, signs.is_unfed),
    (Bottleneck.MERGES, signs.is_throttled),
    (Bottleneck.DISK, signs.waits_for_disk),
    (Bottleneck.ACTION_CPU, signs.bulk_workers_full),
    (Bottleneck.MAIN_WORKER, signs.main_worker_full),
    (Bottleneck.INPUT, signs.input_full),
    (Bottleneck.ENGINE_CPU, signs.engine_full),
    (Bottleneck.MACHINE_CPU, signs.machine_full),
    (Bottleneck.MAIN_WORKER, signs.stands_in_main),
    (Bottleneck.INPUT, signs.stands_in_sockets),
    (Bottleneck.ACTION_WAITING, signs.waits_most),
    (Bottleneck.ACTION_CPU, signs.works_most),
)

_FIGURES: dict[Bottleneck, tuple[StageFigure, ...]] = {
    Bottleneck.REJECTIONS: (StageFigure.REJECTIONS, StageFigure.ACTION, StageFigure.ENGINE),
    Bottleneck.SENDER: (StageFigure.BACKLOG, StageFigure.SENDER, StageFigure.MACHINE),
    Bottleneck.MERGES: (
        StageFigure.INDEXING,
        StageFigure.MERGES,
        StageFigure.ENGINE,
        StageFigure.DISK,
    ),
    Bottleneck.DISK: (StageFigure.DISK, StageFigure.MAIN, StageFigure.ACTION, StageFigure.ENGINE),
    Bottleneck.ACTION_CPU: (StageFigure.ACTION, StageFigure.ENGINE, StageFigure.MACHINE),
    Bottleneck.MAIN_WORKER: (StageFigure.MAIN, StageFigure.ACTION, StageFigure.MACHINE),
    Bottleneck.INPUT: (StageFigure.INPUT, StageFigure.SENDER, StageFigure.MAIN, StageFigure.ACTION),
    Bottleneck.ENGINE_CPU: (StageFigure.ENGINE, StageFigure.MACHINE, StageFigure.ACTION),
    Bottleneck.MACHINE_CPU: (StageFigure.MACHINE, StageFigure.MAIN, StageFigure.ACTION),
    Bottleneck.ACTION_WAITING: (
        StageFigure.ACTION,
        StageFigure.BULK,
        StageFigure.ENGINE,
        StageFigure.MACHINE,
    ),
    Bottleneck.UNCLEAR: tuple(StageFigure),
}


def _remedies(bottleneck: Bottleneck, stages: Stages, knobs: Sequence[Knob]) -> tuple[str, ...]:
    """Paths into this profile; where nothing shows, nothing is advised."""
    if bottleneck is Bottleneck.UNCLEAR:
        return ()
    if bottleneck is Bottleneck.SENDER and stages.rate_is_fixed:
        return ("workload.rate",)
    return remedies(bottleneck, knobs, stages.output)
