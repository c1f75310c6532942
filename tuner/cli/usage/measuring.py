"""What the commands that measure take, and what they say of themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.console import OutputFormat
from tuner.cli.options import (
    LOCAL,
    ClusterOption,
    EngineChoice,
    EngineOption,
    JsonFile,
    MarkdownFile,
    MetricsFileOption,
    OutputOption,
    ProfilePath,
    QuietOption,
    RsyslogdOption,
    TemplatesOption,
    UrlOption,
    VerboseOption,
)
from tuner.measure.enough import FEWEST_PAIRS
from tuner.search.strategies import StrategyName

LocalProfile = Annotated[
    Path | None,
    typer.Argument(
        help="The profile; by default rsyslog-tune.yaml in this folder, else the shipped default.",
        allow_dash=True,
    ),
]

Conf = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Search on a configuration of rsyslog, such as /etc/rsyslog.conf, in place of a "
        "profile: only its parameters change.",
    ),
]

Sample = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="With --conf: a log, or a sample that `rsyslog-tune workload` wrote, whose messages "
        "the traffic is to be like.",
        show_default=False,
    ),
]

Budget = Annotated[str, typer.Option(help="Wall-clock time, downloads excluded.")]

Seed = Annotated[
    int, typer.Option(min=0, help="Seed of random choices; the same seed makes the same choices.")
]

Strategy = Annotated[StrategyName, typer.Option(help="How candidates are chosen.")]

Effects = Annotated[
    bool,
    typer.Option(
        help="Before the confirmation, measure what each change gives, and take back what gives "
        "nothing."
    ),
]

Allow = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Also search a setting that weakens a guarantee, such as translog.durability; can be "
        "repeated. The report begins with what is given up.",
    ),
]

Repair = Annotated[
    bool,
    typer.Option(
        help="Change what loses events under the profile's own tier, apart from what is tuned."
    ),
]

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print what the budget is enough for; measure nothing.")
]

RunDir = Annotated[Path | None, typer.Option(help="Folder for results; must be new or empty.")]

Resume = Annotated[
    Path | None,
    typer.Option(
        metavar="RUN_DIR",
        help="Resume an interrupted search, with its options and within its budget.",
    ),
]

WarmStart = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="RUN_DIR",
        help="Start with the best candidates of this earlier search and measure them anew; can be "
        "repeated.",
    ),
]

RefuseNoise = Annotated[
    float | None,
    typer.Option(
        metavar="PERCENT",
        min=0.1,
        help="Exit with 5 if the baseline noise, the standard deviation of runs of the profile as "
        "written, is above PERCENT: before candidates are measured.",
    ),
]

RequireGain = Annotated[
    bool, typer.Option("--require-gain", help="Exit with 7 if no improvement is shown.")
]


def search(
    context: typer.Context,
    profile: LocalProfile = None,
    conf: Conf = None,
    sample: Sample = None,
    budget: Budget = "30m",
    seed: Seed = 1,
    strategy: Strategy = "default",
    effects: Effects = True,
    allow: Allow = None,
    repair: Repair = True,
    dry_run: DryRun = False,
    engine: EngineOption = EngineChoice.NODE,
    elasticsearch: UrlOption = None,
    cluster: ClusterOption = False,
    run_dir: RunDir = None,
    resume: Resume = None,
    warm_start: WarmStart = None,
    refuse_noise: RefuseNoise = None,
    require_gain: RequireGain = False,
    metrics_path: MetricsFileOption = None,
    rsyslogd: RsyslogdOption = None,
    output: OutputOption = OutputFormat.TEXT,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Search for settings that carry more events per second, and confirm the gain.

    Writes trials.jsonl, best.yaml and its rendered files, report.html, report.md, report.json and
    trials.csv.
    """


