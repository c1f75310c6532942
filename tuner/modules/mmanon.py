"""mmanon: IP addresses in the text of an event are made anonymous.

None means not set in the profile: rsyslog's default applies.
"""

from typing import Annotated, Literal

from pydantic import Field

from tuner.modules.step import StreamStep
from tuner.schema.scalars import Switch
from tuner.schema.section import parameter

AnonMode = Literal["zero", "random", "random-consistent"]
_KEEPS = "random-consistent keeps every address that it has met in memory."


class MmanonStep(StreamStep):
    """mmanon: IP addresses in the text of an event are made anonymous; its other properties, such
    as hostname and fromhost-ip, stay as they are."""

    type: Literal["mmanon"] = parameter(
        "IP addresses in msg are made anonymous.",
        "What was parsed before it holds the addresses still: let it come first.",
        value=...,
    )
    ipv4_enable: Switch | None = parameter(
        "Whether IPv4 addresses are made anonymous.", default="on"
    )
    ipv4_mode: Literal["zero", "simple", "random", "random-consistent"] | None = parameter(
        "What becomes of the bits of an IPv4 address: simple writes ipv4.replaceChar for each "
        "digit.",
        _KEEPS,
        default="zero",
    )
    ipv4_bits: Annotated[int, Field(ge=1, le=32, strict=True)] | None = parameter(
        "How many bits of an IPv4 address are changed, from the last on.", default="16"
    )
    ipv4_replace_char: Annotated[str, Field(pattern=r"^[ -\[\]-~]$")] | None = parameter(
        "What mode simple writes for each digit.", default="x"
    )
    ipv6_enable: Switch | None = parameter(
        "Whether IPv6 addresses are made anonymous.", default="on"
    )
    ipv6_anon_mode: AnonMode | None = parameter(
        "What becomes of the bits of an IPv6 address.", _KEEPS, default="zero"
    )
    ipv6_bits: Annotated[int, Field(ge=1, le=128, strict=True)] | None = parameter(
        "How many bits of an IPv6 address are changed, from the last on.", default="96"
    )
    embedded_ipv4_enable: Switch | None = parameter(
        "Whether IPv6 addresses with an IPv4 address in them are too.", default="on"
    )
    embedded_ipv4_anon_mode: AnonMode | None = parameter(
        "What becomes of the bits of such an address.", default="zero"
    )
    embedded_ipv4_bits: Annotated[int, Field(ge=1, le=128, strict=True)] | None = parameter(
        "How many bits of such an address are changed, from the last on.", default="96"
    )
