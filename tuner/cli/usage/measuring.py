"""Arguments and help of the commands that measure, and of `plan`, which uses measurements."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import typer

from tuner.cli.options import PROFILE, RSYSLOGD, TEMPLATES, EngineChoice, Reporting, flag, optional
from tuner.measure.enough import FEWEST_PAIRS
from tuner.profile.objective import Objective
from tuner.schema import units

_ENGINE = typer.Option(
    EngineChoice.NODE,
    help="node: a real engine, of the major version that the profile names. sink: the built-in "
    "bulk endpoint, which counts events and stores none; it needs no Java and shows rsyslog's own "
    "ceiling.",
)


class InLabs(Reporting):
    """Where a command measures; each command has an option `engine` of its own."""

    elasticsearch: str | None = optional(metavar="URL")
    """Use an existing Elasticsearch or OpenSearch. Only indices and templates named rsyslog-tune-*
    are created in it, and they are removed afterwards."""
    cluster: bool = flag("--cluster")
    """Measure on the cluster that is up: a run at a time on each lab, or on one pipeline across
    collector and load hosts."""
    rsyslogd: Path | None = RSYSLOGD


class SearchArguments(InLabs):
    """Search for settings that carry more events per second, and confirm the gain.

    Writes trials.jsonl, best.yaml and its rendered files, report.html, report.md, report.json and
    trials.csv.
    """

    profile: Path | None = typer.Argument(None, allow_dash=True)
    """The profile; by default rsyslog-tune.yaml in this folder, else the shipped default."""
    conf: Path | None = optional(metavar="FILE")
    """Search on a configuration of rsyslog, such as /etc/rsyslog.conf, in place of a profile: only
    its parameters change."""
    sample: Path | None = optional(metavar="FILE", show_default=False)
    """With --conf: a log, or a sample that `rsyslog-tune workload` wrote, whose messages the
    traffic is to be like."""
    budget: str = typer.Option("30m")
    """Wall-clock time, downloads excluded."""
    seed: int = typer.Option(1, min=0)
    """Seed of random choices; the same seed makes the same choices."""
    effects: bool = typer.Option(True)
    """Before the confirmation, measure what each change gives, and take back what gives nothing."""
    allow: list[str] | None = optional(metavar="NAME")
    """Also search a setting that weakens a guarantee, such as translog.durability; can be repeated.
    The report begins with what is given up."""
    objective: Objective | None = optional()
    """What to make better: events per second; CPU per event of rsyslogd and the engine; disk per
    event after merges; peak memory of rsyslogd; the time to index the backlog after the engine
    hung; or the time until events are searchable. By default what the profile says, else eps."""
    at_least: list[str] | None = optional(metavar="FIGURE=CHANGE")
    """Claim a gain only where another figure (eps, cpu, disk or memory) changes by this or better
    too, such as disk=-20% or eps=-5%; can be repeated."""
    front: Objective | None = optional()
    """Set 30 % of the budget aside to confirm up to four more points that trade another figure
    (eps, cpu, disk or memory) for what is made better, none worse in both."""
    rate: float | None = optional(min=1)
    """With --objective cpu, memory, drain and freshness: the events per second at which settings
    are compared; by default 70 % of what the profile carries."""
    outage: str | None = optional()
    """With --objective drain: how long the engine hangs; by default 10s."""
    action: list[str] | None = optional(metavar="NAME")
    """Search the settings of this output into the engine, and of what is on the way to it; can be
    repeated, the most important first. By default those that get at least 5 % of the documents."""
    repair: bool = typer.Option(True)
    """Change what loses events under the profile's own tier, apart from what is tuned."""
    dry_run: bool = flag("--dry-run")
    """Print what the budget is enough for; measure nothing."""
    engine: EngineChoice = _ENGINE
    run_dir: Path | None = optional()
    """Folder for results; must be new or empty."""
    resume: Path | None = optional(metavar="RUN_DIR")
    """Resume an interrupted search, with its options and within its budget."""
    warm_start: list[Path] | None = optional(metavar="RUN_DIR")
    """Start with the best candidates of this earlier search and measure them anew; can be
    repeated."""
    refuse_noise: float | None = optional(metavar="PERCENT", min=0.1)
    """Exit with 5 if the baseline noise, the standard deviation of runs of the profile as written,
    is above PERCENT: before candidates are measured."""
    require_gain: bool = flag("--require-gain")
    """Exit with 7 if no improvement is shown."""
    metrics_path: Path | None = optional("--metrics-file", metavar="FILE.prom", dir_okay=False)
    """Keep metrics of the search in this file, in Prometheus' text format, for the textfile
    collector of node_exporter."""
    quiet: bool = flag("--quiet", "-q")
    """Print only results and errors."""
    verbose: bool = flag("--verbose", "-v")
    """Print every stage of a trial, and its figures."""


