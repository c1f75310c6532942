"""Arguments and help of the commands for hosts, labs and clusters."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

import typer

from tuner.cli.options import (
    INVENTORY,
    RSYSLOGD,
    Arguments,
    Rendering,
    Reporting,
    flag,
    optional,
    required_profile,
)
from tuner.engines.versions import DEFAULT


class FailOn(Enum):
    """The least grave effect of a finding that makes the command exit with 2."""

    LOST = "lost"
    LATE = "late"
    ANY = "any"


class DiagnoseArguments(Reporting):
    """Diagnose a production rsyslogd from the counters that impstats writes, or from the documents
    that its engine refused: what is lost or late, why, and what to change.

    Reads every format, with or without syslog headers, from files in any order or from an index.
    Changes nothing and needs no rsyslogd.  Exit code 0: nothing found; 2: findings; 1: no counters
    there.
    """

    files: list[Path] | None = typer.Argument(
        None, metavar="FILE...", allow_dash=True, show_default=False
    )
    """What impstats wrote, rotated and gzipped files too; - is stdin."""
    profile: Path | None = optional(metavar="FILE")
    """The profile that runs, to name its settings."""
    conf: Path | None = optional(metavar="FILE")
    """The configuration of rsyslog that runs, to name its settings."""
    host: str | None = optional(metavar="HOST")
    """Read the counters of this host, from FILE or the log.file of its configuration, which names
    the settings too: one of the inventory by its name, or an address such as ssh://USER@HOST. Only
    reads."""
    inventory: Path | None = INVENTORY
    duration: str | None = optional("--for", metavar="TIME")
    """With --host: wait that long, such as 5m, and diagnose only what is counted meanwhile."""
    elasticsearch: str | None = optional(metavar="URL")
    """Read the newest day of counters from an index of this Elasticsearch or OpenSearch; --profile
    says how to log in. Only reads."""
    index: str | None = optional(metavar="NAME")
    """With --elasticsearch: the index, data stream or pattern with them."""
    refused: bool = flag("--refused")
    """FILE is what rsyslog or the engine kept of refused documents: the errorfile of
    omelasticsearch or omhttp, what a retry ruleset wrote, or the engine's log. --elasticsearch then
    asks what mapped their fields."""
    show_documents: bool = flag("--show-documents")
    """With --refused: show three documents of each kind, with all that is in them."""
    cases: Path | None = optional(metavar="FILE")
    """With --refused: write cases for rsyslog-tune test to this file, which fail until the template
    is mended."""
    fail_on: FailOn = typer.Option(FailOn.ANY)
    """Exit with 2 for events that are lost, for those that are late too, or for any finding."""
    write_workload: Path | None = optional(metavar="PROFILE")
    """Write the peak rate, the mean size and the number of sessions into the workload of this
    profile, for bench, search and plan."""
    page: Path | None = optional(metavar="FILE")
    """Write a page with plots to this file too (HTML)."""


class NamingHosts(Reporting):
    """The hosts that a command is for."""

    host: list[str] | None = optional(metavar="HOST")
    """A host of the inventory, by its name; without an inventory its address: ssh://USER@HOST:PORT,
    local://, or a name for ssh. Can be repeated."""
    inventory: Path | None = INVENTORY


class OnHosts(Rendering, NamingHosts):
    """What is rendered for which hosts, and the engine that they send to."""

    elasticsearch: str | None = optional(metavar="URL")
    """The engine as this machine reaches it; by default the first of the profile's servers."""
    skip_engine: bool = flag("--skip-engine")
    """Leave the engine out: change, compare and read nothing."""


class Changing(NamingHosts):
    """How a command changes hosts."""

    yes: bool = flag("--yes", "-y")
    """Do not ask."""
    serial: int = typer.Option(1, min=1)
    """Hosts at once."""
    confirm_within: str | None = optional(metavar="DURATION")
    """The hosts restore themselves after so long (2m), whatever becomes of this machine, unless
    rsyslog-tune confirm comes first."""


