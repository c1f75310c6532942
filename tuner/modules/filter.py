"""Which events an output takes."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from tuner.modules.text_source import PropertyName, VariablePath
from tuner.schema.scalars import Facility, FieldName, MatchText, RegexText, SeverityName, Switch
from tuner.schema.section import Section, parameter

Texts = Annotated[tuple[MatchText, ...], Field(min_length=1, max_length=100)]

OPERATIONS = ("isequal", "startswith", "startswith_i", "contains", "contains_i", "ereregex")


class Match(Section):
    """One comparison of a property, named as rsyslog's property-based filters name it; of several
    texts one must match. `ereregex` is a POSIX extended regular expression."""

    property: PropertyName | None = parameter("The rsyslog property that is compared.")
    json_path: FieldName | None = parameter(
        "The path of what parsing found, such as user.name, to be compared.", alias="json"
    )
    variable: VariablePath | None = parameter(
        "The variable, `$.`, that a step has set, to be compared."
    )
    isequal: Texts | None = parameter("The value is one of these texts.")
    startswith: Texts | None = parameter("The value begins with one of these texts.")
    startswith_i: Texts | None = parameter(
        "The value begins with one of these texts, ignoring case."
    )
    contains: Texts | None = parameter("One of these texts is in the value.")
    contains_i: Texts | None = parameter("One of these texts is in the value, ignoring case.")
    ereregex: Annotated[tuple[RegexText, ...], Field(min_length=1, max_length=100)] | None = (
        parameter(
            "One of these POSIX extended regular expressions matches somewhere in the value.",
            "Much slower than contains and startswith, for every event.",
        )
    )
    negate: Switch = parameter("Whether the comparison must not hold.", value=False)

    @model_validator(mode="after")
    def _one_operation(self) -> Self:
        sources = (self.property, self.json_path, self.variable)
        if sum(source is not None for source in sources) != 1:
            raise ValueError("name exactly one of property, json and variable")
        if sum(getattr(self, name) is not None for name in OPERATIONS) != 1:
            raise ValueError(f"name exactly one operation: {', '.join(OPERATIONS)}")
        return self


class Filter(Section):
    """The conditions for an output to take an event; all of them must hold.

    `syslogseverity` means that severity and every more urgent one, as in selectors.
    """

    syslogseverity: SeverityName | None = parameter(
        "This severity and every more urgent one, as in selectors."
    )
    syslogfacility: Annotated[tuple[Facility, ...], Field(min_length=1)] | None = parameter(
        "One of these facilities."
    )
    programname: Texts | None = parameter("One of these programs, by exact name.")
    parsesuccess: Switch | None = parameter(
        "Whether `parse` could read the event as JSON, or by a rule of the rulebase."
    )
    match: Annotated[tuple[Match, ...], Field(min_length=1, max_length=100)] | None = parameter(
        "Comparisons of properties; each must hold."
    )

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.model_dump(exclude_none=True):
            raise ValueError("an empty filter takes every event: remove it, or add a condition")
        return self