def bench(
    profile: ProfilePath = LOCAL,
    repeat: Annotated[int, typer.Option(min=1, max=100, help="Number of runs.")] = 1,
    window: Annotated[
        str,
        typer.Option(
            help="Length of a run's window; extended once, to twice that, when the rate "
            "is not steady."
        ),
    ] = "10s",
    freshness: Annotated[
        bool,
        typer.Option(
            help="Also measure freshness: the time from when an event is due until a "
            "search finds it."
        ),
    ] = True,
    sustain: Annotated[
        bool, typer.Option("--sustain", help="Find the maximum sustainable rate.")
    ] = False,
    overload: Annotated[
        bool, typer.Option("--overload", help="Run at 150 % load, then measure recovery.")
    ] = False,
    ceiling: Annotated[
        bool, typer.Option("--ceiling", help="Measure the engine's own ceiling, without rsyslog.")
    ] = False,
    engine: EngineOption = EngineChoice.NODE,
    elasticsearch: UrlOption = None,
    cluster: ClusterOption = False,
    templates: TemplatesOption = None,
    metrics_path: MetricsFileOption = None,
    export_json: JsonFile = None,
    export_markdown: MarkdownFile = None,
    rsyslogd: RsyslogdOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Measure a profile: events per second, delivery, CPU per event, freshness, and what limits it.

    Exits with 6 when events were lost or doubled or a guardrail was breached, with 1 when a run
    failed otherwise.  An engine that dies is started again and the run repeated once; after three
    losses in a row it exits with 4, with what was measured so far.

    With --cluster the runs are spread over its machines; each phase after them is on one.
    """


SidePath = Annotated[Path, typer.Argument(help="A profile, or the run directory of a search.")]

PairCount = Annotated[
    int, typer.Option(min=FEWEST_PAIRS, max=1000, help="Number of pairs of runs.")
]

Window = Annotated[str, typer.Option(help="Length of a run's window.")]

Freshness = Annotated[
    bool, typer.Option(help="Also measure the freshness of each, once and at the same rate.")
]

WithCeiling = Annotated[
    bool,
    typer.Option(
        "--ceiling",
        help="Measure the engine's own ceiling, without rsyslog, and the share of it "
        "that each reaches.",
    ),
]

FailBelow = Annotated[
    float | None,
    typer.Option(
        min=0.01,
        max=100.0,
        metavar="RATIO",
        help="A gate: exit with 7 when B is shown to carry less than RATIO of the events per "
        "second of A, with 0 when it is shown to carry more, and with 1 when the pairs cannot "
        "tell.",
    ),
]

CompareSeed = Annotated[int, typer.Option(min=0, help="Decides which side of a pair runs first.")]


def compare(
    context: typer.Context,
    a: SidePath,
    b: SidePath,
    pairs: PairCount = 8,
    window: Window = "10s",
    freshness: Freshness = True,
    ceiling: WithCeiling = False,
    fail_below: FailBelow = None,
    seed: CompareSeed = 1,
    engine: EngineOption = EngineChoice.NODE,
    elasticsearch: UrlOption = None,
    cluster: ClusterOption = False,
    templates: TemplatesOption = None,
    export_json: JsonFile = None,
    export_markdown: MarkdownFile = None,
    rsyslogd: RsyslogdOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Compare two profiles in interleaved pairs, or what two searches ended with.

    Both profiles run with the workload of A; where A is a configuration of rsyslog and B a profile
    on top of one, with that of B.  For searches it compares the confirming runs, and
    says that they were not interleaved; searches on another engine, rsyslog, machine or workload
    are refused.

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


ExperimentPath = Annotated[Path, typer.Argument(help="The experiment, a YAML file.")]

Repeats = Annotated[int | None, typer.Option(min=1, max=100, help="Repeats; overrides the file.")]

SweepWindow = Annotated[
    str | None, typer.Option(help="Length of a run's window; overrides the file.")
]

SweepSeed = Annotated[int, typer.Option(min=0, help="Seed of the random order within blocks.")]

SweepDryRun = Annotated[
    bool, typer.Option("--dry-run", help="Check the file and all variants, measure nothing.")
]

OtherEngine = Annotated[EngineChoice | None, typer.Option(help="node or sink; overrides the file.")]

SweepRunDir = Annotated[Path | None, typer.Option(help="Where results go; must be new or empty.")]


def sweep(
    file: ExperimentPath,
    repeats: Repeats = None,
    window: SweepWindow = None,
    seed: SweepSeed = 1,
    dry_run: SweepDryRun = False,
    engine: OtherEngine = None,
    elasticsearch: UrlOption = None,
    cluster: ClusterOption = False,
    templates: TemplatesOption = None,
    run_dir: SweepRunDir = None,
    rsyslogd: RsyslogdOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Measure the variants of an experiment file side by side, and print them beside what others
    published.

    Every variant runs once in each block, in random order.  Writes sweep.md, sweep.json and
    sweep.svg, also when it is interrupted.  Exits with 6 when a run lost or doubled events or
    breached a guardrail, with 1 when one failed otherwise.  An engine that dies is started again
    and the run repeated once; after three losses in a row it exits with 4, with what was measured
    so far.

    With --cluster the blocks are spread over its machines, each block on one.
    """


def report(
    run_directory: Annotated[Path, typer.Argument(help="A run directory that a search wrote.")],
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Rewrite the report of a search from its journal, and print it as Markdown.

    Writes report.html, report.md, report.json and trials.csv beside the journal, unless a search
    is still writing there or the folder cannot be written to.
    """
