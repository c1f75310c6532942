"""Repairs: the changes that stop losses of events which a profile does not allow, and a profile's
own text with them written in."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from tuner.errors import BadProfile, BadUsage, KeyPath
from tuner.lint.candidate import in_base
from tuner.lint.lint import Finding, lint
from tuner.lint.load import LoadedProfile, draft_of
from tuner.profile.edit import changed, edit_leaf
from tuner.profile.model import Profile
from tuner.profile.names import full_name
from tuner.profile.paths import get, resolve_path
from tuner.profile.source import read
from tuner.profile.values import spelled
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
    before = {(one.code, one.path) for one in reported}
    data = profile.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return tuple(
        Repair(
            ((_path_of(profile, one.path), one.cure.value),),
            one.cure.loss,
            one.code,
            one.cure.stops,
        )
        for one in _sound(profile, data, _curable(profile, reported), before)
        if one.cure is not None
    )


def every_change(several: Iterable[Repair]) -> tuple[tuple[str, Level], ...]:
    """All changes of several repairs, sorted by path."""
    return tuple(sorted({path: level for one in several for path, level in one.changes}.items()))


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
        Mend(setting, get(draft.source.data, setting), level, repair.why, repair.code)
        for repair in repairs(draft.profile)
        for setting, level in repair.changes
    )
    try:
        edits = {one.path: one.after for one in mends}
        base = draft.profile.base
        if base is None:
            text = edit_leaf(draft.leaf, draft.below, edits)
        else:
            text = in_base(draft.leaf, draft.below, base.kept, edits)
    except BadUsage as reason:
        raise BadUsage(f"nothing was repaired: {reason}") from None
    return text, mends


def mended_files(loaded: LoadedProfile) -> tuple[dict[str, str], tuple[Mend, ...]]:
    """The files of a profile's base that its repairs change, by path and as in a `SourceFile`,
    and what they change there.  What the configuration has no place for, or its form no way to say,
    is left out: lint goes on to report it."""
    base, edits = loaded.profile.base, dict[str, object]()
    if base is None:
        return {}, ()
    kept, changed, mends = base.kept, base.kept.written, list[Mend]()
    leaf = read(loaded.text, str(loaded.path))
    for repair in repairs(loaded.profile):
        for setting, level in repair.changes:
            place = kept.view.place(resolve_path(kept.view.data, setting))
            if place is None:
                continue
            asked = {**edits, setting: level}
            try:
                tried = loaded.with_text(in_base(leaf, loaded.below, kept, asked)).profile.base
            except (BadProfile, BadUsage):
                continue
            if tried is not None:
                edits, changed = asked, tried.kept.changed
                before = kept.written.parameter(*place)
                written = None if before is None else before.text
                key = kept.written.key_of(*place)
                mends.append(Mend(key, written, level, repair.why, repair.code))
    files = {
        path: file.text
        for path, file in changed.files.items()
        if file.text != kept.written.files[path].text
    }
    return files, tuple(mends)


def _curable(profile: Profile, findings: Iterable[Finding]) -> list[Finding]:
    """Those that have a cure, and that the profile does not accept as they are."""
    return [one for one in findings if one.cure and one.code not in profile.lint.accept]


def _sound(
    profile: Profile, data: object, findings: Sequence[Finding], before: set[tuple[str, KeyPath]]
) -> list[Finding]:
    """The findings whose cures bring nothing new.  All are tried at once, and halves of them only
    where that fails: one by one takes time that grows with the square of a configuration."""
    cured = data
    for one in findings:
        cured = cured if one.cure is None else changed(cured, one.path, one.cure.value)
    if _is_sound(profile, cured, before):
        return list(findings)
    if len(findings) < 2:
        return []
    first, second = findings[: len(findings) // 2], findings[len(findings) // 2 :]
    return [*_sound(profile, data, first, before), *_sound(profile, data, second, before)]


def _is_sound(profile: Profile, data: object, before: set[tuple[str, KeyPath]]) -> bool:
    """Whether repaired data are a profile in which lint finds nothing new."""
    try:
        repaired = Profile.model_validate(data, by_alias=True, by_name=False)
    except ValidationError:
        return False
    repaired.on_base_of(profile)
    return {(one.code, one.path) for one in lint(repaired)} <= before


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
