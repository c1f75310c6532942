"""What lint says of a base beyond what a profile knows of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tuner.engines.release import Release
from tuner.errors import Problem, Severity
from tuner.modules.refused_bulks import refuses_type, sends_type
from tuner.rainerscript.script import ScriptObject, ScriptPosition

if TYPE_CHECKING:
    from tuner.profile.base import KeptBase

REFUSED_TYPE = "RT408"
SINGLE_REQUESTS = "RT409"


def warnings_of(kept: KeptBase, release: Release) -> Iterator[Problem]:
    """The actions whose bulks the engine refuses for their `_type`, and those that send no bulks,
    each with its place."""
    for address, one in kept.changed.of_kind("action"):
        if one.type == "omelasticsearch":
            yield from _refused_type(address, one, release)
            yield from _single_requests(address, one)


def _refused_type(address: str, one: ScriptObject, release: Release) -> Iterator[Problem]:
    engine, (major, _) = release.engine, release.engine_version
    kind, text = one.get("searchType"), one.text("searchType")
    is_known = kind is None or text is not None
    version = one.text("esVersion.major")
    if (
        refuses_type(engine, major)
        and is_known
        and sends_type(release.rsyslog_number, text, version)
    ):
        what = (
            f"{address}: rsyslog {release.rsyslog} sends _type, and {engine.value} {major} "
            'refuses every bulk with it, so all events are lost: write searchType="", or name '
            "the engine that you have in release"
        )
        yield _warning(one.origin if kind is None else kind.origin, what, REFUSED_TYPE)


def _single_requests(address: str, one: ScriptObject) -> Iterator[Problem]:
    given = one.get("bulkmode")
    if given is None or (given.text or "on").lower() in {"off", "no", "0"}:
        what = (
            f"{address}: without bulkmode every event is a request of its own, a few hundred a "
            "second, and nothing that is searched makes up for it: write "
            f'bulkmode="on", or changes: {{{address}.bulkmode: "on"}}'
        )
        yield _warning(one.origin if given is None else given.origin, what, SINGLE_REQUESTS)


def _warning(where: ScriptPosition, what: str, code: str) -> Problem:
    return Problem(where.file, where.line, where.column, what, code, Severity.WARNING)
