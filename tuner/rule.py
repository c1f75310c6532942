"""What a lint rule is: a check under a decorator that names its code and how grave a breach is.

    @error("RT103").for_each(real_queues, "dequeueBatchSize")
    def batch_above_size(queue: PlacedQueue, profile: Profile) -> Iterator[str]: ...

Why it is there, its source and its examples are one row of tuner/lint/codes.yaml: the examples are
the rule's tests, and `rsyslog-tune explain RT103` shows them.  F numbers in texts are those of
tuner/profile/facts.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from tuner.errors import KeyPath, Severity

S = TypeVar("S")
B = TypeVar("B")
P = TypeVar("P")


class Cure(NamedTuple):
    """The one value that stops a loss of events, whatever else the profile says; `loss` is the
    clause that says what is lost without it, and `stops` one about what else waits with it."""

    value: bool | int | str
    loss: str
    stops: str = ""


class Complaint(NamedTuple):
    """One breach of a rule: the setting to change, and what to do about it; with a cure where one
    value of that setting is right for everybody."""

    path: KeyPath
    message: str
    cure: Cure | None = None


class Rank(IntEnum):
    """What a breach costs: all events of an action, some, something else, or nothing but what could
    be had."""

    ALL_LOST = -1
    LOSS = 0
    OTHER = 1
    ADVICE = 2


@dataclass(frozen=True)
class Rule(Generic[S, B]):
    """A check that yields breaches of a profile, or of a base."""

    code: str
    severity: Severity
    rank: Rank
    check: Callable[[S], Iterable[B]]


@dataclass(frozen=True)
class RuleCode:
    """The code of a rule and how grave its breach is; decorates the check."""

    severity: Severity
    rank: Rank
    code: str

    def __call__(self, check: Callable[[S], Iterable[B]]) -> Rule[S, B]:
        """The rule that `check` makes."""
        return Rule(self.code, self.severity, self.rank, check)

    def for_each(
        self, places: Callable[[S], Iterable[tuple[KeyPath, P]]], *at: str
    ) -> Callable[[Callable[[P, S], Iterable[str | Complaint]]], Rule[S, Complaint]]:
        """Decorates a check of one section, or object, which becomes one of all in a profile, or
        in a base.  The messages that it yields are about the key `at`; its complaints have paths
        that begin in the section."""

        def of_section(check: Callable[[P, S], Iterable[str | Complaint]]) -> Rule[S, Complaint]:
            def of_whole(whole: S) -> Iterator[Complaint]:
                for path, section in places(whole):
                    for breach in check(section, whole):
                        complaint = Complaint(at, breach) if isinstance(breach, str) else breach
                        yield complaint._replace(path=(*path, *complaint.path))

            return self(of_whole)

        return of_section


# A breach makes the profile unusable.
error = partial(RuleCode, Severity.ERROR, Rank.OTHER)
# A breach deserves a second look.
warning = partial(RuleCode, Severity.WARNING, Rank.OTHER)
# A warning about events that are lost.
loss = partial(RuleCode, Severity.WARNING, Rank.LOSS)
# A warning about a setting that has no effect, or could do better.
advice = partial(RuleCode, Severity.WARNING, Rank.ADVICE)
# No event of an action of a base can arrive: rsyslogd runs so all the same, and only `validate`
# refuses it.
all_lost = partial(RuleCode, Severity.ERROR, Rank.ALL_LOST)
