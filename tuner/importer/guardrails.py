"""What a configuration promises already, as the guardrails of its profile."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from tuner.errors import Severity
from tuner.lint.lint import lint
from tuner.profile.model import Profile

_TIERS = ("durable", "relaxed")


def guardrails_of(data: Mapping[str, object]) -> dict[str, object]:
    """The strictest tier that the outputs keep, as no rsyslog.conf says what is wanted; a secret
    that crosses the network in the clear is kept, and said."""
    in_clear: dict[str, object] = {"secrets_in_clear": True} if _sends_in_clear(data) else {}
    choices = [in_clear | ({} if tier == _TIERS[0] else {"tier": tier}) for tier in _TIERS]
    best = min(choices, key=lambda guardrails: _errors(data, guardrails))
    return {"guardrails": best} if best else {}


def _errors(data: Mapping[str, object], guardrails: Mapping[str, object]) -> int:
    try:
        profile = Profile.model_validate(
            {**data, "guardrails": dict(guardrails)}, by_alias=True, by_name=False
        )
    except ValidationError:
        return 0
    return sum(one.severity is Severity.ERROR for one in lint(profile))


def _sends_in_clear(data: Mapping[str, object]) -> bool:
    outputs = data.get("outputs")
    return isinstance(outputs, list) and any(
        ("auth" in one or "apikey" in one)
        and any(str(server).startswith("http:") for server in one.get("servers", ()))
        for one in outputs
    )
