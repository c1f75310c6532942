"""Long lines, in the way that rsyslogd joins them again."""

from __future__ import annotations

import re

# No more blanks than this follow each other in what the quoter writes.
LONGEST_BLANK = 40
# A line begins with no blank: rsyslogd would drop it.  In UTF-8 this is below 9,000 bytes.
_PIECE = re.compile(rf".{{1,2000}} {{0,{LONGEST_BLANK}}}")


def fold(text: str) -> str:
    """`text` with a backslash at the end of each line that goes on in the next.

    rsyslogd reads at most 10,239 bytes of a line and takes the rest for the next one, with a
    newline between them (readConfFile in rsyslog's grammar/rainerscript.c).  An object that is
    folded must begin and end on lines that are joined: after them rsyslogd inserts a line number,
    which may not stand inside of an object.
    """
    return "\n".join("\\\n".join(_PIECE.findall(line)) for line in text.split("\n"))
