"""The index templates of a cluster, and whether it would take another one; nothing is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tuner.engine.client import JSON, EngineClient
from tuner.engine.path import at, number_at


@dataclass(frozen=True)
class InstalledTemplate:
    """A composable index template of a cluster, as the cluster tells it."""

    name: str
    patterns: tuple[str, ...]
    priority: int
    body: JSON


def installed_templates(client: EngineClient) -> tuple[InstalledTemplate, ...]:
    """Every composable index template, sorted by name."""
    found = client.get("/_index_template").get("index_templates")
    each = (_installed(one) for one in (found if isinstance(found, list) else []))
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
