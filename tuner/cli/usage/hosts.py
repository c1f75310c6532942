"""What the commands about hosts take, and what they say of themselves."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.console import (
    OutputFormat,
)
from tuner.cli.options import (
    ConfirmWithinOption,
    EngineUrlOption,
    FragmentOption,
    HostsOption,
    InventoryOption,
    LoadedOption,
    OutputOption,
    ProfilePath,
    SerialOption,
    SkipEngineOption,
    TemplatesOption,
    YesOption,
)

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE...",
        help="What impstats wrote, rotated and gzipped files too; - is stdin.",
        allow_dash=True,
        show_default=False,
    ),
]

ProfileOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The profile that runs, to name its settings."),
]

ConfOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The configuration of rsyslog that runs, to name its settings.",
    ),
]

HostOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOST",
        help="Read the counters of this host, from FILE or the log.file of its configuration, "
        "which names the settings too: one of the inventory by its name, or an address such as "
        "ssh://USER@HOST. Only reads.",
    ),
]

ForOption = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="TIME",
        help="With --host: wait that long, such as 5m, and diagnose only what is counted "
        "meanwhile.",
    ),
]

DiagnoseEngineOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Read the newest day of counters from an index of this Elasticsearch or OpenSearch; "
        "--profile says how to log in. Only reads.",
    ),
]

IndexOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="With --elasticsearch: the index, data stream or pattern with them."
    ),
]


class FailOn(Enum):
    """From which effect on a finding makes the command exit with 2."""

    LOST = "lost"
    LATE = "late"
    ANY = "any"


FailOnOption = Annotated[
    FailOn,
    typer.Option(
        help="Exit with 2 for events that are lost, for those that are late too, or for any "
        "finding."
    ),
]

WorkloadOption = Annotated[
    Path | None,
    typer.Option(
        metavar="PROFILE",
        help="Write the peak rate, the mean size and the number of sessions into the workload "
        "of this profile, for bench, search and plan.",
    ),
]

PageOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write a page with plots to this file too (HTML)."),
]


def diagnose(
    files: Files = None,
    profile: ProfileOption = None,
    conf: ConfOption = None,
    host: HostOption = None,
    inventory: InventoryOption = None,
    duration: ForOption = None,
    elasticsearch: DiagnoseEngineOption = None,
    index: IndexOption = None,
    fail_on: FailOnOption = FailOn.ANY,
    write_workload: WorkloadOption = None,
    page: PageOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Diagnose a production rsyslogd from the counters that impstats writes: what is lost or late,
    why, and what to change.

    It reads every format, with syslog heads or not, of files in any order, or of an index.  It
    changes nothing and needs no rsyslogd.  Exit code 0: nothing found; 2: findings; 1: no counters
    there.
    """


_Planned = Annotated[
    Path, typer.Argument(metavar="PROFILE", help="The profile, or a plan of --plan-out.")
]

_Check = Annotated[
    bool,
    typer.Option("--check", "--diff", help="Change nothing; print what would, exit with 2 then."),
]

_PlanOut = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Change nothing; write what would change, for apply FILE to do exactly that.",
    ),
]

_AllOrNone = Annotated[
    bool,
    typer.Option("--all-or-none", help="Restore every host when one fails, not that one only."),
]

_EventWithin = Annotated[
    str,
    typer.Option(
        metavar="DURATION", help="How soon an event sent on each host must be found in the engine."
    ),
]

_TakeOver = Annotated[
    bool,
    typer.Option(
        "--take-over", help="Replace files and templates that rsyslog-tune did not make, too."
    ),
]


def apply(
    profile: _Planned,
    host: HostsOption = None,
    inventory: InventoryOption = None,
    fragment: FragmentOption = False,
    loaded_modules: LoadedOption = None,
    templates: TemplatesOption = None,
    elasticsearch: EngineUrlOption = None,
    skip_engine: SkipEngineOption = False,
    check: _Check = False,
    plan_out: _PlanOut = None,
    yes: YesOption = False,
    serial: SerialOption = 1,
    all_or_none: _AllOrNone = False,
    confirm_within: ConfirmWithinOption = None,
    event_within: _EventWithin = "30s",
    no_event: Annotated[bool, typer.Option("--no-event", help="Send no test event.")] = False,
    take_over: _TakeOver = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Apply a profile to hosts and engine: validated there, backed up, replaced at once, checked
    with an event, and restored if anything fails.

    Shows what changes and asks.  Exits with 0 when nothing is left to do, with 1 when a host
    refused it or did not start and was restored, with 6 when the event did not come, with 4 when
    a host cannot be reached, with 5 when a guard refused or you declined, with 75 when another
    change is under way.
    """


def confirm(output: OutputOption = OutputFormat.TEXT) -> None:
    """Keep what `apply --confirm-within` applied: the hosts will not restore themselves.

    Also finishes `apply --all-or-none` where a host was lost at its end.  Exits with 1 when
    nothing waits, or a host was restored already or cannot be reached.
    """


def verify(
    profile: ProfilePath,
    host: HostsOption = None,
    inventory: InventoryOption = None,
    fragment: FragmentOption = False,
    loaded_modules: LoadedOption = None,
    templates: TemplatesOption = None,
    elasticsearch: EngineUrlOption = None,
    skip_engine: SkipEngineOption = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Compare hosts and engine with the profile: files, process, ports, versions, packages,
    secrets, certificates, limits, templates and settings.

    Only reads.  Exits with 0 when all is as the profile says, else with 2 and what differs.
    """


_Previous = Annotated[
    bool,
    typer.Option(
        "--previous",
        help="Undo the last apply that was finished: that of this machine, or of --host and "
        "--inventory on those hosts.",
    ),
]


def recover(
    host: HostsOption = None,
    inventory: InventoryOption = None,
    previous: _Previous = False,
    yes: YesOption = False,
    serial: SerialOption = 1,
    confirm_within: ConfirmWithinOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Restore what an apply left that did not end: files, service, timers, the engine's objects.

    Undoes what this machine began, also what still waits for confirm; with --host or --inventory
    what anybody began on those hosts.  Done twice it changes nothing.  With --previous it undoes
    the last apply that was finished, as an apply of what was there before: shown, asked about,
    checked, confirmed and restored like that, and undone by another one.
    """


# How --fetch names an engine.
