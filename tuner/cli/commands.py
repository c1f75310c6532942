"""The commands, each imported when it runs, and the exit codes of their failures.

What `--help` says stands in tuner.cli.usage, which does not wait for what a command needs.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from tuner import __version__, errors
from tuner.cli.console import printable, say_what_waited
from tuner.cli.options import Arguments, docstrings
from tuner.host.programs import choose_rsyslogd
from tuner.host.signals import install_handlers, received

if TYPE_CHECKING:
    # Typer's own copy of Click, which it gives no public name.
    from typer._click import Command, Context

# The commands, in the order of the list, each with the module of tuner.cli.usage that says what it
# takes in a class of its name, and the module here that carries it out in a function of its name.
COMMANDS = {
    "init": ("profiles", "first_profile"), "import": ("profiles", "first_profile"),
    "advise": ("profiles", "advise"), "validate": ("profiles", "validate"),
    "test": ("profiles", "cases"), "explain": ("profiles", "explain"),
    "schema": ("profiles", "explain"), "render": ("profiles", "render"),
    "diff": ("profiles", "render"), "search": ("measuring", "search"),
    "diagnose": ("hosts", "diagnose"), "workload": ("traffic", "traffic"),
    "bench": ("measuring", "bench"), "compare": ("measuring", "bench"),
    "sweep": ("measuring", "bench"), "flood": ("traffic", "traffic"),
    "sink": ("traffic", "traffic"), "plan": ("measuring", "plan"), "apply": ("hosts", "apply"),
    "confirm": ("hosts", "apply"), "verify": ("hosts", "apply"), "recover": ("hosts", "apply"),
    "report": ("measuring", "search"), "doctor": ("hosts", "doctor"), "lab": ("hosts", "lab"),
    "cluster": ("hosts", "cluster"),
}  # fmt: skip
_FUNCTIONS = {"import": "import_", "test": "run_cases"}
_HIDDEN = ("versions", "member")


class Commands(TyperGroup):
    """A group whose commands are names and help until one of them is called."""

    def list_commands(self, _: Context) -> list[str]:
        """All names."""
        return list(COMMANDS)

    def get_command(self, _: Context, cmd_name: str) -> Command | None:
        """What stands for a command in the list."""
        summary = summaries().get(cmd_name)
        return None if summary is None else TyperCommand(cmd_name, help=summary)

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        """The command that `args` begin with, imported, and the arguments left for it."""
        name, listed, arguments = super().resolve_command(ctx, args)
        _require_no_empty(arguments)
        return name, listed if name is None else command(name), arguments

    def invoke(self, ctx: Context) -> object:
        """Run the command; what does not fit an option is said in plain words."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as wrong:
            wrong.message = _in_plain_words(wrong)
            raise


def _require_no_empty(words: list[str]) -> None:
    """Raise BadUsage for an empty argument: an empty path would be the folder that one is in."""
    for before, word in pairwise(("", *words)):
        if word == "" or (word.startswith("--") and word.endswith("=")):
            name = word or (before if before.startswith("-") else "an argument")
            raise errors.BadUsage(
                f"{name} is empty, as of a variable that is not set: give it a value"
            )


_WANTED = {
    "greater_than_equal": "use {ge} or more",
    "less_than_equal": "use {le} or less",
    "int_parsing": "use a whole number",
    "float_parsing": "use a number",
}


def _in_plain_words(wrong: typer.BadParameter) -> str:
    """Why a value is refused, without the words of pydantic, by which Typer reads values."""
    # Only here: `--help` does not wait for it.
    from pydantic_core import ValidationError

    if not isinstance(wrong.__cause__, ValidationError):
        return wrong.message
    detail = wrong.__cause__.errors()[0]
    if detail["type"] not in _WANTED:
        return detail["msg"].removeprefix("Value error, ")
    wanted = _WANTED[detail["type"]].format(**detail.get("ctx", {}))
    return f"{detail['input']} does not fit: {wanted}"


def summaries() -> dict[str, str]:
    """The first paragraph of what each command says of itself, without an import of what they
    take: `--help` lasted twice as long with that."""
    usage = Path(__file__).with_name("usage")
    return {
        name: docstrings(usage / f"{module}.py")[_usage_of(name)].partition("\n\n")[0]
        for name, (module, _) in COMMANDS.items()
    }


def _usage_of(name: str) -> str:
    """The name of the class that says what a command takes."""
    return f"{name.capitalize()}Arguments"


