"""What a rule is for, for someone who meets its code in a message."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from tuner.errors import BadUsage
from tuner.lint.lint import RULES

_CODE = re.compile(r"RT[0-9]{3}", re.IGNORECASE)


@dataclass(frozen=True)
class RuleExplanation:
    """One code: which layer of validation reports it, how severe it is, why, and who says so."""

    code: str
    layer: str
    severity: str
    why: str
    source: str


def is_code(asked: str) -> bool:
    """Whether `asked` is a rule's code rather than a key."""
    return _CODE.fullmatch(asked) is not None


def explain_rule(asked: str) -> RuleExplanation:
    """What is known about a code; raises BadUsage when there is no such rule."""
    code = asked.upper()
    entry = explained_codes().get(code)
    if entry is None:
        raise BadUsage(f"there is no rule {code}: a message ends with the code of its rule")
    severities = {rule.about.code: rule.about.severity.value for rule in RULES}
    severity = severities.get(code) or entry.get("severity", "error")
    layer = entry.get("layer", "lint")
    return RuleExplanation(code, layer, severity, entry["why"], entry["source"])


@cache
def explained_codes() -> dict[str, dict[str, str]]:
    """The entries of rules.yaml beside this module, by code."""
    text = (files("tuner.lint") / "rules.yaml").read_text(encoding="utf-8")
    entries: dict[str, dict[str, str]] = yaml.safe_load(text)
    return entries
