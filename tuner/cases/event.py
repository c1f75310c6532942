"""The message of a case: as it is, or made of its text and of what its head is to say."""

from __future__ import annotations

import re
from datetime import datetime

from tuner.cases.model import Case
from tuner.modules.input import TRANSPORTS, Format, TransportKind
from tuner.modules.priorities import FACILITIES, SEVERITIES

_TRANSPORTS: dict[str, TransportKind] = {"imudp": "udp", "imuxsock": "unix", "imfile": "file"}
_PROGRAM = re.compile(r"(.*?)(?:\[(.*)\])?")


def message_of(case: Case, kind: str, now: datetime) -> bytes:
    """The bytes that are sent to a kind of input; `now`, in the time zone of rsyslogd, is the time
    of the head where the case names none."""
    if case.line is not None:
        return case.line.encode()
    time = now if case.time is None else datetime.fromisoformat(case.time)
    zoned = time if time.tzinfo is not None else time.replace(tzinfo=now.tzinfo)
    written = case.format or TRANSPORTS[_TRANSPORTS.get(kind, "tcp")].format
    return f"{_head(case, written, zoned)}{case.message}".encode()


def _head(case: Case, written: Format, time: datetime) -> str:
    priority = 8 * FACILITIES.index(case.facility) + SEVERITIES.index(case.severity)
    old = f"<{priority}>{time:%b} {time.day:2} {time:%H:%M:%S}"
    match written:
        case "rfc3164":
            return f"{old} {case.host} {case.program}: "
        case "local":
            return f"{old} {case.program}: "
        case "rfc5424":
            found = _PROGRAM.fullmatch(case.program)
            program, process = found.groups() if found else (case.program, None)
            return f"<{priority}>1 {time.isoformat()} {case.host} {program} {process or '-'} - - "
        case "bare":
            return ""
