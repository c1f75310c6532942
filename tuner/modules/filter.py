"""Which events an output takes."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from tuner.modules.field import PropertyName
from tuner.schema.posix_regex import RegexText
from tuner.schema.scalars import Facility, MatchText, SeverityName, Switch
from tuner.schema.section import Section

Texts = Annotated[tuple[MatchText, ...], Field(min_length=1, max_length=100)]

OPERATIONS = ("isequal", "startswith", "startswith_i", "contains", "contains_i", "ereregex")


class Match(Section):
    """One comparison of a property, named as rsyslog's property-based filters name it; of several
    texts one must fit.  `ereregex` is a POSIX extended regular expression."""

    property: PropertyName
    isequal: Texts | None = None
    startswith: Texts | None = None
    startswith_i: Texts | None = None
    contains: Texts | None = None
    contains_i: Texts | None = None
    ereregex: Annotated[tuple[RegexText, ...], Field(min_length=1, max_length=100)] | None = None
    negate: Switch = False

    @model_validator(mode="after")
    def _one_operation(self) -> Self:
        if sum(getattr(self, name) is not None for name in OPERATIONS) != 1:
            raise ValueError(f"name exactly one operation: {', '.join(OPERATIONS)}")
        return self


class Filter(Section):
    """What an event must be for an output to take it; all that is written must hold.

    `syslogseverity` means that severity and every more urgent one, as in selectors.
    """

    syslogseverity: SeverityName | None = None
    syslogfacility: Annotated[tuple[Facility, ...], Field(min_length=1)] | None = None
    programname: Texts | None = None
    match: Annotated[tuple[Match, ...], Field(min_length=1, max_length=100)] | None = None

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.model_dump(exclude_none=True):
            raise ValueError("an empty filter takes every event: remove it, or say what to take")
        return self
