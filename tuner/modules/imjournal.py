"""imjournal: the entries of systemd's journal.

None means not set in the profile: rsyslog's default applies.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tuner.modules.input import Input
from tuner.modules.ratelimit import NamedLimit
from tuner.schema.parameter import Doc, OfModule, Since
from tuner.schema.scalars import Facility, NonNegative, Positive, SeverityName, Switch


class ImjournalInput(Input):
    """imjournal: the entries of systemd's journal, structured data included.

    It has no input() of its own: its events come to rsyslog's default ruleset, with those of other
    local sources and rsyslogd's own messages.
    """

    type: Annotated[Literal["imjournal"], Doc("The entries of systemd's journal.")]
    state_file: Annotated[
        Annotated[str, Field(pattern=r"^[A-Za-z0-9._/-]{1,255}$")],
        OfModule(),
        Doc(
            "The file that holds the place in the journal, in workDirectory unless it is a path.",
            default="rsyslog's own default is none: every start reads the journal again",
        ),
    ] = Field("imjournal.state", alias="stateFile")
    persist_state_interval: Annotated[
        Positive | None,
        OfModule(),
        Doc("After how many entries the place is saved.", default="10"),
    ] = None
    ignore_previous_messages: Annotated[
        Switch | None, OfModule(), Doc("Whether a first start leaves out what is there already.")
    ] = None
    ignore_non_valid_statefile: Annotated[
        Switch | None, OfModule(), Doc("Whether a damaged state file is ignored.", default="on")
    ] = None
    ratelimit_interval: Annotated[
        NonNegative | None,
        OfModule(),
        Doc(
            "Seconds over which ratelimit.burst entries are let through; 0 means no limit.",
            default="600",
            traps=("By default entries above 20,000 in ten minutes are dropped.",),
        ),
    ] = Field(None, alias="ratelimit.interval")
    ratelimit_burst: Annotated[
        NonNegative | None,
        OfModule(),
        Doc("How many entries each ratelimit.interval lets through.", default="20000"),
    ] = Field(None, alias="ratelimit.burst")
    rate_limit_name: Annotated[NamedLimit, OfModule(), Since(2604)] = Field(
        None, alias="ratelimit.name"
    )
    namespace: Annotated[
        Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,255}$")] | None,
        OfModule(),
        Since(2608),
        Doc(
            "The namespace of the journal that is read, as LogNamespace= of systemd's units names "
            "it.",
            default="the journal of the system",
        ),
    ] = None
    default_severity: Annotated[
        SeverityName | None, OfModule(), Doc("The severity of entries that have none.")
    ] = None
    default_facility: Annotated[
        Facility | None, OfModule(), Doc("The facility of entries that have none.")
    ] = None
    use_pid: Annotated[
        Literal["syslog", "system", "both"] | None,
        OfModule(),
        Since(1909),
        Doc("Whose process ID is taken: that of the message, or that of the kernel."),
    ] = None
    fsync: Annotated[
        Switch | None, OfModule(), Since(1908), Doc("Whether the state file survives a crash.")
    ] = Field(None, alias="FSync")

    thread_names: ClassVar[tuple[str, ...]] = ("in:imjournal",)

    @property
    def has_statement(self) -> bool:
        """It is a module alone."""
        return False
