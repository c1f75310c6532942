"""How the text of an event becomes fields without a module: CSV and key=value pairs.

What does not parse leaves its fields empty: texts "", numbers and booleans null.  Whoever needs
the text as it came writes `property: msg` as well.
"""

from typing import Annotated, Literal

from pydantic import Field

from tuner.modules.text_source import SourceName
from tuner.schema.parameter import Doc, parameter
from tuner.schema.scalars import Switch
from tuner.schema.section import Section


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
