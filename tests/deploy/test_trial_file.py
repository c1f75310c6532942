"""The record of a trial: all that it needs to go on."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from tests.deploy.world import World, trial_in
from tests.profile.examples import SMALL
from tuner.deploy.host_profile import PlannedProfile
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.switchback import Breach, LabFigure, TrialGuard
from tuner.deploy.trial_file import NAME, TrialFile, read_trial
from tuner.errors import BadUsage

KNOWN = replace(
    trial_in(World(about="", hours=1.5), 1),
    breaches=(Breach("host1", 2, TrialGuard.QUEUE, 0.7, 0.5),),
    lab=LabFigure(0.7, 0.6, 0.8),
)
FILE = TrialFile(
    PlannedProfile("p.yaml", SMALL), (InventoryHost("host1", "ssh://c1"),), "run", KNOWN,
    ("08:00-09:00",),
)  # fmt: skip


def test_a_record_is_kept_whole_for_its_owner_alone(tmp_path: Path) -> None:
    for known in (replace(FILE, record=replace(KNOWN, blocks=())), FILE):
        known.write(tmp_path)
        assert read_trial(tmp_path) == known
        assert [path.name for path in tmp_path.iterdir()] == [NAME]
        assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600


def test_a_record_of_another_version_and_one_that_is_damaged_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match=r"has no trial\.json"):
        read_trial(tmp_path)
    FILE.write(tmp_path)
    file = tmp_path / NAME
    file.write_text(file.read_text("utf-8").replace('"schema": 1', '"schema": 0'), "utf-8")
    with pytest.raises(BadUsage, match="of schema 0"):
        read_trial(tmp_path)
    file.write_text("{", "utf-8")
    with pytest.raises(BadUsage, match="no record that this version reads"):
        read_trial(tmp_path)
