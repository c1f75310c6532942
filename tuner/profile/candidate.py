"""A point of a search as a profile: the text with its changes, validated anew."""

from __future__ import annotations

from collections.abc import Iterable

from tuner.profile.knobs import Level
from tuner.profile.leaf import edit_leaf
from tuner.profile.load import LoadedProfile
from tuner.profile.queue import Place, Queue, resolve
from tuner.profile.source import read

_QUEUE_KEYS = tuple(field.alias or name for name, field in Queue.model_fields.items())


def candidate(written: LoadedProfile, changes: Iterable[tuple[str, Level]]) -> LoadedProfile:
    """The profile with `changes` applied to its text; raises BadProfile when it is not valid.

    The layers that it extends stay as they are: what comes from them is written into its own text.

    Where the profile has no main_queue, changing one value of it writes the others too: rsyslog's
    defaults for a main_queue() object differ from those of a configuration without one.
    """
    wanted = dict(changes)
    if not wanted:
        return written
    if written.profile.main_queue is None and any(p.startswith("main_queue.") for p in wanted):
        wanted = _implicit_main_queue() | wanted
    wanted = _without_idle_queue(written, wanted)
    edits: dict[str, object] = {
        path: list(level) if isinstance(level, tuple) else level for path, level in wanted.items()
    }
    leaf = read(written.text, str(written.path))
    return written.with_text(edit_leaf(leaf, written.below, edits))


def _implicit_main_queue() -> dict[str, Level]:
    """What rsyslog does without a main_queue(), written out where main_queue() would differ."""
    implicit = resolve(None, Place.IMPLICIT_MAIN)
    explicit = resolve(None, Place.MAIN)
    found: dict[str, Level] = {}
    for name, field in Queue.model_fields.items():
        value: Level = getattr(implicit, name)
        if value != getattr(explicit, name):
            found[f"main_queue.{field.alias or name}"] = value
    return found


def _without_idle_queue(written: LoadedProfile, wanted: dict[str, Level]) -> dict[str, Level]:
    """A Direct action has no queue: its other parameters go when the type becomes Direct."""
    output = written.profile.measured
    at = f"outputs[{output.name}].queue"
    if wanted.get(f"{at}.type") != "Direct" or output.queue is None:
        return wanted
    set_now = output.queue.model_dump(by_alias=True, exclude_none=True)
    gone = {f"{at}.{key}": None for key in _QUEUE_KEYS if key in set_now and key != "type"}
    return gone | {path: level for path, level in wanted.items() if level is not None}
