"""What every output has in common, whatever module it is of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from tuner.modules.field import DocumentField, Preset
from tuner.modules.filter import Filter
from tuner.modules.queue import Place, Queue, QueueType, resolve
from tuner.modules.ratelimit import RateLimitName
from tuner.modules.secrets import SecretRef
from tuner.modules.text_source import TextSource
from tuner.schema.scalars import AbsolutePath, Name, Positive, Switch
from tuner.schema.section import OfProfile, RsyslogSection, parameter

Level = Annotated[int, Field(ge=0, le=9, strict=True)]
BuiltinTemplate = Literal[
    "RSYSLOG_FileFormat",
    "RSYSLOG_TraditionalFileFormat",
    "RSYSLOG_ForwardFormat",
    "RSYSLOG_TraditionalForwardFormat",
    "RSYSLOG_SyslogProtocol23Format",
]

COMES_BACK = "Its port must not be an input of this profile: events would come back forever."


class Output(RsyslogSection):
    """An action with its own queue, which takes the events that `filter` lets through.

    With `action.execOnlyWhenPreviousIsSuspended` it takes only what the output before it cannot
    take at that moment.
    """

    name: Annotated[Name, OfProfile()] = parameter(
        "The name of the output and of its action in rsyslog's counters.", value=...
    )
    stream: Annotated[Name | None, OfProfile()] = parameter(
        "The stream whose events it takes; without one those of inputs without a stream."
    )
    filter: Annotated[Filter | None, OfProfile()] = parameter(
        "Which events the output takes; all conditions must hold."
    )
    queue: Annotated[Queue | None, OfProfile()] = parameter(
        "The queue before the output. Without it the action is Direct: a slow engine "
        "stops the main queue.",
        "F9",
        "F12",
    )
    action_resume_retry_count: Annotated[int, Field(ge=-1, strict=True)] = parameter(
        "How often a batch is retried while the engine does not answer; -1 means forever.",
        "F8",
        "F1",
        value=-1,
        default="rsyslog's own default is 0",
    )
    action_resume_interval: Positive = parameter(
        "Seconds before the first retry; longer after every ten.", value=30
    )
    action_resume_interval_max: Positive | None = parameter(
        "The most seconds between two retries.",
        "rsyslog before 8.2308 accepts it and ignores it.",
        default="1800",
    )
    action_report_suspension: Switch | None = parameter(
        "Whether rsyslog logs that an output cannot take events.", default="on"
    )
    action_report_suspension_continuation: Switch | None = parameter(
        "Whether rsyslog logs at each retry that an output still cannot take events.", default="off"
    )
    action_errorfile: AbsolutePath | None = parameter(
        "The file for events that rsyslog gives up, one JSON object each.",
        "What the engine refused is written to errorfile and retryfailures, not here.",
    )
    action_errorfile_maxsize: Positive | None = parameter(
        "The maximum size of that file in bytes; later events are not written.",
        since=2204,
        default="no limit",
    )
    action_ratelimit_name: RateLimitName | None = parameter(
        "The limit of ratelimits for what the output sends; it needs a policy with scope: output.",
        "With mode: drop what exceeds the limit is dropped; mode: pace makes the output "
        "wait and needs a queue.",
        since=2610,
    )
    exec_only_when_previous_is_suspended: Switch = parameter(
        "Whether the output takes only what the one before it cannot take at that "
        "moment: a failover.",
        "The batches in flight when the other goes away are lost, up to its "
        "workers times its dequeueBatchSize events (8.2302).",
        "The other needs an action.resumeRetryCount of 0 or a few: retried forever, "
        "it never counts as suspended.",
        value=False,
        alias="action.execOnlyWhenPreviousIsSuspended",
    )

    type: str

    package: ClassVar[str] = "rsyslog"
    """Debian's package that ships the module."""
    packaged_since: ClassVar[int] = 0
    """The first rsyslog of which Debian ships the package: 2512 stands for 8.2512; 0 for all."""
    built_in: ClassVar[bool] = False
    """Whether it is built into rsyslogd, and loaded only to set its parameters."""

    @property
    def is_direct(self) -> bool:
        """Whether it has no queue of its own."""
        return resolve(self.queue, Place.ACTION).type is QueueType.DIRECT

    @property
    def secrets(self) -> tuple[SecretRef, ...]:
        """What it logs in with."""
        return ()


