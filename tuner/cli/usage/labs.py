"""What the commands about labs and clusters take, and what they say of themselves."""

from __future__ import annotations

from pathlib import Path

import typer

from tuner.cli.options import RSYSLOGD, Arguments, Reporting, optional
from tuner.engines.versions import DEFAULT


class LabArguments(Arguments):
    """A lab that stays until `lab down`: up, status, down."""

    class Up(Reporting):
        """Start an engine and rsyslogd for a profile on loopback; they stay until `lab down`."""

        profile: Path | None = typer.Argument(None, help="The profile.")

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

        inventory: Path | None = optional(
            metavar="FILE", help="hosts.yaml, or an inventory of Ansible's."
        )
        listen: str | None = optional(
            metavar="ADDRESS",
            help="The address of this machine that all hosts reach; by default the one that they "
            "see when we log in.",
        )
        scheduler: str | None = optional(
            metavar="URL",
            help="Instead of an inventory: the scheduler of an existing Dask cluster, tls://HOST:8786.",
        )
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


# How --fetch names an engine.
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
