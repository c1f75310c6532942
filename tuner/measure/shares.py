"""What part of all events comes to each output, and the order of messages that gives wanted parts.

A flood makes its traffic up, or draws it from a sample: which messages take which way is learnt,
and how often each is sent can then follow what the operator's own counters say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from tuner.engine.delivery import Expectation
from tuner.engine.numbering import BLOCK

# How much the sum of all parts, and messages staying as frequent as they are, count beside the
# parts that are wanted.
_SUM, _AS_IT_IS = 100.0, 0.01
_APART = 0.01


def shares_of(
    expectation: Expectation, unsure: Sequence[float], names: Sequence[str]
) -> dict[str, float]:
    """How many documents of each output an event gives on average, by the name of the output;
    `unsure` is that of messages of which the number differs from time to time."""
    return {
        name: float(np.where(documents < 0, mean, documents).mean())
        for name, documents, mean in zip(names, _documents(expectation), unsure, strict=True)
    }


def order_for(
    expectation: Expectation,
    names: Sequence[str],
    wanted: Mapping[str, float],
    routes: Sequence[int],
) -> tuple[int, ...]:
    """The places of the pool in an order, with repetitions, in which each output gets the part of
    the events that is wanted for it, as nearly as the messages allow; `routes` are the ways that
    messages take into rsyslogd, and those of a block that take the same one stay together."""
    documents = _documents(expectation).clip(min=0)
    kinds, kind_of, counts = np.unique(documents, axis=1, return_inverse=True, return_counts=True)
    weights = _weights(kinds, counts / counts.sum(), names, wanted)
    size = documents.shape[1]
    turns: list[tuple[float, int]] = []
    for kind, times in enumerate(_quotas(weights, size)):
        places = np.flatnonzero(kind_of.ravel() == kind)
        turns += [((turn + 0.5) / times, int(places[turn % len(places)])) for turn in range(times)]
    mixed = [place for _, place in sorted(turns)]
    blocks = (mixed[start : start + BLOCK] for start in range(0, size, BLOCK))
    return tuple(place for block in blocks for place in sorted(block, key=lambda at: routes[at]))


def in_order(expectation: Expectation, order: Sequence[int]) -> Expectation:
    """What the messages give when they are sent in that order."""
    return Expectation(tuple(tuple(output[at] for at in order) for output in expectation.outputs))


def missed(wanted: Mapping[str, float], shares: Mapping[str, float]) -> tuple[str, ...]:
    """The outputs that get another part of the events than is wanted, with both parts."""
    return tuple(
        f"{name} gets {shares.get(name, 0.0):.1%} of the events, workload.shares says {part:.1%}"
        for name, part in wanted.items()
        if abs(part - shares.get(name, 0.0)) > _APART
    )


def _documents(expectation: Expectation) -> NDArray[np.int64]:
    """The documents of each output (rows) of each message."""
    return np.array(expectation.outputs, dtype=np.int64)


def _weights(
    kinds: NDArray[np.int64],
    now: NDArray[np.float64],
    names: Sequence[str],
    wanted: Mapping[str, float],
) -> NDArray[np.float64]:
    """What part of all messages each kind should be: non-negative least squares (Lawson and Hanson,
    Solving Least Squares Problems, chapter 23), as near to what it is as the parts allow."""
    rows = [number for number, name in enumerate(names) if name in wanted]
    system = np.vstack(
        [kinds[rows], np.full((1, len(now)), _SUM), np.diag(np.full(len(now), _AS_IT_IS))]
    )
    aim = np.concatenate([[wanted[names[row]] for row in rows], [_SUM], _AS_IT_IS * now])
    weights, _ = nnls(system, aim)
    parts: NDArray[np.float64] = weights / weights.sum()
    return parts


def _quotas(weights: NDArray[np.float64], size: int) -> list[int]:
    """So many of `size` messages of each kind, by largest remainders."""
    exact = weights * size
    quotas = np.floor(exact).astype(int)
    behind = np.argsort(quotas - exact, kind="stable")
    quotas[behind[: size - int(quotas.sum())]] += 1
    return [int(quota) for quota in quotas]
