"""The table of commands, which are imported only when they run, and the exit codes of failures.

Arguments and help are in tuner.cli.usage, which imports nothing that a command needs to run.
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
from tuner.cli.console import printable, say_deferred
from tuner.cli.options import Arguments, command_homes, docstrings, usage_class
from tuner.host.programs import choose_rsyslogd
from tuner.host.signals import install_handlers, received

if TYPE_CHECKING:
    # Typer's own copy of Click, which it gives no public name.
    from typer._click import Command, Context

_USAGE = Path(__file__).with_name("usage")
# The commands, in the order of `--help`: each with the module of tuner.cli.usage that has its
# arguments, and the module here that has the function of its name.
COMMANDS = {
    name: (module, home)
    for module in ("profiles", "measuring", "traffic", "hosts")
    for name, home in command_homes(_USAGE / f"{module}.py").items()
}
_FUNCTIONS = {"import": "import_", "test": "run_cases"}
_HIDDEN = ("versions", "member")


class Commands(TyperGroup):
    """A group that knows only the names and help of its commands until one is called."""

    def list_commands(self, _: Context) -> list[str]:
        """The names of all commands, in order."""
        return list(COMMANDS)

    def get_command(self, _: Context, cmd_name: str) -> Command | None:
        """A placeholder for a command, with its summary for the list."""
        summary = summaries().get(cmd_name)
        return None if summary is None else TyperCommand(cmd_name, help=summary)

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        """Import the command that `args` name first; the command and its own arguments."""
        name, listed, arguments = super().resolve_command(ctx, args)
        _refuse_empty(arguments)
        return name, listed if name is None else command(name), arguments

    def invoke(self, ctx: Context) -> object:
        """Run the command; an error in an option gets a message without Typer's terms."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = _plain_message(error)
            raise


def _refuse_empty(words: list[str]) -> None:
    """Raise BadUsage for an empty argument: as a path it would mean the current folder."""
    for before, word in pairwise(("", *words)):
        if word == "" or (word.startswith("--") and word.endswith("=")):
            name = word or (before if before.startswith("-") else "an argument")
            raise errors.BadUsage(
                f"{name} is empty, as of a variable that is not set: give it a value"
            )


_HINTS = {
    "greater_than_equal": "use {ge} or more",
    "less_than_equal": "use {le} or less",
    "int_parsing": "use a whole number",
    "float_parsing": "use a number",
}


def _plain_message(error: typer.BadParameter) -> str:
    """Why a value is refused, without the terms of pydantic, which parses it for Typer."""
    # Imported here because it is slow, and `--help` does not need it.
    from pydantic_core import ValidationError

    if not isinstance(error.__cause__, ValidationError):
        return error.message
    detail = error.__cause__.errors()[0]
    if detail["type"] not in _HINTS:
        return detail["msg"].removeprefix("Value error, ")
    hint = _HINTS[detail["type"]].format(**detail.get("ctx", {}))
    return f"{detail['input']} does not fit: {hint}"


def summaries() -> dict[str, str]:
    """The first paragraph of each command's help, read from the source of tuner.cli.usage:
    importing that would double the time of `--help`."""
    return {
        name: docstrings(_USAGE / f"{module}.py")[usage_class(name)].partition("\n\n")[0]
        for name, (module, _) in COMMANDS.items()
    }


def command(name: str) -> Command:
    """The command `name` with its arguments; its own module is imported when it runs."""
    module, home = COMMANDS[name]
    usage: type[Arguments] = getattr(import_module(f"tuner.cli.usage.{module}"), usage_class(name))
    root = typer.Typer(add_completion=False)
    root.callback()(lambda: None)
    if parts := [part for part in vars(usage).values() if isinstance(part, type)]:
        group = typer.Typer(no_args_is_help=True, help=usage.help_text())
        root.add_typer(group, name=name)
        for part in parts:
            inner = part.__name__.lower()
            group.command(inner, hidden=inner in _HIDDEN)(_runner(part, home, inner))
    else:
        root.command(name)(_runner(usage, home, _FUNCTIONS.get(name, name)))
    return get_group(root).commands[name]


def _runner(usage: type[Arguments], home: str, name: str) -> Callable[..., None]:
    """A function that calls `name` of the module `home` with the arguments of the command line."""

    def run_command(context: typer.Context, **values: object) -> None:
        options = usage(_options_given(context), **values)
        choose_rsyslogd(getattr(options, "rsyslogd", None))
        getattr(import_module(f"tuner.cli.{home}"), name)(options)

    run_command.__doc__ = usage.help_text()
    for parameter in usage.parameters().values():
        # Our own check on reading gives unreadable files one message and one exit code.
        parameter.readable = False
    parameters = usage.signature().parameters.values()
    first = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    signature = inspect.Signature([first, *parameters])
    vars(run_command)["__signature__"] = signature
    run_command.__annotations__ = {param.name: param.annotation for param in (first, *parameters)}
    return run_command


def _options_given(context: typer.Context) -> dict[str, str]:
    """The arguments on the command line: for each attribute, the option as it is named there."""
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


def _version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"rsyslog-tune {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    _version_flag: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Render rsyslog and Elasticsearch configuration from one profile, and measure, on your own
    machines, which settings carry the most events per second."""
    context.call_on_close(say_deferred)


def _missing_library(error: Exception) -> errors.ProgramMissing | None:
    """The error for an optional library that is not installed; None for other errors."""
    library = error.name if isinstance(error, ModuleNotFoundError) else None
    name = next((word for word in sys.argv[1:] if word in COMMANDS), "this command")
    return None if library is None else errors.library_missing(library.partition(".")[0], name)


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
        missing = _missing_library(error)
        if missing is not None:
            typer.echo(f"rsyslog-tune: {missing}", err=True)
            sys.exit(missing.exit_code)
        interruption = received()
        if interruption is not None:
            typer.echo(f"rsyslog-tune: {interruption}", err=True)
            sys.exit(interruption.exit_code)
        # Imported here because it is slow, and `--help` does not need it.
        from tuner.script.secrets import hidden

        typer.echo(printable(hidden(traceback.format_exc().rstrip())), err=True)
        typer.echo("rsyslog-tune: this is a bug, please report it with the lines above", err=True)
        sys.exit(70)
