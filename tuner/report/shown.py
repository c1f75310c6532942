"""Text from profiles, logs and engines as it may be shown: no character steers a reader's eye."""

from __future__ import annotations

import re

# Control characters, marks that turn the direction of writing, characters without width, and halves
# of characters; line ends and tabs stay.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff"
    "\ud800-\udfff]"
)

_CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
_MARKUP = re.compile(r"<(?!br>)|\](?=\()|@")
_HARMLESS = {"<": "&lt;", "]": "&#93;", "@": "&#64;"}


def shown(text: str) -> str:
    """`text` with such characters written out, as `[U+202E]`."""
    return _STEERING.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)


def plain_markdown(text: str) -> str:
    """`text` as Markdown in which nothing that a log or an engine said becomes HTML, a link, a
    picture or a mention; `<br>` and code stay."""
    return "".join(
        part if number % 2 else _MARKUP.sub(lambda found: _HARMLESS[found[0]], part)
        for number, part in enumerate(_CODE.split(shown(text)))
    )
