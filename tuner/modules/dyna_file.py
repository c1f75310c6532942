"""A file for each value of a property, or for each time: the name that omfile's dynaFile makes."""

from typing import Annotated, Literal, Self

from pydantic import model_validator

from tuner.modules.text_source import NamingProperty
from tuner.schema.parameter import Doc, parameter
from tuner.schema.scalars import AbsolutePath, PathPart
from tuner.schema.section import Section

# How many numbers a date in a name has.
_PARTS = {"hourly": 4, "daily": 3, "weekly": 2, "monthly": 2}


class DynaFile(Section):
    """A file for each value of a property, or for each time, or both: `before`, the value,
    `between`, the date, `after`.

    The value comes from the network: slashes in it, and `.` and `..`, become underscores, and
    what is longer than a file name may be is cut.
    """

    before: Annotated[
        AbsolutePath,
        Doc("What comes before the value: a folder with its slash, or the beginning of a name."),
    ]
    property: NamingProperty | None = parameter(
        "The property whose value names the file; cut to 160 bytes."
    )
    between: PathPart | None = parameter(
        "What stands between the value and the date, such as / or -."
    )
    rotate: Literal["hourly", "daily", "weekly", "monthly"] | None = parameter(
        "How often the date in the name changes; none without it."
    )
    separator: Literal[".", "-", "_", "/", "none"] = parameter(
        "What stands between the parts of the date; none for nothing.", value="-"
    )
    clock: Literal["reported", "generated"] = parameter(
        "Whose time the date is: generated is when rsyslog received the event, reported is "
        "the sender's.",
        value="generated",
    )
    after: PathPart | None = parameter("What comes at the end, such as .log or /messages.")

    @model_validator(mode="after")
    def _varies(self) -> Self:
        if self.property is None and self.rotate is None:
            raise ValueError("name property, rotate or both: nothing else makes several files")
        if self.between is not None and (self.property is None or self.rotate is None):
            raise ValueError("between stands between a property and a date: remove it")
        return self


def file_pattern(name: DynaFile) -> str:
    """The paths of the files, with * for what varies."""
    value = "*" if name.property is not None else ""
    parts = 0 if name.rotate is None else _PARTS[name.rotate]
    date = "/".join(["*"] * (parts if name.separator == "/" else min(parts, 1)))
    return f"{name.before}{value}{name.between or ''}{date}{name.after or ''}"
