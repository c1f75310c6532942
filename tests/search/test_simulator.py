from __future__ import annotations

import math

import numpy as np

from tests.search.simulator import NAMES, Pipeline, Troubles

START = Pipeline().space().start


def changed(**levels: int) -> tuple[int, ...]:
    point = list(START)
    for name, level in levels.items():
        point[NAMES.index(name.replace("_", " "))] = level
    return tuple(point)


def test_no_random_point_beats_the_optimum() -> None:
    for variant in range(2):
        pipeline = Pipeline(variant)
        space = pipeline.space()
        rng = np.random.default_rng(variant)
        points = space.canonical(rng.integers(space.sizes, size=(5000, len(space.sizes))))
        fits = pipeline.headroom(points) >= 0
        assert np.max(pipeline.log_eps(points)[fits]) <= pipeline.optimum[1]


def test_too_many_bulks_under_way_fall_off_a_cliff() -> None:
    pipeline = Pipeline()
    few, many = changed(action_workers=2, heap=0), changed(action_workers=6, action_batch=8, heap=0)
    fast, slow = pipeline.log_eps(np.array([few, many]))
    assert slow < fast - 0.3


def test_what_needs_too_much_memory_fails_and_says_by_how_much() -> None:
    pipeline = Pipeline(1)
    large = changed(heap=2, action_queue_size=4, action_batch=8, action_workers=6)
    seen = pipeline.trial(large, Troubles(), np.random.default_rng(0), 0.0)
    assert not seen.feasible
    assert math.isnan(seen.log_value)
    assert dict(seen.margins)["memory"] < 0


def test_deferred_work_shows_only_in_a_long_window() -> None:
    pipeline, still = Pipeline(), Troubles(sigma=0.0, deferral=True)
    never = changed(refresh=0)
    short = pipeline.trial(never, still, np.random.default_rng(0), 0.0)
    long = pipeline.trial(never, still, np.random.default_rng(0), 0.0, long=True)
    assert short.log_value > long.log_value + 0.05
    assert long.log_value == pipeline.log_eps(np.array([never]))[0]


def test_a_node_just_restarted_is_slow() -> None:
    pipeline, cold = Pipeline(), Troubles(sigma=0.0, cold=True)
    other = changed(heap=0)
    warm, restarted = (
        pipeline.trial(START, cold, np.random.default_rng(0), 0.0, before).log_value
        for before in (START, other)
    )
    assert restarted < warm - 0.1


def test_trials_are_the_same_for_the_same_randomness() -> None:
    pipeline, troubles = Pipeline(), Troubles(0.05, 0.03, 0.03, 0.02, True, True)
    first, again = (
        [pipeline.trial(START, troubles, np.random.default_rng(at), 9.0 * at) for at in range(20)]
        for _ in range(2)
    )
    assert repr(first) == repr(again)
    assert len({one.log_value for one in first}) > 10
