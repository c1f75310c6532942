"""Knobs as dimensions: where the profile stands, which levels are apart, what is idle."""

from __future__ import annotations

import numpy as np

from tests.profile.examples import small
from tuner.search.climb import dimensions
from tuner.search.space import Space
from tuner.space.knob import Cost
from tuner.space.knobs import knobs


def space() -> Space:
    found = knobs(small({"outputs[logs].queue": None}))
    costs = {Cost.NODE_RESTART: 20.0, Cost.NEW_INDEX: 0.5}
    return Space(dimensions(found, costs), lambda _: True, trial_s=10.0)


def test_a_direct_action_leaves_its_queue_idle() -> None:
    here = space()
    names = [dimension.name for dimension in here.dimensions]
    kind, size = (names.index(f"outputs[logs].queue.{key}") for key in ("type", "size"))
    moved = np.array([here.start, here.start])
    moved[:, size] += 1
    moved[1, kind] = 1
    idle, active = here.canonical(moved)
    assert idle[size] == here.start[size]
    assert active[size] == here.start[size] + 1


def test_moves_cost_what_their_kind_costs() -> None:
    here = space()
    names = [dimension.name for dimension in here.dimensions]
    heap, shards = (
        names.index("node.heap"),
        names.index("outputs[logs].index.settings.number_of_shards"),
    )
    points = np.array([here.start] * 3)
    points[1, shards] += 1
    points[2, heap] += 1
    assert here.seconds(here.start, points).tolist() == [10.0, 10.5, 30.0]
    assert here.seconds(here.start, points, dearest_s=45.0).tolist() == [10.0, 10.5, 55.0]


def test_levels_that_stand_apart_are_far_from_the_amounts_beside_them() -> None:
    flush = next(one for one in space().dimensions if "flush_threshold" in one.name)
    unset, least, more = flush.features[0], flush.features[1], flush.features[2]
    assert np.linalg.norm(unset - least) > np.linalg.norm(least - more)
