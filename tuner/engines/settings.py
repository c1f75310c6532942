"""Declarations of the engine's settings: the releases that have each, and how it can be changed.

A release between those of REGISTERED is taken from the pull request or documentation that added the
setting.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from pydantic import BaseModel

from tuner.engines.release import Engine, Release
from tuner.schema.section import parameter

REGISTERED = "registered settings of Elasticsearch 7.17 to 9.5, OpenSearch 1.3 to 3.8"
"""The releases whose registered settings we read, from server jars and running engines."""

Version = tuple[int, int]
ALWAYS: Version = (0, 0)


class Update(Enum):
    """When an index setting can be changed: only at creation, on a closed index, on an open index,
    or never, as the engine sets it.  Node settings are read at start."""

    FINAL = "final"
    STATIC = "static"
    DYNAMIC = "dynamic"
    ENGINE = "engine"


@dataclass(frozen=True)
class Setting:
    """One setting: its name without `index.`, the first release of each engine that has it (None if
    none has), and in `until` the last release of Elasticsearch, if it was removed."""

    name: str
    update: Update
    elasticsearch: Version | None
    opensearch: Version | None
    until: Version | None = None

    def unknown_to(self, release: Release) -> str | None:
        """Why `release` refuses the setting, or None if it takes it."""
        if self.update is Update.ENGINE:
            return "the engine sets it itself"
        is_opensearch = release.engine is Engine.OPENSEARCH
        if self.until is not None and not is_opensearch and release.engine_version > self.until:
            return f"Elasticsearch took it up to {self.until[0]}.{self.until[1]}"
        return unknown_to(release, self.elasticsearch, self.opensearch)


def setting(declared: Setting, does: str, *traps: str, default: str | int = "") -> Any:
    """A pydantic field for a setting of the engine, as `parameter` is for one of rsyslog.
    `default` is the engine's default as text, or the profile's own default as a number."""
    value, engine_default = (None, default) if isinstance(default, str) else (default, "")
    info = parameter(does, *traps, value=value, default=engine_default, alias=declared.name)
    info.metadata.append(declared)
    return info


def static(
    name: str,
    does: str,
    *traps: str,
    default: str = "",
    elasticsearch: Version | None = None,
    opensearch: Version | None = None,
) -> Any:
    """The field of a static setting."""
    since = introduced(elasticsearch, opensearch)
    return setting(Setting(name, Update.STATIC, *since), does, *traps, default=default)


def introduced(
    elasticsearch: Version | None, opensearch: Version | None
) -> tuple[Version | None, Version | None]:
    """The first releases of Elasticsearch and OpenSearch with a setting; without both arguments,
    every release has it."""
    is_everywhere = elasticsearch is None and opensearch is None
    return (ALWAYS, ALWAYS) if is_everywhere else (elasticsearch, opensearch)


def settings_of(section: type[BaseModel]) -> dict[str, Setting]:
    """The engine settings among the fields of a section, by name."""
    metadata = (item for info in section.model_fields.values() for item in info.metadata)
    return {item.name: item for item in metadata if isinstance(item, Setting)}


# In OpenSearch zstd is a codec of its own; in Elasticsearch it is what best_compression means.
CODECS: dict[str, tuple[Version | None, Version | None]] = {
    "default": (ALWAYS, ALWAYS),
    "best_compression": (ALWAYS, ALWAYS),
    "legacy_default": ((8, 16), None),
    "legacy_best_compression": ((8, 16), None),
    "lz4": (None, (2, 9)),
    "zlib": (None, (2, 9)),
    "zstd": (None, (2, 9)),
    "zstd_no_dict": (None, (2, 9)),
    "qat_lz4": (None, (2, 15)),
    "qat_deflate": (None, (2, 15)),
}

MODES: dict[str, tuple[Version | None, Version | None]] = {
    "standard": ((8, 17), None),
    "logsdb": ((8, 17), None),
    "columnar": ((9, 5), None),
    "logsdb_columnar": ((9, 5), None),
}
COLUMNAR = frozenset({"columnar", "logsdb_columnar"})
"""Index modes that store fields only as columns, without the document."""
TIMESTAMPED = frozenset({"logsdb", "logsdb_columnar"})
"""Index modes that refuse a document without @timestamp; seen on 9.5.4."""


def unknown_to(
    release: Release, elasticsearch: Version | None, opensearch: Version | None
) -> str | None:
    """Why `release` lacks a feature that these releases introduced, or None if it has it."""
    is_opensearch = release.engine is Engine.OPENSEARCH
    since = opensearch if is_opensearch else elasticsearch
    names = ["Elasticsearch", "OpenSearch"]
    engine, rival = reversed(names) if is_opensearch else names
    if since is None:
        return f"only {rival} has it"
    if release.engine_version < since:
        return f"introduced in {engine} {since[0]}.{since[1]}"
    return None
