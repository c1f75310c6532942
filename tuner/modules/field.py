"""The fields of a document, and what each must serve."""

from enum import Enum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tuner.modules.text_source import EVERYTHING, TextSource, is_changed, is_parsed
from tuner.schema.scalars import FieldName
from tuner.schema.section import parameter


class Use(Enum):
    """What a field must serve; the mapping is the leanest that serves them all."""

    TERM = "term"
    FULL_TEXT = "full_text"
    PHRASE = "phrase"
    RANGE = "range"
    AGGREGATE = "aggregate"
    RETRIEVE = "retrieve"


class FieldType(Enum):
    """The JSON type of a field in the document; dates are texts that the engine understands, json
    is whatever stands at a path: an object, an array or a plain value."""

    STRING = "string"
    INTEGER = "integer"
    FLOAT = "float"
    BOOLEAN = "boolean"
    DATE = "date"
    JSON = "json"


_TYPES = {
    bool: FieldType.BOOLEAN,
    int: FieldType.INTEGER,
    float: FieldType.FLOAT,
    str: FieldType.STRING,
}


class DocumentField(TextSource):
    """One field of the document: its source, its (dotted) name and its type. `json: "*"` is all
    that parsing found: under a name, or without one merged into the document, where the fields of
    the profile win over members of the same name.
    """

    name: FieldName = parameter(
        "The field's name in the document; dots make nested objects.", value="", default="required"
    )
    type: FieldType = parameter(
        "The JSON type of the field, and with it the type in the mapping; json passes on an "
        "object or an array as such, which can only be retrieved.",
        value=FieldType.STRING,
    )
    format: Annotated[str, Field(pattern=r"^[A-Za-z0-9_|.:'/ -]{1,200}$")] | None = parameter(
        "How the engine reads a date."
    )
    uses: tuple[Use, ...] = parameter(
        "What the field must serve, from which the leanest mapping follows: term (its whole value "
        "is searched for), full_text (words of it), phrase (words in their order), range, "
        "aggregate (sorting, charts, counts by value), retrieve (only shown).",
        "With mapping: explicit nothing else can be asked of it any more. Elasticsearch counts "
        "what was asked since 7.15 (GET INDEX/_field_usage_stats). What an index serves today is "
        "in its mapping (GET INDEX/_mapping): keyword is term and aggregate, text is full_text and "
        "phrase, text with fields.keyword all four, numbers and dates are range and aggregate; "
        "index: false takes term and range away, doc_values: false aggregate.",
        value=(Use.RETRIEVE,),
    )
    on_empty: Literal["skip", "null", "blank"] | None = parameter(
        "What becomes of a field without a value: the document is written without it, with "
        "null or with an empty text.",
        "skip needs a variable of rsyslog for each event, which costs CPU time.",
        default="an empty text, null for a number, a boolean or json",
        alias="onEmpty",
    )

    @model_validator(mode="after")
    def _has_name(self) -> Self:
        if not self.name and self.json_path != EVERYTHING:
            raise ValueError("name is missing: add it")
        return self

    @model_validator(mode="after")
    def _type_fits(self) -> Self:
        if self.constant is not None and _TYPES[type(self.constant)] is not self.type:
            needed_type = _TYPES[type(self.constant)].value
            raise ValueError(f"this constant needs type: {needed_type}")
        if self.format is not None and not (is_parsed(self) and self.type is FieldType.DATE):
            raise ValueError("a format is for dates in the event's text: add type: date")
        if self.on_empty is not None and (
            self.constant is not None or self.json_path == EVERYTHING
        ):
            raise ValueError("onEmpty is for fields that an event can leave empty")
        if self.on_empty == "blank" and self.type not in {FieldType.STRING, FieldType.DATE}:
            raise ValueError(
                f"onEmpty: blank is an empty text: the type {self.type.value} has none"
            )
        return self

    @model_validator(mode="after")
    def _json_fits(self) -> Self:
        if self.type is FieldType.JSON and self.json_path is None:
            raise ValueError("type: json is for a json path")
        if is_json(self) and self.type not in {FieldType.STRING, FieldType.JSON}:
            raise ValueError(f'json: "*" is an object, not a {self.type.value}: remove type')
        if is_json(self) and self.uses != (Use.RETRIEVE,):
            raise ValueError(
                "JSON passed on as such is only retrieved: remove uses, and name the members that "
                "are searched as fields of their own"
            )
        if is_json(self) and is_changed(self):
            raise ValueError("case, position, split and regex are for texts")
        return self


def is_json(field: DocumentField) -> bool:
    """Whether the field is JSON that is passed on as such."""
    return field.type is FieldType.JSON or field.json_path == EVERYTHING


def merges(field: DocumentField) -> bool:
    """Whether all that parsing found is merged into the document."""
    return not field.name


class Preset(Enum):
    """The preset documents; `raw` is all that parsing found, for messages that are documents."""

    ECS = "ecs"
    LOGSTASH = "logstash"
    SEMATEXT = "sematext"
    ELMA = "elma"
    RAW = "raw"
