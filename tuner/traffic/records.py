"""Messages out of a file of whatever kind: syslog with and without heads, journal exports, CSV,
packets, compressed or not."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple

from tuner.errors import JobFailed
from tuner.reading import content, unreadable
from tuner.schema.scalars import FACILITIES
from tuner.traffic.sample import LogFormat

MOST_BYTES = 64 * 1024 * 1024
"""What is read of a file at the most, decompressed."""


class LogRecord(NamedTuple):
    """A message as it was found; what is not known of its head is empty, its priority and second
    (since 1970) None."""

    text: str
    priority: int | None = None
    second: float | None = None
    host: str = ""
    program: str = ""
    pid: bool = False
    msgid: str = "-"
    data: str = "-"
    format: LogFormat = "bare"


# Control characters, which end messages, and halves of characters, which JSON may have.
CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
LONGEST_TEXT = 8096
"""What is read of the text of a message."""


def records_of(path: Path) -> tuple[str, list[LogRecord]]:
    """What a file is, with what of it is left out, and its messages; raises JobFailed when it
    cannot be read or has none."""
    try:
        raw = content(path, MOST_BYTES)
    except OSError as error:
        raise unreadable(path, error) from None
    kind, raw = _decompressed(raw)
    reader, name = _reader(raw)
    try:
        parsed_records = list(reader(raw))
    except csv.Error as error:
        raise JobFailed(f"{path} {error}") from error
    # What follows the last line end is no line.
    records = [
        record for record in parsed_records if CONTROL.sub(" ", record.text[:LONGEST_TEXT]).strip()
    ]
    empty = len(parsed_records) - len(records) - (reader is _lines and raw[-1:] == b"\n")
    if not records:
        raise JobFailed(f"{path} has no messages: it was read as {name}{kind}")
    left_out = [f"{empty:,} without a text left out"] if empty else []
    controlled = sum(CONTROL.search(record.text.rstrip()) is not None for record in records)
    left_out += [f"control characters of {controlled:,} read as blanks"] if controlled else []
    return ", ".join([f"{name}{kind}", *left_out]), records


# Small, as the last one of a file that was cut short is lost.
_CHUNK = 1 << 12


def _decompressed(raw: bytes) -> tuple[str, bytes]:
    """What was compressed how, and as much of it as is used."""
    kind, read = decompressing(io.BytesIO(raw))
    if not kind:
        return "", raw
    text = bytearray()
    while len(text) < MOST_BYTES and (chunk := read(_CHUNK)):
        text += chunk
    return f", {kind}", bytes(text)


def decompressing(raw: BinaryIO) -> tuple[str, Callable[[int], bytes]]:
    """What a file is compressed by, "" where it is plain, and what reads more of its text: nothing
    where that ends, or is cut short."""
    magic = raw.read(4)
    raw.seek(0)
    packed: Callable[[int], bytes]
    broken: tuple[type[Exception], ...] = (EOFError, OSError, zlib.error)
    if magic.startswith(b"\x1f\x8b"):
        packed, kind = gzip.GzipFile(fileobj=raw).read, "gzip"
    elif magic == b"\x28\xb5\x2f\xfd":
        # What only renders and diagnoses is installed without.
        import zstandard

        reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        packed, kind, broken = reader.read, "zstd", (zstandard.ZstdError,)
    else:
        return "", raw.read

    def read(size: int) -> bytes:
        with suppress(*broken):
            return packed(size)
        return b""

    return kind, read


def _reader(raw: bytes) -> tuple[Callable[[bytes], Iterator[LogRecord]], str]:
    """What reads a content, and what that is called."""
    if raw.startswith(_PACKETS):
        # dpkt is for those alone.
        from tuner.traffic.packets import messages

        return lambda raw: map(parsed, map(_decoded, messages(raw))), "packets"
    first, _, following = raw.partition(b"\n")
    if re.match(rb"__[A-Z_]+=", first) and b"\n__REALTIME_TIMESTAMP=" in raw:
        return _export, "journalctl -o export"
    if first.startswith(b"{") and b'"__REALTIME_TIMESTAMP"' in first and b'"MESSAGE"' in raw:
        return _journal_json, "journalctl -o json"
    if following and _text_column(_decoded(first)) is not None:
        return _csv, "CSV"
    return _lines, "lines"


# What pcap(5) files begin with, with micro- and nanoseconds, and pcapng ones.
_PACKETS = (
    b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1",
    b"\x0a\x0d\x0d\x0a",
)  # fmt: skip


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _lines(raw: bytes) -> Iterator[LogRecord]:
    for line in raw.split(b"\n"):
        yield parsed(_decoded(line))


# Heads on the wire, and as rsyslog's file formats write them, without a priority.
_PRI = re.compile(r"<(\d{1,3})>")
_PRIORITIES = 8 * len(FACILITIES)
_RFC5424 = re.compile(
    r"1 (?P<time>\S+) (?P<host>\S+) (?P<program>\S+) (?P<pid>\S+) (?P<msgid>\S+) "
    r'(?P<data>-|(?:\[(?:[^"\]\\]|\\.|"(?:[^"\\]|\\.)*")*\])+)(?: (?P<text>.*))?$',
    re.DOTALL,
)
_RFC3164 = re.compile(
    r"(?P<time>[A-Z][a-z]{2} [ \d]\d(?: \d{4})? \d\d:\d\d:\d\d(?:\.\d+)?|"
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d))"
    r" (?P<host>[^\s\[\]]+) (?P<program>[^\s:\[\]]{1,48})(?P<pid>\[[^\]]*\])?: ?(?P<text>.*)$",
    re.DOTALL,
)


def parsed(line: str) -> LogRecord:
    """The message of a line, whatever head it has."""
    pri = _PRI.match(line)
    priority = int(pri[1]) if pri and int(pri[1]) < _PRIORITIES else None
    message = line if pri is None or priority is None else line[pri.end() :]
    head = _RFC5424.match(message) if priority is not None else None
    if head is not None:
        return LogRecord(
            head["text"] or "", priority, _second(head["time"]), _known(head["host"]),
            _known(head["program"]), head["pid"] != "-", head["msgid"], head["data"], "rfc5424",
        )  # fmt: skip
    head = _RFC3164.match(message)
    if head is not None:
        return LogRecord(
            head["text"], priority, _second(head["time"]), head["host"], head["program"],
            head["pid"] is not None, format="rfc3164",
        )  # fmt: skip
    return LogRecord(message, priority, format="bare" if priority is None else "rfc3164")


def _known(field: str) -> str:
    return "" if field == "-" else field


def _second(text: str) -> float | None:
    """Seconds since 1970; a time without a year is one of 2000, as only differences count."""
    if text[:1].isdigit():
        try:
            return datetime.fromisoformat(text).timestamp()
        except ValueError:
            return None
    day = text.partition(".")[0]
    has_year = len(day) > len("Nov 25 17:00:01")
    try:
        whole = day if has_year else f"{day[:6]} 2000{day[6:]}"
        return datetime.strptime(whole, "%b %d %Y %H:%M:%S").timestamp()
    except ValueError:
        return None


def _entry(fields: Mapping[str, object]) -> LogRecord:
    """A message of the journal (systemd.journal-fields(7))."""
    text = fields.get("MESSAGE")
    if isinstance(text, list):
        text = _decoded(bytes(byte for byte in text if isinstance(byte, int) and 0 <= byte < 256))
    severity, facility = (_number(fields.get(name)) for name in ("PRIORITY", "SYSLOG_FACILITY"))
    stamp = _number(fields.get("__REALTIME_TIMESTAMP"))
    priority = None if severity is None else 8 * (3 if facility is None else facility) + severity
    return LogRecord(
        str(text or ""),
        priority if priority is not None and priority < _PRIORITIES else None,
        None if stamp is None else stamp / 1e6,
        str(fields.get("_HOSTNAME") or ""),
        str(fields.get("SYSLOG_IDENTIFIER") or fields.get("_COMM") or ""),
        "_PID" in fields or "SYSLOG_PID" in fields,
        format="rfc3164",
    )


def _number(value: object) -> int | None:
    return int(text) if re.fullmatch("[0-9]{1,20}", text := str(value)) else None


def _journal_json(raw: bytes) -> Iterator[LogRecord]:
    for line in raw.split(b"\n"):
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(fields, Mapping):
            yield _entry(fields)


def _export(raw: bytes) -> Iterator[LogRecord]:
    """systemd.io/JOURNAL_EXPORT_FORMATS: NAME=VALUE, or NAME, eight bytes of length and the value;
    an empty line ends an entry."""
    fields: dict[str, object] = {}
    at = 0
    while at < len(raw):
        end = raw.find(b"\n", at)
        line = raw[at : end if end >= 0 else len(raw)]
        at += len(line) + 1
        name, equals, value = line.partition(b"=")
        if not line:
            yield _entry(fields)
            fields = {}
        elif equals:
            fields[_decoded(name)] = _decoded(value)
        elif at + 8 <= len(raw):
            (length,) = struct.unpack_from("<Q", raw, at)
            fields[_decoded(name)] = _decoded(raw[at + 8 : at + 8 + length])
            at += 8 + length + 1
    if fields:
        yield _entry(fields)


_TEXT_COLUMNS = ("message", "msg", "content", "log", "text", "rawmessage", "body", "event")
_COLUMNS = {
    "host": ("host", "hostname", "node", "source"),
    "program": ("program", "programname", "app", "appname", "application", "component", "tag"),
}


def _cells(line: str) -> list[str]:
    try:
        return [cell.strip().lower().lstrip("\ufeff") for cell in next(csv.reader([line]), [])]
    except csv.Error:
        return []


def _text_column(first: str) -> int | None:
    """The column with the text, where a line names columns; two at least."""
    cells = _cells(first) if first.count(",") else []
    if not all(re.fullmatch(r"[a-z_@. -]{1,40}", cell) for cell in cells):
        return None
    return next((cells.index(name) for name in _TEXT_COLUMNS if name in cells), None)


def _csv(raw: bytes) -> Iterator[LogRecord]:
    first, _, following = _decoded(raw).partition("\n")
    names, text = _cells(first), _text_column(first)
    places = {
        field: next((names.index(name) for name in ones if name in names), None)
        for field, ones in _COLUMNS.items()
    }
    for row in _rows(following):
        if text is None or text >= len(row):
            continue
        host, program = (
            row[place].split("[")[0].rstrip(":").replace(" ", "-")
            if place is not None and place < len(row)
            else ""
            for place in (places["host"], places["program"])
        )
        is_bare = not host and not program
        yield LogRecord(
            row[text], host=host, program=program, format="bare" if is_bare else "rfc3164"
        )


def _rows(text: str) -> Iterator[list[str]]:
    """The rows behind the first line; raises csv.Error where one does not end."""
    reader, read = csv.reader(io.StringIO(text, newline=None)), 1
    try:
        for row in reader:
            yield row
            read = 1 + reader.line_num
    except csv.Error as error:
        raise csv.Error(
            f"cannot be read as CSV from line {read + 1} on: a value there has more than 128 KiB, "
            "as behind a quote that is not closed, there or above: close it, or learn from the "
            f"lines before it (head -n {read})"
        ) from error