class ApplyArguments(Changing, OnHosts):
    """Apply a profile to hosts and engine: validated there, backed up, replaced at once, checked
    with an event, and restored if anything fails.

    Shows what changes and asks.  Exits with 0 when nothing is left to do, with 1 when a host
    refused it or did not start and was restored, with 6 when the event did not come, with 4 when
    a host cannot be reached, with 5 when a guard refused or you declined, with 75 when another
    change is under way.
    """

    profile: Path = typer.Argument(metavar="PROFILE")
    """The profile, or a plan of --plan-out."""
    check: bool = flag("--check", "--diff")
    """Change nothing; print what would, exit with 2 then."""
    plan_out: Path | None = optional(metavar="FILE")
    """Change nothing; write what would change, for apply FILE to do exactly that."""
    all_or_none: bool = flag("--all-or-none")
    """Restore every host when one fails, not that one only."""
    event_within: str = typer.Option("30s", metavar="DURATION")
    """How soon an event sent on each host must be found in the engine."""
    no_event: bool = flag("--no-event")
    """Send no test event."""
    take_over: bool = flag("--take-over")
    """Replace files and templates that rsyslog-tune did not make, too."""


class ConfirmArguments(Reporting, home="apply"):
    """Keep what `apply --confirm-within` applied: the hosts will not restore themselves.

    Also finishes `apply --all-or-none` where a host was lost at its end.  Exits with 1 when
    nothing waits, or a host was restored already or cannot be reached.
    """


class VerifyArguments(OnHosts, home="apply"):
    """Compare hosts and engine with the profile: files, process, ports, versions, packages,
    secrets, certificates, limits, templates and settings.

    Only reads.  Exits with 0 when all is as the profile says, else with 2 and what differs.
    """

    profile: Path = required_profile()


class RecoverArguments(Changing, home="apply"):
    """Undo an apply that did not finish: files, service, timers, the engine's objects.

    Undoes what this machine began, also what still waits for confirm; with --host or --inventory
    what anybody began on those hosts.  Done twice it changes nothing.  With --previous it undoes
    the last finished apply by another one, of what was there before, which shows, asks, checks and
    restores like any apply and can be undone too.
    """

    previous: bool = flag("--previous")
    """Undo the last apply that was finished: that of this machine, or of --host and --inventory on
    those hosts."""


class TrialArguments(NamingHosts):
    """Try a candidate on production hosts: it takes turns with what runs there, in blocks of time
    in an order that is drawn, and is judged by the hosts' own counters.

    Nothing is sent but the marks of --mark, which stay in the indices; every host has its own
    configuration again at the end.  The figure is rsyslogd's CPU per event.  Exits with 0 when the
    trial is over, whatever it showed, with 6 when the candidate broke the same guard twice, with 1
    when somebody else changed a host or something else ended it, with 5 when a guard refused or you
    declined.
    """

    profile: Path | None = typer.Argument(None, metavar="[PROFILE]")
    """The candidate: a profile on top of the hosts' own configuration, such as the best.yaml of
    search --conf."""
    for_: str = typer.Option("8h", "--for", metavar="DURATION")
    """How long it may take."""
    block: str = typer.Option("10m", metavar="DURATION")
    """How long a side runs before the other has its turn."""
    burn_in: str = typer.Option("1m", metavar="DURATION")
    """How much of the beginning of a block is not counted."""
    max_restarts: int | None = optional(metavar="N", min=2)
    """The most restarts of rsyslogd on each host."""
    not_at: list[str] | None = optional(metavar="HH:MM-HH:MM")
    """A time of the day, by the clock of this machine, in which nothing is restarted; can be
    repeated."""
    lossy_restarts: bool = flag("--lossy-restarts")
    """Also where all that comes in is UDP, of which each restart loses some."""
    seed: int | None = optional(metavar="N", min=0)
    """What the order of the sides is drawn with; by default another one each time."""
    together: bool = flag("--together")
    """All hosts have the same side at one time, by default half of them each: the engine's figures
    can then be compared."""
    duet: bool = flag("--duet")
    """Run the one action that the profile changes twice at once, as it is and as the candidate has
    it, and draw for each event which of them gets it: two restarts in all.  Compares the CPU of the
    threads of the two, each with half of the events."""
    elasticsearch: str | None = optional(metavar="URL")
    """Compare the engine's CPU per event too, where all hosts have the same side; reads only."""
    mark: float | None = optional(metavar="N", min=0.1, max=100)
    """Send so many numbered messages a second to each host, with the program name rsyslog-tune, and
    look for each in --elasticsearch: how many are lost or doubled, and how soon they are found."""
    lab: Path | None = optional(metavar="RUN_DIR")
    """The run directory of the search that found the candidate: the result says whether the hosts
    show what the lab did."""
    dry_run: bool = flag("--dry-run")
    """Say what would be done, and do nothing."""
    run_dir: Path | None = optional(metavar="DIR")
    """Where the record goes; by default a new folder in rsyslog-tune-runs."""
    resume: Path | None = optional(metavar="DIR")
    """Go on with the trial of this folder."""
    stop: Path | None = optional(metavar="DIR")
    """Put back what was there before the trial of this folder, whose command was killed."""
    yes: bool = flag("--yes", "-y")
    """Do not ask."""


