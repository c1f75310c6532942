"""When the engine starts a new index, and when it deletes an old one."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from tuner.schema.scalars import ByteSize, Positive
from tuner.schema.section import Section

_Age = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,14}(m|h|d)$")]


class Rollover(Section):
    """Conditions for a new index, any one of which suffices; spelled as in Elasticsearch's rollover
    action."""

    max_age: _Age | None = None
    max_primary_shard_size: ByteSize | None = None
    max_size: ByteSize | None = None
    max_docs: Positive | None = None

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.model_dump(exclude_none=True):
            raise ValueError(
                "give a condition: max_age, max_primary_shard_size, max_size or max_docs"
            )
        return self


class Lifecycle(Section):
    """A policy of ILM on Elasticsearch, of ISM on OpenSearch; both must be installed there.

    `retention` is the age at which an index is deleted, counted from its rollover, or from its
    creation if it never rolls over.
    """

    retention: _Age | None = None
    rollover: Rollover | None = None

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.retention is None and self.rollover is None:
            raise ValueError("give retention, rollover or both")
        return self
