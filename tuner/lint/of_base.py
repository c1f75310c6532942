"""What lint says of a base beyond what a profile knows of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tuner.engines.release import Release
from tuner.errors import Problem, Severity
from tuner.modules.refused_bulks import refuses_type, sends_type

if TYPE_CHECKING:
    from tuner.profile.base import KeptBase

REFUSED_TYPE = "RT408"


def warnings_of(kept: KeptBase, release: Release) -> Iterator[Problem]:
    """The actions whose bulks the engine refuses for their `_type`, each with its place."""
    engine, (major, _) = release.engine, release.engine_version
    for address, one in kept.changed.of_kind("action"):
        kind, text = one.get("searchType"), one.text("searchType")
        of_engine = one.type == "omelasticsearch" and refuses_type(engine, major)
        is_known = kind is None or text is not None
        version = one.text("esVersion.major")
        if of_engine and is_known and sends_type(release.rsyslog_number, text, version):
            where = one.origin if kind is None else kind.origin
            yield Problem(
                where.file,
                where.line,
                where.column,
                f"{address}: rsyslog {release.rsyslog} sends _type, and {engine.value} {major} "
                'refuses every bulk with it, so all events are lost: write searchType="", or name '
                "the engine that you have in release",
                REFUSED_TYPE,
                Severity.WARNING,
            )
