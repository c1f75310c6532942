"""The rules in the files of rsyslog modules, applied to every section of those modules."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from tuner.errors import KeyPath
from tuner.lint.rules.steps import steps_of
from tuner.modules.in_profile import InProfile
from tuner.modules.registry import rules
from tuner.profile.model import Profile, Tier
from tuner.rule import Complaint, Rule


def rules_of_modules() -> tuple[Rule[Profile], ...]:
    """Each of those rules as one about a profile."""
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
