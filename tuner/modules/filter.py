"""Which events an output takes."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from tuner.modules.text_source import PropertyName, VariablePath
from tuner.schema.parameter import Doc
from tuner.schema.posix_regex import RegexText
from tuner.schema.scalars import Facility, MatchText, SeverityName, Switch
from tuner.schema.section import Section

JsonPath = Annotated[
    str, Field(pattern=r"^[A-Za-z_@][A-Za-z0-9_@-]*(\.[A-Za-z_@][A-Za-z0-9_@-]*)*$")
]
Texts = Annotated[tuple[MatchText, ...], Field(min_length=1, max_length=100)]

OPERATIONS = ("isequal", "startswith", "startswith_i", "contains", "contains_i", "ereregex")


class Match(Section):
    """One comparison of a property, named as rsyslog's property-based filters name it; of several
    texts one must match. `ereregex` is a POSIX extended regular expression."""

    property: Annotated[PropertyName | None, Doc("The rsyslog property that is compared.")] = None
    json_path: Annotated[
        JsonPath | None, Doc("The path of what parsing found, such as user.name, to be compared.")
    ] = Field(None, alias="json")
    variable: Annotated[
        VariablePath | None, Doc("The variable, `$.`, that a step has set, to be compared.")
    ] = None
    isequal: Annotated[Texts | None, Doc("The value is one of these texts.")] = None
    startswith: Annotated[Texts | None, Doc("The value begins with one of these texts.")] = None
    startswith_i: Annotated[
        Texts | None, Doc("The value begins with one of these texts, ignoring case.")
    ] = None
    contains: Annotated[Texts | None, Doc("One of these texts is in the value.")] = None
    contains_i: Annotated[
        Texts | None, Doc("One of these texts is in the value, ignoring case.")
    ] = None
    ereregex: Annotated[
        Annotated[tuple[RegexText, ...], Field(min_length=1, max_length=100)] | None,
        Doc(
            "One of these POSIX extended regular expressions matches somewhere in the value.",
            traps=("Much slower than contains and startswith, for every event.",),
        ),
    ] = None
    negate: Annotated[Switch, Doc("Whether the comparison must not hold.")] = False

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

    syslogseverity: Annotated[
        SeverityName | None, Doc("This severity and every more urgent one, as in selectors.")
    ] = None
    syslogfacility: Annotated[
        Annotated[tuple[Facility, ...], Field(min_length=1)] | None, Doc("One of these facilities.")
    ] = None
    programname: Annotated[Texts | None, Doc("One of these programs, by exact name.")] = None
    parsesuccess: Annotated[
        Switch | None,
        Doc("Whether `parse` could read the event as JSON, or by a rule of the rulebase."),
    ] = None
    match: Annotated[
        Annotated[tuple[Match, ...], Field(min_length=1, max_length=100)] | None,
        Doc("Comparisons of properties; each must hold."),
    ] = None

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.model_dump(exclude_none=True):
            raise ValueError("an empty filter takes every event: remove it, or add a condition")
        return self
