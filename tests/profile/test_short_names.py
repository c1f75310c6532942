"""Short names of settings."""

from __future__ import annotations

import pytest

from tests.search.simulated import PROFILE
from tuner.profile.short_names import short_names
from tuner.space.knobs import knobs

PATHS = (
    "main_queue.size",
    "main_queue.workerThreads",
    "outputs[logs].queue.size",
    "outputs[logs].queue.workerThreads",
    "outputs[logs].queue.minDequeueBatchSize",
    "outputs[logs].queue.minDequeueBatchSize.timeout",
    "outputs[logs].filter_path",
    "outputs[logs].index.settings.codec",
    "node.heap",
    "parser",
)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("main_queue.size", "main_queue.size"),
        ("outputs[logs].queue.workerThreads", "queue.workerThreads"),
        ("outputs[logs].queue.minDequeueBatchSize", "minDequeueBatchSize"),
        ("outputs[logs].queue.minDequeueBatchSize.timeout", "minDequeueBatchSize.timeout"),
        ("outputs[logs].filter_path", "filter_path"),
        ("outputs[logs].index.settings.codec", "settings.codec"),
        ("node.heap", "node.heap"),
        ("parser", "parser"),
    ],
)
def test_a_name_is_as_short_as_it_can_be_understood(path: str, name: str) -> None:
    assert short_names(PATHS)[path] == name


def test_names_of_several_outputs_tell_them_apart() -> None:
    both = ["outputs[a].filter_path", "outputs[b].filter_path"]
    assert list(short_names(both).values()) == both


def test_every_setting_of_a_profile_has_a_name_of_its_own() -> None:
    paths = [knob.path for knob in knobs(PROFILE)]
    assert len(set(short_names(paths).values())) == len(paths)
