"""The commands, each imported when it is asked for: `--help` and `render` do not wait for what
measuring needs."""

from __future__ import annotations

from importlib import import_module
from keyword import iskeyword
from typing import TYPE_CHECKING

import typer
from typer.core import TyperGroup
from typer.main import get_group

if TYPE_CHECKING:
    # Typer's own copy of Click, which it gives no public name.
    from typer._click import Command, Context

# The first sentences of the commands' own help; a test holds them together.
HELP = {
    "init": "Write a commented first profile that fits this machine; never overwrites a file.",
    "import": "Import an existing rsyslog configuration as a profile.",
    "validate": "Check a profile: schema, lint, then `rsyslogd -N1` on the whole rendered "
    "configuration.",
    "explain": "Explain a key of a profile: what it does, its default, range and pitfalls; an "
    "rsyslog module and its keys; or a lint rule, by the code at the end of its messages.",
    "schema": "Print the JSON Schema of a profile, for editors that complete and check YAML.",
    "render": "Render a profile to files: rsyslog.conf, index and component templates, live "
    "settings, policy, first index, settings of the node.",
    "diff": "Compare a cluster's templates, policies and live settings with the rendered profile, "
    "or what two profiles render.",
    "search": "Search for settings that carry more events per second, and confirm the gain.",
    "bench": "Measure a profile: events per second, delivery, CPU per event, freshness, and what "
    "limits it.",
    "compare": "Compare two profiles in interleaved pairs, or what two searches ended with.",
    "sweep": "Measure the variants of an experiment file side by side, and print them beside what "
    "others published.",
    "flood": "Flood a syslog receiver with messages, and print the rate and the CPU time used.",
    "sink": "Answer bulk requests on loopback until Ctrl-C: counts every event and stores none.",
    "plan": "Plan the machines, shards, queues, disks and network for a stream, from measured, "
    "given or assumed figures.",
    "report": "Rewrite the report of a search from its journal, and print it as Markdown.",
    "doctor": "List what is installed and what is missing; exits with 69 if something is missing.",
    "lab": "A lab that stays until `lab down`: up, status, down.",
}


class Commands(TyperGroup):
    """A group whose commands are names and help until one of them is called."""

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        """The command that `args` begin with, imported, and the arguments left for it."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed if name is None else command(name), rest


def command(name: str) -> Command:
    """The command called `name`, from the module of that name."""
    spelled = f"{name}_" if iskeyword(name) else name
    module = import_module(f"tuner.cli.{spelled}")
    around = typer.Typer(add_completion=False)
    if hasattr(module, "app"):
        around.add_typer(module.app, name=name)
    else:
        around.command(name)(getattr(module, spelled))
        around.callback()(_nothing)
    return get_group(around).commands[name]


def add_commands(app: typer.Typer) -> None:
    """Give `app`, whose class is Commands, every command by name."""
    for name, text in HELP.items():
        app.command(name, help=text)(_nothing)


def _nothing() -> None:
    """Stands for a command that is not imported yet."""
