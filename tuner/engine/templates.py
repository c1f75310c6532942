"""The index templates of a cluster, and whether it would accept another one; stores nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tuner.engine.client import JSON, EngineClient, at, number_at


@dataclass(frozen=True)
class InstalledTemplate:
    """A composable index template of a cluster, as the cluster tells it."""

    name: str
    patterns: tuple[str, ...]
    priority: int
    body: JSON


def installed_templates(client: EngineClient) -> tuple[InstalledTemplate, ...]:
    """Every composable index template, sorted by name."""
    listed = client.get("/_index_template").get("index_templates")
    each = (_installed(one) for one in (listed if isinstance(listed, list) else []))
    return tuple(sorted(each, key=lambda one: one.name))


def _installed(entry: object) -> InstalledTemplate:
    body, patterns = at(entry, "index_template"), at(entry, "index_template", "index_patterns")
    return InstalledTemplate(
        name=str(at(entry, "name")),
        patterns=tuple(map(str, patterns)) if isinstance(patterns, list) else (),
        priority=number_at(body, "priority"),
        body=body if isinstance(body, dict) else {},
    )


def same_template(
    templates: Sequence[InstalledTemplate], name: str, patterns: Sequence[str]
) -> InstalledTemplate | None:
    """The one of that name, else one for exactly these patterns: what a new version replaces."""
    named = (one for one in templates if one.name == name)
    alike = (one for one in templates if sorted(one.patterns) == sorted(patterns))
    return next(named, None) or next(alike, None)


def stronger(
    templates: Sequence[InstalledTemplate], index: str, priority: int
) -> tuple[InstalledTemplate, ...]:
    """Those that a new index of that name would get instead: of all that match, the engine takes
    the one with the highest priority and no part of the others."""
    return tuple(
        one
        for one in templates
        if one.priority > priority and any(fnmatchcase(index, each) for each in one.patterns)
    )


def simulate(client: EngineClient, template: JSON, index: str, replaces: str | None) -> None:
    """Have the engine try `template` for a new index of the name `index`; raises EngineRefused
    with its reasons.

    The template of the name `replaces` is left out of it: next to one of the same priority and
    patterns no engine takes another.
    """
    what = f"_simulate_index/{index}" if replaces is None else f"_simulate/{replaces}"
    client.request("POST", f"/_index_template/{what}", template)


# The text around the reason: that the template, under the name of its trial, is invalid.
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


def reasons(answer: str) -> tuple[Reason, ...]:
    """Each reason in the engine's answer to a template, in its order."""
    _, failed, listed = answer.partition("Validation Failed: ")
    if not failed:
        return (_reason(_TRIAL.sub("[ours]", _AROUND.sub("", answer))),)
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
