"""What the commands about traffic take, and what they say of themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from tuner.cli.console import OutputFormat
from tuner.cli.options import OutputOption
from tuner.lab.sink import FaultKind
from tuner.modules.input import Format as MessageFormat
from tuner.modules.input import TransportKind
from tuner.profile.workload import LONGEST_MESSAGE_BYTES
from tuner.profile.workload import Distribution as MessageDistribution


def workload(
    log: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A log, or a sample that was learnt of one.",
            show_default=False,
        ),
    ],
    written: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output-file", metavar="SAMPLE", help="The file to write.", show_default=False
        ),
    ] = None,
    conf: Annotated[
        list[Path] | None,
        typer.Option(
            "--conf",
            metavar="FILE",
            help="A configuration of rsyslog: words that are in it stay as they are, so that its "
            "filters find them; can be repeated.",
            show_default=False,
        ),
    ] = None,
    verbatim: Annotated[
        bool,
        typer.Option("--verbatim", help="Keep the words and names of the log in the templates."),
    ] = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
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


Port = Annotated[int | None, typer.Option(min=1, max=65535, help="The port on 127.0.0.1.")]

Targets = Annotated[
    list[str] | None,
    typer.Option(
        metavar="HOST:PORT|PATH",
        help="Instead of --port; a path for unix and file. Repeat it to spread connections over "
        "several targets.",
    ),
]

Kind = Annotated[
    TransportKind,
    typer.Option(
        metavar="KIND",
        help="tcp, tls, udp, unix (a datagram socket), file (appends lines) or relp.",
    ),
]

_PEM = {"metavar": "PEM"}

Authority = Annotated[
    Path | None,
    typer.Option(**_PEM, help="CA certificate that the receiver's certificate must chain to."),
]

Certificate = Annotated[
    Path | None, typer.Option(**_PEM, help="Client certificate, for mutual TLS.")
]

Key = Annotated[Path | None, typer.Option(**_PEM, help="Private key of --certificate.")]

Count = Annotated[
    int | None,
    typer.Option(min=1, help="Number of messages; per run with --runs, optional with --ramp."),
]

Rate = Annotated[
    str,
    typer.Option(
        metavar="max|N", help="Messages per second; max: as fast as the receiver takes them."
    ),
]

Connections = Annotated[
    int, typer.Option(min=1, max=512, help="Connections, sockets or open files.")
]

Mean = Annotated[int, typer.Option(min=120, max=8000, help="Mean size of a message.")]

Spread = Annotated[
    MessageDistribution,
    typer.Option(help="Distribution of sizes; lognormal needs --min-bytes and --max-bytes."),
]

_BOUND = {"min": 120, "max": LONGEST_MESSAGE_BYTES}

Least = Annotated[
    int | None, typer.Option(**_BOUND, help="Smallest size; by default 25 % below the mean.")
]

Most = Annotated[
    int | None, typer.Option(**_BOUND, help="Largest size; by default 25 % above the mean.")
]

Format = Annotated[
    MessageFormat | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="rfc3164, rfc5424, local (RFC 3164 without a host, as syslog(3) writes) or bare "
        "(no header). By default local for unix, bare for file, else rfc3164.",
    ),
]

Framing = Annotated[
    Literal["lf", "octet-counted"] | None,
    typer.Option(help="Framing of messages over tcp and tls; by default lf."),
]

Replay = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Send the lines of this file (its first 64 MiB) in a loop, with generated headers. "
        "The file sets the sizes. With --cluster each load host reads its own, at this path.",
    ),
]

Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")]

Ramp = Annotated[
    str | None,
    typer.Option(
        metavar="A:B:SECONDS",
        help="Go from A to B messages per second within SECONDS; with --count, continue at B until "
        "all are sent.",
    ),
]

Burst = Annotated[
    str | None, typer.Option(metavar="N:SECONDS", help="Send N messages at once every SECONDS.")
]

Repeat = Annotated[
    str | None,
    typer.Option(
        metavar="N:PAUSE",
        help="Send --count messages N times, with a pause of PAUSE seconds in between.",
    ),
]

OnCluster = Annotated[
    bool, typer.Option("--cluster", help="Flood from all load hosts of the cluster that is up.")
]


def flood(
    port: Port = None,
    target: Targets = None,
    transport: Kind = "tcp",
    ca: Authority = None,
    certificate: Certificate = None,
    key: Key = None,
    count: Count = None,
    rate: Rate = "max",
    connections: Connections = 5,
    message_bytes: Mean = 244,
    distribution: Spread = "uniform",
    min_bytes: Least = None,
    max_bytes: Most = None,
    message_format: Format = None,
    framing: Framing = None,
    replay: Replay = None,
    seed: Seed = 1,
    ramp: Ramp = None,
    burst: Burst = None,
    runs: Repeat = None,
    cluster: OnCluster = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Flood a syslog receiver with messages, and print the rate and the CPU time used.

    The receiver must be on this machine or in allow-targets; others are refused (exit code 5).
    With --cluster it is flooded from all load hosts, and must be in allow-targets there.
    """


_KINDS = "; ".join(f"{kind.value}: {kind.meaning}" for kind in FaultKind)


def sink(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: a free one.")
    ] = 0,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="Inject a fault such as status=429, html=503 or drop-event=77, followed by "
            "after=N (first bulk request that has it, by default the 5th) and times=N (how many "
            f"have it, by default 1), separated by commas. Can be repeated. {_KINDS}.",
        ),
    ] = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Answer bulk requests on loopback until Ctrl-C: counts every event and stores none.

    At the end it prints what arrived: documents per index, and for each flood the events that are
    missing below its highest sequence number and those that came more than once.
    """
