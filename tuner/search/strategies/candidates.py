"""The points among which a strategy chooses its next: near the best ones, and everywhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tuner.search.space import Point, Space

Points = NDArray[np.int64]
# A space up to this size is taken whole.
_WHOLE = 1200
_ANYWHERE = 300
_TWO_KNOBS = 200
_CROSSED = 100


def candidates(
    space: Space, elites: Sequence[Point], measured: set[Point], rng: np.random.Generator
) -> Points:
    """Points that were not measured, each once; those outside a pool may still be invalid."""
    if space.pool is not None:
        found = _of_pool(space, elites, rng)
    elif np.prod(space.sizes.astype(float)) <= _WHOLE:
        found = np.stack(np.meshgrid(*map(np.arange, space.sizes), indexing="ij"), -1)
        found = found.reshape(-1, len(space.sizes))
    else:
        found = _generated(space, np.array(elites), rng)
    settled = found if space.pool else np.unique(space.canonical(found), axis=0)
    new = [at for at, row in enumerate(settled.tolist()) if tuple(row) not in measured]
    return settled[new]


def spread(
    space: Space, chosen: Sequence[Point], among: Points, rng: np.random.Generator
) -> list[int]:
    """Which of `among` lie farthest from the chosen points, the farthest first."""
    x = space.features(among)
    centres = space.features(np.array(chosen))
    gaps = np.linalg.norm(x[:, np.newaxis, :] - centres, axis=2).min(axis=1)
    return [int(at) for at in np.argsort(-(gaps + 1e-9 * rng.uniform(size=len(gaps))))]


def random_points(space: Space, count: int, rng: np.random.Generator) -> Points:
    """Points drawn at random; outside a pool they may be invalid."""
    if space.pool is not None:
        pool = space.pool_rows
        return pool[rng.permutation(len(pool))[:count]]
    return space.canonical(rng.integers(space.sizes, size=(count, len(space.sizes))))


def _of_pool(space: Space, elites: Sequence[Point], rng: np.random.Generator) -> Points:
    """All of a small pool; of a large one the nearest to each elite, and some from everywhere."""
    pool = space.pool_rows
    if len(pool) <= _WHOLE or not len(elites):
        return pool[rng.permutation(len(pool))[:_WHOLE]]
    x, centres = space.pool_features, space.features(np.array(elites))
    near = _WHOLE // 2 // len(elites)
    kept = {int(at) for at in rng.permutation(len(pool))[: _WHOLE // 2]}
    for centre in centres:
        kept |= set(np.argpartition(((x - centre) ** 2).sum(axis=1), near)[:near].tolist())
    return pool[sorted(kept)]


def _generated(space: Space, elites: Points, rng: np.random.Generator) -> Points:
    """One-knob neighbours of the elites, some with two knobs changed, crossings, and others."""
    parts = [random_points(space, _ANYWHERE, rng)]
    if len(elites):
        parts += [_neighbours(space, elite) for elite in elites]
        twice = elites[rng.integers(len(elites), size=_TWO_KNOBS)]
        for _ in range(2):
            twice = _changed(space, twice, rng)
        parts.append(twice)
        mothers, fathers = rng.integers(len(elites), size=(2, _CROSSED))
        from_mother = rng.uniform(size=(_CROSSED, len(space.sizes))) < 0.5
        parts.append(np.where(from_mother, elites[mothers], elites[fathers]))
    return np.vstack(parts)


def _neighbours(space: Space, elite: Points) -> Points:
    rows = []
    for at, size in enumerate(space.sizes):
        for level in range(int(size)):
            row = elite.copy()
            row[at] = level
            rows.append(row)
    return np.array(rows)


def _changed(space: Space, points: Points, rng: np.random.Generator) -> Points:
    changed = points.copy()
    which = rng.integers(len(space.sizes), size=len(points))
    changed[np.arange(len(points)), which] = rng.integers(space.sizes[which])
    return changed
