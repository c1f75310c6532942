"""The labs of a cluster.  In a farm each machine has a lab of its own, which runs one trial at a
time; in a span only the collector has one."""

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
_TRANSFER_S = 30.0
# Includes a download of up to 15 minutes.
_OPENING_S = 1800.0
# The start-up time of a lab, relative to that of the faster half, above which it is left out.
_SLOWEST, _LEAST_OPENING_S = 3.0, 20.0
_CEILING_S = 900.0
_ENDING_S = 60.0

Answer = BaseActorFuture[bytes]
R = TypeVar("R", bound=messages.Reply)


@dataclass(frozen=True)
class _RunningTrial:
    number: int
    machine: str
    answer: Answer | None


def _is_done(answer: Answer | None) -> bool:
    """Whether there is nothing to wait for; an answer is None if its machine is lost."""
    return answer is None or answer.done()


class SchedulerLost(Unreachable):
    """The scheduler has died, so no machine can be reached; the machines are not to blame."""


class DaskFarm:
    """Controls a process on each machine that opens a lab there and runs one trial at a time."""

    def __init__(self, labs: Mapping[str, Actor], scheduler_lives: Callable[[], bool]) -> None:
        self.machines = tuple(labs)
        """The workers' names."""
        self._labs = dict(labs)
        self._trials: list[_RunningTrial] = []
        self._scheduler_lives = scheduler_lives

    def open(
        self, request: messages.OpenLab, tell: Callable[[str], None]
    ) -> dict[str, messages.Opened]:
        """Open the labs, and return the facts of each."""
        self._ask_all(request, messages.Prepared, tell)
        return self._ask_all(messages.StartLab(), messages.Opened, tell, slowest=_SLOWEST)

    def _ask_all(
        self,
        question: messages.Question,
        kind: type[R],
        tell: Callable[[str], None],
        slowest: float = math.inf,
    ) -> dict[str, R]:
        """Ask every machine, and return the replies.

        A machine is left out if it fails, or needs more than `slowest` times the time of the faster
        half.  If all fail, raises the error of the first; other errors are raised at once.
        """
        began_s = time.monotonic()
        until_s = began_s + _OPENING_S
        waiting = {name: self._ask(name, question) for name in self.machines}
        replies: dict[str, R] = {}
        failures: dict[str, TuneError] = {}
        while waiting:
            left_s = until_s - time.monotonic()
            wait_until(lambda: any(map(_is_done, waiting.values())), left_s, _POLL_S)
            done = [name for name, answer in waiting.items() if _is_done(answer)]
            if not done:
                message = f"no lab after {time.monotonic() - began_s:.0f} s"
                failures |= {name: Unreachable(f"{name}: {message}") for name in waiting}
                break
            for name in done:
                try:
                    replies[name] = self._reply_of(name, waiting.pop(name), kind, _TRANSFER_S)
                except (JobFailed, Unreachable) as error:
                    failures[name] = error
            if 2 * len(replies) >= len(self.machines):
                took_s = max(_LEAST_OPENING_S, time.monotonic() - began_s)
                until_s = min(until_s, began_s + slowest * took_s)
        if not replies:
            raise next(iter(failures.values()))
        for name, failure in failures.items():
            tell(f"{failure}; {name} is left out")
            self.drop(name)
        self.machines = tuple(name for name in self.machines if name in replies)
        return {name: replies[name] for name in self.machines}

    def start(self, asked: Asked, profile: Profile) -> None:
        """Start a trial on its machine."""
        answer = self._ask(asked.machine, messages.RunTrial(asked, messages.profile_json(profile)))
        self._trials.append(_RunningTrial(asked.number, asked.machine, answer))

    def wait(self, timeout_s: float) -> Mapping[int, Result | Lost]:
        """Wait up to `timeout_s` for a trial to end; the results of all ended trials, by number."""
        wait_until(
            lambda: any(_is_done(trial.answer) for trial in self._trials), timeout_s, _POLL_S
        )
        ended = [trial for trial in self._trials if _is_done(trial.answer)]
        self._trials = [trial for trial in self._trials if trial not in ended]
        return {trial.number: self._outcome(trial) for trial in ended}

    def ceiling(self, machine: str, profile: Profile) -> Ceiling:
        """The ceiling of a machine's engine, without rsyslog, for the documents of `profile`.
        Raises Unreachable if the machine is gone."""
        answer = self._ask(machine, messages.MeasureCeiling(messages.profile_json(profile)))
        return self._reply_of(machine, answer, messages.CeilingFound, _CEILING_S).ceiling

    def drop(self, machine: str) -> None:
        """Remove a machine from the farm, and end its lab if it is still reachable."""
        if machine in self._labs:
            begin_end(self._labs.pop(machine), _ENDING_S)
        self._trials = [trial for trial in self._trials if trial.machine != machine]

    def close(self) -> None:
        """Shut the labs down; an unreachable one ends with its worker."""
        end_all(self._labs.values(), _ENDING_S)

    def _ask(self, machine: str, question: messages.Question) -> Answer | None:
        """Send a question; the future answer, or None if the machine is lost or was dropped."""
        lab = self._labs.get(machine)
        try:
            return None if lab is None else cast(Answer, lab.ask(messages.QUESTIONS.line(question)))
        except RuntimeError:
            # An actor raises this if its worker is lost.
            return None

    def _outcome(self, trial: _RunningTrial) -> Result | Lost:
        try:
            reply = self._reply_of(trial.machine, trial.answer, messages.TrialEnded, _TRANSFER_S)
        except SchedulerLost:
            raise
        except TuneError as error:
            self.drop(trial.machine)
            return Lost(str(error).removeprefix(f"{trial.machine}: "), is_gone=True)
        return reply.outcome

    def _reply_of(self, machine: str, answer: Answer | None, kind: type[R], limit_s: float) -> R:
        """The reply of a machine, which must be of type `kind`.  Raises the machine's error, with
        its name; Unreachable if the machine is gone; SchedulerLost if all are."""
        try:
            reply = None if answer is None else messages.REPLIES.message(answer.result(limit_s))
        except JobFailed as error:
            raise JobFailed(f"{machine}: {error}") from None
        except (OSError, TimeoutError):
            reply = None
        if reply is None:
            if not self._scheduler_lives():
                raise SchedulerLost("the scheduler of the cluster does not answer any more")
            raise Unreachable(f"{machine} does not answer any more")
        if isinstance(reply, messages.Failed):
            raise reply.as_error(machine)
        if not isinstance(reply, kind):
            raise RuntimeError(f"{machine} answers {reply} instead of {kind.__name__}")
        return reply


