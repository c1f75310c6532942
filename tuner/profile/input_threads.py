"""How many threads of the inputs may hand over messages at once."""

from __future__ import annotations

from tuner.modules.input import Input
from tuner.profile.model import Profile


def input_threads(profile: Profile) -> int:
    """Those of every module that the profile's inputs are of."""
    by_module: dict[type[Input], list[Input]] = {}
    for source in profile.inputs:
        by_module.setdefault(type(source), []).append(source)
    release = profile.release.rsyslog_number
    return sum(module.threads_of(sources, release) for module, sources in by_module.items())