class Exporting(InLabs):
    """The engine and templates of a measurement, and the files for its results."""

    engine: EngineChoice = _ENGINE
    templates: Path | None = TEMPLATES
    export_json: Path | None = optional(metavar="FILE")
    """Write the results to FILE as JSON, whatever is printed."""
    export_markdown: Path | None = optional(metavar="FILE")
    """Write the results to FILE as Markdown, whatever is printed."""


class BenchArguments(Exporting):
    """Measure a profile: events per second, delivery, CPU per event, freshness, and what limits it.

    Exits with 6 when events were lost or doubled or a guardrail was breached, with 1 when a run
    failed otherwise.  An engine that dies is started again and the run repeated once; after three
    losses in a row it exits with 4, with what was measured so far.

    With --cluster the runs are spread over its machines; each phase after them is on one.
    """

    profile: Path = PROFILE
    repeat: int = typer.Option(1, min=1, max=100)
    """Number of runs."""
    window: str = typer.Option("10s")
    """Length of a run's window; extended once, to twice that, when the rate is not steady."""
    freshness: bool = typer.Option(True)
    """Also measure freshness: the time from when an event is due until a search finds it."""
    sustain: bool = flag("--sustain")
    """Find the maximum sustainable rate."""
    overload: bool = flag("--overload")
    """Run at 150 % load, then measure recovery."""
    ceiling: bool = flag("--ceiling")
    """Measure the engine's own ceiling, without rsyslog."""


_SIDE = typer.Argument(help="A profile, or a configuration of rsyslog, FILE.conf.")


class CompareArguments(Exporting, home="bench"):
    """Compare two profiles in interleaved pairs.

    Both profiles run with the workload of A; where A is a configuration of rsyslog and B a profile
    on top of one, with that of B.

    The gate of --fail-below looks at EPS over the steady window and at EPS including deferred
    work.  Shown means that the whole 95 % interval of B over A lies on one side of RATIO and that
    the exact sign-flip test agrees; below by one of the rates is below.  In JSON `gate.decision`
    is kept (exit 0), below (7) or inconclusive (1), and `gate.pairs_wanted` says how many pairs
    would probably decide.

    Whatever the gate says, exits with 6 when a run lost or doubled events or breached a guardrail,
    and with 1 when one failed otherwise.  An engine that dies is started again and the run repeated
    once; after three losses in a row it exits with 4, with what was measured so far.

    With --cluster the pairs are spread over its machines, both runs of a pair on one.
    """

    a: Path = _SIDE
    b: Path = _SIDE
    pairs: int = typer.Option(8, min=FEWEST_PAIRS, max=1000)
    """Number of pairs of runs."""
    window: str = typer.Option("10s")
    """Length of a run's window."""
    freshness: bool = typer.Option(True)
    """Also measure the freshness of each, once and at the same rate."""
    ceiling: bool = flag("--ceiling")
    """Measure the engine's own ceiling, without rsyslog, and the share of it that each reaches."""
    fail_below: float | None = optional(min=0.01, max=100.0, metavar="RATIO")
    """A gate: exit with 7 when B is shown to carry less than RATIO of the events per second of A,
    with 0 when it is shown to carry more, and with 1 when the pairs cannot tell."""
    seed: int = typer.Option(1, min=0)
    """Decides which side of a pair runs first."""


class SweepArguments(InLabs, home="bench"):
    """Measure the variants of an experiment file side by side, and print them beside what others
    published.

    Every variant runs once in each block, in random order.  Writes sweep.md and
    sweep.json, also when it is interrupted.  Exits with 6 when a run lost or doubled events or
    breached a guardrail, with 1 when one failed otherwise.  An engine that dies is started again
    and the run repeated once; after three losses in a row it exits with 4, with what was measured
    so far.

    With --cluster the blocks are spread over its machines, each block on one.
    """

    file: Path = typer.Argument()
    """The experiment, a YAML file."""
    repeats: int | None = optional(min=1, max=100)
    """Repeats; overrides the file."""
    window: str | None = optional()
    """Length of a run's window; overrides the file."""
    seed: int = typer.Option(1, min=0)
    """Seed of the random order within blocks."""
    dry_run: bool = flag("--dry-run")
    """Check the file and all variants, measure nothing."""
    engine: EngineChoice | None = optional()
    """node or sink; overrides the file."""
    templates: Path | None = TEMPLATES
    run_dir: Path | None = optional()
    """Where results go; must be new or empty."""


