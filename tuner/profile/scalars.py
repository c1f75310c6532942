"""The plain values of a profile: texts and numbers of a certain shape."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

Port = Annotated[int, Field(ge=1, le=65535, strict=True)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,99}$")]
IndexName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,199}$")]
Address = Annotated[str, Field(pattern=r"^[A-Za-z0-9.:_-]{1,253}$")]
AbsolutePath = Annotated[str, Field(pattern=r"^/[^\x00-\x1f\x7f`\"\\]+$", max_length=4096)]
Server = Annotated[
    str, Field(pattern=r"^https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?$")
]


def _minus_one(value: object) -> object:
    """YAML reads a bare -1 as a number; Elasticsearch means the word."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Duration = Annotated[
    str, BeforeValidator(_minus_one), Field(pattern=r"^(-1|\d+(\.\d+)?(nanos|micros|ms|s|m|h|d))$")
]
ByteSize = Annotated[str, BeforeValidator(_minus_one), Field(pattern=r"^\d+(b|kb|mb|gb|tb)$")]
Percentage = Annotated[str, Field(pattern=r"^\d{1,2}(\.\d+)?%$")]
Heap = Annotated[str, Field(pattern=r"^[1-9]\d*[mg]$")]
FilterPath = Annotated[str, Field(pattern=r"^[A-Za-z_*.-]+$")]
