"""Repairs: the changes that stop losses of events which a profile does not allow, and a profile's
own text with them written in."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from tuner.errors import BadProfile, BadUsage, KeyPath
from tuner.lint.candidate import edited_text
from tuner.lint.lint import Finding, lint
from tuner.lint.load import LoadedProfile, draft_of
from tuner.profile.edit import changed
from tuner.profile.model import Profile
from tuner.profile.schema import full_name, get, resolve_path, spelled
from tuner.schema.path import Path
from tuner.space.knob import Level, level_text


@dataclass(frozen=True)
class Repair:
    """A change that stops a loss of events under the profile's own tier; `loss` is the clause that
    says what is lost without it, `code` is that of the rule, and `stops` one about what else waits
    with it."""

    changes: tuple[tuple[str, Level], ...]
    loss: str
    code: str
    stops: str = ""

    @property
    def why(self) -> str:
        """Why it is made although nobody asked for it, and what to know of it."""
        why = f"not for speed: without it {self.loss}"
        return f"{why}; with it {self.stops}" if self.stops else why

    def text(self, profile: Profile) -> str:
        """What it changes in the profile, by the names that a reader knows, and why."""
        named = ((full_name(profile, path), level_text(level)) for path, level in self.changes)
        changes = ", ".join(f"{name}: {level}" for name, level in named)
        return f"{changes} ({self.why}) [{self.code}]"


def repairs(profile: Profile) -> tuple[Repair, ...]:
    """The repairs of a profile, in the order of the rules.

    A repair that brings a finding of its own is left out: a release may not know the parameter; and
    so is that of a loss that the profile accepts.
    """
    reported = lint(profile)
    before = {(finding.code, finding.path) for finding in reported}
    data = profile.model_dump(mode="json", by_alias=True, exclude_unset=True)
    curable = [
        finding
        for finding in reported
        if finding.cure is not None and finding.code not in profile.lint.accept
    ]
    return tuple(
        Repair(
            ((_path_of(profile, finding.path), cure.value),), cure.loss, finding.code, cure.stops
        )
        for finding in _sound(profile, data, curable, before)
        if (cure := finding.cure)
    )


def every_change(repairs: Iterable[Repair]) -> tuple[tuple[str, Level], ...]:
    """All changes of several repairs, sorted by path."""
    return tuple(sorted(dict(change for repair in repairs for change in repair.changes).items()))


@dataclass(frozen=True)
class Mend:
    """One setting that was changed: what the file said (None: nothing), what it says now, why, and
    the rule that asks for it."""

    path: str
    before: object
    after: object
    why: str
    code: str

    def __str__(self) -> str:
        values = f"{spelled(self.before)} -> {spelled(self.after)}"
        return f"{self.path}: {values} ({self.why}) [{self.code}]"


def mended(path: pathlib.Path) -> tuple[str, tuple[Mend, ...]]:
    """The text of the profile in that file with its repairs, and what they change; layers below
    stay as they are.  What else lint refuses does not matter.  Raises BadProfile and, where the
    text cannot be edited in place, BadUsage."""
    draft = draft_of(path)
    mends = tuple(
        Mend(path, get(draft.data, path), level, repair.why, repair.code)
        for repair in repairs(draft.profile)
        for path, level in repair.changes
    )
    try:
        return edited_text(draft, {mend.path: mend.after for mend in mends}), mends
    except BadUsage as reason:
        raise BadUsage(f"nothing was repaired: {reason}") from None


def mended_files(loaded: LoadedProfile) -> tuple[dict[str, str], tuple[Mend, ...]]:
    """The files of a profile's base that its repairs change, by path and as in a `SourceFile`,
    and what they change there.  What the configuration has no place for, or its form no way to say,
    is left out: lint goes on to report it."""
    base, edits = loaded.profile.base, dict[str, object]()
    if base is None:
        return {}, ()
    kept, changed, mends = base.kept, base.kept.written, list[Mend]()
    wanted = (
        (path, level, repair)
        for repair in repairs(loaded.profile)
        for path, level in repair.changes
    )
    for path, level, repair in wanted:
        place = kept.view.place(resolve_path(kept.view.data, path))
        if place is None:
            continue
        asked = {**edits, path: level}
        try:
            tried = loaded.with_text(edited_text(loaded, asked)).profile.base
        except (BadProfile, BadUsage):
            continue
        if tried is not None:
            edits, changed = asked, tried.kept.changed
            before = kept.written.parameter(*place)
            text = None if before is None else before.text
            key = kept.written.key_of(*place)
            mends.append(Mend(key, text, level, repair.why, repair.code))
    files = {
        name: file.text
        for name, file in changed.files.items()
        if file.text != kept.written.files[name].text
    }
    return files, tuple(mends)


def _sound(
    profile: Profile, data: object, findings: Sequence[Finding], before: set[tuple[str, KeyPath]]
) -> Sequence[Finding]:
    """The findings whose cures bring nothing new.  All are tried at once, and halves of them only
    where that fails: one by one takes time that grows with the square of a configuration."""
    repaired = data
    for finding in findings:
        if finding.cure is not None:
            repaired = changed(repaired, finding.path, finding.cure.value)
    if _is_sound(profile, repaired, before):
        return findings
    if len(findings) < 2:
        return ()
    half = len(findings) // 2
    first, second = findings[:half], findings[half:]
    return [*_sound(profile, data, first, before), *_sound(profile, data, second, before)]


def _is_sound(profile: Profile, data: object, before: set[tuple[str, KeyPath]]) -> bool:
    """Whether repaired data are a profile in which lint finds nothing new."""
    try:
        repaired = Profile.model_validate(data, by_alias=True, by_name=False)
    except ValidationError:
        return False
    repaired.on_base_of(profile)
    return {(finding.code, finding.path) for finding in lint(repaired)} <= before


def _path_of(profile: Profile, path: KeyPath) -> Path:
    """The path as knobs and edits spell it: outputs by their names, and streams as items."""
    name = Path("")
    for number, step in enumerate(path):
        if isinstance(step, int):
            is_output = path[:number] == ("outputs",)
            name = name.item(profile.outputs[step].name if is_output else str(step))
        elif path[:number] == ("streams",):
            name = name.item(step)
        else:
            name = name / step if name else Path(step)
    return name
