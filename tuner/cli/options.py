"""Arguments and options that several commands share, and the profile that they name."""

from __future__ import annotations

import re
from collections.abc import Container
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.console import OutputFormat, Verbosity
from tuner.errors import BadUsage
from tuner.host.programs import CHOSEN_RSYSLOGD

_UNITS_S = {"s": 1, "m": 60, "h": 3600}
_DURATION = re.compile("".join(rf"(?:(?P<{unit}>\d+(?:\.\d+)?){unit})?" for unit in "hms"))


class EngineChoice(Enum):
    """What a lab indexes into."""

    NODE = "node"
    SINK = "sink"


ProfilePath = Annotated[
    Path,
    typer.Argument(
        help="The profile, a YAML file, or a configuration of rsyslog, FILE.conf; - reads a "
        "profile from stdin.",
        allow_dash=True,
    ),
]
LOCAL = Path("rsyslog-tune.yaml")
TemplatesOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Your own templates, laid over the shipped ones of the same names."
    ),
]
FragmentOption = Annotated[
    bool,
    typer.Option(
        "--fragment",
        help="A drop-in for /etc/rsyslog.d beside the host's own configuration, instead of a whole "
        "rsyslog.conf.",
    ),
]
LoadedOption = Annotated[
    list[str] | None,
    typer.Option(
        "--loaded",
        metavar="MODULE",
        help="With --fragment: a module that the host's configuration loads itself; can be "
        "repeated. imuxsock and imklog are always taken as loaded.",
    ),
]
OutputOption = Annotated[OutputFormat, typer.Option(help="Results as text or as JSON on stdout.")]
EngineOption = Annotated[
    EngineChoice,
    typer.Option(
        help="node: a real engine, of the major version that the profile names. sink: the built-in "
        "bulk endpoint, which counts events and stores none; it needs no Java and shows rsyslog's "
        "own ceiling."
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print only results and errors.")]
ClusterOption = Annotated[
    bool,
    typer.Option(
        "--cluster",
        help="Measure on the cluster that is up: a run at a time on each lab, or on one pipeline "
        "across collector and load hosts.",
    ),
]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print every stage of a trial, and its figures.")
]
RsyslogdOption = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        envvar=CHOSEN_RSYSLOGD,
        help="The rsyslogd to run, instead of that on PATH: one of another release, or a script "
        "that starts it.",
    ),
]
UrlOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Use an existing Elasticsearch or OpenSearch. Only indices and templates named "
        "rsyslog-tune-* are created in it, and they are removed afterwards.",
    ),
]


HostsOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="HOST",
        help="A host of the inventory, by its name; without an inventory its address: "
        "ssh://USER@HOST:PORT, local://, or a name for ssh. Can be repeated.",
    ),
]
InventoryOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="hosts.yaml, or an inventory of Ansible's; without --host all collectors in it, of "
        "those with a `profile` the ones that are to run this one.",
    ),
]
EngineUrlOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="The engine as this machine reaches it; by default the first of the profile's "
        "servers.",
    ),
]
SkipEngineOption = Annotated[
    bool,
    typer.Option("--skip-engine", help="Leave the engine out: change, compare and read nothing."),
]
ConfirmWithinOption = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION",
        help="The hosts restore themselves after so long (2m), whatever becomes of this machine, "
        "unless rsyslog-tune confirm comes first.",
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
SerialOption = Annotated[int, typer.Option(min=1, help="Hosts at once.")]


JsonFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the results to FILE as JSON, whatever is printed."),
]
MarkdownFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write the results to FILE as Markdown, whatever is printed."
    ),
]
MetricsFileOption = Annotated[
    Path | None,
    typer.Option(
        "--metrics-file",
        metavar="FILE.prom",
        dir_okay=False,
        help="Keep metrics of the run in this file, in Prometheus' text format, for the textfile "
        "collector of node_exporter.",
    ),
]


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


def given_beside(context: typer.Context, others: Container[str]) -> list[str]:
    """The options and the profile that were written on the command line, but for `others`."""
    sources = {
        parameter: context.get_parameter_source(parameter.name or "")
        for parameter in context.command.params
        if parameter.name not in others
    }
    return [
        parameter.opts[0] if parameter.param_type_name == "option" else "the profile"
        for parameter, source in sources.items()
        if source is not None and source.name != "DEFAULT"
    ]
