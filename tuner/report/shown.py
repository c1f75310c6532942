"""Text from profiles, logs and engines as it may be shown: no character steers a reader's eye."""

from __future__ import annotations

import re

# Control characters, marks that turn the direction of writing, characters without width, and halves
# of characters; line ends and tabs stay.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff"
    "\ud800-\udfff]"
)


def shown(text: str) -> str:
    """`text` with such characters written out, as `[U+202E]`."""
    return _STEERING.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)