def command(name: str) -> Command:
    """The command called `name`, with what it takes; what it does is imported when it runs."""
    module, home = COMMANDS[name]
    usage: type[Arguments] = getattr(import_module(f"tuner.cli.usage.{module}"), _usage_of(name))
    around = typer.Typer(add_completion=False)
    around.callback()(lambda: None)
    if parts := [part for part in vars(usage).values() if isinstance(part, type)]:
        group = typer.Typer(no_args_is_help=True, help=usage.says())
        around.add_typer(group, name=name)
        for part in parts:
            inner = part.__name__.lower()
            group.command(inner, hidden=inner in _HIDDEN)(_running(part, home, inner))
    else:
        around.command(name)(_running(usage, home, _FUNCTIONS.get(name, name)))
    return get_group(around).commands[name]


def _running(usage: type[Arguments], home: str, name: str) -> Callable[..., None]:
    """Calls the function of that name in the module `home` with what was given."""

    def run_command(context: typer.Context, **values: object) -> None:
        options = usage(_given(context), **values)
        choose_rsyslogd(getattr(options, "rsyslogd", None))
        getattr(import_module(f"tuner.cli.{home}"), name)(options)

    run_command.__doc__ = usage.says()
    for parameter in usage.parameters().values():
        # What may not be read is said where it is read, with one exit code.
        parameter.readable = False
    taken = usage.signature().parameters.values()
    first = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    signature = inspect.Signature([first, *taken])
    vars(run_command)["__signature__"] = signature
    run_command.__annotations__ = {one.name: one.annotation for one in (first, *taken)}
    return run_command


def _given(context: typer.Context) -> dict[str, str]:
    """What was written on the command line, by the names of the attributes."""
    given = {}
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is not None and source.name != "DEFAULT":
            is_option = parameter.param_type_name == "option"
            given[parameter.name or ""] = parameter.opts[0] if is_option else "the profile"
    return given


_EXIT_CODES = (
    "Exit codes: 0 done, 1 failed, 2 differences found, 3 warnings under --strict, 4 unreachable, "
    "5 refused, 6 guardrail breached or delivery incomplete, 7 no improvement under "
    "--require-gain or below the bar of --fail-below, 64 usage, 69 a program is missing, 70 a bug, "
    "75 locked by another run, 78 bad profile, template or file of cases, 129 its terminal was "
    "closed, 130 interrupted, 143 terminated."
)

app = typer.Typer(
    name="rsyslog-tune",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EXIT_CODES,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rsyslog-tune {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    _wanted: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Render rsyslog and Elasticsearch configuration from one profile, and measure, on your own
    machines, which settings carry the most events per second."""
    context.call_on_close(say_what_waited)


def _lacking(error: Exception) -> errors.ProgramMissing | None:
    """What to install where a library is not there that not every command needs."""
    library = error.name if isinstance(error, ModuleNotFoundError) else None
    asked = next((word for word in sys.argv[1:] if word in COMMANDS), "this command")
    return None if library is None else errors.library_missing(library.partition(".")[0], asked)


def run() -> None:
    """Run the command line; every failure becomes one message and its documented exit code."""
    try:
        install_handlers()
        app()
    except errors.BadProfile as error:
        # Each line begins with file:line:column, as editors expect it.
        typer.echo(printable(str(error)), err=True)
        sys.exit(error.exit_code)
    except (errors.TuneError, errors.Interrupted) as error:
        typer.echo(printable(f"rsyslog-tune: {error}"), err=True)
        sys.exit(error.exit_code)
    except SystemExit as end:
        # Typer ends with 2 for a usage error; 2 means "differences found" here.
        sys.exit(64 if end.code == 2 else end.code)
    except OSError as error:
        typer.echo(printable(f"rsyslog-tune: {errors.of_the_system(error)}"), err=True)
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - the one place where a bug becomes an exit code
        lacks = _lacking(error)
        if lacks is not None:
            typer.echo(f"rsyslog-tune: {lacks}", err=True)
            sys.exit(lacks.exit_code)
        stopped = received()
        if stopped is not None:
            typer.echo(f"rsyslog-tune: {stopped}", err=True)
            sys.exit(stopped.exit_code)
        # Only here: `--help` does not wait for it.
        from tuner.script.secrets import hidden

        typer.echo(printable(hidden(traceback.format_exc().rstrip())), err=True)
        typer.echo("rsyslog-tune: this is a bug, please report it with the lines above", err=True)
        sys.exit(70)
