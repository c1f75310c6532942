"""`rsyslog-tune compare`: two profiles side by side, or what two searches ended with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.compare_sides import CompareOptions, measured, of_searches
from tuner.cli.files import Exports, JsonFile, MarkdownFile
from tuner.cli.options import (
    ClusterOption,
    EngineChoice,
    EngineOption,
    OutputFormat,
    OutputOption,
    RsyslogdOption,
    TemplatesOption,
    UrlOption,
    duration_s,
    given_beside,
    templates_of,
)
from tuner.cli.runs import require_none_failed
from tuner.cli.site import Wanted
from tuner.errors import BadUsage, BelowTheBar, JobFailed
from tuner.host.programs import choose_rsyslogd
from tuner.measure.gate import Decision
from tuner.measure.paired import FEWEST_PAIRS
from tuner.report.compare import Compared, compare_blocks, compare_json, gate_text

# What two searches can be compared with.
_OF_SEARCHES = {"a", "b", "fail_below", "export_json", "export_markdown", "rsyslogd", "output"}

SidePath = Annotated[
    Path,
    typer.Argument(
        help="A profile, or the run directory of a search.", readable=False, show_default=False
    ),
]
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
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Decides which side of a pair runs first.")]


def compare(
    context: typer.Context,
    a: SidePath,
    b: SidePath,
    pairs: PairCount = 8,
    window: Window = "10s",
    freshness: Freshness = True,
    ceiling: WithCeiling = False,
    fail_below: FailBelow = None,
    seed: Seed = 1,
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

    Both profiles run with the workload of A.  For searches it compares the confirming runs, and
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
    choose_rsyslogd(rsyslogd)
    exports = Exports(export_json, export_markdown)
    exports.require_writable(a, b)
    directories = [path for path in (a, b) if path.is_dir()]
    if len(directories) == 1:
        raise BadUsage(
            f"{directories[0]} is a folder: compare two profiles, or two run directories"
        )
    lost = None
    if directories:
        if given := given_beside(context, _OF_SEARCHES):
            raise BadUsage(f"two searches are already measured: leave out {', '.join(given)}")
        compared = of_searches(a, b, fail_below)
    else:
        wanted = Wanted(engine, elasticsearch, templates_of(templates), on_cluster=cluster)
        chosen = CompareOptions(pairs, duration_s(window), freshness, ceiling, fail_below, seed)
        compared, lost = measured(a, b, wanted, chosen)
    exports.publish(compare_json(compared), compare_blocks(compared), output)
    if lost is not None:
        raise lost
    _judge(compared)


def _judge(compared: Compared) -> None:
    """Choose the exit code."""
    fresh = (compared.a.freshness, compared.b.freshness)
    require_none_failed([*(run.result for run in compared.runs), *fresh])
    if compared.gate is None or compared.gate.decision is Decision.KEPT:
        return
    decision = gate_text(compared.gate, compared.interleaved)
    if compared.gate.decision is Decision.BELOW:
        raise BelowTheBar(decision)
    raise JobFailed(decision)
