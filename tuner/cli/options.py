"""What commands take: each is a class with an attribute for each of its arguments and options."""

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
# How the name of a class with a command's arguments ends.
_ARGUMENTS = "Arguments"

optional = partial(typer.Option, None)
flag = partial(typer.Option, False)


@cache
def docstrings(module: Path) -> dict[str, str]:
    """The docstrings of a module's classes and of their attributes, by qualified names.  They are
    read from its text, which takes a fraction of an import."""
    return dict(_documented(_parsed(module), ""))


@cache
def _parsed(module: Path) -> list[ast.stmt]:
    return ast.parse(module.read_text("utf-8")).body


def command_homes(module: Path) -> dict[str, str]:
    """The commands whose arguments a module of tuner.cli.usage has, in its order: for each, the
    module of tuner.cli that carries it out, which is of its name unless its class says `home`."""
    homes = {}
    for statement in _parsed(module):
        if isinstance(statement, ast.ClassDef) and statement.name.endswith(_ARGUMENTS):
            command = statement.name.removesuffix(_ARGUMENTS).lower()
            given = {keyword.arg: keyword.value for keyword in statement.keywords}
            home = given.get("home", ast.Constant(command))
            homes[command] = str(ast.literal_eval(home))
    return homes


def usage_class(command: str) -> str:
    """The name of the class with a command's arguments."""
    return f"{command.capitalize()}{_ARGUMENTS}"


def _documented(body: Sequence[ast.stmt], owner: str) -> Iterator[tuple[str, str]]:
    for statement, after in zip_longest(body, body[1:]):
        match statement, after:
            case ast.ClassDef(name), _:
                yield f"{owner}{name}", flowing(ast.get_docstring(statement) or "")
                yield from _documented(statement.body, f"{owner}{name}.")
            case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                yield f"{owner}{name}", flowing(text)
            case _:
                pass


def flowing(text: str) -> str:
    """Each paragraph on one line, for the terminal to break; Typer keeps breaks as they are."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


class Arguments:
    """What a command takes.  The docstring of a class is the help of its command; its attributes
    are the arguments and options, those of the class before those of its bases, and the docstring
    below one is its help, where that is not given.

    `given` has those that were written on the command line, as the user calls them.
    """

    def __init_subclass__(cls, home: str = "") -> None:
        """`home` is the module of tuner.cli that carries the command out; see `command_homes`."""

    def __init__(self, given: Mapping[str, str] | None = None, **values: object) -> None:
        self.given = given or {}
        defaults = {name: info.default for name, info in self.parameters().items()}
        vars(self).update(defaults | values)

    @classmethod
    def says(cls) -> str:
        """What a command says of itself."""
        return docstrings(Path(inspect.getfile(cls)))[cls.__qualname__]

    @classmethod
    def parameters(cls) -> dict[str, ParameterInfo]:
        """What Typer is to know of each argument and option."""
        return {
            name: value
            for owner in cls.__mro__
            for name, value in vars(owner).items()
            if isinstance(value, ParameterInfo)
        }

    @classmethod
    def signature(cls) -> inspect.Signature:
        """The parameters as those of a function."""
        hints, kind, taken = get_type_hints(cls), inspect.Parameter.KEYWORD_ONLY, []
        for name, info in cls.parameters().items():
            owner = next(owner for owner in cls.__mro__ if name in vars(owner))
            texts = docstrings(Path(inspect.getfile(owner)))
            info.help = info.help or texts.get(f"{owner.__qualname__}.{name}")
            taken.append(inspect.Parameter(name, kind, default=info, annotation=hints[name]))
        return inspect.Signature(taken)

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

    output: OutputFormat = typer.Option(OutputFormat.TEXT)
    """Results as text or as JSON on stdout."""


class Rendering(Arguments):
    """What is rendered: a whole configuration or a drop-in, by whose templates."""

    fragment: bool = flag("--fragment")
    """A drop-in for /etc/rsyslog.d beside the host's own configuration, instead of a whole
    rsyslog.conf."""
    loaded_modules: list[str] | None = optional("--loaded", metavar="MODULE")
    """With --fragment: a module that the host's configuration loads itself; can be repeated.
    imuxsock and imklog are always taken as loaded."""
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
