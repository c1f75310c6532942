"""How many events are behind the documents that the engine has indexed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tuner.engine.delivery import Expectation
from tuner.engine.numbering import SentEvents


class ExpectedDocuments:
    """The documents of a pool up to each of its messages; where nothing is expected, what such
    messages of that output gave in the mean (`unsure`)."""

    def __init__(self, expectation: Expectation, unsure: Sequence[float]) -> None:
        pool = np.array(expectation.outputs, dtype=np.float64)
        for output, mean in zip(pool, unsure, strict=True):
            output[output < 0] = mean
        self._running = pool.sum(axis=0).cumsum()

    def events(self, documents: int, sent: SentEvents) -> int:
        """How many of the events that were sent are behind so many documents, which come in the
        order of the events, alike from each sender.

        Events without a document count as soon as they are sent and those before them are there.
        """
        each, odd = divmod(documents, len(sent.counts))
        shares = (each + (sender < odd) for sender in range(len(sent.counts)))
        return sum(
            min(self._reached(share), max(self._reached(share - 1) + 1, count))
            for share, count in zip(shares, sent.counts, strict=True)
        )

    def _reached(self, documents: int) -> int:
        """The most events of one sender that give no more than so many documents."""
        pools, rest = divmod(documents, self._running[-1])
        within = int(np.searchsorted(self._running, rest, side="right"))
        return int(pools) * len(self._running) + within
