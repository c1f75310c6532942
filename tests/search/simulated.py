"""A whole search on a pipeline that is computed, with its journal: for tests of resuming.

The outcome of a trial follows from its settings and its number alone, and time passes only in
trials.  As a program it makes its trials last a little, to be killed in them:
`python -m tests.search.simulated FOLDER SECONDS`.
"""

from __future__ import annotations

import math
import os
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tests.measure.factory import failed, itemised, measured
from tests.measure.paced import paced
from tests.search.test_journal import HEADER
from tuner.lint.load import parse_profile
from tuner.measure.metrics import Result
from tuner.profile.model import Profile
from tuner.search.budget import NODE_PACE, trial_seconds
from tuner.search.journal import NAME, journal, recorded, reopened
from tuner.search.record import record_of
from tuner.search.replay import Replay
from tuner.search.runner import Runner, Setup
from tuner.search.search import Search, Step
from tuner.search.strategies import strategy
from tuner.search.study import Asked, Axis, Changes, Ending, Note, Phase, Session, Study
from tuner.space.knobs import knobs

TEXT = """\
name: small
release: {rsyslog: "8.2302", elasticsearch: "8.19"}
inputs: [{type: imptcp, port: 10514}]
main_queue: {size: 100000, workerThreads: 1}
outputs:
  - name: logs
    type: omelasticsearch
    servers: ["http://127.0.0.1:9200"]
    queue: {type: LinkedList, size: 50000, dequeueBatchSize: 1000, workerThreads: 1}
    index: {name: syslog, settings: {number_of_replicas: 0}}
"""
PROFILE = parse_profile(TEXT, "small.yaml").profile
BUDGET_S = 700.0
# An engine that starts soon: restarts for the pairs are affordable.
PACE = replace(NODE_PACE, start_s=5)
START_S = 20.0
ASKED = replace(
    HEADER,
    profile_text=TEXT,
    profile_path="small.yaml",
    profile_layers=(),
    budget_s=BUDGET_S,
    space=tuple(Axis.of(knob) for knob in knobs(PROFILE)),
)


@dataclass
class World:
    """The pipeline and its clock.  `lasts_s` is what a trial really takes; `stop` hears of each
    before it runs, and may raise.  Each trial costs `computes_s` of the search's own, and
    `restart_s` where it has other node settings."""

    now_s: float
    lasts_s: float = 0.0
    stop: Callable[[Asked], None] = lambda _: None
    fails: bool = False
    computes_s: float = 0.0
    restart_s: float = 0.0
    node: Changes = ()

    def measure(self, asked: Asked, _profile: Profile) -> Result:
        self.stop(asked)
        time.sleep(self.lasts_s)
        node = tuple(one for one in asked.changes if one[0].startswith("node."))
        restart_s = self.restart_s if node != self.node else 0.0
        self.node = node
        self.now_s += self.computes_s + restart_s
        if asked.phase is Phase.CHECK:
            lasts_s = asked.plan.warm_up_s + asked.plan.window_s + 2.0
            self.now_s += lasts_s
            spent = itemised(asked.plan, lasts_s, restart_s)
            return replace(paced(), total_s=lasts_s, spent=spent)
        rng = random.Random(f"{asked.number} {asked.changes}")
        total_s = trial_seconds(asked.plan, 2.0, NODE_PACE) + rng.random()
        self.now_s += total_s
        breaks = rng.random() < 0.05 and asked.changes and asked.phase is Phase.SEARCH
        eps = rate(asked) * math.exp(rng.gauss(0, 0.03))
        outcome = failed() if self.fails or breaks else measured(eps)
        return replace(outcome, total_s=total_s, spent=itemised(asked.plan, total_s, restart_s))


def rate(asked: Asked) -> float:
    """The true rate of settings."""
    wanted = dict(asked.changes)
    gain = 0.0
    for path, level in wanted.items():
        gain += 0.1 * math.sin(len(path) + len(str(level)))
    return 50_000 * math.exp(gain)


def unheard(_search: Search, _step: Step) -> None:
    """Nobody looks."""


def search(
    folder: Path,
    world: World,
    *,
    seed: int = 1,
    name: str = "random",
    warms: bool = False,
    hear: Callable[[Search, Step], None] = unheard,
) -> Study:
    """Begin the search of `folder`, or go on with it, to its end; `hear` is told of each step."""
    has_begun = (folder / NAME).exists()
    record = recorded(folder) if has_begun else record_of(ASKED, ())
    world.now_s = max(world.now_s, record.spent_s)
    session = Session("now", os.getpid(), "0a1b2c3d")
    with reopened(folder) if has_begun else journal(folder, ASKED) as lines:
        replay = Replay(record, lines, session, world.measure, lambda: world.now_s, warms)
        setup = Setup(
            knobs=knobs(PROFILE),
            candidate=lambda _: PROFILE,
            is_valid=lambda _: True,
            evaluate=replay.evaluate,
            strategy=lambda space, sigma: strategy(name, space, seed, sigma),
            clock=replay.now_s,
            budget_s=BUDGET_S,
            pace=PACE,
            rng=random.Random(seed),
            limits=ASKED.limits,
        )
        ending = Ending.FAILED
        try:
            searching = Search(Runner(setup))
            for step in searching.run():
                if isinstance(step, Note):
                    replay.note(step)
                hear(searching, step)
            ending = Ending.FINISHED
        finally:
            lines.end(ending, world.now_s)
    return replay.study(ending)


if __name__ == "__main__":
    search(Path(sys.argv[1]), World(START_S, lasts_s=float(sys.argv[2])))
