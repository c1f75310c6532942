"""Everything that a profile can get wrong although each of its values is legal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tuner.errors import Severity
from tuner.profile import (
    rules_delivery,
    rules_disk,
    rules_documents,
    rules_engine,
    rules_forwarding,
    rules_forwarding_tls,
    rules_imfile,
    rules_impstats,
    rules_index,
    rules_input_losses,
    rules_input_tls,
    rules_inputs,
    rules_lanes,
    rules_losses,
    rules_other_outputs,
    rules_outputs,
    rules_parameters,
    rules_queues,
    rules_releases,
    rules_requests,
    rules_search,
    rules_settings,
    rules_transport,
)
from tuner.profile.model import Profile
from tuner.profile.source import KeyPath

RULES = (
    *rules_queues.RULES,
    *rules_lanes.RULES,
    *rules_losses.RULES,
    *rules_disk.RULES,
    *rules_outputs.RULES,
    *rules_other_outputs.RULES,
    *rules_forwarding.RULES,
    *rules_forwarding_tls.RULES,
    *rules_inputs.RULES,
    *rules_input_losses.RULES,
    *rules_imfile.RULES,
    *rules_input_tls.RULES,
    *rules_impstats.RULES,
    *rules_parameters.RULES,
    *rules_transport.RULES,
    *rules_requests.RULES,
    *rules_delivery.RULES,
    *rules_engine.RULES,
    *rules_index.RULES,
    *rules_settings.RULES,
    *rules_documents.RULES,
    *rules_releases.RULES,
    *rules_search.RULES,
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
        Finding(complaint.path, complaint.message, rule.code, rule.severity)
        for rule in RULES
        for complaint in rule.check(profile)
    )
