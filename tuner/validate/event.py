"""What rsyslog must read in a message that a flood sent.  Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tuner.errors import JobFailed
from tuner.modules.input import Format, Input
from tuner.modules.priorities import FACILITIES, SEVERITIES

Properties = Mapping[str, str | None]
"""The text of each property; None where it depends on the machine or on the moment."""

_SHAPES: dict[Format, re.Pattern[str]] = {
    "rfc3164": re.compile(
        r"<(?P<priority>\d+)>.{15} (?P<host>\S+) (?P<program>[^ \[]+)\[(?P<process>\d+)\]:"
        r"(?P<msg> .*)"
    ),
    "local": re.compile(
        r"<(?P<priority>\d+)>.{15} (?P<program>[^ \[]+)\[(?P<process>\d+)\]:(?P<msg> .*)"
    ),
    "rfc5424": re.compile(
        r"<(?P<priority>\d+)>1 \S+ (?P<host>\S+) (?P<program>\S+) (?P<process>\S+) (?P<id>\S+) "
        r"(-|\[[^\]]*\]) (?P<msg>.*)"
    ),
}
_ANYTHING = dict.fromkeys(("rawmsg", "fromhost-ip", "timereported", "timegenerated"))


def read_as(message: str, written: Format, source: Input) -> Properties:
    """The properties of `message`, without its framing, as `source` must find them."""
    if written == "bare":
        return _line(message, source)
    found = _SHAPES[written].fullmatch(message)
    if found is None:
        raise JobFailed(f"this is not a message in the format {written}: {message[:200]}")
    parts = found.groupdict()
    facility, severity = divmod(int(parts["priority"]), 8)
    program, process = parts["program"], parts["process"]
    colon = "" if written == "rfc5424" else ":"
    return {
        **_ANYTHING,
        **_priority(facility, severity),
        "msg": parts["msg"],
        "hostname": parts.get("host"),
        "programname": program,
        "app-name": program,
        "procid": process,
        "msgid": parts.get("id", "-"),
        "syslogtag": f"{program}[{process}]{colon}",
    }


def _line(line: str, source: Input) -> Properties:
    """A line without a head, which the input makes up.  The program's name is the tag up to what
    cannot be part of one."""
    head = source.line_head
    if head is None:
        raise JobFailed(f"{source.type} takes no bare lines")
    facility, severity = FACILITIES.index(head.facility), SEVERITIES.index(head.severity)
    program = re.split(r"[:\[/]", head.tag)[0]
    return {
        **_ANYTHING,
        **_priority(facility, severity),
        "msg": line,
        "hostname": None,
        "programname": program,
        "app-name": program,
        "procid": None,
        "msgid": "-",
        "syslogtag": head.tag,
    }


def _priority(facility: int, severity: int) -> dict[str, str | None]:
    return {
        "syslogfacility": str(facility),
        "syslogfacility-text": FACILITIES[facility],
        "syslogseverity": str(severity),
        "syslogseverity-text": SEVERITIES[severity],
    }
