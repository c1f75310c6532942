"""The names of syslog's facilities and severities, each at the place of its code (RFC 5424)."""

from __future__ import annotations

from typing import get_args

from tuner.schema.scalars import SeverityName

FACILITIES = (
    "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv",
    "ftp", "ntp", "audit", "alert", "clock", "local0", "local1", "local2", "local3", "local4",
    "local5", "local6", "local7",
)  # fmt: skip
SEVERITIES: tuple[str, ...] = get_args(SeverityName)


def priority_name(priority: int) -> str:
    """The facility and severity of the priority in a head, such as auth.info of 38."""
    return f"{FACILITIES[priority // 8]}.{SEVERITIES[priority % 8]}"
