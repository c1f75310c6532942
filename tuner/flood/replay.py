"""Bodies from a file of the user's own logs."""

from __future__ import annotations

from pathlib import Path

from tuner.errors import JobFailed

MOST_BYTES = 64 * 1024 * 1024
_BLANKS = bytes(32 if code < 32 or code == 127 else code for code in range(256))


def lines_of(path: str) -> list[bytes]:
    """The lines of a file that are not blank, control characters turned into blanks.

    Of a file above 64 MiB its first 64 MiB are used.  Raises JobFailed when there is nothing.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(MOST_BYTES)
            if len(content) == MOST_BYTES:
                content = content[: content.rfind(b"\n") + 1] or content
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise JobFailed(f"{path}, the file to replay, cannot be read: {why}") from error
    cleaned = (line.translate(_BLANKS).rstrip() for line in content.split(b"\n"))
    lines = [line for line in cleaned if line]
    if not lines:
        raise JobFailed(f"{path}, the file to replay, has no lines to send")
    return lines


def cut(line: bytes, most: int) -> bytes:
    """The first `most` bytes of a line at the most, without half a UTF-8 character at the end."""
    if len(line) <= most:
        return line
    end = most
    while end > max(0, most - 4) and line[end] & 0xC0 == 0x80:
        end -= 1
    return line[: end if line[end] & 0xC0 != 0x80 else most]
