"""Which releases of rsyslog wait for an engine, or a proxy before it, that takes no bulk, and which
send it types.

What becomes of a bulk is a table of tests (`tests/modules/refused_bulks.py`), which
`tests/live/test_refused_bulks.py` has happen to the rsyslogd at hand and docs are compared with.
Where between two of those a release changed is in rsyslog's commits a5c4d2694, 2f29b1ccb and
a8b706c5c.
"""

from __future__ import annotations

from tuner.engines.release import Engine

WAITS_WITHOUT_RIGHTS = 2508
"""The first release that waits when a whole bulk is answered with 401 or 403."""
WAITS_ON_ERRORS = 2606
"""The same for 429 and 5xx."""

TYPE_CAN_GO, TYPE_GONE = 2206, 2510
"""The first releases that leave `_type` out where searchType is empty, and where it is not set."""
_TAKES_TYPE = {Engine.ELASTICSEARCH: 7, Engine.OPENSEARCH: 1}
"""The last version of each engine that takes a bulk with `_type`; later ones answer 400 to all."""


def refuses_type(engine: Engine, major: int) -> bool:
    """Whether an engine of that major version refuses every bulk with `_type`."""
    return major > _TAKES_TYPE[engine]


def sends_type(release: int, search_type: str | None, engine_major: str | None) -> bool:
    """Whether a release sends `_type` (F15), by searchType and esVersion.major as they are written,
    None where they are not."""
    if release < TYPE_CAN_GO:
        return True
    if search_type is None:
        return release < TYPE_GONE and (engine_major is None or engine_major in _WITH_TYPES)
    return search_type != ""


_WITH_TYPES = frozenset("01234567")


def lost_whole(release: int) -> str:
    """The answers to a whole bulk after which this release loses it and a newer one waits, in
    words, such as `401, 403, 429 or 5xx`; empty if there are none."""
    rights = "401, 403, " if release < WAITS_WITHOUT_RIGHTS else ""
    return f"{rights}429 or 5xx" if release < WAITS_ON_ERRORS else ""
