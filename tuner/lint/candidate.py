"""A point of a search as a profile: the text with its changes, validated anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tuner.errors import KeyPath
from tuner.lint.load import LoadedProfile
from tuner.lint.rules.queues import OF_FILES
from tuner.modules.queue import Place, Queue, QueueType, resolve
from tuner.profile.edit import edit_leaf, set_at, set_empty
from tuner.profile.edit.splice import flow
from tuner.profile.layers import CHANGES
from tuner.profile.paths import resolve_path
from tuner.profile.placement import measured_path, measured_queue
from tuner.profile.source import Source, at, read
from tuner.schema.path import Path
from tuner.space.knob import Level, level_text
from tuner.space.queues import path_of, queue_for_direct, starts_with_a_batch

if TYPE_CHECKING:
    from tuner.profile.base import KeptBase

_QUEUE_KEYS = tuple(field.alias or name for name, field in Queue.model_fields.items())
_FILE_KEYS = ("filename", "spoolDirectory", *OF_FILES)
# They follow from the size unless they are set.
_MARKS = ("highWatermark", "lowWatermark", "discardMark", "fullDelayMark", "lightDelayMark")


def candidate(written: LoadedProfile, changes: Iterable[tuple[str, Level]]) -> LoadedProfile:
    """The profile with `changes` applied to its text; raises BadProfile when it is not valid.

    The layers that it extends stay as they are: what comes from them is written into its own text.
    """
    edits = edits_of(written, changes)
    if not edits:
        return written
    return with_edits(written, edits)


def with_edits(written: LoadedProfile, edits: Mapping[str, object]) -> LoadedProfile:
    """The profile with values by their paths in its text, or among the changes of its base; raises
    BadProfile when it is not valid, BadUsage for a path that names nothing."""
    leaf = read(written.text, str(written.path))
    if written.profile.base is not None:
        return written.with_text(in_base(leaf, written.below, written.profile.base.kept, edits))
    return written.with_text(edit_leaf(leaf, written.below, edits))


def edits_of(written: LoadedProfile, changes: Iterable[tuple[str, Level]]) -> dict[str, object]:
    """What `changes` set in the profile, with what belongs to them, such as `_main_queue_kept`."""
    settings = dict(changes)
    if not settings:
        return {}
    settings = _main_queue_kept(written, settings) | settings
    settings = _with_fitting_queue(written, settings)
    settings = _without_files(written, _with_starts(written, settings))
    return {path: list(level) if isinstance(level, tuple) else level
            for path, level in settings.items()}  # fmt: skip


def in_base(
    leaf: Source, below: tuple[Source, ...], kept: KeptBase, edits: Mapping[str, object]
) -> str:
    """The text of a profile whose base has the edits among its changes."""
    beside: dict[str, object] = {}
    made: dict[str, object] = {}
    own = set()
    for path, value in edits.items():
        steps = resolve_path(kept.view.data, path)
        place = kept.view.place(steps)
        if place is None:
            beside[path] = value
            continue
        key, known = kept.written.key_of(*place), kept.changed.parameter(*place)
        before = made.get(key, None if known is None else known.text)
        made[key] = kept.view.value(steps, value, before)
        if kept.says(*place):
            own.add(key)
    for key in [key for key, value in made.items() if value is None and key not in own]:
        # What the base has goes only where the profile says so.
        del made[key]
        leaf = set_at(leaf, (CHANGES, key), None)
    if at(leaf.data, (CHANGES,)) is None and made:
        lines = (f"  {flow(key)}: {_written(value)}".rstrip() for key, value in made.items())
        section = "\n".join(lines)
        leaf = read(f"{leaf.text.rstrip()}\n{CHANGES}:\n{section}\n", leaf.name)
    for key, value in made.items():
        there: KeyPath = (CHANGES, key)
        leaf = set_empty(leaf, there) if value is None else set_at(leaf, there, value)
    return edit_leaf(leaf, below, beside)


def _written(value: object) -> str:
    return "" if value is None else flow(value)


def _main_queue_kept(written: LoadedProfile, settings: Mapping[str, Level]) -> dict[str, Level]:
    """What is written beside the `settings` of a main_queue where the profile has none, so that it
    stays as it is: rsyslog's defaults for a main_queue() object differ from those of a
    configuration without one.  The marks of another size are those of that."""
    in_main = any(Path(path).is_in("main_queue") for path in settings)
    if written.profile.main_queue is not None or not in_main:
        return {}
    implicit = resolve(None, Place.IMPLICIT_MAIN)
    explicit = resolve(None, Place.MAIN)
    defaults: dict[str, Level] = {}
    for name, field in Queue.model_fields.items():
        value: Level = getattr(implicit, name)
        if value != getattr(explicit, name):
            defaults[f"main_queue.{field.alias or name}"] = value
    set_already = {*settings}
    if "main_queue.size" in settings:
        set_already |= {f"main_queue.{key}" for key in _MARKS}
    return {path: level for path, level in defaults.items() if path not in set_already}


def with_main_queue(written: LoadedProfile, settings: Mapping[str, Level]) -> str:
    """Why a main_queue that only the `settings` write has more values than they; empty where it
    has not."""
    kept = _main_queue_kept(written, settings)
    if not kept:
        return ""
    keys = (f"{path.removeprefix('main_queue.')} {level_text(level)}"
            for path, level in kept.items())  # fmt: skip
    return (
        "main_queue() has other defaults than a configuration without one, so what holds now is "
        f"written with it: {', '.join(keys)}."
    )


def _with_fitting_queue(written: LoadedProfile, settings: dict[str, Level]) -> dict[str, Level]:
    """A Direct action has no queue: its other parameters go when the type becomes Direct.  One
    that gets a queue begins with what it had before: `queue_for_direct`."""
    profile = written.profile
    at = path_of(profile, measured_queue(profile))
    kind, queue = settings.get(at / "type"), profile.measured.queue
    if kind == QueueType.DIRECT.value:
        gone: dict[str, Level] = {at / key: None for key in _set_in(queue) if key != "type"}
        mine = {path for path in settings if Path(path).is_in(at) and path != at / "type"}
        return gone | {path: level for path, level in settings.items() if path not in mine}
    if kind is not None and measured_queue(profile).is_direct:
        first = queue_for_direct(profile).model_dump(mode="json", by_alias=True, exclude_none=True)
        return {at / key: level for key, level in first.items()} | settings
    return settings


def _with_starts(written: LoadedProfile, settings: dict[str, Level]) -> dict[str, Level]:
    """Where there was one worker, later ones start once a batch waits for each: rsyslog's own
    start, the size divided by the workers, leaves them idle (F11)."""
    completed = dict(settings)
    for queue in measured_path(written.profile):
        at = path_of(written.profile, queue)
        start = at / "workerThreadMinimumMessages"
        several = settings.get(at / "workerThreads") not in {None, 1}
        if several and start not in settings and starts_with_a_batch(queue):
            completed[start] = settings.get(at / "dequeueBatchSize") or queue.batch
    return completed


def _without_files(written: LoadedProfile, settings: dict[str, Level]) -> dict[str, Level]:
    """A queue that loses its file name is one in memory: what is about files goes with it, repairs
    of it too."""
    cleaned = dict(settings)
    for queue in measured_path(written.profile):
        at = path_of(written.profile, queue)
        if settings.get(at / "filename", "") is None:
            mine = {at / key for key in _FILE_KEYS}
            cleaned = {path: level for path, level in cleaned.items() if path not in mine}
            cleaned |= {at / key: None for key in _set_in(queue.written) if key in _FILE_KEYS}
            if queue.resolved.is_on_disk:
                cleaned[at / "type"] = QueueType.LINKED_LIST.value
    return cleaned


def _set_in(queue: Queue | None) -> tuple[str, ...]:
    """The keys that a queue has written."""
    set_now = {} if queue is None else queue.model_dump(by_alias=True, exclude_none=True)
    return tuple(key for key in _QUEUE_KEYS if key in set_now)
