"""What all sections of a profile have in common: frozen, no unknown keys, built when first used.

Modules of sections do without `from __future__ import annotations`: pydantic would compile every
annotation again, 7 ms of every command that reads a profile.  A section that is a default is
constructed: to call its class would build it by itself too, beside the section that it stands in.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Section(BaseModel):
    """A section whose keys are spelled as its fields, or as Elasticsearch spells them."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, defer_build=True)


class RsyslogSection(BaseModel):
    """A section whose keys are spelled as rsyslog spells them."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, defer_build=True
    )
