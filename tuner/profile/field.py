"""The fields of a document, and what each must serve."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Literal

from pydantic import Field

from tuner.profile.section import Section


class Use(Enum):
    """What a field must serve; the mapping is the leanest that serves them all."""

    TERM = "term"
    FULL_TEXT = "full_text"
    PHRASE = "phrase"
    RANGE = "range"
    AGGREGATE = "aggregate"
    RETRIEVE = "retrieve"


class FieldType(Enum):
    """The JSON type of a field in the document."""

    STRING = "string"
    INTEGER = "integer"
    DATE = "date"


class DocumentField(Section):
    """One field of the document: from which rsyslog property, under which (dotted) name."""

    property: Literal[
        "msg", "rawmsg", "hostname", "fromhost-ip", "syslogtag", "programname", "app-name",
        "procid", "msgid", "syslogfacility", "syslogfacility-text", "syslogseverity",
        "syslogseverity-text", "timereported", "timegenerated",
    ]  # fmt: skip
    name: Annotated[str, Field(pattern=r"^[A-Za-z_@][A-Za-z0-9_@]*(\.[A-Za-z_@][A-Za-z0-9_@]*)*$")]
    type: FieldType = FieldType.STRING
    uses: tuple[Use, ...] = (Use.RETRIEVE,)


class Preset(Enum):
    """Documents we know by name."""

    ECS = "ecs"
    LOGSTASH = "logstash"
    SEMATEXT = "sematext"
