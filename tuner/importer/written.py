"""An imported profile as YAML with comments, and the report on the import."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tuner.profile.edit.splice import flow
from tuner.rainerscript.gaps import Gap
from tuner.rainerscript.script import ScriptPosition

Comments = dict[tuple[str | int, ...], ScriptPosition]
"""Where a section of a profile comes from."""


@dataclass(frozen=True)
class Imported:
    """A profile as plain data, where its sections come from, what is missing and what differs; the
    snippets are private where there may be secrets in them."""

    data: dict[str, object]
    comments: Comments
    missing: tuple[Gap, ...]
    changed: tuple[Gap, ...]
    kept: tuple[Gap, ...] = ()
    snippets: Mapping[str, str] = field(default_factory=dict)
    is_private: bool = False


_MODELINE = "# yaml-language-server: $schema=profile.schema.json"
_WIDEST = 96


def profile_text(imported: Imported, files: Sequence[str]) -> str:
    """The text of the profile."""
    lines = [_MODELINE, "#", f"# Imported by rsyslog-tune from {_printable(', '.join(files))}."]
    for key, value in imported.data.items():
        lines += ["", *_section(key, value, imported.comments)]
    lines += _listed("Not in this profile:", imported.missing)
    lines += _listed("Kept as RainerScript, in the snippets:", imported.kept)
    lines += _listed("Done another way:", imported.changed)
    return "\n".join(lines) + "\n"


def _listed(title: str, gaps: Sequence[Gap]) -> list[str]:
    if not gaps:
        return []
    return ["", f"# {title}", *(f"#   {_printable(str(one))}" for one in gaps)]


def _section(key: str, value: object, comments: Comments) -> Iterator[str]:
    if (key,) in comments:
        yield _comment(comments, (key,))
    if not isinstance(value, list) or not _holds_sections(value):
        yield from _entry(key, value, "")
        return
    yield f"{key}:"
    for number, item in enumerate(value):
        if (key, number) in comments:
            yield f"  {_comment(comments, (key, number))}"
        yield from item_lines(item, "  ")


def _comment(comments: Comments, path: tuple[str | int, ...]) -> str:
    origin = comments[path]
    return f"# {_printable(origin.file)}:{origin.line}"


def item_lines(item: object, indent: str) -> Iterator[str]:
    """An item of a list: on one line where it fits."""
    if not isinstance(item, Mapping):
        yield f"{indent}- {flow(item)}"
        return
    if not any(isinstance(value, Mapping | list) for value in item.values()):
        short = f"{indent}- {flow(item)}"
        if len(short) <= _WIDEST:
            yield short
            return
    for number, (key, value) in enumerate(item.items()):
        lines = list(_entry(key, value, f"{indent}  "))
        if number == 0:
            lines[0] = f"{indent}- {lines[0].lstrip()}"
        yield from lines


def _entry(key: str, value: object, indent: str) -> Iterator[str]:
    short = f"{indent}{flow(key)}: {flow(value)}"
    if (
        not isinstance(value, Mapping | list)
        or not value
        or (len(short) <= _WIDEST and not _holds_sections(value))
    ):
        yield short
    else:
        yield f"{indent}{flow(key)}:"
        if isinstance(value, Mapping):
            for inner, one in value.items():
                yield from _entry(inner, one, f"{indent}  ")
        else:
            for one in value:
                yield from item_lines(one, f"{indent}  ")


def _holds_sections(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(one, Mapping) for one in value)


def _printable(text: str) -> str:
    """A comment ends with its line, and YAML takes printable characters only."""
    return "".join(one if one.isprintable() else "?" for one in text)
