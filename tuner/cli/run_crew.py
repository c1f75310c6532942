"""The machines of a place at work on the runs of a command."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import TypeVar

from tuner.cli.console import say
from tuner.errors import Unreachable
from tuner.measure.ceiling import Ceiling
from tuner.measure.measurement import Failure
from tuner.profile.model import Profile
from tuner.search.crew import Crew, DroppedMachine, Piece
from tuner.search.farm import LostTrial, MeasuringPlace, Telling
from tuner.search.notes import dropped
from tuner.search.study import Asked, Note, Trial

T = TypeVar("T")


class RunCrew:
    """Measures what `profile_of` gives for each run; `begins` hears of a run before it begins, and
    `telling` of its stages where they are known here."""

    def __init__(
        self,
        place: MeasuringPlace,
        profile_of: Callable[[Asked], Profile],
        begins: Callable[[Asked], None],
        telling: Telling,
    ) -> None:
        self._place = place
        self._crew = Crew(place.farm(telling), time.monotonic, profile_of, begins)
        # Where there is one machine, its warm-up comes before the first.
        self._numbers = itertools.count(-1)

    @property
    def machines(self) -> tuple[str, ...]:
        """Those that take runs."""
        return self._crew.machines

    def once(self, asked: Asked) -> Generator[Asked, Trial, Trial]:
        """A run, under a number of its own."""
        return (yield replace(asked, number=next(self._numbers)))

    def run(self, asked: Asked) -> Generator[Asked, Trial, Trial]:
        """A run and, where it lost the engine, the same once more; the last."""
        trial = yield from self.once(asked)
        if isinstance(trial.outcome, Failure) and trial.outcome.lost_engine:
            say("started the engine again; repeating this run once")
            trial = yield from self.once(asked)
        return trial

    def spread(self, take: Callable[[str], Piece | None]) -> Iterator[Trial | str]:
        """Keep every machine busy with the pieces of work that it can `take`; each run as it ends.

        A piece that is lost on its machine, whose name is given then, is done again from its
        beginning.  Raises Unreachable when no machine is left, or an engine here is gone.
        """
        for happening in self._crew.spread(take, again=True):
            match happening:
                case Trial():
                    yield happening
                case LostTrial(asked=asked, reason=reason):
                    what = f"{_name(asked)} was lost on {asked.machine}"
                    say(f"{what}: {reason}; it does not count and is measured again")
                    yield asked.machine
                case DroppedMachine(machine=machine):
                    say(dropped(happening, len(self.machines)))
                    yield machine
                case Note(text=text):
                    say(text)

    def alone(
        self,
        work: Callable[[str], Generator[Asked, Trial, T]],
        ended: Callable[[Trial], None] = lambda _: None,
    ) -> tuple[T, str]:
        """What work on one machine comes to, with the machine; begun anew on another where that is
        lost.  `ended` hears of each run."""
        done: list[tuple[T, str]] = []

        def piece(machine: str) -> Generator[Asked, Trial, None]:
            done.append(((yield from work(machine)), machine))

        waiting = [piece]
        for happening in self.spread(lambda _: waiting.pop() if waiting else None):
            if isinstance(happening, Trial):
                ended(happening)
        return done[-1]

    def ceiling(self, profile: Profile) -> tuple[Ceiling, str]:
        """What the engine of one machine carries of a profile's documents without rsyslog, with the
        machine."""
        while True:
            machine = self.machines[0]
            try:
                return self._place.ceiling(machine, profile, say), machine
            except Unreachable as lost:
                if len(self.machines) == 1:
                    raise
                say(dropped(self._crew.drop(machine, str(lost)), len(self.machines)))


def _name(asked: Asked) -> str:
    return asked.why if asked.pair is None else f"{asked.why}, block {asked.pair}"
