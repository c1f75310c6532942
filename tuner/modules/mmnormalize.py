"""mmnormalize: the rules of liblognorm."""

from typing import Literal

from tuner.schema.scalars import Switch, WordPath
from tuner.schema.section import RsyslogSection, parameter


class NormalizeParse(RsyslogSection):
    """The rules of a liblognorm rulebase, by mmnormalize: a path on the host that runs rsyslog.

    What a rule names becomes JSON, and fields find it as they find JSON.
    """

    format: Literal["normalize"] = parameter(
        "normalize: the rules of a liblognorm rulebase, by mmnormalize.", value=...
    )
    rulebase: WordPath = parameter(
        "The file of liblognorm rules, a path on the host that runs rsyslog; a field "
        "finds what a rule names by json.",
        "A body of RFC 3164 begins with the blank after its tag: so must the "
        "rules, unless useRawMsg is on.",
        "Where rsyslogd cannot read the file, its -N1 refuses the configuration, "
        "but it starts and leaves every field empty.",
        "A name with a dot in a rule is not a path: rename it.",
        value=...,
    )
    use_raw_msg: Switch = parameter(
        "Whether the whole message is parsed instead of its body.", value=False
    )
    turbo: Switch | None = parameter(
        "Whether the rules are compiled, which is faster.",
        "Only some builds of rsyslog know it: Debian's 8.2610 does not.",
        since=2608,
        default="off",
    )
