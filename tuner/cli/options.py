"""Arguments and options that several commands share, and the profile that they name."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.console import OutputFormat, Verbosity, say, say_last
from tuner.errors import BadUsage, ProgramMissing
from tuner.host.programs import CHOSEN_RSYSLOGD, rsyslog_version
from tuner.lint.lint import summary
from tuner.lint.load import LoadedProfile, load_profile, parse_profile, snippets_of
from tuner.profile.starter import on_top_of
from tuner.rainerscript.native_yaml import is_native_yaml
from tuner.render.assets import asset
from tuner.render.form import Form
from tuner.render.templates import Templates
from tuner.rule import Rank
from tuner.schema.scalars import as_name

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


def verbosity_of(quiet: bool, verbose: bool) -> Verbosity:
    """How much to say; raises BadUsage where both were asked for."""
    if quiet and verbose:
        raise BadUsage("--quiet and --verbose cannot be combined")
    if quiet:
        return Verbosity.QUIET
    return Verbosity.VERBOSE if verbose else Verbosity.NORMAL


def templates_of(folder: Path | None) -> Templates | None:
    """The site's templates over the shipped ones; None for the shipped ones alone."""
    return None if folder is None else Templates(folder)


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


# What the configuration of Debian and its like loads.
_LOADED_BY_HOST = ("imuxsock", "imklog")


CONFIGURATION = ".conf"
"""What the name of a file of rsyslog's ends with."""


def require_configuration(conf: Path | None, profile: Path | None) -> None:
    """Raise BadUsage where `--conf` stands beside a profile, or names what is read as one."""
    if conf is not None and profile is not None:
        raise BadUsage(f"--conf {conf} is in place of a profile: remove {profile} or --conf")
    if conf is not None and is_native_yaml(str(conf)):
        load_profile(conf)  # Says what to do with rsyslog's own YAML.
    if conf is not None and conf.suffix != CONFIGURATION:
        raise BadUsage(
            f"--conf {conf}: the name of a configuration ends in {CONFIGURATION}; name a profile "
            "without --conf"
        )


def read_profile(path: Path, sample: Path | None = None) -> LoadedProfile:
    """The profile; a configuration of rsyslog, a file that ends in .conf, is the base of one that
    says nothing else but the release of the rsyslogd here, and the sample of its traffic.  Raises
    BadUsage where none is named and none lies here."""
    if path == LOCAL and not path.exists():
        raise BadUsage(
            f"no profile is named, and there is no {LOCAL} here: name one, or make one with "
            f"rsyslog-tune init, or of a configuration with rsyslog-tune import FILE -o {LOCAL}"
        )
    if path.suffix == CONFIGURATION:
        return parse_profile(_on_top_of(path, sample), str(path))
    return load_profile(path)


def load(path: Path, sample: Path | None = None) -> LoadedProfile:
    """The profile, its warnings of lost events said at the end, the others counted; see
    read_profile."""
    loaded = read_profile(path, sample)
    say_last(summary(loaded.warnings, Rank.LOSS))
    return loaded


def _on_top_of(path: Path, sample: Path | None) -> str:
    learnt = None if sample is None else str(sample.absolute())
    return on_top_of(path.name, name_for(path), _release_here(), sample=learnt)


def _release_here() -> str | None:
    """The release of the rsyslogd here.  Where none is installed it says so and gives None: what
    needs one stops later."""
    try:
        return rsyslog_version()
    except ProgramMissing as missing:
        say(f"release.rsyslog is the default: {missing}")
        return None


def load_or_default(path: Path | None) -> LoadedProfile:
    """The profile named, else rsyslog-tune.yaml in this folder, else the shipped default."""
    if path is not None:
        return load(path)
    return load(LOCAL if LOCAL.exists() else Path(str(asset("profiles", "default.yaml"))))


def form_of(loaded: LoadedProfile, fragment: bool, by_host: Sequence[str] | None) -> Form:
    """How the profile is to be rendered, its snippets read; raises BadUsage and BadProfile."""
    if by_host and not fragment:
        raise BadUsage("--loaded needs --fragment: a whole configuration loads its modules itself")
    modules = frozenset((*_LOADED_BY_HOST, *(by_host or ()))) if fragment else frozenset[str]()
    return Form(snippets_of(loaded), fragment, modules)


def name_for(profile: Path) -> str:
    """The name of a profile in that file: the file's, as far as names may be spelled so."""
    word = as_name(profile.stem)[:100]
    # rsyslogd calls no ruleset whose name is one letter (seen on 8.2302).
    return word if word[:1].isalpha() and len(word) > 1 and profile != LOCAL else "starter"
