"""Texts that a ruleset works out before a document is written, each kept in a variable.

A step is a `set` of a variable under `$.documents!OUTPUT`, or `$.steps` where a step of a stream
needs it, to what a template writes.  Strings of
an event are copied unchanged with it, where rsyslog's copies of JSON spoil numbers: jsonDeepCopy
makes 1e+22.0 of 1e22, which is no JSON (8.2302).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from tuner.modules.field import DocumentField
from tuner.modules.text_source import EVERYTHING
from tuner.rainerscript.quoting import Emitted
from tuner.render.field_text import Property, json_name

Piece = str | Property

EVERYTHING_FOUND = Property("$!all-json-plain")
"""All that parsing found; {} where it found nothing."""


class TextStep(NamedTuple):
    """What a template writes; with `mends` without half a character at its ends, with `joins` with
    a comma before it where it is not empty, with a `table` what that has for it, with a `fallback`
    that instead of nothing."""

    variable: str
    template: str
    pieces: tuple[Piece, ...]
    mends: bool = False
    joins: bool = False
    fallback: Emitted | None = None
    table: str | None = None
    kind: str = "text"


class JsonStep(NamedTuple):
    """What stands at a path as JSON: a text in quotes, anything else as it is.  `prefix` comes
    before it, and nothing at all is written of what is empty; without a prefix that is null."""

    variable: str
    template: str
    path: str
    prefix: str | None
    kind: str = "json"


class MergeStep(NamedTuple):
    """All that parsing found but the members `left_out`, as the end of an object that has members
    already."""

    variable: str
    template: str
    left_out: tuple[str, ...]
    kind: str = "merge"

    @property
    def tree(self) -> str:
        """The variable of what is left."""
        return f"{self.variable}!tree"

    @property
    def text(self) -> str:
        """The variable of what is written."""
        return f"{self.variable}!text"


Step = TextStep | JsonStep | MergeStep


@dataclass
class Steps:
    """Gathers the steps of one output or stream: `root` begins its variables, `stem` the names of
    its templates."""

    root: str
    stem: str
    _taken: list[Step] = field(default_factory=list)

    @classmethod
    def of_output(cls, name: str) -> Steps:
        """Those of an output's documents."""
        return cls(f"$.documents!{name}", name)

    @classmethod
    def of_stream(cls, name: str | None) -> Steps:
        """Those of a stream, or of what names none; no output's have two dots."""
        return cls("$.steps", "own.steps" if name is None else f"stream.{name}")

    @property
    def taken(self) -> tuple[Step, ...]:
        """The steps in their order."""
        return tuple(self._taken)

    def text(
        self,
        pieces: tuple[Piece, ...],
        mends: bool = False,
        joins: bool = False,
        fallback: Emitted | None = None,
        variable: str | None = None,
        table: str | None = None,
    ) -> Property:
        """What writes the text of these pieces; a `variable` of its own keeps it."""
        own, template = self._names()
        kept = variable or own
        self._taken.append(TextStep(kept, template, pieces, mends, joins, fallback, table))
        return Property(kept)

    def json(self, one: DocumentField, prefix: str | None = None) -> Property:
        """What writes the JSON that a field passes on."""
        if one.json_path == EVERYTHING:
            return EVERYTHING_FOUND
        variable, template = self._names()
        self._taken.append(JsonStep(variable, template, json_name(str(one.json_path)), prefix))
        return Property(f"{variable}!text")

    def merged(self, names: list[str]) -> Property:
        """What writes the rest of an object, its brace included, of which fields have `names`.

        A name with dots is the same to the engine as the path of objects that it spells.
        """
        variable, template = self._names()
        parts = [name.split(".") for name in names]
        starts = (".".join(part[:end]) for part in parts for end in range(1, len(part) + 1))
        step = MergeStep(variable, template, tuple(dict.fromkeys(starts)))
        self._taken.append(step)
        return Property(step.text)

    def _names(self) -> tuple[str, str]:
        """A variable and a template that nothing else has: no other template's name has a dot."""
        number = len(self._taken) + 1
        return f"{self.root}!{number}", f"{self.stem}.{number}"
