"""Modules of rsyslog: each says what its neighbours ask of it, also one that says nothing."""

from __future__ import annotations

from typing import Literal

import pytest

from tuner.modules.input import Input
from tuner.modules.registry import INPUTS, MODULES, name_of, packages
from tuner.schema.section import doc


class Silent(Input):
    """An input that says nothing of itself but its name."""

    type: Literal["imsilent"] = "imsilent"


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_every_parameter_is_documented(module: type[Input]) -> None:
    silent = [name for name in module.model_fields if doc(module, name) is None]
    # What stands in sections of the engine's is explained in facts.yaml.
    assert silent in ([], ["index"])


def test_an_input_that_no_flood_reaches_is_not_measured() -> None:
    assert Silent().unmeasured is not None
    assert Silent().in_lab(514, "/spool") == Silent()
    assert Silent().paths(5) == ()


def test_threads_of_different_inputs_have_different_names() -> None:
    names = [name for module in INPUTS for name in module.thread_names]
    assert len(set(names)) == len(names)


def test_packages_are_those_that_are_not_rsyslogs_own() -> None:
    assert packages()["imrelp"] == packages()["omrelp"] == "rsyslog-relp"
    assert "imtcp" not in packages()
