"""What is done with each event of a stream before its outputs, in its order, without a module: its
text is parsed as CSV or as key=value pairs, and variables are set.

What does not parse leaves its fields empty: texts "", numbers and booleans null.  Whoever needs
the text as it came writes `property: msg` as well.
"""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from tuner.modules.filter import Filter
from tuner.modules.text_source import SourceName, TextSource, VariablePath
from tuner.schema.scalars import FieldName, Name, Switch
from tuner.schema.section import OfProfile, RsyslogSection, Section, parameter


class StreamStep(RsyslogSection):
    """One thing that is done with each event that `filter` lets through."""

    type: str
    filter: Annotated[Filter | None, OfProfile()] = parameter(
        "Which events the step is for; all conditions must hold."
    )

    package: ClassVar[str] = "rsyslog"
    """Debian's package that ships the module."""


class ParseStep(StreamStep):
    """The place of the stream's `parse` among the steps; without it parsing comes first."""

    type: Literal["parse"] = parameter("Where `parse` stands among the steps.", value=...)


class VariableStep(StreamStep):
    """A step about one variable: at a path of JSON, `$!`, which documents with `json: "*"` hold
    too, or a variable of rsyslog's alone, `$.`."""

    json_path: FieldName | None = parameter("The path into the event's JSON, `$!`.", alias="json")
    variable: VariablePath | None = parameter("The variable of the event beside its JSON, `$.`.")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.json_path is None) == (self.variable is None):
            raise ValueError("name exactly one of json and variable")
        return self


class SetStep(VariableStep):
    """A variable is set to a text: several sources one after the other, or with `lookup` what a
    table has for that text."""

    type: Literal["set"] = parameter("A variable is set to a text.", value=...)
    value: Annotated[tuple[TextSource, ...], Field(min_length=1, max_length=50)] = parameter(
        "The texts that make the value, one after the other; sources as in documents.", value=...
    )
    lookup: Name | None = parameter(
        "The table of lookup_tables that has the value; what is made of value is its key."
    )
    fallback: Annotated[str, Field(pattern=r"^[^\x00]+$", max_length=1024)] | None = parameter(
        "The value where there is none.", default="an empty text"
    )


class UnsetStep(VariableStep):
    """A variable is removed, with all that is below it."""

    type: Literal["unset"] = parameter(
        "A variable is removed, with all that is below it.", value=...
    )


class CsvParse(Section):
    """Cells in a fixed order, named by `columns`.

    With `quoted`, cells may stand in double quotes (RFC 4180) and hold the delimiter; a doubled
    quote inside stays doubled.  rsyslog writes tabs in received messages as #011, so that a tab
    is no delimiter.
    """

    format: Literal["csv"] = parameter("csv: values by place.", value=...)
    # Columns cost time by their position: the expression for the last one passes all others.
    columns: Annotated[tuple[SourceName, ...], Field(min_length=1, max_length=64)] = parameter(
        "The names of the values of a CSV line, in order.", value=...
    )
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

    format: Literal["kv"] = parameter("kv: key=value pairs.", value=...)
    separator: Literal[" ", ",", ";", "|"] = parameter(
        "What separates one pair from the next.", value=" "
    )
    assignment: Literal["=", ":"] = parameter("What separates a key from its value.", value="=")
