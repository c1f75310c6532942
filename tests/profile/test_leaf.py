"""A search edits the leaf: the result is what it would be in one file, comments stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.errors import BadProfile
from tuner.lint.candidate import candidate
from tuner.lint.load import LoadedProfile, parse_profile
from tuner.profile.edit import edit_leaf
from tuner.profile.model import Profile
from tuner.profile.source import read
from tuner.space.knob import Level
from tuner.space.knobs import knobs

DEFAULT = (Path(__file__).parents[2] / "profiles" / "default.yaml").read_text(encoding="utf-8")
BELOW = read("outputs: [{name: a, queue: {size: 1}}, {name: b, queue: {size: 2}}]\n", "base.yaml")


def point(written: LoadedProfile, path: str, level: Level) -> Profile | None:
    try:
        found = candidate(written, [(path, level)]).profile
    except BadProfile:
        return None
    return found.model_copy(update={"extends": None})


@pytest.mark.full
def test_every_point_of_a_search_is_the_same_with_and_without_layers() -> None:
    flat = parse_profile(DEFAULT, "default.yaml")
    leaf = "extends: default.yaml\nname: default\n"
    layered = parse_profile(leaf, "leaf.yaml", (("default.yaml", DEFAULT),))
    dimensions = knobs(flat.profile)
    assert knobs(layered.profile) == dimensions
    for knob in dimensions:
        for level in knob.levels:
            assert point(layered, knob.path, level) == point(flat, knob.path, level)


@pytest.mark.parametrize(
    ("leaf", "edited"),
    [
        (
            "outputs:\n  - name: a   # first\n    queue: {size: 3}   # small\nname: x\n",
            "outputs:\n  - name: a   # first\n    queue: {size: 3}   # small\n"
            "  - {name: b, queue: {size: 9}}\nname: x\n",
        ),
        (
            "outputs: [{name: a}]   # one\n",
            "outputs: [{name: a}, {name: b, queue: {size: 9}}]   # one\n",
        ),
        (
            "outputs:\n- name: c\n",
            "outputs:\n- name: c\n- {name: b, queue: {size: 9}}\n",
        ),
        ("name: x\n", "name: x\noutputs: [{name: b, queue: {size: 9}}]\n"),
        ("outputs: []\n", "outputs: [{name: b, queue: {size: 9}}]\n"),
        (
            "outputs: [{name: b}, {name: a}]\n",
            "outputs: [{name: b, queue: {size: 9}}, {name: a}]\n",
        ),
    ],
)
def test_an_output_of_a_lower_layer_is_added_or_found_by_name(leaf: str, edited: str) -> None:
    assert edit_leaf(read(leaf, "leaf.yaml"), (BELOW,), {"outputs[b].queue.size": 9}) == edited


def test_what_a_lower_layer_says_already_is_not_written_again() -> None:
    assert edit_leaf(read("name: x\n", "leaf.yaml"), (BELOW,), {"outputs[b].queue.size": 2}) == (
        "name: x\n"
    )
