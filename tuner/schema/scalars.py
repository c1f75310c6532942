"""The scalar types of a profile: strings and numbers with constraints, and POSIX extended regular
expressions, which the C library checks as it does in rsyslogd."""

from __future__ import annotations

import ctypes
import ipaddress
import re
from functools import cache
from typing import Annotated, Literal, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

Switch = Annotated[bool, Field(strict=True)]
NonNegative = Annotated[int, Field(ge=0, le=2**31 - 1, strict=True)]
Positive = Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)]
Port = Annotated[int, Field(ge=1, le=65535, strict=True)]
# rsyslog calls a ruleset only by a name that begins with a letter (lexer.l, INCALL).
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,99}$")]


def as_name(text: str) -> str:
    """A text in lower case, with `-` for what a `Name` must not contain; unlike a `Name`, it may be
    empty or begin with a digit."""
    return re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-_")


IndexName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,199}$")]
Address = Annotated[str, Field(pattern=r"^[A-Za-z0-9.:_-]{1,253}$")]


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's loopback."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


AbsolutePath = Annotated[str, Field(pattern=r'^/[^\x00-\x1f\x7f`"\\]+$', max_length=4096)]
# rsyslogd reports a slash at the end of a folder as an error, and removes it.
FOLDER = AfterValidator(lambda path: path.rstrip("/") or "/")
# rsyslog reads some parameters as one word, and refuses white space in them (eCmdHdlrGetWord,
# grammar/rainerscript.c).
WordPath = Annotated[str, Field(pattern=r'^/[^\x00-\x20\x7f`"\\]+$', max_length=4096)]


def _printable(value: str) -> str:
    """Refuse characters that cannot be printed: rendered files have the path in a comment."""
    if not value.isprintable():
        raise ValueError("it has characters that no terminal shows")
    return value


ProfilePath = Annotated[
    str,
    Field(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=4096),
    AfterValidator(_printable),
]


def _url(value: str) -> str:
    """Refuse port 0; for other bad ports, and brackets without an address, urlsplit raises
    ValueError."""
    if urlsplit(value).port == 0:
        raise ValueError("there is no port 0")
    return value


Server = Annotated[
    str,
    Field(pattern=r"^https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?$"),
    AfterValidator(_url),
]


def _number_as_text(value: object) -> object:
    """The text of a number: YAML reads -1 without quotes as one, and Elasticsearch takes a text."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Duration = Annotated[
    str,
    Field(pattern=r"^(-1|[0-9]{1,15}(\.[0-9]{1,15})?(nanos|micros|ms|s|m|h|d))$"),
    BeforeValidator(_number_as_text),
]
ByteSize = Annotated[
    str, Field(pattern=r"^[0-9]{1,15}(b|kb|mb|gb|tb)$"), BeforeValidator(_number_as_text)
]
Percentage = Annotated[str, Field(pattern=r"^[0-9]{1,2}(\.[0-9]{1,15})?%$")]
Heap = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,14}[mg]$")]
PipelineName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_@][A-Za-z0-9_.@-]{0,199}$")]
FIELD_NAME = r"[A-Za-z_@][A-Za-z0-9_@-]*(\.[A-Za-z_@][A-Za-z0-9_@-]*)*"
FieldName = Annotated[str, Field(pattern=rf"^{FIELD_NAME}$")]
FilterPath = Annotated[str, Field(pattern=r"^[A-Za-z_*.-]+$")]
MemorySize = Annotated[str, Field(pattern=r"^[0-9]{1,15}[km]?$")]
ModuleName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{1,31}$")]
PathPart = Annotated[str, Field(pattern=r'^[^\x00-\x1f\x7f`"\\]{1,255}$')]
FileMode = Annotated[str, Field(pattern=r"^0[0-7]{3}$")]
Account = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,31}$")]
Line = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]{1,1000}$")]
MatchText = Annotated[str, Field(pattern=r"^[^\x00]+$", max_length=4096)]
Tag = Annotated[str, Field(pattern=r"^[\x21-\x7e]+$", max_length=128)]
Peer = Annotated[str, Field(pattern=r"^[A-Za-z0-9*.:_/\[\]-]+$", max_length=253)]
NetworkNamespace = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$")]
Device = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,15}$")]
CipherNames = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:+-]{1,1000}$")]
TimeZone = Annotated[str, Field(pattern=r"^[+-][0-9]{2}:[0-9]{2}$")]
Facility = Literal[
    "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv",
    "ftp", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
]  # fmt: skip
SeverityName = Literal["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"]
FACILITIES = (
    "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv",
    "ftp", "ntp", "audit", "alert", "clock", "local0", "local1", "local2", "local3", "local4",
    "local5", "local6", "local7",
)  # fmt: skip
"""The names of syslog's facilities, each at the index of its numerical code (RFC 5424)."""
SEVERITIES: tuple[str, ...] = get_args(SeverityName)
"""The names of syslog's severities, each at the index of its numerical code."""
OLD_SEVERITIES = {"error": "err", "warn": "warning", "panic": "emerg"}
"""The current names of severities by their deprecated ones."""


def priority_name(priority: int) -> str:
    """The facility and severity of a message's PRI, such as auth.info for 38."""
    return f"{FACILITIES[priority // 8]}.{SEVERITIES[priority % 8]}"


# regex.h of glibc and of the BSDs; a regex_t has 64 bytes there at most.
_REG_EXTENDED = 1
_REGEX_T_BYTES = 512
_MESSAGE_BYTES = 200


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def posix_regex(expression: str) -> str:
    """Return a valid expression unchanged; raises ValueError with regcomp's message for others.

    `rsyslogd -N1` also refuses those, in imfile as in a filter; seen on 8.2302.
    """
    compiled = ctypes.create_string_buffer(_REGEX_T_BYTES)
    code = _libc().regcomp(compiled, expression.encode("utf-8"), _REG_EXTENDED)
    if code != 0:
        message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        _libc().regerror(code, compiled, message, _MESSAGE_BYTES)
        why = message.value.decode("utf-8", "replace")
        raise ValueError(f"not a POSIX extended regular expression: {why}")
    _libc().regfree(compiled)
    return expression


RegexLine = Annotated[Line, AfterValidator(posix_regex)]
RegexText = Annotated[MatchText, AfterValidator(posix_regex)]
