"""What of a `search` section would have no effect, checked against the space of the search."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from tuner.errors import BadUsage
from tuner.profile.edit import changed, plain
from tuner.profile.model import Profile, SearchScope
from tuner.profile.paths import resolve_path
from tuner.rule import Complaint
from tuner.schema.path import Path
from tuner.space.guarantees import GUARANTEES, called
from tuner.space.knob import Knob, level_text
from tuner.space.knobs import knobs


def unknown_names(profile: Profile) -> Iterator[Complaint]:
    """Names of `allow` that open nothing in any profile, or that this one's tier or engine forbids;
    what is merely not there may have been turned off by a search."""
    names = profile.search.allow
    for number, name in enumerate(names):
        reason: str | None
        try:
            reason = called(name).forbidden(profile, names)
        except BadUsage as unknown:
            reason = str(unknown)
        if reason is not None:
            yield Complaint(("search", "allow", number), f"{name} cannot be given up: {reason}")


def unknown_paths(profile: Profile) -> Iterator[Complaint]:
    """Paths that a profile cannot have and, of those that only may vary, those that cannot."""
    search = profile.search
    every = _every_knob(profile)
    for number, path in enumerate(search.freeze):
        reason = _unknown(profile, path)
        if reason is not None and not any(knob.path.is_in(path) for knob in every):
            yield Complaint(("search", "freeze", number), reason)
    for number, path in enumerate(search.only):
        if not any(knob.path.is_in(path) for knob in every):
            yield Complaint(("search", "only", number), _no_knob(path, every))


def unfit_levels(profile: Profile) -> Iterator[Complaint]:
    """Levels of settings that no search varies, and levels that a setting cannot have."""
    every: dict[str, Knob] = {knob.path: knob for knob in _every_knob(profile)}
    for path, levels in profile.search.levels.items():
        knob = every.get(path)
        if knob is None:
            no_knob = _no_knob(path, tuple(every.values()))
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


def _no_knob(path: str, every: Sequence[Knob]) -> str:
    known = [knob.path for knob in every]
    near = difflib.get_close_matches(path, known, 2, 0.5)
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
