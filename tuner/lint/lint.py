"""Everything that a profile can get wrong although each of its values is legal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

from tuner.errors import KeyPath, Severity
from tuner.lint import (
    delivery,
    disk,
    documents,
    engine,
    forwarding,
    forwarding_tls,
    imfile,
    impstats,
    index,
    input_losses,
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
    transport,
)
from tuner.profile.model import Profile
from tuner.rule import Rule


def _rules(module: ModuleType) -> tuple[Rule[Profile], ...]:
    """The rules that stand in a module, from top to bottom."""
    return tuple(rule for rule in vars(module).values() if isinstance(rule, Rule))


RULES = (
    *_rules(queues),
    *_rules(queue_parameters),
    *_rules(lanes),
    *_rules(losses),
    *_rules(disk),
    *_rules(outputs),
    *other_outputs.RULES,
    *forwarding.RULES,
    *forwarding_tls.RULES,
    *inputs.RULES,
    *input_losses.RULES,
    *imfile.RULES,
    *input_tls.RULES,
    *impstats.RULES,
    *_rules(transport),
    *_rules(requests),
    *_rules(delivery),
    *_rules(engine),
    *_rules(index),
    *_rules(settings),
    *_rules(documents),
    *_rules(releases),
    *_rules(search),
)


@dataclass(frozen=True)
class Finding:
    """One breach of one rule."""

    path: KeyPath
    message: str
    code: str
    severity: Severity


def lint(profile: Profile) -> tuple[Finding, ...]:
    """Every breach of every rule, in the order of the rules."""
    return tuple(findings(profile))


def findings(profile: Profile) -> Iterator[Finding]:
    """The breaches one by one, for whoever needs to know of the first only."""
    return (
        Finding(complaint.path, complaint.message, rule.about.code, rule.about.severity)
        for rule in RULES
        for complaint in rule.check(profile)
    )
