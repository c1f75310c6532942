"""imjournal: the entries of systemd's journal.

None means not set in the profile: rsyslog's default applies.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tuner.modules.input import Input, RateLimit, rate_limit
from tuner.modules.ratelimit import NamedLimit
from tuner.schema.scalars import Facility, NonNegative, Positive, SeverityName, Switch
from tuner.schema.section import parameter

# Its own limit (imjournal.c).
_INTERVAL_S = 600
_BURST = 20_000


class ImjournalInput(Input):
    """imjournal: the entries of systemd's journal, structured data included.

    It has no input() of its own: its events come to rsyslog's default ruleset, with those of other
    local sources and rsyslogd's own messages.
    """

    type: Literal["imjournal"] = parameter("The entries of systemd's journal.", value=...)
    state_file: Annotated[str, Field(pattern=r"^[A-Za-z0-9._/-]{1,255}$")] = parameter(
        "The file that holds the place in the journal, in workDirectory unless it is a path.",
        value="imjournal.state",
        default="rsyslog's own default is none: every start reads the journal again",
        of_module=True,
    )
    persist_state_interval: Positive | None = parameter(
        "After how many entries the place is saved.", default="10", of_module=True
    )
    ignore_previous_messages: Switch | None = parameter(
        "Whether a first start leaves out what is there already.", of_module=True
    )
    ignore_non_valid_statefile: Switch | None = parameter(
        "Whether a damaged state file is ignored.", default="on", of_module=True
    )
    ratelimit_interval: NonNegative | None = parameter(
        "Seconds over which ratelimit.burst entries are let through; 0 means no limit.",
        "By default entries above 20,000 in ten minutes are dropped.",
        default=str(_INTERVAL_S),
        of_module=True,
    )
    ratelimit_burst: NonNegative | None = parameter(
        "How many entries each ratelimit.interval lets through.",
        default=str(_BURST),
        of_module=True,
    )
    rate_limit_name: NamedLimit = parameter(since=2604, alias="ratelimit.name", of_module=True)
    namespace: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,255}$")] | None = parameter(
        "The namespace of the journal that is read, as LogNamespace= of systemd's units names it.",
        since=2608,
        default="the journal of the system",
        of_module=True,
    )
    default_severity: SeverityName | None = parameter(
        "The severity of entries that have none.", of_module=True
    )
    default_facility: Facility | None = parameter(
        "The facility of entries that have none.", of_module=True
    )
    use_pid: Literal["syslog", "system", "both"] | None = parameter(
        "Whose process ID is taken: that of the message, or that of the kernel.",
        since=1909,
        alias="usePid",
        of_module=True,
    )
    fsync: Switch | None = parameter(
        "Whether the state file survives a crash.", since=1908, alias="FSync", of_module=True
    )

    thread_names: ClassVar[tuple[str, ...]] = ("in:imjournal",)
    has_statement: ClassVar[bool] = False

    @property
    def rate_limit(self) -> RateLimit | None:
        """rsyslog's own, unless the profile sets another."""
        interval = _INTERVAL_S if self.ratelimit_interval is None else self.ratelimit_interval
        return rate_limit(interval, self.ratelimit_burst, _BURST, "ratelimit.interval")
