"""Where a text of an event comes from, and what part of it is taken."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tuner.schema.scalars import FIELD_NAME, RegexText
from tuner.schema.section import Section, parameter

PropertyName = Literal[
    "msg", "rawmsg", "rawmsg-after-pri", "hostname", "fromhost", "fromhost-ip", "inputname",
    "syslogtag", "programname", "app-name", "procid", "msgid", "pri", "pri-text",
    "syslogfacility", "syslogfacility-text", "syslogseverity", "syslogseverity-text",
    "structured-data", "protocol-version", "timereported", "timegenerated",
]  # fmt: skip
FieldProperty = (
    PropertyName
    | Literal[
        "fromhost-port", "uuid", "parsesuccess", "$myhostname", "$now", "$now-utc", "$year",
        "$month", "$day", "$hour", "$minute", "$!metadata!filename", "$!metadata!fileoffset",
    ]
)  # fmt: skip
NamingProperty = Literal[
    "hostname", "fromhost-ip", "programname", "app-name", "syslogfacility-text",
    "syslogseverity-text",
]  # fmt: skip
"""The properties whose values may name a file or stand in a path of HTTP."""
TIMES = frozenset({"timereported", "timegenerated"})
"""The properties that are times, which `dateFormat` is for."""
EVERYTHING = "*"
"""The path of all that parsing found."""
DateFormat = Literal[
    "rfc3339", "rfc3164", "rfc3164-buggyday", "unixtimestamp", "mysql", "pgsql", "subseconds",
    "year", "month", "day", "hour", "minute", "second", "wday", "wdayname", "ordinal", "week",
    "tzoffshour", "tzoffsmin", "tzoffsdirection",
]  # fmt: skip
VARIABLES_OF_OURS = frozenset({"documents", "lane", "omes", "steps"})
"""What the rendered configuration keeps under `$.`, in any case of letters (rsyslog's own)."""


def _is_free(path: str) -> str:
    first = path.partition(".")[0]
    if first.lower() in VARIABLES_OF_OURS:
        raise ValueError(f"$.{first} is used by what is rendered: choose another name")
    return path


VariablePath = Annotated[
    str, Field(pattern=rf"^{FIELD_NAME}$", max_length=200), AfterValidator(_is_free)
]
SourceName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_@.-]{1,64}$")]


