"""A point of a search as a profile: as text with its changes, validated anew; and judged cheaply.

A `Checker` leaves the text alone: changes go into the plain data of a profile, which the model and
the linter then judge.  That is some twenty times cheaper than `candidate`, and says the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pydantic import ValidationError

from tuner.errors import BadUsage, KeyPath, Severity
from tuner.lint.lint import Finding, findings, lint
from tuner.lint.load import Draft, LoadedProfile
from tuner.lint.rules.queues import OF_FILES
from tuner.modules.queue import Place, Queue, QueueType, resolve
from tuner.profile.edit import changed, edit_leaf, flow, plain, set_at, set_empty
from tuner.profile.layers import CHANGES
from tuner.profile.model import Profile
from tuner.profile.placement import action_queue, tuned_queues
from tuner.profile.schema import resolve_path
from tuner.profile.source import at, read
from tuner.schema.path import Path
from tuner.space.guarantees import opened
from tuner.space.knob import Level, level_text, path_of
from tuner.space.knobs import queue_for_direct, starts_with_a_batch

Point = tuple[tuple[str, Level], ...]

_QUEUE_KEYS = tuple(field.alias or name for name, field in Queue.model_fields.items())
_FILE_KEYS = ("filename", "spoolDirectory", *OF_FILES)
# They follow from the size unless they are set.
_MARKS = ("highWatermark", "lowWatermark", "discardMark", "fullDelayMark", "lightDelayMark")


def candidate(written: LoadedProfile, changes: Iterable[tuple[str, Level]]) -> LoadedProfile:
    """The profile with `changes` applied to its text; raises BadProfile when it is not valid.

    The layers that it extends stay as they are: what comes from them is written into its own text.
    """
    edits = _edits_of(written.profile, changes)
    if not edits:
        return written
    made = with_edits(written, edits)
    return replace(made, profile=made.profile.tuning(written.profile.search.actions))


def with_edits(written: LoadedProfile, edits: Mapping[str, object]) -> LoadedProfile:
    """The profile with values by their paths in its text, or among the changes of its base; raises
    BadProfile when it is not valid, BadUsage for a path that names nothing."""
    return written.with_text(edited_text(written, edits))


def edited_text(written: Draft, edits: Mapping[str, object]) -> str:
    """The text of a profile with the edits in it, or among the changes of its base; raises
    BadUsage."""
    leaf, base = written.leaf, written.profile.base
    if base is None:
        return edit_leaf(leaf, written.below, edits)
    kept, beside, changes = base.kept, dict[str, object](), dict[str, object]()
    in_base = set()
    for path, value in edits.items():
        steps = resolve_path(kept.view.data, path)
        place = kept.view.place(steps)
        if place is None:
            beside[path] = value
            continue
        key, parameter = kept.written.key_of(*place), kept.changed.parameter(*place)
        before = changes.get(key, None if parameter is None else parameter.text)
        changes[key] = kept.view.value(steps, value, before)
        if kept.says(*place):
            in_base.add(key)
    for key in [key for key, value in changes.items() if value is None and key not in in_base]:
        # What the base has goes only where the profile says so.
        del changes[key]
        leaf = set_at(leaf, (CHANGES, key), None)
    if at(leaf.data, (CHANGES,)) is None and changes:
        section = "".join(
            f"  {flow(key)}:{'' if value is None else f' {flow(value)}'}\n"
            for key, value in changes.items()
        )
        leaf = read(f"{leaf.text.rstrip()}\n{CHANGES}:\n{section}", leaf.name)
    for key, value in changes.items():
        change: KeyPath = (CHANGES, key)
        leaf = set_empty(leaf, change) if value is None else set_at(leaf, change, value)
    return edit_leaf(leaf, written.below, beside)


@dataclass
class Checker:
    """Judges points around one profile; remembers what it has judged.

    A point is not proposed when the linter finds an error or a warning in it that the profile as
    written does not have (a base may have errors, and runs as it is): what `best.yaml` recommends
    must not be worse in any respect that the linter knows, memory and indexing pressure among them.
    What `allow` opens says by itself what it gives up, so its own warnings do not count.  Each
    point is judged together with `repairs`, and one that undoes a repair is not valid.
    """

    written: LoadedProfile
    allow: tuple[str, ...] = ()
    repairs: Point = ()
    _refusals: dict[Point, str | None] = field(default_factory=dict)
    _paths: dict[str, KeyPath] = field(default_factory=dict)
    _tolerated: frozenset[tuple[str, KeyPath]] = frozenset()
    _excused: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        profile = self.written.profile
        as_repaired = lint(self.profile(self.repairs))
        self._tolerated = frozenset((finding.code, finding.path) for finding in as_repaired)
        guarantees = opened(profile, (*profile.search.allow, *self.allow))
        self._excused = frozenset(code for guarantee in guarantees for code in guarantee.codes)

    def is_valid(self, changes: Iterable[tuple[str, Level]]) -> bool:
        """Whether the point may be proposed."""
        return self.refusal(changes) is None

    def refusal(self, changes: Iterable[tuple[str, Level]]) -> str | None:
        """Why the point may not be proposed, in the words of the schema or the linter; None if it
        may."""
        point = tuple(sorted((dict(self.repairs) | dict(changes)).items()))
        if point not in self._refusals:
            self._refusals[point] = self._refusal(point)
        return self._refusals[point]

    def profile(self, changes: Iterable[tuple[str, Level]]) -> Profile:
        """The profile at a point; raises ValidationError when a value is not of its kind."""
        data = self.written.data
        for path, value in _edits_of(self.written.profile, changes).items():
            data = changed(data, self._steps(path), plain(value))
        made = Profile.model_validate(data, by_alias=True, by_name=False)
        based = made.on_base_of(self.written.profile)
        return based.tuning(self.written.profile.search.actions)

    def _refusal(self, point: Point) -> str | None:
        try:
            profile = self.profile(point)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        except BadUsage as error:
            return str(error)
        new = (finding for finding in findings(profile) if self._counts(finding))
        return next((f"{finding.message} [{finding.code}]" for finding in new), None)

    def _counts(self, finding: Finding) -> bool:
        if (finding.code, finding.path) in self._tolerated:
            return False
        return finding.severity is Severity.ERROR or finding.code not in self._excused

    def _steps(self, path: str) -> KeyPath:
        if path not in self._paths:
            self._paths[path] = resolve_path(self.written.data, path)
        return self._paths[path]


def _edits_of(profile: Profile, changes: Iterable[tuple[str, Level]]) -> dict[str, object]:
    """What `changes` set in the profile, with what belongs to them, such as `_implicit_queue`."""
    settings = dict(changes)
    if not settings:
        return {}
    settings = _implicit_queue(profile, settings) | settings
    settings = _with_fitting_queue(profile, settings)
    settings = _without_files(profile, _with_starts(profile, settings))
    return {path: list(level) if isinstance(level, tuple) else level
            for path, level in settings.items()}  # fmt: skip


def _implicit_queue(profile: Profile, settings: Mapping[str, Level]) -> dict[str, Level]:
    """What is written beside the `settings` of a main_queue where the profile has none, so that it
    stays as it is: rsyslog's defaults for a main_queue() object differ from those of a
    configuration without one.  The marks of another size are those of that."""
    in_main = any(Path(path).is_in("main_queue") for path in settings)
    if profile.main_queue is not None or not in_main:
        return {}
    implicit = resolve(None, Place.IMPLICIT_MAIN)
    explicit = resolve(None, Place.MAIN)
    marks = _MARKS if "main_queue.size" in settings else ()
    defaults: dict[str, Level] = {}
    for key, name in zip(_QUEUE_KEYS, Queue.model_fields, strict=True):
        value: Level = getattr(implicit, name)
        path = f"main_queue.{key}"
        if value != getattr(explicit, name) and path not in settings and key not in marks:
            defaults[path] = value
    return defaults


def with_main_queue(profile: Profile, settings: Mapping[str, Level]) -> str:
    """Why a main_queue that only the `settings` write has more values than they; empty where it
    has not."""
    defaults = _implicit_queue(profile, settings)
    if not defaults:
        return ""
    keys = (f"{path.removeprefix('main_queue.')} {level_text(level)}"
            for path, level in defaults.items())  # fmt: skip
    return (
        "main_queue() has other defaults than a configuration without one, so what holds now is "
        f"written with it: {', '.join(keys)}."
    )


def _with_fitting_queue(profile: Profile, settings: dict[str, Level]) -> dict[str, Level]:
    """A Direct action has no queue: its other parameters go when the type becomes Direct.  One
    that gets a queue begins with what it had before: `queue_for_direct`."""
    for number in profile.tuned:
        queue = action_queue(profile, number)
        section = path_of(profile, queue)
        kind = settings.get(section / "type")
        if kind == QueueType.DIRECT.value:
            gone: dict[str, Level] = {section / key: None for key in queue.keys}
            kept = (item for item in settings.items() if not Path(item[0]).is_in(section))
            settings = {**gone, **dict(kept), section / "type": kind}
        elif kind is not None and queue.is_direct:
            begun = queue_for_direct(profile.about(number))
            first = begun.model_dump(mode="json", by_alias=True, exclude_none=True)
            settings = {section / key: level for key, level in first.items()} | settings
    return settings


def _with_starts(profile: Profile, settings: dict[str, Level]) -> dict[str, Level]:
    """Where there was one worker, later ones start once a batch waits for each: rsyslog's own
    start, the size divided by the workers, leaves them idle (F11)."""
    completed = dict(settings)
    for queue in tuned_queues(profile):
        section = path_of(profile, queue)
        start = section / "workerThreadMinimumMessages"
        several = settings.get(section / "workerThreads") not in {None, 1}
        if several and start not in settings and starts_with_a_batch(queue):
            completed[start] = settings.get(section / "dequeueBatchSize") or queue.batch
    return completed


def _without_files(profile: Profile, settings: dict[str, Level]) -> dict[str, Level]:
    """A queue that loses its file name is one in memory: what is about files goes with it, repairs
    of it too."""
    cleaned = dict(settings)
    for queue in tuned_queues(profile):
        section = path_of(profile, queue)
        if settings.get(section / "filename", "") is None:
            file_keys = {section / key for key in _FILE_KEYS}
            cleaned = {path: level for path, level in cleaned.items() if path not in file_keys}
            cleaned |= {section / key: None for key in queue.keys if key in _FILE_KEYS}
            if queue.resolved.is_on_disk:
                cleaned[section / "type"] = QueueType.LINKED_LIST.value
    return cleaned
