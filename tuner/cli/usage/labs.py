"""What the commands about labs and clusters take, and what they say of themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.console import OutputFormat
from tuner.cli.options import OutputOption, RsyslogdOption
from tuner.engines.versions import DEFAULT


def lab_up(
    profile: Annotated[Path | None, typer.Argument(help="The profile.")] = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Start an engine and rsyslogd for a profile on loopback; they stay until `lab down`."""


def lab_status(output: OutputOption = OutputFormat.TEXT) -> None:
    """Print whether a lab is running, and where."""


def lab_down() -> None:
    """End the lab and remove its files; does nothing when no lab is running."""


TlsFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="With --scheduler, PEM files: the CA, a certificate for us, and its private key.",
    ),
]


def cluster_up(
    inventory: Annotated[
        Path | None, typer.Option(metavar="FILE", help="hosts.yaml, or an inventory of Ansible's.")
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="The address of this machine that all hosts reach; by default the one that they "
            "see when we log in.",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Instead of an inventory: the scheduler of an existing Dask cluster, "
            "tls://HOST:8786.",
        ),
    ] = None,
    tls_ca: TlsFile = None,
    tls_cert: TlsFile = None,
    tls_key: TlsFile = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Start a scheduler here and a worker on each host of the inventory; they stay until `cluster
    down`.  Of a cluster that is up, start those workers that have died.

    rsyslog-tune must be installed on each host, in the same version.  Nobody else can join: a
    certificate is made for this cluster.
    """


def cluster_status(output: OutputOption = OutputFormat.TEXT) -> None:
    """Print whether a cluster is up, where, and which of its machines take part now."""


def cluster_down() -> None:
    """End every process of the cluster on every machine; does nothing when none is up.

    A cluster that --scheduler named goes on; it is no longer used.
    """


def cluster_versions() -> None:
    """Print what must be the same on every machine, as JSON."""


def cluster_member(
    folder: Path,
    listen: Annotated[str, typer.Option()] = "",
    scheduler: Annotated[str, typer.Option()] = "",
    name: Annotated[str, typer.Option()] = "",
    role: Annotated[str, typer.Option()] = "",
) -> None:
    """Be the scheduler of a cluster, or a worker: what `cluster up` starts on each machine."""


# How --fetch names an engine.
EXAMPLE = f"{DEFAULT.release.engine.value}-{'.'.join(map(str, DEFAULT.release.engine_version))}"


def doctor(
    fetch_engines: Annotated[
        list[str] | None,
        typer.Option(
            "--fetch",
            metavar="ENGINE-VERSION|default|all",
            help="Download an engine before a search needs it: that of a release, such as "
            f"{EXAMPLE}, the default, or all tested ones; can be repeated.",
        ),
    ] = None,
    rsyslogd: RsyslogdOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """List what is installed, what this machine's rsyslog, Java and Python can run, and what is
    missing; exits with 69 if something is missing that every search needs."""