def span_of(
    client: Client, certificate: messages.ClusterCertificate | None
) -> messages.SpanOver | None:
    """The span that the machines form by their roles, or None for a farm; `certificate` is that of
    the cluster.  Raises JobFailed if the roles fit neither, or both."""
    by_name = roles(client)
    labs, collectors, loads = (
        tuple(name for name, role in by_name.items() if role == kind.value)
        for kind in (Role.LAB, Role.COLLECTOR, Role.LOAD)
    )
    if labs and not (collectors or loads):
        return None
    if labs or len(collectors) != 1 or not loads:
        names = ", ".join(f"{name} ({role})" for name, role in by_name.items()) or "no machine"
        raise JobFailed(
            f"the cluster has {names}: to measure it needs either machines of the role lab "
            "(a farm) or one collector and at least one load (a span)"
        )
    (worker,) = workers_of(client, Role.COLLECTOR.value).values()
    scheduler = str(client.scheduler_info(n_workers=0)["address"])
    return messages.SpanOver(loads, urlsplit(worker).hostname or LOOPBACK, scheduler, certificate)


@contextmanager
def dask_farm(client: Client, module: str, role: Role) -> Iterator[DaskFarm]:
    """A farm of the machines with that role; its processes end with the block."""
    labs = processes(client, workers_of(client, role.value), module)
    farm = DaskFarm(labs, lambda: is_alive(client))
    try:
        yield farm
    finally:
        farm.close()
