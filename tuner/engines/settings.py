"""How settings of the engine are declared: since when each engine knows one, and how it can be
changed.

Releases between those of REGISTERED are from the pull requests and documentation that added the
settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from pydantic import BaseModel

from tuner.engines.release import Engine, Release
from tuner.schema.section import parameter

REGISTERED = "registered settings of Elasticsearch 7.17 to 9.5, OpenSearch 1.3 to 3.8"
"""What was read: those of published server jars, and what engines answer."""

Version = tuple[int, int]
ALWAYS: Version = (0, 0)


class Update(Enum):
    """When a setting can be given: at creation only, on a closed index, on an open one, or never,
    as the engine sets it itself; for nodes always at their start."""

    FINAL = "final"
    STATIC = "static"
    DYNAMIC = "dynamic"
    ENGINE = "engine"


@dataclass(frozen=True)
class Setting:
    """One setting by its name, without `index.`; with the release of each engine that introduced
    it, None if none did, and the last of Elasticsearch that takes it, where newer ones do not."""

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


def setting(known: Setting, does: str, *traps: str, default: str | int = "") -> Any:
    """A field of a section that is a setting of the engine, as `parameter` is one of rsyslog's;
    `default` is the engine's own in words, or the number that a profile has where it says none."""
    value, engine_default = (None, default) if isinstance(default, str) else (default, "")
    info = parameter(does, *traps, value=value, default=engine_default, alias=known.name)
    info.metadata.append(known)
    return info


def static(
    name: str,
    does: str,
    *traps: str,
    default: str = "",
    elasticsearch: Version | None = None,
    opensearch: Version | None = None,
) -> Any:
    """The field of a setting that is given when something starts."""
    since = introduced(elasticsearch, opensearch)
    return setting(Setting(name, Update.STATIC, *since), does, *traps, default=default)


def introduced(
    elasticsearch: Version | None, opensearch: Version | None
) -> tuple[Version | None, Version | None]:
    """The releases of Elasticsearch and OpenSearch that know a setting first: those named, or all
    of both where none is."""
    is_everywhere = elasticsearch is None and opensearch is None
    return (ALWAYS, ALWAYS) if is_everywhere else (elasticsearch, opensearch)


def settings_of(section: type[BaseModel]) -> dict[str, Setting]:
    """The settings that a section has, by their names."""
    marks = (mark for info in section.model_fields.values() for mark in info.metadata)
    return {mark.name: mark for mark in marks if isinstance(mark, Setting)}


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
"""The modes of an index that keep fields as columns alone, and no document."""
TIMED = frozenset({"logsdb", "logsdb_columnar"})
"""Those that refuse a document without @timestamp; seen on 9.5.4."""


def unknown_to(
    release: Release, elasticsearch: Version | None, opensearch: Version | None
) -> str | None:
    """Why `release` lacks what these releases introduced, or None if it has it."""
    is_opensearch = release.engine is Engine.OPENSEARCH
    since = opensearch if is_opensearch else elasticsearch
    names = ["Elasticsearch", "OpenSearch"]
    engine, rival = reversed(names) if is_opensearch else names
    if since is None:
        return f"only {rival} has it"
    if release.engine_version < since:
        return f"introduced in {engine} {since[0]}.{since[1]}"
    return None
