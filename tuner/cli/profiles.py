"""Finding and loading the profile a command is about."""

from __future__ import annotations

from pathlib import Path

from tuner.cli.console import say
from tuner.lint.load import LoadedProfile, load_profile
from tuner.render.assets import asset

LOCAL = Path("rsyslog-tune.yaml")


def load(path: Path) -> LoadedProfile:
    """The profile, its warnings said."""
    loaded = load_profile(path)
    for warning in loaded.warnings:
        say(str(warning))
    return loaded


def load_or_default(path: Path | None) -> LoadedProfile:
    """The profile named, else rsyslog-tune.yaml in this folder, else the shipped default."""
    if path is not None:
        return load(path)
    return load(LOCAL if LOCAL.exists() else Path(str(asset("profiles", "default.yaml"))))
