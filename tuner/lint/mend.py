"""A profile's own text with its repairs written in, for `validate --fix`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tuner.errors import BadUsage
from tuner.lint.load import draft_of
from tuner.lint.repairs import repairs
from tuner.profile.edit.leaf import edit_leaf
from tuner.profile.paths import get
from tuner.profile.values import spelled


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


def mended(path: Path) -> tuple[str, tuple[Mend, ...]]:
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
        text = edit_leaf(draft.leaf, draft.below, {one.path: one.after for one in mends})
    except BadUsage as reason:
        raise BadUsage(f"nothing was repaired: {reason}") from None
    return text, mends
