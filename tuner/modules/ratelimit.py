"""ratelimit(): limits by name, which several inputs and outputs can share.

None means not set in the profile: rsyslog's default applies.
"""

from typing import Annotated

from pydantic import BaseModel, Field

from tuner.schema.scalars import NonNegative, Positive, SeverityName, Switch, WordPath
from tuner.schema.section import Doc, RsyslogSection, parameter

LIMIT_NAME = r"^[A-Za-z][A-Za-z0-9_.-]{0,99}$"
RateLimitName = Annotated[str, Field(pattern=LIMIT_NAME)]
NamedLimit = Annotated[
    RateLimitName | None,
    Doc(
        "The limit of ratelimits that holds here, in place of an interval and a burst of its own.",
        traps=("What exceeds the limit is dropped.",),
    ),
]
_Wait = Annotated[str, Field(pattern=r"^[0-9]{1,9}(ms|s|m|h)?$")]


class RateLimitPolicy(RsyslogSection):
    """A limit: `burst` events in `interval` seconds, together for all that name it."""

    interval: NonNegative | None = parameter(
        "Seconds over which burst events are let through; 0 means no limit.",
        since=2602,
        default="0",
    )
    burst: NonNegative | None = parameter(
        "How many events each interval lets through.", since=2602, default="10000"
    )
    severity: SeverityName | None = parameter(
        "Only events of this severity and less severe ones are limited.", since=2602, default="all"
    )
    policy: WordPath | None = parameter(
        "The YAML file of the limit, a path on rsyslog's host that a HUP reads again; outputs "
        "need one, with scope: output and mode: drop or pace.",
        "mode: drop drops what exceeds the limit; pace makes the output wait.",
        since=2602,
    )
    policy_watch: Switch | None = parameter(
        "Whether the file is read again when it changes.", since=2604, default="off"
    )
    policy_watch_debounce: _Wait | None = parameter(
        "How long the file must stay as it is before it is read again.", since=2604, default="5s"
    )
    per_source: Switch | None = parameter(
        "Whether each sender has a limit of its own, from perSourcePolicy.",
        since=2602,
        default="off",
    )
    per_source_policy: WordPath | None = parameter(
        "The YAML file of the limits of senders.", since=2602
    )
    per_source_max_states: Positive | None = parameter(
        "How many senders are counted at once.",
        "Senders beyond that push out others, whose count begins again.",
        since=2602,
    )
    per_source_top_n: NonNegative | None = parameter(
        "How many senders that drop most impstats counts by name.", since=2602
    )

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it is read from."""
        return tuple(filter(None, (self.policy, self.per_source_policy)))


def has_own_limit(section: BaseModel, key: str) -> bool:
    """Whether an input or output that names a limit by `key` has an interval or burst too."""
    stem = key.lower().removesuffix("name").replace(".", "")
    keys = {info.alias or name: name for name, info in type(section).model_fields.items()}
    return any(
        getattr(section, name) is not None
        for alias, name in keys.items()
        if alias.lower().replace(".", "") in {f"{stem}interval", f"{stem}burst"}
    )


def named_limits(section: BaseModel) -> dict[str, str]:
    """The limits that an input or output names, by the keys that name them."""
    values = {
        info.alias or name: getattr(section, name)
        for name, info in type(section).model_fields.items()
    }
    return {
        key: value
        for key, value in values.items()
        if value is not None and key.lower().endswith("ratelimit.name")
    }
