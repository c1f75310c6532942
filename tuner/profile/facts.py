"""What is known about each key of a profile beside its type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from tuner.profile.schema import Key

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
    ("global.", f"{_MANUAL}: rainerscript/global"),
    ("parse.", f"{_MANUAL}: rainerscript/property, mmjsonparse"),
    ("settings.", _ENGINE),
    ("node.", _ENGINE),
    ("outputs[].index.", _ENGINE),
    ("outputs[].action.", f"{_MANUAL}: configuration/actions, action.c"),
    ("outputs[].filter", f"{_MANUAL}: configuration/filters, rainerscript/expressions"),
    ("outputs[].dynaFile.", f"{_MANUAL}: omfile, configuration/templates, msg.c"),
    ("outputs[].", f"{_MANUAL}: omelasticsearch, omelasticsearch.c"),
)


@dataclass(frozen=True)
class Fact:
    """One key in one or two sentences; `default` where it depends on release or place."""

    does: str
    default: str = ""
    traps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Facts:
    """Every fact by its name, such as `queue.size` or `release.rsyslog`."""

    keys: dict[str, Fact]

    def of(self, key: Key) -> Fact:
        """The fact about `key`; only its name when nothing else is known."""
        return self.keys.get(fact_name(key), Fact(""))


def fact_name(key: Key) -> str:
    """What the fact about `key` is called: its path, or one name for a section in many places."""
    shared = _SHARED.get(key.section.__name__)
    return f"{shared}.{key.name}" if shared else key.path


def source_of(name: str, kinds: Sequence[str] = ()) -> str:
    """Where the fact called `name` comes from, which is about inputs or outputs of those kinds."""
    found = ((start, source) for start, source in _SOURCES if name.startswith(start))
    start, source = next(found, ("", "rsyslog-tune's own: docs/profiles.md"))
    if start == "outputs[]." and kinds:
        return f"{_MANUAL}: {', '.join(kinds)}"
    return source


@cache
def facts() -> Facts:
    """The facts of facts.yaml beside this module."""
    text = (files("tuner.profile") / "facts.yaml").read_text(encoding="utf-8")
    data = yaml.safe_load(text)
    known: dict[str, str] = data["traps"]
    return Facts({name: _fact(entry, known) for name, entry in data["keys"].items()})


def _fact(entry: str | dict[str, str | list[str]], known: dict[str, str]) -> Fact:
    if isinstance(entry, str):
        return Fact(entry)
    traps = tuple(known.get(trap, trap) for trap in entry.get("traps", []))
    return Fact(str(entry["does"]), str(entry.get("default", "")), traps)
