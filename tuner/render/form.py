"""How a configuration is written: whole or as a fragment, and with which files of the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from tuner.script.quoting import Emitted, authored


class Format(Enum):
    """Whom the rendered files are for."""

    PLAIN = "plain"
    ANSIBLE = "ansible"
    PUPPET = "puppet"
    SALT = "salt"


@dataclass(frozen=True)
class Form:
    """How a configuration is written: with the texts of its snippets by their paths; whole, or as a
    fragment beside a host's own configuration, which has `loaded` those modules."""

    snippets: Mapping[str, str] = field(default_factory=dict)
    is_fragment: bool = False
    loaded: frozenset[str] = frozenset()


WHOLE = Form()


class Snippet(NamedTuple):
    """A file of the user's own: its name, and its text as it is."""

    name: str
    text: Emitted


def snippets(paths: Sequence[str], form: Form) -> tuple[Snippet, ...]:
    """The snippets of these paths, in that order."""
    missing = "# This file was not read.\n"
    return tuple(Snippet(path, authored(form.snippets.get(path, missing))) for path in paths)
