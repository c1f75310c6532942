"""Paths of settings, and their short names."""

from __future__ import annotations

import pytest

from tests.search.simulated import PROFILE
from tuner.schema.path import Path, short_names
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


@pytest.mark.parametrize(
    ("section", "is_inside"),
    [
        ("outputs", True),
        ("outputs[logs]", True),
        ("outputs[logs].queue", True),
        ("outputs[logs].queue.size", True),
        ("outputs[log]", False),
        ("outputs[logs].que", False),
        ("outputs[logs].", False),
        ("", False),
    ],
)
def test_a_section_holds_what_is_in_it_in_whole_words(section: str, is_inside: bool) -> None:
    assert Path("outputs[logs].queue.size").is_in(section) == is_inside


def test_an_end_is_one_of_whole_words() -> None:
    path = Path("outputs[logs].index.settings.translog.durability")
    assert path.ends_with("translog.durability")
    assert not path.ends_with("log.durability")
    assert path.last == "durability"
    assert path.suffixes[0] == "durability"
    assert path.suffixes[-1] == path


def test_a_path_is_its_spelling_with_other_names_or_none() -> None:
    path = Path("outputs").item("logs") / "queue" / "size"
    assert path == "outputs[logs].queue.size"
    assert path.pattern == "outputs[].queue.size"
    assert path.without_items == "outputs.queue.size"
