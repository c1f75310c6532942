"""The command rsyslog-tune: wires the commands together and turns failures into exit codes."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated

import typer

from tuner import __version__
from tuner.cli.commands import Commands, add_commands
from tuner.cli.console import printable
from tuner.errors import BadProfile, Interrupted, TuneError, of_the_system
from tuner.host.signals import end_orderly, received

_EXIT_CODES = (
    "Exit codes: 0 done, 1 failed, 2 differences found, 3 warnings under --strict, 4 unreachable, "
    "5 refused, 6 guardrail breached or delivery incomplete, 7 no improvement under "
    "--require-gain or below the bar of --fail-below, 64 usage, 69 a program is missing, 70 a bug, "
    "75 locked by another run, 78 bad profile or template, 130 interrupted, 143 terminated."
)

app = typer.Typer(
    name="rsyslog-tune",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EXIT_CODES,
)
add_commands(app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rsyslog-tune {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Render rsyslog and Elasticsearch configuration from one profile, and measure, on your own
    machines, which settings carry the most events per second."""


def main() -> None:
    """Run the command line; every failure becomes one message and its documented exit code."""
    end_orderly()
    # numpy's linear algebra would start a thread for each core, beside the pipeline that is being
    # measured on them; our matrices are small.  It reads this when it is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        app()
    except BadProfile as error:
        # Each line begins with file:line:column, as editors expect it.
        typer.echo(printable(str(error)), err=True)
        sys.exit(error.exit_code)
    except (TuneError, Interrupted) as error:
        typer.echo(printable(f"rsyslog-tune: {error}"), err=True)
        sys.exit(error.exit_code)
    except SystemExit as end:
        # Typer ends with 2 for a usage error; 2 means "differences found" here.
        sys.exit(64 if end.code == 2 else end.code)
    except OSError as error:
        typer.echo(printable(f"rsyslog-tune: {of_the_system(error)}"), err=True)
        sys.exit(1)
    except Exception:  # noqa: BLE001 - the one place where a bug becomes an exit code
        stopped = received()
        if stopped is not None:
            typer.echo(f"rsyslog-tune: {stopped}", err=True)
            sys.exit(stopped.exit_code)
        traceback.print_exc()
        typer.echo("rsyslog-tune: this is a bug, please report it with the lines above", err=True)
        sys.exit(70)
