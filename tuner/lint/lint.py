"""Everything that a profile, or the base that it keeps, can get wrong although each of its values
is legal, and how people are told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from tuner.engines.release import Release
from tuner.errors import KeyPath, Problem, Severity
from tuner.lint.rules import (
    base,
    connections,
    delivery,
    disk,
    documents,
    forwarding,
    index,
    inputs,
    outputs,
    queues,
    releases,
    requests,
    search,
    streams,
)
from tuner.lint.sections import CheckedBase, Remark
from tuner.profile.model import Profile
from tuner.rule import Complaint, Cure, Rank, Rule
from tuner.script.script import OFF, QUEUE

if TYPE_CHECKING:
    from tuner.profile.base import KeptBase

ProfileRule = Rule[Profile, Complaint]
BaseRule = Rule[CheckedBase, Complaint | Remark]

# Each topic is a module with rules; they are reported in this order, and from top to bottom.
_TOPICS = (
    queues, streams, disk, outputs, forwarding, inputs, connections, requests, delivery, index,
    documents, releases, search,
)  # fmt: skip


def _rules_in(topic: ModuleType) -> Iterator[Rule[Any, Any]]:
    return (rule for rule in vars(topic).values() if isinstance(rule, Rule))


RULES: tuple[ProfileRule, ...] = tuple(rule for topic in _TOPICS for rule in _rules_in(topic))
BASE_RULES: tuple[BaseRule, ...] = tuple(sorted(_rules_in(base), key=lambda rule: rule.code))
"""Those about a configuration that a profile keeps, whose actions no section of a profile is."""
SINGLE_REQUESTS = base.single_requests.code


# About what a base says in ways that its view does not have: limits that the file which includes a
# drop-in may define, a property behind the name of a template, streams that go to other actions
# than those into an engine; and its files.
_OF_PROFILES = frozenset({"RT235", "RT246", "RT263", "RT285"})


class Finding(NamedTuple):
    """One breach of one rule."""

    path: KeyPath
    message: str
    code: str
    severity: Severity
    cure: Cure | None = None


def lint(profile: Profile) -> tuple[Finding, ...]:
    """Every breach of every rule, in the order of the rules."""
    return tuple(findings(profile))


def errors_of(profile: Profile) -> list[Finding]:
    """The breaches for which a profile is refused."""
    return [finding for finding in findings(profile) if finding.severity is Severity.ERROR]


def findings(profile: Profile) -> Iterator[Finding]:
    """The breaches one by one, so that a caller can stop at the first; none about a setting that a
    base writes in a way that no profile has."""
    return (
        Finding(complaint.path, complaint.message, rule.code, rule.severity, complaint.cure)
        for rule in RULES
        if profile.base is None or rule.code not in _OF_PROFILES
        for complaint in rule.check(profile)
        if not _is_said_otherwise(profile, complaint.path)
    )


def _is_said_otherwise(profile: Profile, path: KeyPath) -> bool:
    """Whether the base writes what the profile has no value for, such as retryfailures, or a part
    of the queue only rsyslogd reads when it starts: then the rule judged a default.  So it did of
    an input that only a lab adds."""
    if profile.base is None or not profile.base.is_read:
        return False
    kept = profile.base.kept
    place = kept.view.place(path)
    if place is None:
        return path[:1] == ("inputs",) and path[:2] not in kept.view.sections
    parameter = kept.changed.parameter(*place)
    is_on = parameter is not None and (parameter.text or "").lower() not in OFF
    is_read = parameter is not None and bool(parameter.texts)
    if is_on and not (is_read and path[-1] in kept.view.section(path[:-1])):
        return True
    script = kept.changed.objects.get(place[0])
    queue = () if script is None else script.queue
    return place[1].startswith(QUEUE) and not all(member.texts for member in queue)


def warnings_of(kept: KeptBase, release: Release) -> Iterator[Problem]:
    """What the rules say of a base, each with its place in the file as it is written."""
    checked = CheckedBase(kept, release)
    for rule in BASE_RULES:
        for breach in rule.check(checked):
            at, message = breach if isinstance(breach, Remark) else checked.remark(breach)
            yield Problem(at.file, at.line, at.column, message, rule.code, rule.severity)


# Of a base either nothing arrives, or so slowly that nothing else matters.
_RANKS = {
    **{rule.code: rule.rank for rule in RULES},
    **{rule.code: rule.rank for rule in BASE_RULES},
    **dict.fromkeys(("RT511", "RT512"), Rank.LOSS),
    **dict.fromkeys(("RT508", "RT509"), Rank.OTHER),
    "RT513": Rank.ADVICE,
}
LATER_CODES = frozenset({"RT507", "RT508", "RT509", "RT511", "RT512", "RT513"})
"""Those that other layers of validation warn with."""


_MOST_PLACES = 20
# Names of warnings ranked below the lowest rank printed, by that rank.
_BELOW = {
    Rank.LOSS: ("other warning", "other warnings"),
    Rank.OTHER: ("piece of advice", "pieces of advice"),
}


def summary(problems: Sequence[Problem], shown: Rank = Rank.OTHER) -> list[str]:
    """The lines to print, the gravest first; they end with how much there is of a rank below those
    that are `shown`."""
    groups: dict[tuple[str, str], list[Problem]] = {}
    for problem in sorted(problems, key=_rank):
        groups.setdefault((problem.file, problem.code), []).append(problem)
    folded = [code for (_, code), (first, *_) in groups.items() if _rank(first) > shown]
    lines = [_line(group) for (_, code), group in groups.items() if code not in folded]
    return [*lines, *_folded(list(dict.fromkeys(folded)), shown)]


def _rank(problem: Problem) -> Rank:
    return _RANKS.get(problem.code, Rank.OTHER)


def _line(problems: list[Problem]) -> str:
    """The first of one rule, and where else that is so."""
    first, *others = problems
    if not others:
        return str(first)
    places = ", ".join(f"{other.line}:{other.column}" for other in others[:_MOST_PLACES])
    more = len(others) - _MOST_PLACES
    return f"{first} also at {places}{f' and {more:,} more places' if more > 0 else ''}"


def _folded(codes: list[str], shown: Rank) -> Iterator[str]:
    if codes:
        singular, plural = _BELOW[shown]
        count = f"1 {singular}" if len(codes) == 1 else f"{len(codes)} {plural}"
        yield (
            f"{count}: {', '.join(codes)}; rsyslog-tune validate --verbose shows "
            f"{'it' if len(codes) == 1 else 'them'}, rsyslog-tune explain {codes[0]} says why"
        )
