"""Everything that a profile can get wrong although each of its values is legal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tuner.errors import KeyPath, Severity
from tuner.lint.modules import rules_of_modules
from tuner.lint.rules import (
    delivery,
    disk,
    documents,
    engine,
    forwarding,
    forwarding_tls,
    index,
    input_tls,
    inputs,
    lanes,
    losses,
    other_outputs,
    outputs,
    queue_parameters,
    queues,
    releases,
    requests,
    search,
    settings,
    steps,
    streams,
    transport,
)
from tuner.profile.model import Profile
from tuner.rule import Cure, Rule

# Each topic is a module with rules; they are reported in this order, and from top to bottom,
# those in the files of rsyslog modules last.
_TOPICS = (
    queues,
    queue_parameters,
    lanes,
    streams,
    steps,
    losses,
    disk,
    outputs,
    other_outputs,
    forwarding,
    forwarding_tls,
    inputs,
    input_tls,
    transport,
    requests,
    delivery,
    engine,
    index,
    settings,
    documents,
    releases,
    search,
)

RULES: tuple[Rule[Profile], ...] = (
    *(rule for topic in _TOPICS for rule in vars(topic).values() if isinstance(rule, Rule)),
    *rules_of_modules(),
)


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


def findings(profile: Profile) -> Iterator[Finding]:
    """The breaches one by one, so that a caller can stop at the first."""
    return (
        Finding(one.path, one.message, rule.about.code, rule.about.severity, one.cure)
        for rule in RULES
        for one in rule.check(profile)
    )
