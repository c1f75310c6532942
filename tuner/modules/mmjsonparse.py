"""mmjsonparse: JSON in the text of an event."""

from typing import Annotated, Literal

from pydantic import Field

from tuner.schema.scalars import Positive, Switch
from tuner.schema.section import RsyslogSection, parameter


class JsonParse(RsyslogSection):
    """JSON after a cookie, by mmjsonparse; an empty cookie takes a message that is all JSON.

    Keys match in upper and lower case; whole numbers beyond 64 bits are cut to the largest
    (libfastjson 1.2304).
    """

    format: Literal["json"] = parameter("json: an object, read by mmjsonparse.", value=...)
    cookie: Annotated[str, Field(pattern=r"^[!-~]{0,32}$")] = parameter(
        "What an event must begin with to be read as JSON; empty reads every event.", value="@cee:"
    )
    mode: Literal["cookie", "find-json"] | None = parameter(
        "Where the JSON is: cookie after the cookie, find-json where the first { begins an "
        "object, whatever stands before it.",
        since=2510,
        default="cookie",
    )
    max_scan_bytes: Positive | None = parameter(
        "How many bytes of a message find-json looks at.",
        since=2510,
        default="65536",
        alias="max_scan_bytes",
    )
    allow_trailing: Switch | None = parameter(
        "Whether find-json takes an object that text follows.",
        since=2510,
        default="on",
        alias="allow_trailing",
    )
    use_raw_msg: Switch = parameter(
        "Whether the whole message is parsed instead of its body.", value=False
    )
