"""Where `rsyslog-tune flood` sends to: the options, and the transport that they ask for."""

from __future__ import annotations

import shlex
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from tuner.errors import BadUsage
from tuner.flood.transport import PATHS, Credentials, Transport, address_of, loopback
from tuner.host.allow import require_allowed_host


class TransportChoice(Enum):
    """The transport of messages."""

    TCP = "tcp"
    TLS = "tls"
    UDP = "udp"
    UNIX = "unix"
    FILE = "file"
    RELP = "relp"


Kind = Annotated[
    TransportChoice,
    typer.Option(
        "--transport",
        metavar="KIND",
        help="tcp, tls, udp, unix (a datagram socket), file (appends lines) or relp.",
    ),
]
Port = Annotated[
    int | None,
    typer.Option(min=1, max=65535, show_default=False, help="The port on 127.0.0.1."),
]
Targets = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        metavar="HOST:PORT|PATH",
        show_default=False,
        help="Instead of --port; a path for unix and file. Repeat it to spread connections over "
        "several targets.",
    ),
]
_PEM = {"exists": True, "dir_okay": False, "show_default": False, "metavar": "PEM"}
Authority = Annotated[
    Path | None,
    typer.Option(
        "--ca", **_PEM, help="CA certificate that the receiver's certificate must chain to."
    ),
]
Certificate = Annotated[
    Path | None, typer.Option("--certificate", **_PEM, help="Client certificate, for mutual TLS.")
]
Key = Annotated[Path | None, typer.Option("--key", **_PEM, help="Private key of --certificate.")]


def flood_command(transport: Transport) -> str:
    """The command that floods by a transport, but for how many messages."""
    words = ["rsyslog-tune", "flood"]
    if transport.kind != "tcp":
        words += ["--transport", transport.kind]
    for target in transport.targets:
        words += ["--target", target]
    shown = transport.credentials or Credentials()
    files = {"--ca": shown.ca, "--certificate": shown.certificate, "--key": shown.key}
    for option, path in files.items():
        words += [option, path] if path is not None else []
    return shlex.join(words)


def plan_transport(
    choice: TransportChoice,
    port: int | None,
    targets: list[str] | None,
    credentials: Credentials,
) -> Transport:
    """The transport that the options ask for; raises BadUsage when they contradict each other, and
    Refused for a host that may not be flooded."""
    takes_path = choice.value in PATHS
    given = None if credentials == Credentials() else credentials
    if (port is None) is (not targets):
        raise BadUsage("give either --port or --target")
    if port is not None and takes_path:
        raise BadUsage(f"{choice.value} needs a path: use --target PATH instead of --port")
    places = tuple(targets or ()) if port is None else (loopback(port),)
    transport = Transport(places, choice.value, given)
    if not takes_path:
        for target in transport.targets:
            require_allowed_host(address_of(target)[0])
    return transport
