"""imklog: what the kernel logs.

None means not set in the profile: rsyslog's default applies.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tuner.modules.input import Input
from tuner.modules.ratelimit import NamedLimit
from tuner.schema.parameter import Doc, OfModule, Since
from tuner.schema.scalars import Facility, NonNegative, Switch, WordPath


class ImklogInput(Input):
    """imklog: what the kernel logs.

    It has no input() of its own: its events come to rsyslog's default ruleset, with those of other
    local sources and rsyslogd's own messages.
    """

    type: Annotated[Literal["imklog"], Doc("What the kernel logs.")]
    internal_msg_facility: Annotated[
        Facility | None, OfModule(), Doc("The facility of imklog's own messages.", default="kern")
    ] = None
    permit_non_kernel_facility: Annotated[
        Switch | None,
        OfModule(),
        Doc("Whether messages of other facilities in the kernel's log are taken.", default="off"),
    ] = None
    console_log_level: Annotated[
        Annotated[int, Field(ge=-1, le=8, strict=True)] | None,
        OfModule(),
        Doc("Up to which level the kernel writes to the console; -1 leaves it.", default="-1"),
    ] = None
    parse_kernel_timestamp: Annotated[
        Switch | None,
        OfModule(),
        Doc("Whether the kernel's time stamp becomes the event's time.", default="off"),
    ] = None
    keep_kernel_timestamp: Annotated[
        Switch | None,
        OfModule(),
        Doc("Whether the kernel's time stamp stays in the text.", default="off"),
    ] = None
    log_path: Annotated[
        WordPath | None, OfModule(), Doc("The kernel's log.", default="/proc/kmsg")
    ] = None
    ratelimit_interval: Annotated[
        NonNegative | None,
        OfModule(),
        Doc(
            "Seconds over which ratelimitBurst messages are let through; 0: no limit.", default="0"
        ),
    ] = None
    ratelimit_burst: Annotated[
        NonNegative | None,
        OfModule(),
        Doc("How many messages each ratelimitInterval lets through.", default="10000"),
    ] = None
    rate_limit_name: Annotated[NamedLimit, OfModule(), Since(2604)] = Field(
        None, alias="ratelimit.name"
    )

    thread_names: ClassVar[tuple[str, ...]] = ("in:imklog",)

    @property
    def has_statement(self) -> bool:
        """It is a module alone."""
        return False
