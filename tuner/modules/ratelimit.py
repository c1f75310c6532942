"""ratelimit(): limits by name, which several inputs and outputs can share.

None means not set in the profile: rsyslog's default applies.
"""

from typing import Annotated

from pydantic import BaseModel, Field

from tuner.schema.parameter import Doc, Since
from tuner.schema.scalars import NonNegative, Positive, SeverityName, Switch, WordPath
from tuner.schema.section import RsyslogSection

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

    interval: Annotated[
        NonNegative | None,
        Since(2602),
        Doc("Seconds over which burst events are let through; 0 means no limit.", default="0"),
    ] = None
    burst: Annotated[
        NonNegative | None,
        Since(2602),
        Doc("How many events each interval lets through.", default="10000"),
    ] = None
    severity: Annotated[
        SeverityName | None,
        Since(2602),
        Doc("Only events of this severity and less severe ones are limited.", default="all"),
    ] = None
    policy: Annotated[
        WordPath | None,
        Since(2602),
        Doc(
            "The YAML file of the limit, a path on rsyslog's host that a HUP reads again; outputs "
            "need one, with scope: output and mode: drop or pace.",
            traps=("mode: drop drops what exceeds the limit; pace makes the output wait.",),
        ),
    ] = None
    policy_watch: Annotated[
        Switch | None,
        Since(2604),
        Doc("Whether the file is read again when it changes.", default="off"),
    ] = None
    policy_watch_debounce: Annotated[
        _Wait | None,
        Since(2604),
        Doc("How long the file must stay as it is before it is read again.", default="5s"),
    ] = None
    per_source: Annotated[
        Switch | None,
        Since(2602),
        Doc("Whether each sender has a limit of its own, from perSourcePolicy.", default="off"),
    ] = None
    per_source_policy: Annotated[
        WordPath | None, Since(2602), Doc("The YAML file of the limits of senders.")
    ] = None
    per_source_max_states: Annotated[
        Positive | None,
        Since(2602),
        Doc(
            "How many senders are counted at once.",
            traps=("Senders beyond that push out others, whose count begins again.",),
        ),
    ] = None
    per_source_top_n: Annotated[
        NonNegative | None,
        Since(2602),
        Doc("How many senders that drop most impstats counts by name."),
    ] = Field(None, alias="perSourceTopN")

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
        for other, name in keys.items()
        if other.lower().replace(".", "") in {f"{stem}interval", f"{stem}burst"}
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
