"""The lines of the user's own file, as a flood sends them again, and what is lost of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tuner.errors import JobFailed
from tuner.flood.heads import Style
from tuner.reading import opened, unreadable

MOST_BYTES = 64 * 1024 * 1024
_CONTROL = bytes((*range(32), 127))
_BLANKS = bytes(32 if code in _CONTROL else code for code in range(256))


@dataclass(frozen=True)
class ReplayedFile:
    """The lines of a file that are not blank, control characters turned into blanks, as these would
    end a message; and how many were blank, had such characters, or are no UTF-8."""

    path: str
    lines: tuple[bytes, ...]
    blank: int
    controlled: int
    not_utf8: int
    is_whole: bool

    def remarks(self, style: Style, longest_bytes: int, *, repairs_utf8: bool) -> Iterator[str]:
        """What of the file is not sent as it is where messages with their heads may be so long, and
        which events an engine refuses unless rsyslog repairs them."""
        return (
            f"{self.path}: {remark}" for remark in self._remarks(style, longest_bytes, repairs_utf8)
        )

    def _remarks(self, style: Style, longest_bytes: int, repairs_utf8: bool) -> Iterator[str]:
        room = longest_bytes - style.longest_head
        long = sum(len(line) > room for line in self.lines)
        if not self.is_whole:
            yield f"only its first {MOST_BYTES // 1024**2} MiB are sent"
        if self.blank:
            yield f"{_lines(self.blank, 'is', 'are')} blank and left out"
        if self.controlled:
            lines = _lines(self.controlled, "has", "have")
            yield f"{lines} control characters, such as tabs: blanks are sent for them"
        if long:
            yield (
                f"{_lines(long, 'is', 'are')} cut, so that with a head no message is longer than "
                f"{longest_bytes:,} bytes (global.maxMessageSize)"
            )
        if self.not_utf8 and not repairs_utf8:
            yield (
                f"{_lines(self.not_utf8, 'is', 'are')} not UTF-8, and nothing repairs that: an "
                "engine refuses such documents, which then count as lost; use mmutf8fix, or "
                "convert the file"
            )


def _lines(count: int, singular: str, several: str) -> str:
    return f"1 line {singular}" if count == 1 else f"{count:,} lines {several}"


def replayed_file(path: str) -> ReplayedFile:
    """What there is to replay; raises JobFailed when that is nothing."""
    try:
        with opened(path) as file:
            content = file.read(MOST_BYTES)
            is_whole = len(content) < MOST_BYTES or not file.read(1)
    except OSError as error:
        raise unreadable(f"{path}, the file to replay,", error) from None
    if not is_whole:
        content = content[: content.rfind(b"\n") + 1] or content
    written = [line.rstrip() for line in content.removesuffix(b"\n").split(b"\n")]
    cleaned = [line.translate(_BLANKS).rstrip() for line in written]
    lines = tuple(line for line in cleaned if line)
    if not lines:
        raise JobFailed(f"{path}, the file to replay, has no lines to send")
    return ReplayedFile(
        path,
        lines,
        blank=len(cleaned) - len(lines),
        controlled=sum(a != b for a, b in zip(written, cleaned, strict=True) if b),
        not_utf8=sum(line.decode(errors="ignore").encode() != line for line in lines),
        is_whole=is_whole,
    )


def cut(line: bytes, most: int) -> bytes:
    """The first `most` bytes of a line at the most, without half a UTF-8 character at the end."""
    if len(line) <= most:
        return line
    end = most
    while end > max(0, most - 4) and line[end] & 0xC0 == 0x80:
        end -= 1
    return line[: end if line[end] & 0xC0 != 0x80 else most]
