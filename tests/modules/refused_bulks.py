"""What becomes of a bulk that the engine, or a proxy before it, does not take: one table for tests
and documentation."""

from __future__ import annotations

from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from tuner.engines.release import OLDEST
from tuner.modules.omelasticsearch import WAITS_ON_ERRORS, WAITS_WITHOUT_RIGHTS

WAITS_ON_ITEMS = 2608
"""The first release that waits when every document of a bulk was refused for the time being."""


class Fate(Enum):
    """What becomes of the events of a bulk, or of the documents in it that were refused."""

    WAITS = "sent again, none lost"
    DROPPED = "lost, in `errorfile`"
    VANISHED = "lost, in no file"
    REPEATED = "sent again, some twice"
    FILED = "in the file of `retryfailures`"


class RefusedBulk(NamedTuple):
    """One way of not taking a bulk, what becomes of it, and the release from which rsyslog waits
    instead, where there is one."""

    reply: str
    fate: Fate
    waits_since: int | None = None

    def fate_in(self, release: int) -> Fate:
        """What this release of rsyslog, such as 2302, makes of it."""
        waits = self.waits_since is not None and release >= self.waits_since
        return Fate.WAITS if waits else self.fate


REFUSED_BULKS = (
    RefusedBulk("401, 403 in JSON", Fate.DROPPED, WAITS_WITHOUT_RIGHTS),
    RefusedBulk("401, 403 as HTML", Fate.REPEATED, WAITS_WITHOUT_RIGHTS),
    RefusedBulk("429, 5xx in JSON", Fate.DROPPED, WAITS_ON_ERRORS),
    RefusedBulk("429, 5xx as HTML", Fate.REPEATED, WAITS_ON_ERRORS),
    RefusedBulk("400, 404, 413 in JSON", Fate.DROPPED),
    RefusedBulk("400, 404, 413 as HTML", Fate.REPEATED),
    RefusedBulk("401, 403 without a body", Fate.VANISHED, WAITS_WITHOUT_RIGHTS),
    RefusedBulk("429, 5xx without a body", Fate.VANISHED, WAITS_ON_ERRORS),
    RefusedBulk("413 without a body, the engine's own", Fate.VANISHED),
    RefusedBulk("200, but every document 429", Fate.DROPPED, WAITS_ON_ITEMS),
    RefusedBulk("200, but some documents 429 or 400", Fate.DROPPED),
    RefusedBulk("the same with `retryfailures`, 429", Fate.WAITS),
    RefusedBulk("the same with `retryfailures`, 400", Fate.FILED),
    RefusedBulk("connection reset, nothing stored", Fate.WAITS),
    RefusedBulk("connection reset after storing", Fate.REPEATED),
    RefusedBulk("half an answer", Fate.REPEATED),
    RefusedBulk("no answer within `indexTimeout`", Fate.WAITS),
)


def periods() -> tuple[tuple[int, int | None], ...]:
    """The first and last release of each stretch in which nothing changes; None has no end."""
    changes = {row.waits_since for row in REFUSED_BULKS if row.waits_since is not None}
    starts = sorted({OLDEST, *changes})
    closed = tuple((start, _before(following)) for start, following in pairwise(starts))
    return (*closed, (starts[-1], None))


def _before(release: int) -> int:
    """The release before this one: they come every second month."""
    return release - 2 if release % 100 > 2 else release - 100 + 10
