"""A file as rsyslogd joins its lines, with the place in the file of every character."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from tuner.importer.script import ScriptPosition


@dataclass(frozen=True)
class JoinedText:
    """Lines without the blanks at their ends; a line that ends in a backslash goes on in the next,
    whose blanks at the start are dropped (readConfFile in rsyslog's grammar/rainerscript.c)."""

    file: str
    text: str
    starts: tuple[int, ...]
    places: tuple[tuple[int, int], ...]

    def origin(self, offset: int) -> ScriptPosition:
        """Where the character at `offset` stands in the file."""
        number = max(0, bisect_right(self.starts, offset) - 1)
        line, column = self.places[number]
        return ScriptPosition(self.file, line, column + offset - self.starts[number])


def joined(text: str, file: str) -> JoinedText:
    """`text` as rsyslogd's lexer gets it."""
    pieces: list[str] = []
    starts: list[int] = []
    places: list[tuple[int, int]] = []
    length, goes_on = 0, False
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.rstrip(" \t\r\v\f")
        first = len(stripped) - len(stripped.lstrip(" \t\r\v\f")) if goes_on else 0
        starts.append(length)
        places.append((number, first + 1))
        piece = stripped[first:]
        # A blank line after a backslash does not end the continuation.
        if piece:
            goes_on = piece.endswith("\\")
            piece = piece.removesuffix("\\")
        piece += "" if goes_on else "\n"
        pieces.append(piece)
        length += len(piece)
    return JoinedText(file, "".join(pieces), tuple(starts), tuple(places))