class ReportArguments(Reporting, home="search"):
    """Rewrite the report of a search from its journal, and print it as Markdown.

    Writes report.html, report.md, report.json and trials.csv beside the journal, unless a search
    is still writing there or the folder cannot be written to.
    """

    run_directory: Path = typer.Argument()
    """A run directory that a search wrote."""


def _number(
    parse: Callable[[str], float | None], hint: str, most: float = float("inf")
) -> Callable[[str], float]:
    """A parser for the text of an option, a number above 0 and below `most`; `hint` is what its
    error message tells the user to write instead."""

    def parsed(text: str) -> float:
        number = parse(text.strip())
        if number is not None and 0 < number < most:
            return number
        raise typer.BadParameter(f"{text}: write {hint}")

    return parsed


_seconds = _number(units.seconds, "a time such as 15m, 12h or 30d")
_headroom = _number(
    units.share, "a share such as 30% or 0.3, below 100%: nothing is planned for full use", most=1
)
rate_of = _number(units.count, "events per second such as 10000, 50k or 10M", most=1e9)
_disk = _number(units.disk_bytes, "a size such as 8TB (powers of 1000, as disks are sold) or 8TiB")

_stream = partial(optional, rich_help_panel="The stream")
_promise = partial(optional, rich_help_panel="What is promised")
_machines = partial(optional, rich_help_panel="What machines carry")


class PlanArguments(Reporting):
    """Plan the machines, shards, queues, disks and network for a stream, from measured, given or
    assumed figures.

    Each figure is listed with where it came from. Nothing is measured, started or changed.
    """

    rate: str = typer.Option(rich_help_panel="The stream", metavar="N")
    """Events per second, such as 10000, 50k or 10M; several, 100k,1M,10M, side by side."""
    run: Path | None = typer.Argument(None, metavar="RUN")
    """A run directory of a search, or a file with what `bench --output json` printed; what it
    measured is used. Default: what this project measured on 2 cores."""
    message_bytes: int | None = _stream(metavar="N", min=1)
    """Mean size of a message. Default: that of --sample or RUN, else 244."""
    store_bytes: int | None = _stream("--bytes-per-event", metavar="N", min=1)
    """Bytes on disk for an event, without replicas."""
    sample: Path | None = _stream(metavar="FILE")
    """Your own log lines (the first 64 MiB): gives message size and gzip ratio."""
    peak: float | None = _stream(metavar="FACTOR", min=1)
    """Peak rate as a multiple of --rate. Default: 1."""
    gzip_ratio: float | None = _stream(metavar="N", min=1)
    """Compression ratio of gzip files. Default: 10."""
    retention_s: float | None = _promise("--retention", metavar="TIME", parser=_seconds)
    """How long events are kept. Default: 30d."""
    outage_s: float | None = _promise("--outage", metavar="TIME", parser=_seconds)
    """Longest outage of the engine without a loss. Default: 15m."""
    replicas: int | None = _promise(metavar="N", min=0)
    """Replicas of each shard. Default: 1."""
    headroom: float | None = _promise(metavar="SHARE", parser=_headroom)
    """Share of each machine that stays free at the peak, such as 30% or 0.3. Default: 30%."""
    collector_eps: float | None = _machines(metavar="N", parser=rate_of)
    """Events per second that a rsyslog host carries at most."""
    collector_cores: int | None = _machines(metavar="N", min=1)
    """Cores of a rsyslog host. Default: 4."""
    node_eps: float | None = _machines(metavar="N", parser=rate_of)
    """Events per second that a data node, one of several, indexes without replicas."""
    node_cores: int | None = _machines(metavar="N", min=1)
    """Cores of a data node. Default: 8."""
    node_disk_bytes: float | None = _machines("--node-disk", metavar="SIZE", parser=_disk)
    """Disk of a data node, such as 8TB (powers of 1000, as disks are sold) or 7.3TiB (powers of
    1024). Default: 1920GiB."""
