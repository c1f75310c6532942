"""The machines of a search at work: each does one piece of work after the other.

A piece of work is a generator: it gives what is to be measured on its machine, and gets the trial.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace

from tuner.errors import Unreachable
from tuner.measure.measurement import Failure
from tuner.measure.metrics import Result
from tuner.profile.model import Profile
from tuner.search.farm import Event, Farm, Lost, LostTrial, longest_s
from tuner.search.study import Asked, Note, Trial

Work = Generator[Asked | Note, Trial, Trial]
"""Gives what is to be measured on one machine, and what to say; returns the last trial."""

AnyWork = Generator[Asked | Note, Trial, object]
"""The same, whatever it returns."""

Piece = Callable[[str], AnyWork]
"""A piece of work, given the machine that does it."""

MOST_FAILURES = 3
"""A machine that fails so many times in a row is dropped, if there are others."""


@dataclass(frozen=True)
class DroppedMachine:
    """A machine that is used no more, and why."""

    machine: str
    reason: str


@dataclass(frozen=True)
class _Begun:
    """What a machine does: the trial under way, since when for the search and until when it may
    take, and the piece of work that it is of."""

    asked: Asked
    at_s: float
    until_s: float
    piece: Piece
    work: AnyWork


Happening = Trial | LostTrial | DroppedMachine | Note
"""What is to be known of machines at work."""


@dataclass
class Crew:
    """Those machines of the `farm` that have not been dropped.

    `begins` hears of a trial before it runs, and `ended` of what became of it before anybody else.
    What there is a `refusal` for is not measured.  A machine that keeps a trial for far longer than
    it lasts is given up.
    """

    farm: Farm
    clock: Callable[[], float]
    candidate: Callable[[Asked], Profile]
    begins: Callable[[Asked], None] = lambda _: None
    ended: Callable[[Event], None] = lambda _: None
    refusal: Callable[[Asked], Failure | None] = lambda _: None
    _open: dict[str, _Begun] = field(default_factory=dict)
    _refused: dict[int, Result | Lost] = field(default_factory=dict)
    _failures: Counter[str] = field(default_factory=Counter)
    _dropped: set[str] = field(default_factory=set)
    _seen_s: float = 0.0

    def __post_init__(self) -> None:
        self._seen_s = self.clock()

    @property
    def machines(self) -> tuple[str, ...]:
        """Those that take trials."""
        return tuple(one for one in self.farm.machines if one not in self._dropped)

    @property
    def under_way(self) -> tuple[Asked, ...]:
        """The trials that have not ended."""
        return tuple(one.asked for one in self._open.values())

    def now_s(self) -> float:
        """When the last trial ended, by the clock: what follows at once on a machine begins there,
        so that the two runs of a pair are known to be neighbours."""
        return self._seen_s

    def spread(self, take: Callable[[str], Piece | None], *, again: bool) -> Iterator[Happening]:
        """Keep every machine busy with the pieces of work that it can `take`, until none is left.

        A piece that is lost with its machine is done `again` by the next one that is idle.  Raises
        Unreachable when no machine is left.
        """
        lost: deque[Piece] = deque()
        while True:
            for machine in self.machines:
                while machine in self.machines and machine not in self._open:
                    piece = lost.popleft() if lost else take(machine)
                    if piece is None:
                        break
                    yield from self._go_on(machine, piece, piece(machine), None)
            if not self._open:
                return
            for event, begun in self._wait():
                is_done = yield from self._take_in(event, begun)
                lost.extend([begun.piece] * (again and not is_done))

    def drop(self, machine: str, reason: str) -> DroppedMachine:
        """Use a machine no more; raises Unreachable where it was the last."""
        self._dropped.add(machine)
        self.farm.drop(machine)
        if not self.machines:
            raise Unreachable(f"no machine is left to measure on: {machine}: {reason}")
        return DroppedMachine(machine, reason)

    def _wait(self) -> list[tuple[Event, _Begun]]:
        """What ended since; at least one."""
        ended, self._refused = self._refused, {}
        while not ended:
            left_s = min(one.until_s for one in self._open.values()) - self.clock()
            ended |= self.farm.wait(max(0.0, left_s))
            for one in self._open.values():
                if one.until_s <= self.clock() and one.asked.number not in ended:
                    self.farm.drop(one.asked.machine)
                    lasted = f"no answer for {longest_s(one.asked.plan):.0f} s"
                    ended[one.asked.number] = Lost(lasted, is_gone=True)
        self._seen_s = self.clock()
        known = [one for one in self._open.values() if one.asked.number in ended]
        events = []
        for begun in sorted(known, key=lambda one: one.asked.number):
            outcome, asked = ended[begun.asked.number], begun.asked
            event: Event = (
                LostTrial(asked, outcome.reason, self._seen_s, outcome.is_gone)
                if isinstance(outcome, Lost)
                else Trial.of(asked, outcome, begun.at_s, self._seen_s)
            )
            self.ended(event)
            events.append((event, self._open.pop(asked.machine)))
        return events

    def _take_in(self, event: Event, begun: _Begun) -> Generator[Happening, None, bool]:
        """Continue with what ended; whether its piece of work need not be done again."""
        yield event
        reason = self._reason_to_drop(event)
        if isinstance(event, Trial) and reason is None:
            yield from self._go_on(event.machine, begun.piece, begun.work, event)
            return True
        begun.work.close()
        if reason is not None:
            yield self.drop(event.asked.machine, reason)
        return False

    def _go_on(
        self, machine: str, piece: Piece, work: AnyWork, trial: Trial | None
    ) -> Iterator[Note]:
        """Continue a piece of work up to its next trial, or its end."""
        try:
            step = next(work) if trial is None else work.send(trial)
            while isinstance(step, Note):
                yield step
                step = next(work)
        except StopIteration:
            return
        asked = replace(step, machine=machine)
        until_s = self.clock() + longest_s(asked.plan)
        self._open[machine] = _Begun(asked, self._seen_s, until_s, piece, work)
        self.begins(asked)
        failure = self.refusal(asked)
        if failure is None:
            self.farm.start(asked, self.candidate(asked))
        else:
            self._refused[asked.number] = failure

    def _reason_to_drop(self, event: Event) -> str | None:
        """Why a machine is used no more: it is gone, or failed too often in a row where there are
        others; None where it is."""
        machine = event.asked.machine
        failed = isinstance(event, LostTrial) or event.is_transient
        self._failures[machine] = self._failures[machine] + 1 if failed else 0
        if isinstance(event, LostTrial) and event.is_gone:
            return event.reason
        if self._failures[machine] < MOST_FAILURES or len(self.machines) == 1:
            return None
        return f"it failed {MOST_FAILURES} times in a row"
