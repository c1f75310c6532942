"""`rsyslog-tune workload`: learn from a log what traffic is like."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.console import OutputFormat, result_json, say, working
from tuner.cli.layout import show_blocks
from tuner.cli.options import OutputOption
from tuner.errors import Refused
from tuner.profile.sample import is_sample, origin_of, read_sample, sample_text
from tuner.rainerscript.configuration import MAX_BYTES, configuration
from tuner.rainerscript.tokens import SURROGATES
from tuner.reading import content, unreadable
from tuner.render.tree import require_writable, write_whole
from tuner.report.traffic import traffic_blocks


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
    if written is not None:
        require_writable(written)
        if written.exists() and not is_sample(written):
            raise Refused(f"{written} exists and is no sample: name another file, or move it")
    texts = [text for path in conf or () for text in _texts(path)]
    with working(f"learning from {log}"):
        text = sample_text(log, texts, verbatim=verbatim)
        sample = read_sample(text, str(log))
    if origin := origin_of(text):
        say(origin)
    if written is not None:
        write_whole(written, text)
    if output is OutputFormat.JSON:
        result_json({"schema": 1, "kind": "workload", "sample": sample.model_dump(mode="json")})
    else:
        show_blocks(traffic_blocks(sample))
    if written is not None:
        say(f"wrote {written}: name it as workload.sample in a profile")


def _texts(path: Path) -> Iterator[str]:
    """The texts of a configuration and of what it includes, as far as they can be read."""
    try:
        own = content(path, MAX_BYTES)
    except OSError as error:
        raise unreadable(path, error) from None
    sources = configuration(path).sources
    for raw in (own, *(raw for name, raw in sources.items() if name != str(path))):
        yield raw.decode("utf-8", SURROGATES)
