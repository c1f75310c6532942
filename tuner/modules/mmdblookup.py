"""mmdblookup: what a MaxMind database says of an IP address."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tuner.modules.step import StreamStep
from tuner.schema.parameter import Doc, parameter
from tuner.schema.scalars import Switch, WordPath

_Path = Annotated[str, Field(pattern=r"^[$!]?[!.]?[A-Za-z][A-Za-z0-9_!-]{0,199}$")]
_MmdbField = Annotated[
    str, Field(pattern=r"^(:[A-Za-z][A-Za-z0-9_]{0,63}:)?(![A-Za-z0-9_]{1,64}){1,16}$")
]


class MmdblookupStep(StreamStep):
    """mmdblookup: what a MaxMind database says of an IP address, as JSON below `container`."""

    type: Annotated[
        Literal["mmdblookup"],
        Doc(
            "What a MaxMind database says of an IP address.",
            traps=("Debian has no package with it: rsyslog's own repositories do.",),
        ),
    ]
    key: Annotated[
        _Path,
        Doc("The property that holds the address, such as !clientip or $fromhost-ip."),
    ]
    mmdb_file: Annotated[WordPath, Doc("The file of the database, on the host that runs rsyslog.")]
    fields: Annotated[
        Annotated[tuple[_MmdbField, ...], Field(min_length=1)],
        Doc("What is taken of it, such as !country!iso_code; :name:!country!iso_code names it."),
    ]
    container: Annotated[str, Field(pattern=r"^![A-Za-z][A-Za-z0-9_!-]{0,199}$")] | None = (
        parameter(
            "Where the values stand in the event's JSON.", default="!iplocation", of_module=True
        )
    )
    reload_on_hup: Switch | None = parameter(
        "Whether a HUP reads the database again.", since=2104, default="on"
    )

    package: ClassVar[str] = "none"
    gives_json: ClassVar[bool] = True
