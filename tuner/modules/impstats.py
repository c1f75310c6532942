"""The counters that rsyslog keeps of itself."""

from typing import Annotated

from pydantic import Field

from tuner.schema.parameter import Doc
from tuner.schema.scalars import AbsolutePath, Switch
from tuner.schema.section import RsyslogSection


class Impstats(RsyslogSection):
    """impstats: rsyslog's counters as JSON, every `interval` seconds, to a file or as events."""

    interval: Annotated[
        int,
        Field(ge=1, le=86400, strict=True),
        Doc(
            "Seconds from one set of counters to the next.",
            default="rsyslog's own is 300",
            traps=(
                ("Longer than the interval at which Prometheus asks, and its graphs have steps."),
            ),
        ),
    ] = 10
    log_file: Annotated[
        AbsolutePath | None,
        Doc(
            "The file that counters are appended to.",
            traps=(
                "Its folder must exist and rsyslog's user must be able to write there.",
                (
                    "rsyslog makes it for its own user alone (0600), and never cuts it off: "
                    "make it beforehand where others read it, and let logrotate do the rest; "
                    "after a HUP rsyslog goes on in the new file."
                ),
            ),
        ),
    ] = Field(None, alias="log.file")
    log_syslog: Annotated[
        Switch,
        Doc(
            "Whether the counters become events, tagged rsyslogd-pstats.",
            default="rsyslog's own is on",
            traps=("They pass through the queues that they are about.",),
        ),
    ] = Field(False, alias="log.syslog")
    reset_counters: Annotated[
        Switch,
        Doc(
            "Whether counters begin anew after each time.",
            traps=(
                (
                    "Prometheus wants counters that only grow; sizes and high marks are not "
                    "reset in any case."
                ),
            ),
        ),
    ] = False
