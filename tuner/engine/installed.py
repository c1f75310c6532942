"""What a cluster has of the things that a profile is rendered to.  Only read, never changed."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.engine.client import JSON, EngineClient, EngineRefused, at
from tuner.engines.release import Engine

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
    answer = _found(client, f"/_component_template/{name}")
    each = at(answer, "component_templates")
    bodies = [
        at(one, "component_template")
        for one in (each if isinstance(each, list) else [])
        if at(one, "name") == name
    ]
    return _object(bodies[0]) if bodies else None


def open_indices(client: EngineClient, pattern: str) -> tuple[OpenIndex, ...]:
    """The open indices that a pattern, an alias or a data stream stands for, sorted by name."""
    choice = "expand_wildcards=open&ignore_unavailable=true&allow_no_indices=true"
    form = "flat_settings=true&include_defaults=true"
    answer = _found(client, f"/{pattern}/_settings?{choice}&{form}") or {}
    indices = (
        OpenIndex(name, _object(at(one, "settings")), _object(at(one, "defaults")))
        for name, one in answer.items()
    )
    return tuple(sorted(indices, key=lambda one: one.name))


def lifecycle_policy(client: EngineClient, engine: Engine, name: str) -> JSON | None:
    """The policy of that name of ILM or ISM, as `{"policy": ...}`; None when there is none."""
    if engine is Engine.OPENSEARCH:
        answer: object = _found(client, f"/_plugins/_ism/policies/{name}")
    else:
        answer = at(_found(client, f"/_ilm/policy/{name}"), name)
    policy = at(answer, "policy")
    return {"policy": policy} if isinstance(policy, dict) else None


def alias_writes(client: EngineClient, name: str) -> bool | None:
    """Whether writes to an alias go to one index, None when there is no such alias."""
    answer = _found(client, f"/_alias/{name}")
    if not answer:
        return None
    flags = [at(one, "aliases", name, "is_write_index") for one in answer.values()]
    return flags.count(True) == 1 or flags == [None]


def _found(client: EngineClient, path: str) -> JSON | None:
    try:
        return client.get(path)
    except EngineRefused as error:
        if error.status not in _ABSENT:
            raise
        return None


def _object(value: object) -> JSON:
    return value if isinstance(value, dict) else {}
