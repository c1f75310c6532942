"""mmanon: IP addresses in the text of an event are made anonymous.

None means not set in the profile: rsyslog's default applies.
"""

from typing import Annotated, Literal

from pydantic import Field

from tuner.modules.step import StreamStep
from tuner.schema.parameter import Doc
from tuner.schema.scalars import Switch

AnonMode = Literal["zero", "random", "random-consistent"]
_KEEPS = "random-consistent keeps every address that it has met in memory."


class MmanonStep(StreamStep):
    """mmanon: IP addresses in the text of an event are made anonymous; its other properties, such
    as hostname and fromhost-ip, stay as they are."""

    type: Annotated[
        Literal["mmanon"],
        Doc(
            "IP addresses in msg are made anonymous.",
            traps=("What was parsed before it holds the addresses still: let it come first.",),
        ),
    ]
    ipv4_enable: Annotated[
        Switch | None, Doc("Whether IPv4 addresses are made anonymous.", default="on")
    ] = Field(None, alias="ipv4.enable")
    ipv4_mode: Annotated[
        Literal["zero", "simple", "random", "random-consistent"] | None,
        Doc(
            "What becomes of the bits of an IPv4 address: simple writes ipv4.replaceChar for each "
            "digit.",
            default="zero",
            traps=(_KEEPS,),
        ),
    ] = Field(None, alias="ipv4.mode")
    ipv4_bits: Annotated[
        Annotated[int, Field(ge=1, le=32, strict=True)] | None,
        Doc("How many bits of an IPv4 address are changed, from the last on.", default="16"),
    ] = Field(None, alias="ipv4.bits")
    ipv4_replace_char: Annotated[
        Annotated[str, Field(pattern=r"^[ -\[\]-~]$")] | None,
        Doc("What mode simple writes for each digit.", default="x"),
    ] = Field(None, alias="ipv4.replaceChar")
    ipv6_enable: Annotated[
        Switch | None, Doc("Whether IPv6 addresses are made anonymous.", default="on")
    ] = Field(None, alias="ipv6.enable")
    ipv6_anon_mode: Annotated[
        AnonMode | None,
        Doc("What becomes of the bits of an IPv6 address.", default="zero", traps=(_KEEPS,)),
    ] = Field(None, alias="ipv6.anonMode")
    ipv6_bits: Annotated[
        Annotated[int, Field(ge=1, le=128, strict=True)] | None,
        Doc("How many bits of an IPv6 address are changed, from the last on.", default="96"),
    ] = Field(None, alias="ipv6.bits")
    embedded_ipv4_enable: Annotated[
        Switch | None,
        Doc("Whether IPv6 addresses with an IPv4 address in them are too.", default="on"),
    ] = Field(None, alias="embeddedIpv4.enable")
    embedded_ipv4_anon_mode: Annotated[
        AnonMode | None, Doc("What becomes of the bits of such an address.", default="zero")
    ] = Field(None, alias="embeddedIpv4.anonMode")
    embedded_ipv4_bits: Annotated[
        Annotated[int, Field(ge=1, le=128, strict=True)] | None,
        Doc("How many bits of such an address are changed, from the last on.", default="96"),
    ] = Field(None, alias="embeddedIpv4.bits")
