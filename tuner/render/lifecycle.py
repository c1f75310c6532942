"""Policies by which the engine rolls indices over and deletes old ones, as JSON."""

from __future__ import annotations

from tuner.engines.index import Index
from tuner.engines.lifecycle import Lifecycle, Rollover
from tuner.engines.release import Engine
from tuner.render.index import MANAGER, PRIORITY, Json, index_patterns

# ILM's conditions for a rollover in the words of OpenSearch's index state management.
_ISM_CONDITIONS = {
    "max_age": "min_index_age",
    "max_primary_shard_size": "min_primary_shard_size",
    "max_size": "min_size",
    "max_docs": "min_doc_count",
}


def policy(engine: Engine, index: Index, lifecycle: Lifecycle) -> Json:
    """The body of `PUT _ilm/policy/TARGET`, or of `PUT _plugins/_ism/policies/TARGET`."""
    if engine is Engine.OPENSEARCH:
        return {"policy": _ism(index, lifecycle)}
    return {"policy": {"phases": _ilm_phases(lifecycle), "_meta": {"managed_by": MANAGER}}}


def _ilm_phases(lifecycle: Lifecycle) -> Json:
    """ILM counts the age of an index from its rollover."""
    actions: Json = {}
    if lifecycle.rollover is not None:
        actions["rollover"] = _conditions(lifecycle.rollover)
    phases: Json = {"hot": {"min_age": "0ms", "actions": actions}}
    if lifecycle.retention is not None:
        phases["delete"] = {"min_age": lifecycle.retention, "actions": {"delete": {}}}
    return phases


def _ism(index: Index, lifecycle: Lifecycle) -> Json:
    actions: list[Json] = []
    if lifecycle.rollover is not None:
        actions = [{"rollover": _ism_conditions(lifecycle.rollover)}]
    transitions: list[Json] = []
    states: list[Json] = [{"name": "hot", "actions": actions, "transitions": transitions}]
    if lifecycle.retention is not None:
        # An index is to live that long after its last event, not after its first.
        age = "min_rollover_age" if index.rolls_over else "min_index_age"
        transitions.append({"state_name": "delete", "conditions": {age: lifecycle.retention}})
        states.append({"name": "delete", "actions": [{"delete": {}}], "transitions": []})
    return {
        "description": f"{index.target}, rendered by {MANAGER}",
        "default_state": "hot",
        "states": states,
        "ism_template": [{"index_patterns": index_patterns(index), "priority": PRIORITY}],
    }


def _conditions(rollover: Rollover) -> Json:
    return rollover.model_dump(mode="json", exclude_none=True)


def _ism_conditions(rollover: Rollover) -> Json:
    return {_ISM_CONDITIONS[name]: value for name, value in _conditions(rollover).items()}
