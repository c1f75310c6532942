"""The labs of a cluster, by the roles of its machines: equal ones, one on each machine of a farm,
each with a trial of its own at a time; or one on the collector of a span."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar, cast
from urllib.parse import urlsplit

from distributed import Client
from distributed.actor import Actor, BaseActorFuture

from tuner.cluster import messages
from tuner.cluster.access import is_alive, roles, workers_of
from tuner.cluster.processes import begin_end, end_all, processes
from tuner.deploy.inventory import Role
from tuner.errors import JobFailed, TuneError, Unreachable
from tuner.host.process import wait_until
from tuner.measure.ceiling import Ceiling
from tuner.measure.measurement import Result
from tuner.modules.input import LOOPBACK
from tuner.profile.model import Profile
from tuner.search.farm import Lost
from tuner.search.study import Asked

_POLL_S = 0.05
_HANDING_OVER_S = 30.0
# With a download of 15 minutes at most.
_OPENING_S = 1800.0
# A lab may take so many times as long to start as those of the others, which takes a while anyway.
_TOO_LONG, _LEAST_OPENING_S = 3.0, 20.0
_CEILING_S = 900.0
_ENDING_S = 60.0

Answer = BaseActorFuture[bytes]
R = TypeVar("R", bound=messages.Reply)


@dataclass(frozen=True)
class _TrialBegun:
    number: int
    machine: str
    answer: Answer | None


def _is_over(answer: Answer | None) -> bool:
    """Whether there is nothing to wait for, as where the machine was lost before."""
    return answer is None or answer.done()


class SchedulerLost(Unreachable):
    """No machine can be reached, because the scheduler has died: none of them is to blame."""


class DaskFarm:
    """A process on each machine, which opens a lab there and measures one trial after the other."""

    def __init__(self, labs: Mapping[str, Actor], scheduler_lives: Callable[[], bool]) -> None:
        self.machines = tuple(labs)
        """The workers' names."""
        self._labs = dict(labs)
        self._begun: list[_TrialBegun] = []
        self._scheduler_lives = scheduler_lives

    def open(
        self, request: messages.OpenLab, tell: Callable[[str], None]
    ) -> dict[str, messages.Opened]:
        """Open the labs; what each says of itself."""
        self._everywhere(request, messages.Prepared, tell)
        return self._everywhere(messages.StartLab(), messages.Opened, tell, lengths=_TOO_LONG)

    def _everywhere(
        self,
        question: messages.Question,
        kind: type[R],
        tell: Callable[[str], None],
        lengths: float = math.inf,
    ) -> dict[str, R]:
        """What every machine answers.  One that fails, or takes so many times as long as the first
        half, is left out where others do not; raises what one raised where all fail, and at once
        what is no failure of a machine."""
        began_s = time.monotonic()
        until_s = began_s + _OPENING_S
        waiting = {name: self._asked(name, question) for name in self.machines}
        replies: dict[str, R] = {}
        failures: dict[str, TuneError] = {}
        while waiting:
            left_s = until_s - time.monotonic()
            wait_until(lambda: any(map(_is_over, waiting.values())), left_s, _POLL_S)
            over = [name for name, answer in waiting.items() if _is_over(answer)]
            if not over:
                late = f"no lab after {time.monotonic() - began_s:.0f} s"
                failures |= {name: Unreachable(f"{name}: {late}") for name in waiting}
                break
            for name in over:
                try:
                    replies[name] = self._replied(name, waiting.pop(name), kind, _HANDING_OVER_S)
                except (JobFailed, Unreachable) as error:
                    failures[name] = error
            if 2 * len(replies) >= len(self.machines):
                took_s = max(_LEAST_OPENING_S, time.monotonic() - began_s)
                until_s = min(until_s, began_s + lengths * took_s)
        if not replies:
            raise next(iter(failures.values()))
        for name, failure in failures.items():
            tell(f"{failure}; {name} is left out")
            self.drop(name)
        self.machines = tuple(name for name in self.machines if name in replies)
        return {name: replies[name] for name in self.machines}

    def start(self, asked: Asked, profile: Profile) -> None:
        """Begin a trial on its machine."""
        answer = self._asked(
            asked.machine, messages.RunTrial(asked, messages.profile_json(profile))
        )
        self._begun.append(_TrialBegun(asked.number, asked.machine, answer))

    def wait(self, timeout_s: float) -> Mapping[int, Result | Lost]:
        """What has ended since, by the numbers of the trials: at least one, unless that takes
        longer than `timeout_s`."""
        wait_until(lambda: any(_is_over(trial.answer) for trial in self._begun), timeout_s, _POLL_S)
        ended = [trial for trial in self._begun if _is_over(trial.answer)]
        self._begun = [trial for trial in self._begun if trial not in ended]
        return {trial.number: self._outcome(trial) for trial in ended}

    def ceiling(self, machine: str, profile: Profile) -> Ceiling:
        """What the engine of a machine carries of the documents of `profile` without rsyslog;
        raises Unreachable where the machine is gone."""
        answer = self._asked(machine, messages.MeasureCeiling(messages.profile_json(profile)))
        return self._replied(machine, answer, messages.CeilingFound, _CEILING_S).ceiling

    def drop(self, machine: str) -> None:
        """Give a machine up: its lab ends, where it can still be told to."""
        if machine in self._labs:
            begin_end(self._labs.pop(machine), _ENDING_S)
        self._begun = [trial for trial in self._begun if trial.machine != machine]

    def close(self) -> None:
        """End the labs in order; those that cannot be reached end with their workers."""
        end_all(self._labs.values(), _ENDING_S)

    def _asked(self, machine: str, question: messages.Question) -> Answer | None:
        """The answer that is to come; None where its worker is known to be lost, or was dropped."""
        lab = self._labs.get(machine)
        try:
            return None if lab is None else cast(Answer, lab.ask(messages.QUESTIONS.line(question)))
        except RuntimeError:
            # So an actor says that.
            return None

    def _outcome(self, trial: _TrialBegun) -> Result | Lost:
        try:
            reply = self._replied(trial.machine, trial.answer, messages.TrialEnded, _HANDING_OVER_S)
        except SchedulerLost:
            raise
        except TuneError as lost:
            self.drop(trial.machine)
            return Lost(str(lost).removeprefix(f"{trial.machine}: "), is_gone=True)
        return reply.outcome

    def _replied(self, machine: str, answer: Answer | None, kind: type[R], limit_s: float) -> R:
        """What a process answered, of that kind; raises what it raised, with the machine's name,
        Unreachable where the machine is gone, and SchedulerLost where all are."""
        try:
            reply = None if answer is None else messages.REPLIES.message(answer.result(limit_s))
        except JobFailed as died:
            raise JobFailed(f"{machine}: {died}") from None
        except (OSError, TimeoutError):
            reply = None
        if reply is None:
            if not self._scheduler_lives():
                raise SchedulerLost("the scheduler of the cluster does not answer any more")
            raise Unreachable(f"{machine} does not answer any more")
        if isinstance(reply, messages.Failed):
            raise reply.raised(machine)
        if not isinstance(reply, kind):
            raise RuntimeError(f"{machine} answers {reply} instead of {kind.__name__}")
        return reply


