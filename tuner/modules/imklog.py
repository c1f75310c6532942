"""imklog: what the kernel logs.

None means not set in the profile: rsyslog's default applies.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tuner.modules.input import Input, RateLimit, rate_limit
from tuner.modules.ratelimit import NamedLimit
from tuner.schema.scalars import Facility, NonNegative, Switch, WordPath
from tuner.schema.section import parameter

# Its default burst for a rate limit without one (imklog.c).
_BURST = 10_000


class ImklogInput(Input):
    """imklog: what the kernel logs.

    It has no input() of its own: its events come to rsyslog's default ruleset, with those of other
    local sources and rsyslogd's own messages.
    """

    type: Literal["imklog"] = parameter("What the kernel logs.", value=...)
    internal_msg_facility: Facility | None = parameter(
        "The facility of imklog's own messages.", default="kern", of_module=True
    )
    permit_non_kernel_facility: Switch | None = parameter(
        "Whether messages of other facilities in the kernel's log are taken.",
        default="off",
        of_module=True,
    )
    console_log_level: Annotated[int, Field(ge=-1, le=8, strict=True)] | None = parameter(
        "Up to which level the kernel writes to the console; -1 leaves it.",
        default="-1",
        of_module=True,
    )
    parse_kernel_timestamp: Switch | None = parameter(
        "Whether the kernel's time stamp becomes the event's time.", default="off", of_module=True
    )
    keep_kernel_timestamp: Switch | None = parameter(
        "Whether the kernel's time stamp stays in the text.", default="off", of_module=True
    )
    log_path: WordPath | None = parameter(
        "The kernel's log.", default="/proc/kmsg", alias="logPath", of_module=True
    )
    ratelimit_interval: NonNegative | None = parameter(
        "Seconds over which ratelimitBurst messages are let through; 0: no limit.",
        default="0",
        alias="ratelimitInterval",
        of_module=True,
    )
    ratelimit_burst: NonNegative | None = parameter(
        "How many messages each ratelimitInterval lets through.",
        default=str(_BURST),
        alias="ratelimitBurst",
        of_module=True,
    )
    rate_limit_name: NamedLimit = parameter(since=2604, alias="ratelimit.name", of_module=True)

    thread_names: ClassVar[tuple[str, ...]] = ("in:imklog",)
    has_statement: ClassVar[bool] = False

    @property
    def rate_limit(self) -> RateLimit | None:
        """None unless the profile sets one."""
        return rate_limit(
            self.ratelimit_interval, self.ratelimit_burst, _BURST, "ratelimitInterval"
        )
