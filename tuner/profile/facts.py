"""What is known about each key of a profile beside its type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from tuner.modules.findings import FINDINGS
from tuner.profile.schema import Key
from tuner.schema.parameter import Doc, doc

# Sections that stand in several places are explained once.
_SHARED = {"Queue": "queue", "SecretRef": "secret", "IndexSettings": "settings"}

_MANUAL = "rsyslog's manual and source"
_ENGINE = (
    "documentation and registered settings of Elasticsearch 7.17 to 9.2, OpenSearch 1.3 to 3.2"
)
_SOURCES = (
    ("queue.", f"{_MANUAL}: rainerscript/queue_parameters, runtime/queue.c"),
    ("inputs[].", f"{_MANUAL}: the input module of that name"),
    ("impstats", f"{_MANUAL}: impstats"),
    ("ratelimits", f"{_MANUAL}: rainerscript/configuration_objects/ratelimit"),
    ("global.", f"{_MANUAL}: rainerscript/global"),
    ("parse.", f"{_MANUAL}: rainerscript/property, mmjsonparse"),
    ("streams[].parse.", f"{_MANUAL}: rainerscript/property, mmjsonparse"),
    ("steps[]", f"{_MANUAL}: rainerscript/variable_property_types, the module of that name"),
    ("streams[].steps[]", f"{_MANUAL}: the module of that name"),
    ("streams[].filter", f"{_MANUAL}: configuration/filters, rainerscript/expressions"),
    ("settings.", _ENGINE),
    ("node.", _ENGINE),
    ("outputs[].index.", _ENGINE),
    ("outputs[].document[].uses", _ENGINE),
    ("outputs[].action.", f"{_MANUAL}: configuration/actions, action.c"),
    ("outputs[].filter", f"{_MANUAL}: configuration/filters, rainerscript/expressions"),
    ("outputs[].dynaFile.", f"{_MANUAL}: omfile, configuration/templates, msg.c"),
    ("outputs[].", f"{_MANUAL}: omelasticsearch, omelasticsearch.c"),
)


def fact_of(key: Key) -> Doc:
    """What is known about `key`: what its section says of it, else what facts.yaml does; its
    traps in full."""
    known = doc(key.section, key.attribute) or facts().get(fact_name(key), Doc(""))
    return replace(known, traps=tuple(FINDINGS.get(trap, trap) for trap in known.traps))


def fact_name(key: Key) -> str:
    """What the fact about `key` is called: its path, or one name for a section in many places."""
    shared = _SHARED.get(key.section.__name__)
    return f"{shared}.{key.name}" if shared else key.path


def source_of(name: str, kinds: Sequence[str] = ()) -> str:
    """Where the fact called `name` comes from, which is about inputs or outputs of those kinds."""
    sources = ((start, source) for start, source in _SOURCES if name.startswith(start))
    start, source = next(sources, ("", "rsyslog-tune's own: docs/profiles.md"))
    if start == "outputs[]." and kinds:
        return f"{_MANUAL}: {', '.join(kinds)}"
    return source


@cache
def facts() -> dict[str, Doc]:
    """The facts of facts.yaml beside this module, each by its name, such as `release.rsyslog`."""
    text = (files("tuner.profile") / "facts.yaml").read_text(encoding="utf-8")
    known: dict[str, str | dict[str, Any]] = yaml.safe_load(text)["keys"]
    return {
        name: Doc(one)
        if isinstance(one, str)
        else Doc(one["does"], str(one.get("default", "")), tuple(one.get("traps", ())))
        for name, one in known.items()
    }
