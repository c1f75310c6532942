"""Paths into a profile, such as `outputs[logs].queue.workerThreads`, and the names of settings.

A list item is named by its `name` or by its number, from 0.  Keys may hold dots
(`translog.flush_threshold_size`): the longest key that the profile knows is taken.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from itertools import takewhile

from tuner.errors import BadUsage, KeyPath
from tuner.modules.omelasticsearch import FILTER_PATH
from tuner.profile.model import Profile
from tuner.profile.schema import keys_of, models_at
from tuner.profile.source import at
from tuner.schema.path import Path, short_names


def resolve_path(data: object, path: str) -> KeyPath:
    """`path` as keys and numbers; raises BadUsage if a profile has no such setting."""
    steps = Path(path).steps
    if not steps or not all(step.text for step in steps):
        raise BadUsage(f"{path!r} is not a path such as outputs[logs].queue.workerThreads")
    resolved: KeyPath = ()
    while steps:
        if steps[0].is_item:
            resolved, steps = (*resolved, _index(data, resolved, steps[0].text, path)), steps[1:]
            continue
        words = [step.text for step in takewhile(lambda step: not step.is_item, steps)]
        taken = _longest_key(resolved, words, path)
        resolved, steps = (*resolved, ".".join(words[:taken])), steps[taken:]
    return resolved


def get(data: object, path: str) -> object:
    """The value that plain profile data has at `path`, or None if it is not written."""
    return at(data, resolve_path(data, path))


def _longest_key(section: KeyPath, words: Sequence[str], path: str) -> int:
    """How many of `words` make the longest key known in `section`."""
    keys = keys_of(models_at(section))
    for taken in range(len(words), 0, -1):
        if ".".join(words[:taken]) in keys:
            return taken
    near = difflib.get_close_matches(".".join(words), keys, 1)
    hint = f": did you mean {near[0]}?" if near else ""
    raise BadUsage(f"a profile has no setting {path}{hint}")


def _index(data: object, section: KeyPath, item: str, path: str) -> int | str:
    """The number of the list item that is called `item`; of a section of named ones its name."""
    items = at(data, section)
    if isinstance(items, Mapping) and item in items:
        return item
    if not isinstance(items, Sequence) or isinstance(items, str):
        raise BadUsage(f"{path}: there is no list, so [{item}] names nothing")
    for i, entry in enumerate(items):
        if isinstance(entry, Mapping) and entry.get("name") == item:
            return i
    if item.isascii() and item.isdigit() and int(item) < len(items):
        return int(item)
    raise BadUsage(f"{path}: the profile has no [{item}] there")


def full_name(profile: Profile, path: str) -> str:
    """The name of a setting: of a base that of its parameter, such as
    `action[es].queue.workerThreads`, else its path."""
    if profile.base is None or not profile.base.is_read:
        return path
    base = profile.base.kept
    steps = resolve_path(base.view.data, path)
    place = base.view.place(steps)
    if place is None:
        return path
    address, parameter = place
    # filter_path is written inside the value of `timeout`, and both are settings.
    is_part = steps[-1] == FILTER_PATH
    return base.written.key_of(address, FILTER_PATH if is_part else parameter)


def called(profile: Profile, number: int) -> str:
    """What a reader calls the output of that number: of a base its address, else its path."""
    if profile.base is None or not profile.base.is_read:
        return str(Path("outputs").item(profile.outputs[number].name))
    return profile.base.kept.view.sections["outputs", number]


def names_in(profile: Profile, paths: Sequence[str]) -> dict[str, str]:
    """The shortest end of each name that no other setting has, by path."""
    names = {path: full_name(profile, path) for path in paths}
    short = short_names(list(names.values()))
    return {path: short[name] for path, name in names.items()}