@dataclass(frozen=True)
class Neighbours:
    """The outputs and inputs that an output, or a queue that other threads fill, affects, by name.

    Outputs in `take_over` replace it while it is suspended; it replaces those in `before`.  Outputs
    in `beside` wait while it blocks the thread before it; those in `at_once` run in that thread.
    Inputs in `lossy` lose events once the queues before it are full.

    rsyslog runs the actions of an event one after the other in the thread of the queue before them
    (action.c, doSubmitToActionQ): one with action.execOnlyWhenPreviousIsSuspended looks at the
    action that was run last, and one that waits stops all the others.
    """

    take_over: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    lossy: tuple[str, ...] = ()
    at_once: tuple[str, ...] = ()


class Lines(Output):
    """What writes one line for each event: in one of rsyslog's own formats, or as JSON."""

    template: Annotated[BuiltinTemplate | None, OfProfile()] = parameter(
        "The format of rsyslog's own in which events are written; document writes JSON instead.",
        "The Traditional formats have neither year nor zone; those for "
        "forwarding, RFC 5424 left aside, cut the tag to 32 characters.",
        default="omfile and omkafka: RSYSLOG_FileFormat; omfwd, omrelp and omhttp: "
        "RSYSLOG_SyslogProtocol23Format, which is RFC 5424",
    )
    document: Annotated[
        Preset | Annotated[tuple[DocumentField, ...], Field(min_length=1)] | None, OfProfile()
    ] = parameter("What a document holds: a preset by name, or a list of fields.", "F5", "F6")
    line: Annotated[Annotated[tuple[TextSource, ...], Field(min_length=1)] | None, OfProfile()] = (
        parameter(
            "What a line holds, one text after the other, in place of template and document.",
            "Nothing is quoted: a value may hold what separates it from the next.",
        )
    )
    control_characters: Annotated[Literal["escape", "space", "drop", "keep"], OfProfile()] = (
        parameter(
            "What becomes of control characters of an event in line: written as #ooo, replaced by "
            "blanks, left out, or kept.",
            "Where they are kept, an event with a line end in it makes two lines.",
            value="escape",
        )
    )
    mmutf8fix: Annotated[Switch | None, OfProfile()] = parameter(
        "Whether invalid UTF-8 in messages is repaired first, for all outputs of the stream.",
        "JSON with invalid UTF-8 is refused by what reads it.",
        default="on with document, else off",
    )

    @model_validator(mode="after")
    def _one_format(self) -> Self:
        if sum(choice is not None for choice in (self.template, self.document, self.line)) > 1:
            raise ValueError("name one of line, template and document: each defines the format")
        if self.line is None and self.control_characters != "escape":
            raise ValueError("controlCharacters is for line: add line, or remove it")
        return self

    # omfwd's default format has neither year nor zone; both forwarding formats cut tags.
    own_format: ClassVar[BuiltinTemplate] = "RSYSLOG_SyslogProtocol23Format"
    rsyslogs_format: ClassVar[BuiltinTemplate | None] = None
    """What rsyslog itself writes without a template, where that is not our format."""
    ends_lines: ClassVar[bool] = False
    """Whether a line ends with a newline of its own; others frame what they send."""

    @property
    def format(self) -> BuiltinTemplate:
        """rsyslog's own format that events are written in when the profile names no document."""
        return self.template or self.own_format

    @property
    def repairs(self) -> bool:
        """Whether invalid UTF-8 in messages is repaired for it."""
        return self.document is not None if self.mmutf8fix is None else self.mmutf8fix

    def spelled(self) -> Mapping[str, str | int | tuple[str, ...] | SecretRef]:
        """The parameters that rsyslog spells differently from a profile."""
        return {}
