"""Whether what a template writes can be JSON at all, whatever the events hold; pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

from tuner.engines.refusals import document_refusal
from tuner.script.script import ScriptObject
from tuner.script.template import (
    NamedText,
    TemplatePiece,
    TemplateProperty,
    template_of,
)

# What a variable or a message may hold: a number, an object, members of one, the end of one, and
# nothing.  A number stands well in quotes, too.
_ANYTHING = ("1", "{}", '"a":1', '"a":1}', ',"a":1', ',"a":1}', "{", "}", "")
_MOST_TRIALS = 5_000
_WHOLE = frozenset({"msg", "rawmsg", "rawmsg-after-pri", "jsonmesg", "structured-data"})
# What rsyslogd's own templates write is text for people, but for StdJSONFmt.
_LINES = frozenset(
    f"rsyslog_{name}"
    for name in (
        "traditionalfileformat", "fileformat", "traditionalforwardformat", "forwardformat",
        "syslogprotocol23format", "syslogrfc5424format", "debugformat", "stdusrmsgfmt", "wallfmt",
    )
)  # fmt: skip


def is_for_lines(name: str) -> bool:
    """Whether a template of rsyslogd's own, by its name, writes lines of text."""
    return name.strip().lower() in _LINES


def never_json(template: ScriptObject) -> tuple[str, str] | None:
    """What the template writes where each property is 1, and why no engine can parse it; None where
    some events may give a JSON object, or that cannot be told."""
    read = template_of(template)
    if read is None or read.subtree is not None or "jsonftree" in read.options:
        return None
    is_made = "jsonf" in read.options
    choices = [tuple(_texts(one, is_made)) for one in read.pieces]
    trials = 1
    for one in choices:
        trials *= len(one)
    if trials > _MOST_TRIALS:
        return None
    first: tuple[str, str] | None = None
    for parts in islice(product(*choices), _MOST_TRIALS):
        text = f"{{{', '.join(parts)}}}" if is_made else "".join(parts)
        for written in dict.fromkeys((text, text.replace("\\n", "\n"))):
            refusal = document_refusal(written)
            if refusal is None:
                return None
            first = first or (written.strip(), refusal)
    return first


def _texts(piece: TemplatePiece, is_made: bool) -> Iterator[str]:
    """What a piece may write."""
    match piece:
        case NamedText():
            yield f'"{piece.name}": "1"' if is_made else piece.text
        case TemplateProperty():
            yield from _of_property(piece)
        case _:
            yield piece


def _of_property(piece: TemplateProperty) -> Iterator[str]:
    form = piece.options.get("format", "").lower()
    is_variable = piece.name.startswith("$") and piece.name[1:2] in "!./"
    if form in {"jsonf", "jsonfr"}:
        yield f'"{piece.options.get("outname", piece.name.lstrip("$!./"))}":"1"'
        if is_variable or piece.options.get("onempty") or "omitifzero" in piece.options:
            yield ""
    elif form == "csv":
        yield '"1"'
    elif is_variable or piece.lowered in _WHOLE:
        yield from _ANYTHING
    else:
        yield "1"
