"""What is wrong with a `search` section: paths, levels and names that would have no effect, also
those of outputs in a workload.

The space of the search is imported for a profile that has such a section: it took 10 ms of every
command that reads a profile.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pydantic import ValidationError

from tuner.errors import BadUsage, KeyPath
from tuner.profile.edit import changed, plain
from tuner.profile.model import Profile, SearchScope
from tuner.profile.schema import resolve_path, unknown_outputs
from tuner.rule import Complaint, error
from tuner.schema.path import Path

if TYPE_CHECKING:
    from tuner.space.knob import Knob


@error("RT603")
def _names(profile: Profile) -> Iterator[Complaint]:
    """Names of `allow` that open nothing in any profile, or that this one's tier or engine forbids;
    what is merely not there may have been turned off by a search."""
    names = profile.search.allow
    if not names:
        return
    from tuner.space.guarantees import called

    for number, name in enumerate(names):
        reason: str | None
        try:
            reason = called(name).forbidden(profile, names)
        except BadUsage as unknown:
            reason = str(unknown)
        if reason is not None:
            yield Complaint(("search", "allow", number), f"{name} cannot be given up: {reason}")


@error("RT604")
def _actions(profile: Profile) -> Iterator[Complaint]:
    """Names of outputs into the engine that no output has."""
    asked: list[tuple[KeyPath, str]] = [
        (("search", "actions", number), name) for number, name in enumerate(profile.search.actions)
    ]
    asked += [(("workload", "shares", name), name) for name in profile.workload.shares]
    for path, name in asked:
        unknown = unknown_outputs(profile, (name,))
        if unknown is not None:
            yield Complaint(path, unknown)


@error("RT601")
def _paths(profile: Profile) -> Iterator[Complaint]:
    """Paths that a profile cannot have and, of those that only may vary, those that cannot."""
    search = profile.search
    space = _every_knob(profile) if search.freeze or search.only else ()
    for number, path in enumerate(search.freeze):
        reason = _unknown(profile, path)
        if reason is not None and not any(knob.path.is_in(path) for knob in space):
            yield Complaint(("search", "freeze", number), reason)
    for number, path in enumerate(search.only):
        if not any(knob.path.is_in(path) for knob in space):
            yield Complaint(("search", "only", number), _no_knob(path, space))


@error("RT602")
def _levels(profile: Profile) -> Iterator[Complaint]:
    """Levels of settings that no search varies, and levels that a setting cannot have."""
    if not profile.search.levels:
        return
    from tuner.space.knob import level_text

    space: dict[str, Knob] = {knob.path: knob for knob in _every_knob(profile)}
    for path, levels in profile.search.levels.items():
        knob = space.get(path)
        if knob is None:
            no_knob = _no_knob(path, tuple(space.values()))
            yield Complaint(("search", "levels", path), no_knob)
            continue
        for number, level in enumerate(levels):
            if level is not None and not _fits(profile, path, plain(level)):
                yield Complaint(
                    ("search", "levels", path, number),
                    f"{level_text(level)} is not a value of {path}: rsyslog-tune explain "
                    f"{Path(path).last} shows them",
                )


def _every_knob(profile: Profile) -> tuple[Knob, ...]:
    """The knobs that the profile has before its search narrows them; names that open nothing are
    another rule's business."""
    from tuner.space.guarantees import GUARANTEES
    from tuner.space.knobs import knobs

    names = tuple(name for name in profile.search.allow if name in GUARANTEES)
    bare = profile.model_copy(update={"search": SearchScope()})
    return knobs(bare, names) if profile.indexed else ()


def _unknown(profile: Profile, path: str) -> str | None:
    """Why a profile cannot have such a path, or None."""
    try:
        resolve_path(profile.model_dump(mode="json", by_alias=True), path)
    except BadUsage as reason:
        return str(reason)
    return None


def _no_knob(path: str, space: Sequence[Knob]) -> str:
    paths = [knob.path for knob in space]
    near = difflib.get_close_matches(path, paths, 2, 0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "see rsyslog-tune explain KEY"
    return f"a search of this profile does not vary {path}: {hint}"


def _fits(profile: Profile, path: str, value: object) -> bool:
    """Whether the schema takes the value at that path; it may not go with others, which the
    search finds out for each point."""
    data = profile.model_dump(mode="json", by_alias=True, exclude_none=True)
    try:
        candidate = changed(data, resolve_path(data, path), value)
        Profile.model_validate(candidate, by_alias=True, by_name=False)
    except (BadUsage, ValidationError):
        return False
    return True