class LabArguments(Arguments):
    """A lab that stays until `lab down`: up, status, down."""

    class Up(Reporting):
        """Start an engine and rsyslogd for a profile on loopback; they stay until `lab down`."""

        profile: Path | None = typer.Argument(None)
        """The profile."""

    class Status(Reporting):
        """Print whether a lab is running, and where."""

    class Down(Arguments):
        """End the lab and remove its files; does nothing when no lab is running."""


_TLS_FILE = optional(
    metavar="FILE",
    help="With --scheduler, PEM files: the CA, a certificate for us, and its private key.",
)


class ClusterArguments(Arguments):
    """Several machines as one: up, status, down."""

    class Up(Reporting):
        """Start a scheduler here and a worker on each host of the inventory; they stay until
        `cluster down`.  Of a cluster that is up, start those workers that have died.

        rsyslog-tune must be installed on each host, in the same version.  Nobody else can join: a
        certificate is made for this cluster.
        """

        inventory: Path | None = optional(metavar="FILE")
        """hosts.yaml, or an Ansible inventory."""
        listen: str | None = optional(metavar="ADDRESS")
        """The address of this machine that all hosts reach; by default the one that they see when
        we log in."""
        scheduler: str | None = optional(metavar="URL")
        """Instead of an inventory: the scheduler of an existing Dask cluster, tls://HOST:8786."""
        tls_ca: Path | None = _TLS_FILE
        tls_cert: Path | None = _TLS_FILE
        tls_key: Path | None = _TLS_FILE

    class Status(Reporting):
        """Print whether a cluster is up, where, and which of its machines take part now."""

    class Down(Arguments):
        """End every process of the cluster on every machine; does nothing when none is up.

        A cluster that --scheduler named goes on; it is no longer used.
        """

    class Versions(Arguments):
        """Print what must be the same on every machine, as JSON."""

    class Member(Arguments):
        """Be the scheduler of a cluster, or a worker: what `cluster up` starts on each machine."""

        folder: Path = typer.Argument()
        listen: str = typer.Option("")
        scheduler: str = typer.Option("")
        name: str = typer.Option("")
        role: str = typer.Option("")


# An engine as --fetch names it.
EXAMPLE = f"{DEFAULT.release.engine.value}-{'.'.join(map(str, DEFAULT.release.engine_version))}"


class DoctorArguments(Reporting):
    """List what is installed, what this machine's rsyslog, Java and Python can run, and what is
    missing; exits with 69 if something is missing that every search needs."""

    fetch_engines: list[str] | None = optional(
        "--fetch",
        metavar="ENGINE-VERSION|default|all",
        help="Download an engine before a search needs it: that of a release, such as "
        f"{EXAMPLE}, the default, or all tested ones; can be repeated.",
    )
    rsyslogd: Path | None = RSYSLOGD
