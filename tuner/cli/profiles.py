"""Finding and loading the profile a command is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tuner.cli.console import say
from tuner.errors import BadUsage
from tuner.lint.load import LoadedProfile, load_profile, snippets_of
from tuner.render.assets import asset
from tuner.render.form import Form

LOCAL = Path("rsyslog-tune.yaml")
# What the configuration of Debian and its like loads.
_LOADED_BY_HOST = ("imuxsock", "imklog")


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


def form_of(loaded: LoadedProfile, fragment: bool, by_host: Sequence[str] | None) -> Form:
    """How the profile is to be rendered, its snippets read; raises BadUsage and BadProfile."""
    if by_host and not fragment:
        raise BadUsage("--loaded needs --fragment: a whole configuration loads its modules itself")
    modules = frozenset((*_LOADED_BY_HOST, *(by_host or ()))) if fragment else frozenset[str]()
    return Form(snippets_of(loaded), fragment, modules)


def name_for(profile: Path) -> str:
    """The name of a profile in that file: the file's, as far as names may be spelled so."""
    word = re.sub(r"[^a-z0-9_-]+", "-", profile.stem.lower()).strip("-_")[:100]
    # rsyslogd calls no ruleset whose name is one letter (seen on 8.2302).
    return word if word[:1].isalpha() and len(word) > 1 and profile != LOCAL else "starter"