def span_of(
    client: Client, certificate: messages.ClusterCertificate | None
) -> messages.SpanOver | None:
    """The span that the machines make, which are joined with this certificate; None where they are
    a farm.  Raises JobFailed where their roles make neither, or both."""
    by_name = roles(client)
    labs, collectors, loads = (
        tuple(name for name, role in by_name.items() if role == wanted.value)
        for wanted in (Role.LAB, Role.COLLECTOR, Role.LOAD)
    )
    if labs and not (collectors or loads):
        return None
    if labs or len(collectors) != 1 or not loads:
        have = ", ".join(f"{name} ({role})" for name, role in by_name.items()) or "no machine"
        raise JobFailed(
            f"the cluster has {have}: to measure it needs either machines of the role lab (a farm) "
            "or one collector and at least one load (a span)"
        )
    (worker,) = workers_of(client, Role.COLLECTOR.value).values()
    scheduler = str(client.scheduler_info(n_workers=0)["address"])
    return messages.SpanOver(loads, urlsplit(worker).hostname or LOOPBACK, scheduler, certificate)


@contextmanager
def dask_farm(client: Client, module: str, role: Role) -> Iterator[DaskFarm]:
    """A process on each machine of that role; they are gone afterwards."""
    labs = processes(client, workers_of(client, role.value), module)
    farm = DaskFarm(labs, lambda: is_alive(client))
    try:
        yield farm
    finally:
        farm.close()
