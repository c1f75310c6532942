"""What every output has in common, whatever module it is of."""

from typing import Annotated

from pydantic import Field

from tuner.modules.filter import Filter
from tuner.modules.queue import Queue
from tuner.schema.parameter import Since
from tuner.schema.scalars import AbsolutePath, Name, Positive, Switch
from tuner.schema.section import RsyslogSection


class ActionOutput(RsyslogSection):
    """An action with its own queue, which takes the events that `filter` lets through.

    With `action.execOnlyWhenPreviousIsSuspended` it takes only what the output before it cannot
    take at that moment.
    """

    name: Name
    filter: Filter | None = None
    queue: Queue | None = None
    action_resume_retry_count: Annotated[int, Field(ge=-1, strict=True)] = Field(
        -1, alias="action.resumeRetryCount"
    )
    action_resume_interval: Positive = Field(30, alias="action.resumeInterval")
    action_resume_interval_max: Positive | None = Field(None, alias="action.resumeIntervalMax")
    action_report_suspension: Switch | None = Field(None, alias="action.reportSuspension")
    action_report_suspension_continuation: Switch | None = Field(
        None, alias="action.reportSuspensionContinuation"
    )
    action_errorfile: AbsolutePath | None = Field(None, alias="action.errorfile")
    action_errorfile_maxsize: Annotated[Positive | None, Since(2204)] = Field(
        None, alias="action.errorfile.maxsize"
    )
    exec_only_when_previous_is_suspended: Switch = Field(
        False, alias="action.execOnlyWhenPreviousIsSuspended"
    )
