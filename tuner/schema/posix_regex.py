"""POSIX extended regular expressions, as the C library of rsyslogd reads them."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Annotated

from pydantic import AfterValidator

from tuner.schema.scalars import Line, MatchText

# regex.h of glibc and of the BSDs; a regex_t has 64 bytes there at most.
_REG_EXTENDED = 1
_REGEX_T_BYTES = 512
_MESSAGE_BYTES = 200


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def posix_regex(expression: str) -> str:
    """The expression as it is; raises ValueError with regcomp's message if it is not one.

    `rsyslogd -N1` refuses such an expression in imfile as in a filter; seen on 8.2302.
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
