"""Arguments and help of the commands about traffic."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal

import typer

from tuner.cli.options import Reporting, flag, optional
from tuner.lab.sink import FaultKind
from tuner.modules.input import Format as MessageFormat
from tuner.modules.input import TransportKind
from tuner.profile.workload import LONGEST_MESSAGE_BYTES
from tuner.profile.workload import Distribution as MessageDistribution


class WorkloadArguments(Reporting, home="traffic"):
    """Learn from a log what traffic is like, for `workload.sample` of a profile.

    It reads syslog with heads (RFC 3164, RFC 5424, as files of rsyslog have them) and lines without
    one, JSON and CEE among them; `journalctl -o export` and `-o json`; CSV; packets (pcap, pcapng);
    each also compressed by gzip or zstd; at most 64 MiB.

    The sample says how often which templates come, from how many hosts, at which severities, and
    what stands in their blanks: kind, lengths, how many different values.  No value of the log is
    in it, but for numbers of at most three digits that all messages of a template have.  Words stay
    that are words of the trade or in a file of --conf; others give way to words of the same length,
    names of hosts and programs too.
    """

    log: Path = typer.Argument(metavar="FILE")
    """A log, or a sample that was learnt of one."""
    sample: Path | None = optional("-o", "--output-file", metavar="SAMPLE")
    """The file to write."""
    conf: list[Path] | None = optional("--conf", metavar="FILE")
    """A configuration of rsyslog: words that are in it stay as they are, so that its filters find
    them; can be repeated."""
    verbatim: bool = flag("--verbatim")
    """Keep the words and names of the log in the templates."""


_pem = partial(optional, metavar="PEM")
_bound = partial(optional, min=120, max=LONGEST_MESSAGE_BYTES)


class FloodArguments(Reporting, home="traffic"):
    """Flood a syslog receiver with messages, and print the rate and the CPU time used.

    The receiver must be on this machine or in allow-targets; others are refused (exit code 5).
    With --cluster it is flooded from all load hosts, and must be in allow-targets there.
    """

    port: int | None = optional(min=1, max=65535)
    """The port on 127.0.0.1."""
    target: list[str] | None = optional(metavar="HOST:PORT|PATH")
    """Instead of --port; a path for unix and file. Repeat it to spread connections over several
    targets."""
    transport: TransportKind = typer.Option("tcp", metavar="KIND")
    """tcp, tls, udp, unix (a datagram socket), file (appends lines) or relp."""
    ca: Path | None = _pem()
    """CA certificate that the receiver's certificate must chain to."""
    certificate: Path | None = _pem()
    """Client certificate, for mutual TLS."""
    key: Path | None = _pem()
    """Private key of --certificate."""
    count: int | None = optional(min=1)
    """Number of messages; per run with --runs, optional with --ramp."""
    rate: str = typer.Option("max", metavar="max|N")
    """Messages per second; max: as fast as the receiver takes them."""
    connections: int = typer.Option(5, min=1, max=512)
    """Connections, sockets or open files."""
    message_bytes: int = typer.Option(244, min=120, max=8000)
    """Mean size of a message."""
    distribution: MessageDistribution = typer.Option("uniform")
    """Distribution of sizes; lognormal needs --min-bytes and --max-bytes."""
    min_bytes: int | None = _bound()
    """Smallest size; by default 25 % below the mean."""
    max_bytes: int | None = _bound()
    """Largest size; by default 25 % above the mean."""
    message_format: MessageFormat | None = optional("--format", metavar="FORMAT")
    """rfc3164, rfc5424, local (RFC 3164 without a host, as syslog(3) writes) or bare (no header).
    By default local for unix, bare for file, else rfc3164."""
    framing: Literal["lf", "octet-counted"] | None = optional()
    """Framing of messages over tcp and tls; by default lf."""
    replay: Path | None = optional(metavar="FILE")
    """Send the lines of this file (its first 64 MiB) in a loop, with generated headers. The file
    sets the sizes. With --cluster each load host reads its own, at this path."""
    seed: int = typer.Option(1, min=0)
    """The same seed gives the same bytes."""
    ramp: str | None = optional(metavar="A:B:SECONDS")
    """Go from A to B messages per second within SECONDS; with --count, continue at B until all are
    sent."""
    burst: str | None = optional(metavar="N:SECONDS")
    """Send N messages at once every SECONDS."""
    runs: str | None = optional(metavar="N:PAUSE")
    """Send --count messages N times, with a pause of PAUSE seconds in between."""
    cluster: bool = flag("--cluster")
    """Flood from all load hosts of the cluster that is up."""


_KINDS = "; ".join(f"{kind.value}: {kind.meaning}" for kind in FaultKind)


class SinkArguments(Reporting, home="traffic"):
    """Answer bulk requests on loopback until Ctrl-C: counts every event and stores none.

    At the end it prints what arrived: documents per index, and for each flood the events that are
    missing below its highest sequence number and those that came more than once.
    """

    port: int = typer.Option(0, min=0, max=65535)
    """Port on 127.0.0.1; 0: a free one."""
    fault: list[str] | None = optional(
        metavar="TEXT",
        help="Inject a fault such as status=429, html=503 or drop-event=77, followed by after=N "
        "(first bulk request that has it, by default the 5th) and times=N (how many have it, by "
        f"default 1), separated by commas. Can be repeated. {_KINDS}.",
    )
