"""What a lint rule is: a check under a decorator that says everything else about it.

    @error(
        "RT103",
        why="rsyslog silently lowers the batch to the size of the queue.",
        source="rsyslog runtime/queue.c, issue 374",
        bad={"main_queue.dequeueBatchSize": 100_001},
        good={"main_queue.dequeueBatchSize": 100_000},
    )
    def batch_above_size(profile: Profile) -> Iterator[Complaint]: ...

The examples are the rule's tests, and `rsyslog-tune explain RT103` shows them.  F numbers in texts
are those of tuner/modules/findings.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from enum import IntEnum
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from tuner.errors import KeyPath, Severity

S = TypeVar("S")

# Settings by their paths in a profile, such as `outputs[logs].queue.size`; None removes one.
Changes = Mapping[str, object]


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
class About:
    """All that is known of a rule beside its check, which it decorates.

    `bad`, laid over a small valid profile, breaks this rule and no other; `good`, laid over both,
    fixes it, both with values as people write them. The complaint is about the first path of
    `good`, or `at`.
    """

    severity: Severity
    code: str
    _: KW_ONLY
    why: str
    source: str
    bad: Changes
    good: Changes
    at: str | KeyPath = ""
    rank: Rank = Rank.OTHER

    def __call__(self, check: Callable[[S], Iterable[Complaint]]) -> Rule[S]:
        """The rule that `check` makes."""
        return Rule(self, check)


@dataclass(frozen=True)
class Rule(Generic[S]):
    """A check of a profile, or of one section of it, with what is known about it."""

    about: About
    check: Callable[[S], Iterable[Complaint]]


# A breach makes the profile unusable.
error = partial(About, Severity.ERROR)
# A breach deserves a second look.
warning = partial(About, Severity.WARNING)
# The same, because events are lost.
loss = partial(About, Severity.WARNING, rank=Rank.LOSS)
# The same, because a setting has no effect, or could do better.
advice = partial(About, Severity.WARNING, rank=Rank.ADVICE)
