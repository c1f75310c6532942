"""The form of a configuration: whole or as a fragment, and the user's snippets that it includes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from tuner.script.quoting import Emitted, authored


class Format(Enum):
    """The configuration management tool that the rendered files are for."""

    PLAIN = "plain"
    ANSIBLE = "ansible"
    PUPPET = "puppet"
    SALT = "salt"


@dataclass(frozen=True)
class Form:
    """The form of a configuration: the texts of its snippets by path, and whether it is a fragment,
    to be included by a host's own configuration that has `loaded` some modules."""

    snippets: Mapping[str, str] = field(default_factory=dict)
    is_fragment: bool = False
    loaded: frozenset[str] = frozenset()


WHOLE = Form()


class Snippet(NamedTuple):
    """A file of the user's RainerScript: its name and its unchanged text."""

    name: str
    text: Emitted


def snippets(paths: Sequence[str], form: Form) -> tuple[Snippet, ...]:
    """The snippets of these paths, in that order."""
    missing = "# This file was not read.\n"
    return tuple(Snippet(path, authored(form.snippets.get(path, missing))) for path in paths)
