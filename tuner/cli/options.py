"""What commands take: each is a class with an attribute for each of its arguments and options."""

from __future__ import annotations

import inspect
import re
from collections.abc import Container, Mapping
from enum import Enum
from functools import partial
from pathlib import Path
from typing import get_type_hints

import typer
from typer.models import ParameterInfo

from tuner.cli.console import OutputFormat, Verbosity
from tuner.errors import BadUsage
from tuner.host.programs import CHOSEN_RSYSLOGD

_UNITS_S = {"s": 1, "m": 60, "h": 3600}
_DURATION = re.compile("".join(rf"(?:(?P<{unit}>\d+(?:\.\d+)?){unit})?" for unit in "hms"))


optional = partial(typer.Option, None)
flag = partial(typer.Option, False)


class Arguments:
    """What a command takes.  The docstring of a class is the help of its command, the attributes
    are its arguments and options, those of the class before those of its bases.

    `given` has those that were written on the command line, as the user calls them.
    """

    def __init__(self, given: Mapping[str, str] | None = None, **values: object) -> None:
        self.given = given or {}
        defaults = {name: info.default for name, info in self.parameters().items()}
        vars(self).update(defaults | values)

    @classmethod
    def parameters(cls) -> dict[str, ParameterInfo]:
        """What Typer is to know of each argument and option."""
        attributes = (vars(owner).items() for owner in cls.__mro__)
        return {
            name: value
            for owned in attributes
            for name, value in owned
            if isinstance(value, ParameterInfo)
        }

    @classmethod
    def signature(cls) -> inspect.Signature:
        """The parameters as those of a function."""
        hints, kind = get_type_hints(cls), inspect.Parameter.KEYWORD_ONLY
        return inspect.Signature(
            [
                inspect.Parameter(name, kind, default=info, annotation=hints[name])
                for name, info in cls.parameters().items()
            ]
        )

    def given_beside(self, names: Container[str]) -> list[str]:
        """What was written on the command line but for these."""
        return [spelling for name, spelling in self.given.items() if name not in names]


class EngineChoice(Enum):
    """What a lab indexes into."""

    NODE = "node"
    SINK = "sink"


LOCAL = Path("rsyslog-tune.yaml")
required_profile = partial(
    typer.Argument,
    help="The profile, a YAML file, or a configuration of rsyslog, FILE.conf; - reads a profile "
    "from stdin.",
    allow_dash=True,
)
PROFILE = required_profile(LOCAL)
TEMPLATES = optional(
    metavar="DIR", help="Your own templates, laid over the shipped ones of the same names."
)
RSYSLOGD = optional(
    metavar="PATH",
    envvar=CHOSEN_RSYSLOGD,
    help="The rsyslogd to run, instead of that on PATH: one of another release, or a script that "
    "starts it.",
)
INVENTORY = optional(
    metavar="FILE",
    help="hosts.yaml, or an inventory of Ansible's; without --host all collectors in it, of those "
    "with a `profile` the ones that are to run this one.",
)


class Reporting(Arguments):
    """A command with a result."""

    output: OutputFormat = typer.Option(
        OutputFormat.TEXT, help="Results as text or as JSON on stdout."
    )


class Rendering(Arguments):
    """What is rendered: a whole configuration or a drop-in, by whose templates."""

    fragment: bool = flag(
        "--fragment",
        help="A drop-in for /etc/rsyslog.d beside the host's own configuration, instead of a whole "
        "rsyslog.conf.",
    )
    loaded_modules: list[str] | None = optional(
        "--loaded",
        metavar="MODULE",
        help="With --fragment: a module that the host's configuration loads itself; can be "
        "repeated. imuxsock and imklog are always taken as loaded.",
    )
    templates: Path | None = TEMPLATES


def verbosity_of(quiet: bool, verbose: bool) -> Verbosity:
    """How much to say; raises BadUsage where both were asked for."""
    if quiet and verbose:
        raise BadUsage("--quiet and --verbose cannot be combined")
    if quiet:
        return Verbosity.QUIET
    return Verbosity.VERBOSE if verbose else Verbosity.NORMAL


def duration_s(text: str) -> float:
    """A duration such as `90s`, `5m` or `1h30m` in seconds, larger units first; raises BadUsage."""
    match = _DURATION.fullmatch(text.strip())
    parts = match.groupdict(default="0") if match is not None else {}
    duration = sum(float(number) * _UNITS_S[unit] for unit, number in parts.items())
    if duration == 0:
        raise BadUsage(f"{text!r} is not a duration: use 90s, 5m or 1h30m")
    return duration
