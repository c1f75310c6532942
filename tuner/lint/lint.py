"""Everything that a profile can get wrong although each of its values is legal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pydantic import BaseModel

from tuner.errors import KeyPath, Severity
from tuner.lint.rules import (
    delivery,
    disk,
    documents,
    engine,
    forwarding,
    forwarding_tls,
    http,
    index,
    input_tls,
    inputs,
    lanes,
    limits,
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
from tuner.lint.rules.steps import steps_of
from tuner.modules.in_profile import InProfile
from tuner.modules.registry import rules
from tuner.profile.model import Profile, Tier
from tuner.rule import Complaint, Cure, Rule

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
    http,
    inputs,
    input_tls,
    limits,
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


def rules_of_modules() -> tuple[Rule[Profile], ...]:
    """Those in the files of rsyslog modules, each as a rule about a profile."""
    return tuple(_about_profile(module, rule) for module, rule in rules())


def _about_profile(module: type[BaseModel], rule: Rule[InProfile[BaseModel]]) -> Rule[Profile]:
    def check(profile: Profile) -> Iterator[Complaint]:
        for path, section in _sections(profile):
            if type(section) is module:
                for complaint in rule.check(_in(profile, section)):
                    yield complaint._replace(path=(*path, *complaint.path))

    return Rule(rule.about, check)


def _sections(profile: Profile) -> Iterator[tuple[KeyPath, BaseModel]]:
    yield from ((("inputs", number), one) for number, one in enumerate(profile.inputs))
    yield from ((path, step) for path, _, step in steps_of(profile))
    yield from ((("outputs", number), one) for number, one in enumerate(profile.outputs))
    if profile.impstats is not None:
        yield ("impstats",), profile.impstats


def _in(profile: Profile, section: BaseModel) -> InProfile[BaseModel]:
    return InProfile(
        section=section,
        release=profile.release,
        durable=profile.guardrails.tier is Tier.DURABLE,
        rate=profile.workload.rate,
        work_directory=profile.global_.work_directory,
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
