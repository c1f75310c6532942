"""What every step of a stream has in common: a statement before the outputs, in its order."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from tuner.modules.filter import Filter, JsonPath
from tuner.modules.text_source import TextSource, VariablePath
from tuner.schema.parameter import Doc, OfProfile, parameter
from tuner.schema.scalars import Name
from tuner.schema.section import RsyslogSection


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

    type: Annotated[Literal["parse"], Doc("Where `parse` stands among the steps.")]


class VariableStep(StreamStep):
    """A step about one variable: at a path of JSON, `$!`, which documents with `json: "*"` hold
    too, or a variable of rsyslog's alone, `$.`."""

    json_path: JsonPath | None = parameter("The path into the event's JSON, `$!`.", alias="json")
    variable: VariablePath | None = parameter("The variable of the event beside its JSON, `$.`.")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.json_path is None) == (self.variable is None):
            raise ValueError("name exactly one of json and variable")
        return self


class SetStep(VariableStep):
    """A variable is set to a text: several sources one after the other, or with `lookup` what a
    table has for that text."""

    type: Annotated[Literal["set"], Doc("A variable is set to a text.")]
    value: Annotated[
        Annotated[tuple[TextSource, ...], Field(min_length=1, max_length=50)],
        Doc("The texts that make the value, one after the other; sources as in documents."),
    ]
    lookup: Name | None = parameter(
        "The table of lookup_tables that has the value; what is made of value is its key."
    )
    fallback: Annotated[str, Field(pattern=r"^[^\x00]+$", max_length=1024)] | None = parameter(
        "The value where there is none.", default="an empty text"
    )


class UnsetStep(VariableStep):
    """A variable is removed, with all that is below it."""

    type: Annotated[Literal["unset"], Doc("A variable is removed, with all that is below it.")]
