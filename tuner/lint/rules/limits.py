"""Lint for limits that have names, which inputs and outputs share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.modules.input import Input
from tuner.modules.omfwd import FWD
from tuner.modules.output import Output
from tuner.modules.ratelimit import has_own_limit, named_limits
from tuner.profile.model import Profile
from tuner.rule import Complaint, error, loss


@error(
    "RT235",
    why="rsyslogd refuses a limit that it does not know, and one that is set in two ways; an "
    "output's must be in a policy file.",
    source="rsyslog's manual: rainerscript/configuration_objects/ratelimit",
    bad={"release.rsyslog": "8.2602", "inputs[0].rateLimit.name": "few"},
    good={"ratelimits": {"few": {"interval": 0}}},
    at="inputs[0].rateLimit.name",
)
def _no_such_limit(profile: Profile) -> Iterator[Complaint]:
    """Snippets may define others."""
    known = ", ".join(profile.ratelimits) or "none"
    places: list[tuple[str, Sequence[Input | Output]]] = [
        ("inputs", profile.inputs),
        ("outputs", profile.outputs),
    ]
    for place, sections in places:
        for number, section in enumerate(sections):
            for key, name in named_limits(section).items():
                path = (place, number, key)
                policy = profile.ratelimits.get(name)
                if policy is None and not profile.snippets.start:
                    yield Complaint(path, f"there is no limit {name}: ratelimits has {known}")
                elif has_own_limit(section, key):
                    yield Complaint(path, "it has an interval and a burst of its own: remove them")
                elif policy is not None and key.startswith("action.") and policy.policy is None:
                    yield Complaint(
                        path, f"outputs need a policy: give ratelimits.{name} a file of that name"
                    )


@loss(
    "RT236",
    why="A rate limit drops what exceeds it; rsyslog logs this only once.",
    source="rsyslog's manual: rainerscript/configuration_objects/ratelimit",
    bad={
        "release.rsyslog": "8.2604",
        "guardrails.tier": "relaxed",
        "ratelimits": {"few": {"interval": 5, "burst": 1000}},
        "outputs": [{**FWD, "rateLimit.name": "few"}],
    },
    good={"ratelimits": {"few": {"interval": 0}}},
    at="outputs[up].rateLimit.name",
)
def _limited_outputs(profile: Profile) -> Iterator[Complaint]:
    """What a policy file says is not known here."""
    for number, output in enumerate(profile.outputs):
        for key, name in named_limits(output).items():
            policy = profile.ratelimits.get(name)
            if policy is None or not (policy.interval or policy.policy):
                continue
            unless = f", unless {policy.policy} says mode: pace" if policy.policy else ""
            yield Complaint(
                ("outputs", number, key),
                f"what exceeds the limit {name} is dropped{unless}: remove it, or raise the limit",
            )
