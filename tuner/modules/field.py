"""The fields of a document, and what each must serve."""

from enum import Enum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tuner.schema.parameter import Doc
from tuner.schema.section import Section

PropertyName = Literal[
    "msg", "rawmsg", "hostname", "fromhost-ip", "syslogtag", "programname", "app-name",
    "procid", "msgid", "syslogfacility", "syslogfacility-text", "syslogseverity",
    "syslogseverity-text", "timereported", "timegenerated",
]  # fmt: skip
SourceName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_@.-]{1,64}$")]


class Use(Enum):
    """What a field must serve; the mapping is the leanest that serves them all."""

    TERM = "term"
    FULL_TEXT = "full_text"
    PHRASE = "phrase"
    RANGE = "range"
    AGGREGATE = "aggregate"
    RETRIEVE = "retrieve"


class FieldType(Enum):
    """The JSON type of a field in the document; dates are texts that the engine understands."""

    STRING = "string"
    INTEGER = "integer"
    FLOAT = "float"
    BOOLEAN = "boolean"
    DATE = "date"


Constant = (
    Annotated[bool, Field(strict=True)]
    | Annotated[int, Field(strict=True, ge=-(2**63), lt=2**63)]
    | Annotated[float, Field(strict=True, allow_inf_nan=False)]
    | Annotated[str, Field(strict=True, max_length=1024)]
)

_TYPES = {
    bool: FieldType.BOOLEAN,
    int: FieldType.INTEGER,
    float: FieldType.FLOAT,
    str: FieldType.STRING,
}


class DocumentField(Section):
    """One field of the document: its source, its (dotted) name and its type. The source is one of
    an rsyslog property, a constant, or a piece of the event's text that the profile's `parse`
    finds: a CSV column, the key of a pair, a dotted path into JSON.
    """

    property: Annotated[PropertyName | None, Doc("The rsyslog property that the field holds.")] = (
        None
    )
    constant: Annotated[Constant | None, Doc("The same value in every document.")] = None
    column: Annotated[SourceName | None, Doc("The column of a CSV body that the field holds.")] = (
        None
    )
    key: Annotated[SourceName | None, Doc("The key of a key=value body that the field holds.")] = (
        None
    )
    json_path: Annotated[
        Annotated[str, Field(pattern=r"^[A-Za-z_@][A-Za-z0-9_@-]*(\.[A-Za-z_@][A-Za-z0-9_@-]*)*$")]
        | None,
        Doc("The path into a JSON body, or into what a rulebase names, that the field holds."),
    ] = Field(None, alias="json")
    name: Annotated[
        str,
        Field(pattern=r"^[A-Za-z_@][A-Za-z0-9_@]*(\.[A-Za-z_@][A-Za-z0-9_@]*)*$"),
        Doc("The field's name in the document; dots make nested objects."),
    ]
    type: Annotated[
        FieldType, Doc("The JSON type of the field, and with it the type in the mapping.")
    ] = FieldType.STRING
    format: Annotated[
        Annotated[str, Field(pattern=r"^[A-Za-z0-9_|.:'/ -]{1,200}$")] | None,
        Doc("How the engine reads a date."),
    ] = None
    uses: Annotated[
        tuple[Use, ...],
        Doc("What the field must serve; the mapping is the leanest that serves them all."),
    ] = (Use.RETRIEVE,)

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        sources = (self.property, self.constant, self.column, self.key, self.json_path)
        if sum(source is not None for source in sources) != 1:
            raise ValueError("name exactly one source: property, constant, column, key or json")
        return self

    @model_validator(mode="after")
    def _type_fits(self) -> Self:
        if self.constant is not None and _TYPES[type(self.constant)] is not self.type:
            needed_type = _TYPES[type(self.constant)].value
            raise ValueError(f"this constant needs type: {needed_type}")
        if self.format is not None and not (is_parsed(self) and self.type is FieldType.DATE):
            raise ValueError("a format is for dates in the event's text: add type: date")
        return self


def is_parsed(field: DocumentField) -> bool:
    """Whether the profile's `parse` finds the field in the event's text."""
    return field.property is None and field.constant is None


class Preset(Enum):
    """The preset documents."""

    ECS = "ecs"
    LOGSTASH = "logstash"
    SEMATEXT = "sematext"
    ELMA = "elma"
