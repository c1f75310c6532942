"""What an engine says when it refuses a template, taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass

# What is around the reason: that the template, under the name of its trial, is no good.
_AROUND = re.compile(r"^composable template \[[^\]]*\] template after composition is invalid: ")
_TRIAL = re.compile(r"\[simulate_[a-z_]*template_[^\]]*\]")
_NUMBERED = re.compile(r"(?:^|;)\s*\d+: ")
_SETTING = re.compile(r"\[index\.([A-Za-z0-9_.]+)\]")
_FIELD = re.compile(r"(?:field|mapper) \[([^\]]+)\]")
# OpenSearch says it of every setting that it does not know, after saying that it does not.
_NOISE = "to be private but it was not"


@dataclass(frozen=True)
class Reason:
    """One of them: the engine's words, and the setting (without `index.`) or the field it names."""

    text: str
    setting: str | None
    field: str | None


def reasons(said: str) -> tuple[Reason, ...]:
    """Each reason in the engine's answer to a template, in its order."""
    _, failed, listed = said.partition("Validation Failed: ")
    if not failed:
        return (_reason(_TRIAL.sub("[ours]", _AROUND.sub("", said))),)
    parts = _NUMBERED.split(listed.removesuffix("]").removesuffix(";"))
    return tuple(_reason(part) for part in parts if part.strip() and _NOISE not in part)


def _reason(text: str) -> Reason:
    one_line = " ".join(text.split())
    setting, field = _SETTING.search(one_line), _FIELD.search(one_line)
    return Reason(
        one_line,
        None if setting is None else setting.group(1),
        None if field is None else field.group(1),
    )
