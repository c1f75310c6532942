"""How the text of an event becomes fields: CSV, key=value pairs, JSON, or rules of liblognorm.

What does not parse leaves its fields empty: texts "", numbers and booleans null.  Whoever needs
the text as it came writes `property: msg` as well.
"""

from typing import Annotated, Literal

from pydantic import Field

from tuner.modules.field import SourceName
from tuner.schema.kinds import OneOf
from tuner.schema.scalars import AbsolutePath, Switch
from tuner.schema.section import RsyslogSection, Section


class CsvParse(Section):
    """Cells in a fixed order, named by `columns`.

    With `quoted`, cells may stand in double quotes (RFC 4180) and hold the delimiter; a doubled
    quote inside stays doubled.  rsyslog writes tabs in received messages as #011, so that a tab
    is no delimiter.
    """

    format: Literal["csv"]
    # Columns cost time by their position: the expression for the last one passes all others.
    columns: Annotated[tuple[SourceName, ...], Field(min_length=1, max_length=64)]
    delimiter: Literal[",", ";", "|"] = ","
    quoted: Switch = False


class KvParse(Section):
    """key=value pairs anywhere in the text; values with blanks stand in double quotes.

    Of a key that comes twice, the last value counts; keys inside quotes do not count.
    """

    format: Literal["kv"]
    separator: Literal[" ", ",", ";", "|"] = " "
    assignment: Literal["=", ":"] = "="


class JsonParse(RsyslogSection):
    """JSON after a cookie, by mmjsonparse; an empty cookie takes a message that is all JSON.

    Keys are found whatever their case; whole numbers beyond 64 bits are cut to the largest
    (libfastjson 1.2304).
    """

    format: Literal["json"]
    cookie: Annotated[str, Field(pattern=r"^[!-~]{0,32}$")] = "@cee:"
    use_raw_msg: Switch = Field(False, alias="useRawMsg")


class NormalizeParse(RsyslogSection):
    """The rules of a liblognorm rulebase, by mmnormalize: a path on the host that runs rsyslog.

    What a rule names becomes JSON, and fields find it as they find JSON.
    """

    format: Literal["normalize"]
    rulebase: AbsolutePath
    use_raw_msg: Switch = Field(False, alias="useRawMsg")


Parse = Annotated[CsvParse | KvParse | JsonParse | NormalizeParse, OneOf("format")]
