"""What a cluster has of the things that a profile is rendered to, and whether it would accept
another index template.  Only read, never changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tuner.engine.client import JSON, EngineClient, at, list_at, number_at, object_at
from tuner.engines.release import Engine
from tuner.errors import JobFailed

# Where nothing is, and where a minimal distribution has no such thing at all.
_ABSENT = frozenset({400, 404, 405})


@dataclass(frozen=True)
class OpenIndex:
    """An open index: its settings as they were given, and the defaults of all others; flat."""

    name: str
    settings: JSON
    defaults: JSON


def component_template(client: EngineClient, name: str) -> JSON | None:
    """The component template of that name, None when there is none."""
    answer = client.find(f"/_component_template/{name}", _ABSENT)
    each = list_at(answer, "component_templates")
    named = (one for one in each if at(one, "name") == name)
    return next((object_at(one, "component_template") for one in named), None)


# What no name of an index has.
_NO_NAME = re.compile(r"[\s\\/*?\"<>|,#\x00-\x1f\x7f]")


def open_indices(client: EngineClient, pattern: str) -> tuple[OpenIndex, ...]:
    """The open indices that a pattern, an alias or a data stream stands for, sorted by name.
    Raises JobFailed for an answer of another form: settings are put where a name says."""
    choice = "expand_wildcards=open&ignore_unavailable=true&allow_no_indices=true"
    form = "flat_settings=true&include_defaults=true"
    answer = client.find(f"/{pattern}/_settings?{choice}&{form}", _ABSENT)
    forms = (isinstance(at(answer, name, "settings"), dict) for name in answer)
    if not all(forms) or any(map(_NO_NAME.search, answer)):
        raise JobFailed(f"{client.url} answers, but not like Elasticsearch or OpenSearch")
    indices = (
        OpenIndex(name, object_at(one, "settings"), object_at(one, "defaults"))
        for name, one in answer.items()
    )
    return tuple(sorted(indices, key=lambda one: one.name))


def lifecycle_policy(client: EngineClient, engine: Engine, name: str) -> JSON | None:
    """The policy of that name of ILM or ISM, as `{"policy": ...}`; None when there is none."""
    if engine is Engine.OPENSEARCH:
        answer = client.find(f"/_plugins/_ism/policies/{name}", _ABSENT)
    else:
        answer = object_at(client.find(f"/_ilm/policy/{name}", _ABSENT), name)
    policy = at(answer, "policy")
    return {"policy": policy} if isinstance(policy, dict) else None


def alias_writes(client: EngineClient, name: str) -> bool | None:
    """Whether writes to an alias go to one index, None when there is no such alias."""
    answer = client.find(f"/_alias/{name}", _ABSENT)
    if not answer:
        return None
    flags = [at(one, "aliases", name, "is_write_index") for one in answer.values()]
    return flags.count(True) == 1 or flags == [None]


@dataclass(frozen=True)
class InstalledTemplate:
    """A composable index template of a cluster, as the cluster tells it."""

    name: str
    patterns: tuple[str, ...]
    priority: int
    body: JSON


def installed_templates(client: EngineClient) -> tuple[InstalledTemplate, ...]:
    """Every composable index template, sorted by name."""
    each = (
        InstalledTemplate(
            name=str(at(entry, "name")),
            patterns=tuple(map(str, list_at(entry, "index_template", "index_patterns"))),
            priority=number_at(entry, "index_template", "priority"),
            body=object_at(entry, "index_template"),
        )
        for entry in list_at(client.get("/_index_template"), "index_templates")
    )
    return tuple(sorted(each, key=lambda one: one.name))


def old_templates(client: EngineClient) -> tuple[InstalledTemplate, ...]:
    """The same of the older kind, those of `_template`."""
    each = (
        InstalledTemplate(
            name=name,
            patterns=tuple(map(str, list_at(body, "index_patterns"))),
            priority=number_at(body, "order"),
            body=object_at(answer, name),
        )
        for answer in (client.find("/_template", _ABSENT),)
        for name, body in answer.items()
    )
    return tuple(sorted(each, key=lambda one: one.name))


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
