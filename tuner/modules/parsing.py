"""How the text of an event becomes fields: CSV, key=value pairs, JSON by mmjsonparse, and the rules
of liblognorm by mmnormalize.

What does not parse leaves its fields empty: texts "", numbers and booleans null.  Whoever needs
the text as it came writes `property: msg` as well.
"""

from typing import Annotated, Literal

from pydantic import Field

from tuner.modules.text_source import SourceName
from tuner.schema.parameter import Doc, parameter
from tuner.schema.scalars import Positive, Switch, WordPath
from tuner.schema.section import RsyslogSection, Section


class CsvParse(Section):
    """Cells in a fixed order, named by `columns`.

    With `quoted`, cells may stand in double quotes (RFC 4180) and hold the delimiter; a doubled
    quote inside stays doubled.  rsyslog writes tabs in received messages as #011, so that a tab
    is no delimiter.
    """

    format: Annotated[Literal["csv"], Doc("csv: values by place.")]
    # Columns cost time by their position: the expression for the last one passes all others.
    columns: Annotated[
        tuple[SourceName, ...],
        Field(min_length=1, max_length=64),
        Doc("The names of the values of a CSV line, in order."),
    ]
    delimiter: Literal[",", ";", "|"] = parameter(
        "What separates the values of a CSV line.", value=","
    )
    quoted: Switch = parameter(
        "Whether CSV values may stand in quotes and hold the delimiter.", value=False
    )


class KvParse(Section):
    """key=value pairs anywhere in the text; values with blanks stand in double quotes.

    Of a key that comes twice, the last value counts; keys inside quotes do not count.
    """

    format: Annotated[Literal["kv"], Doc("kv: key=value pairs.")]
    separator: Literal[" ", ",", ";", "|"] = parameter(
        "What separates one pair from the next.", value=" "
    )
    assignment: Literal["=", ":"] = parameter("What separates a key from its value.", value="=")


class JsonParse(RsyslogSection):
    """JSON after a cookie, by mmjsonparse; an empty cookie takes a message that is all JSON.

    Keys match in upper and lower case; whole numbers beyond 64 bits are cut to the largest
    (libfastjson 1.2304).
    """

    format: Annotated[Literal["json"], Doc("json: an object, read by mmjsonparse.")]
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
        "Whether the whole message is parsed instead of its body.", value=False, alias="useRawMsg"
    )


class NormalizeParse(RsyslogSection):
    """The rules of a liblognorm rulebase, by mmnormalize: a path on the host that runs rsyslog.

    What a rule names becomes JSON, and fields find it as they find JSON.
    """

    format: Annotated[
        Literal["normalize"], Doc("normalize: the rules of a liblognorm rulebase, by mmnormalize.")
    ]
    rulebase: Annotated[
        WordPath,
        Doc(
            "The file of liblognorm rules, a path on the host that runs rsyslog; a field "
            "finds what a rule names by json.",
            traps=(
                (
                    "A body of RFC 3164 begins with the blank after its tag: so must the "
                    "rules, unless useRawMsg is on."
                ),
                (
                    "Where rsyslogd cannot read the file, its -N1 refuses the configuration, "
                    "but it starts and leaves every field empty."
                ),
                "A name with a dot in a rule is not a path: rename it.",
            ),
        ),
    ]
    use_raw_msg: Switch = parameter(
        "Whether the whole message is parsed instead of its body.", value=False, alias="useRawMsg"
    )
    turbo: Switch | None = parameter(
        "Whether the rules are compiled, which is faster.",
        "Only some builds of rsyslog know it: Debian's 8.2610 does not.",
        since=2608,
        default="off",
    )
