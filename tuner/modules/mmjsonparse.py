"""mmjsonparse: JSON in the text of an event."""

from typing import Annotated, Literal

from pydantic import Field

from tuner.schema.parameter import Doc, Since
from tuner.schema.scalars import Positive, Switch
from tuner.schema.section import RsyslogSection


class JsonParse(RsyslogSection):
    """JSON after a cookie, by mmjsonparse; an empty cookie takes a message that is all JSON.

    Keys match in upper and lower case; whole numbers beyond 64 bits are cut to the largest
    (libfastjson 1.2304).
    """

    format: Annotated[Literal["json"], Doc("json: an object, read by mmjsonparse.")]
    cookie: Annotated[
        str,
        Field(pattern=r"^[!-~]{0,32}$"),
        Doc("What an event must begin with to be read as JSON; empty reads every event."),
    ] = "@cee:"
    mode: Annotated[
        Literal["cookie", "find-json"] | None,
        Since(2510),
        Doc(
            "Where the JSON is: cookie after the cookie, find-json where the first { begins an "
            "object, whatever stands before it.",
            default="cookie",
        ),
    ] = None
    max_scan_bytes: Annotated[
        Positive | None,
        Since(2510),
        Doc("How many bytes of a message find-json looks at.", default="65536"),
    ] = Field(None, alias="max_scan_bytes")
    allow_trailing: Annotated[
        Switch | None,
        Since(2510),
        Doc("Whether find-json takes an object that text follows.", default="on"),
    ] = Field(None, alias="allow_trailing")
    use_raw_msg: Annotated[
        Switch, Doc("Whether the whole message is parsed instead of its body.")
    ] = Field(False, alias="useRawMsg")
