"""The base of the classes that hold a command's arguments and options, and what they share."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache, partial
from itertools import zip_longest
from pathlib import Path
from typing import get_type_hints

import typer
from typer.models import ParameterInfo

from tuner.cli.console import OutputFormat, Verbosity
from tuner.errors import BadUsage
from tuner.host.programs import CHOSEN_RSYSLOGD

_UNITS_S = {"s": 1, "m": 60, "h": 3600}
_DURATION = re.compile("".join(rf"(?:(?P<{unit}>\d+(?:\.\d+)?){unit})?" for unit in "hms"))
# The suffix of the name of a class with a command's arguments.
_ARGUMENTS = "Arguments"

optional = partial(typer.Option, None)
flag = partial(typer.Option, False)


@cache
def docstrings(module: Path) -> dict[str, str]:
    """The docstrings of a module's classes and of their attributes, by qualified name.  They are
    parsed from its source, which is much faster than an import."""
    return dict(_documented(_parsed(module), ""))


@cache
def _parsed(module: Path) -> list[ast.stmt]:
    return ast.parse(module.read_text("utf-8")).body


def command_homes(module: Path) -> dict[str, str]:
    """The commands in a module of tuner.cli.usage, in its order, each with the module of tuner.cli
    that runs it: the one of the same name, unless the command's class is declared with `home`."""
    homes = {}
    for statement in _parsed(module):
        if isinstance(statement, ast.ClassDef) and statement.name.endswith(_ARGUMENTS):
            command = statement.name.removesuffix(_ARGUMENTS).lower()
            keywords = {keyword.arg: keyword.value for keyword in statement.keywords}
            home = keywords.get("home", ast.Constant(command))
            homes[command] = str(ast.literal_eval(home))
    return homes


def usage_class(command: str) -> str:
    """The name of the class with a command's arguments."""
    return f"{command.capitalize()}{_ARGUMENTS}"


def _documented(body: Sequence[ast.stmt], owner: str) -> Iterator[tuple[str, str]]:
    for statement, after in zip_longest(body, body[1:]):
        match statement, after:
            case ast.ClassDef(name), _:
                yield f"{owner}{name}", unwrapped(ast.get_docstring(statement) or "")
                yield from _documented(statement.body, f"{owner}{name}.")
            case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                yield f"{owner}{name}", unwrapped(text)
            case _:
                pass


def unwrapped(text: str) -> str:
    """Put each paragraph on one line for the terminal to wrap: Typer would keep line breaks."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


class Arguments:
    """The arguments and options of a command, each an attribute; those of a class come before those
    of its bases.  The docstring of the class is the help of the command; the one below an attribute
    is its help, unless the attribute declares another.

    `given` maps the attributes set on the command line to the options' names, for messages.
    """

    def __init_subclass__(cls, home: str = "") -> None:
        """`home` is the module of tuner.cli that runs the command; see `command_homes`."""

    def __init__(self, given: Mapping[str, str] | None = None, **values: object) -> None:
        self.given = given or {}
        defaults = {name: info.default for name, info in self.parameters().items()}
        vars(self).update(defaults | values)

    @classmethod
    def help_text(cls) -> str:
        """The help of the command."""
        return docstrings(Path(inspect.getfile(cls)))[cls.__qualname__]

    @classmethod
    def parameters(cls) -> dict[str, ParameterInfo]:
        """Typer's declaration of each argument and option, by attribute."""
        return {
            name: value
            for owner in cls.__mro__
            for name, value in vars(owner).items()
            if isinstance(value, ParameterInfo)
        }

    @classmethod
    def signature(cls) -> inspect.Signature:
        """The signature of a function with these parameters, which Typer reads."""
        hints, kind, parameters = get_type_hints(cls), inspect.Parameter.KEYWORD_ONLY, []
        for name, info in cls.parameters().items():
            owner = next(owner for owner in cls.__mro__ if name in vars(owner))
            texts = docstrings(Path(inspect.getfile(owner)))
            info.help = info.help or texts.get(f"{owner.__qualname__}.{name}")
            parameters.append(inspect.Parameter(name, kind, default=info, annotation=hints[name]))
        return inspect.Signature(parameters)

    def given_beside(self, names: Container[str]) -> list[str]:
        """What the command line sets apart from the attributes `names`, as the user calls it."""
        return [spelling for name, spelling in self.given.items() if name not in names]


class EngineChoice(Enum):
    """What a lab sends events to: a real engine, or the built-in bulk endpoint."""

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
    help="hosts.yaml, or an Ansible inventory; without --host, all its collectors, except those "
    "that have another `profile`.",
)


class Reporting(Arguments):
    """The options of a command that prints a result."""

    output: OutputFormat = typer.Option(OutputFormat.TEXT)
    """Results as text or as JSON on stdout."""


class Rendering(Arguments):
    """How a configuration is rendered: whole or as a drop-in, and with which templates."""

    fragment: bool = flag("--fragment")
    """A drop-in for /etc/rsyslog.d beside the host's own configuration, instead of a whole
    rsyslog.conf."""
    loaded_modules: list[str] | None = optional("--loaded", metavar="MODULE")
    """With --fragment: a module that the host's configuration loads itself; can be repeated.
    imuxsock and imklog are always taken as loaded."""
    templates: Path | None = TEMPLATES


def verbosity_of(quiet: bool, verbose: bool) -> Verbosity:
    """The verbosity that --quiet and --verbose choose; raises BadUsage for both."""
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
