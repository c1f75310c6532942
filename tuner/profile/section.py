"""What all sections of a profile have in common: frozen, and no unknown keys."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Section(BaseModel):
    """A section whose keys are spelled as its fields, or as Elasticsearch spells them."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True)


class RsyslogSection(BaseModel):
    """A section whose keys are spelled as rsyslog spells them."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)
