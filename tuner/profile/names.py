"""What a reader calls the settings of a profile."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.modules.omelasticsearch import FILTER_PATH
from tuner.profile.model import Profile
from tuner.profile.paths import resolve_path
from tuner.schema.path import short_names


def full_name(profile: Profile, path: str) -> str:
    """The name of a setting: of a base that of its parameter, such as
    `action[es].queue.workerThreads`, else its path."""
    if profile.base is None or not profile.base.is_read:
        return path
    kept = profile.base.kept
    steps = resolve_path(kept.view.data, path)
    place = kept.view.place(steps)
    if place is None:
        return path
    address, parameter = place
    # It stands in the value of `timeout`, which is another setting.
    is_part = steps[-1] == FILTER_PATH
    return kept.written.key_of(address, FILTER_PATH if is_part else parameter)


def names_in(profile: Profile, paths: Sequence[str]) -> dict[str, str]:
    """The shortest end of each name that no other setting has, by path."""
    names = {path: full_name(profile, path) for path in paths}
    short = short_names(list(names.values()))
    return {path: short[name] for path, name in names.items()}