class TextRange(Section):
    """A part of a text by its bytes; a character that is cut in two is left out."""

    first: Annotated[int, Field(ge=1, le=65536, strict=True)] = parameter(
        "The first byte of the text; they count from 1.", value=1, alias="from"
    )
    to: (
        Annotated[int, Field(ge=1, le=65536, strict=True)]
        | Annotated[int, Field(ge=-65536, le=-1, strict=True)]
        | None
    ) = parameter(
        "The last byte of the text; -2 leaves out the last two.",
        "Since rsyslog 8.2302 it may be negative; at least one byte is kept.",
        default="the end of the text",
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.to is not None and 0 < self.to < self.first:
            raise ValueError("to comes before from")
        return self


class TextPiece(Section):
    """A piece of a text between delimiters, as rsyslog's field() counts them; empty where there
    are fewer pieces."""

    delimiter: Annotated[str, Field(pattern=r"^[ -\[\]-~]$")] = parameter(
        "The one character between two pieces.", value=...
    )
    number: Annotated[int, Field(ge=1, le=250, strict=True)] = parameter(
        "Which piece; they count from 1.", value=...
    )


class TextMatch(Section):
    """What a POSIX extended regular expression finds in a text, or one of its groups."""

    expression: RegexText = parameter(
        "The POSIX extended regular expression.",
        "It reads bytes: . is one byte of a character.",
        "Slow, for every event.",
        value=...,
    )
    submatch: Annotated[int, Field(ge=0, le=9, strict=True)] = parameter(
        "Which group of the expression the field holds; 0 is all that matches.", value=0
    )
    nomatch: Literal["BLANK", "ZERO", "FIELD", "DFLT"] = parameter(
        "What is written where nothing matches: nothing, 0, the whole text, or **NO MATCH**. "
        "A group that did not take part is always empty.",
        value="BLANK",
    )


Constant = (
    Annotated[bool, Field(strict=True)]
    | Annotated[int, Field(strict=True, ge=-(2**63), lt=2**63)]
    | Annotated[float, Field(strict=True, allow_inf_nan=False)]
    | Annotated[str, Field(strict=True, pattern=r"^[^\x00]*$", max_length=1024)]
)


class TextSource(Section):
    """A text: an rsyslog property, a constant, a piece of the event's text that the profile's
    `parse` finds (a CSV column, the key of a pair, a dotted path into JSON, where `*` is all), or a
    variable that a step has set.
    """

    property: FieldProperty | None = parameter(
        "The rsyslog property that the field holds.",
        "fromhost is a name only with global.net.enableDNS, else the address.",
        "$!metadata!filename and fileoffset need an imfile input with addMetadata.",
    )
    constant: Constant | None = parameter("The same value in every document.")
    column: SourceName | None = parameter("The column of a CSV body that the field holds.")
    key: SourceName | None = parameter("The key of a key=value body that the field holds.")
    json_path: Annotated[str, Field(pattern=rf"^([*]|{FIELD_NAME})$")] | None = parameter(
        "The path into a JSON body, or into what a rulebase names, that the field holds; * is "
        "all of it, under a name or, without one, merged into the document.",
        "A merged member that has the name of a field is left out, in any case of "
        "its letters, with all that is in it.",
        "The engine refuses a document with a member whose name is a field's and a "
        "dot and more, or empty, or NaN: such an event goes to retryfailures.file. "
        "Under a name nothing of that can happen.",
        "Merged members are kept, and searched only with mapping: dynamic.",
        alias="json",
    )
    variable: VariablePath | None = parameter(
        "The variable, `$.`, that a step of the stream has set."
    )
    case: Literal["lower", "upper"] | None = parameter(
        "Whether the text becomes lower or upper case; letters of ASCII only."
    )
    position: TextRange | None = parameter("The part of the text that the field holds.")
    split: TextPiece | None = parameter(
        "The piece of the text, between delimiters, that the field holds."
    )
    regex: TextMatch | None = parameter(
        "What of the text the field holds: what an expression finds."
    )
    date_format: DateFormat | None = parameter(
        "How a time is written, in rsyslog's words.", default="rfc3339", alias="dateFormat"
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        sources = (
            self.property, self.constant, self.column, self.key, self.json_path, self.variable,
        )  # fmt: skip
        if sum(source is not None for source in sources) != 1:
            raise ValueError(
                "name exactly one source: property, constant, column, key, json or variable"
            )
        return self

    @model_validator(mode="after")
    def _options_fit(self) -> Self:
        options = (self.case, self.position, self.split, self.regex)
        is_whole = self.constant is not None or self.json_path == EVERYTHING
        if any(options) and (is_whole or self.property in TIMES):
            raise ValueError("case, position, split and regex are for texts")
        if self.split is not None and self.regex is not None:
            raise ValueError("name split or regex, not both")
        if (self.split or self.regex) and (self.column or self.key):
            raise ValueError("split and regex are for a property or a json path")
        if self.date_format is not None and self.property not in TIMES:
            raise ValueError(f"dateFormat is for {' and '.join(sorted(TIMES))}")
        return self


def is_parsed(source: TextSource) -> bool:
    """Whether parsing or a step of the stream makes the text, which can be anything then."""
    return source.property is None and source.constant is None


def is_changed(source: TextSource) -> bool:
    """Whether a part of the text is taken, or its case changed."""
    options = (source.case, source.position, source.split, source.regex)
    return any(option is not None for option in options)
