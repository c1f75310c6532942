"""How busy each stage of the pipeline was, as written and with the best settings found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuner.measure.stages import Stages
from tuner.report.drawing import Colour, Plot, svg
from tuner.report.search_markdown import last_confirmed
from tuner.search.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Use:
    """One stage: the share of its time, from 0 to 1, that it was busy, and that it was ready to
    run while no core was free."""

    stage: str
    busy: float
    ready: float = 0.0


def uses(stages: Stages) -> Iterator[Use]:
    """The stages in the order of an event's way, the machine last."""
    yield Use("sender", stages.sender_cpu)
    yield Use("busiest input thread", stages.input_cpu)
    yield Use("main queue workers", stages.main.cpu, stages.main.runnable)
    if stages.action is not None:
        yield Use("action workers", stages.action.cpu, stages.action.runnable)
    yield Use("engine", stages.engine_cpu)
    yield Use("disk", stages.io_wait)
    yield Use("all cores here", stages.machine_cpu)


def utilisation(study: Study) -> Plot | None:
    """The stages of the last confirming runs; None where nothing was confirmed."""
    sides = {
        name: tuple(uses(run.verdict.stages))
        for name, run in last_confirmed(study)
        if run.verdict is not None and run.verdict.stages is not None
    }
    if not sides:
        return None
    title = "How busy each stage was"
    says = (
        "Shares of the window in the last confirming runs: threads by the core that each can use, "
        "the engine by its cores, the disk by the time in which cores idled for it; the light end "
        "is time in which a thread was ready and had no core."
    )

    def paint(figure: Figure) -> None:
        panels = figure.subplots(len(sides), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (name, found) in zip(panels, sides.items(), strict=True):
            _paint(axes, name, found)

    rows = tuple(
        (name, use.stage, f"{use.busy:.0%}", f"{use.ready:.0%}" if use.ready else "-")
        for name, found in sides.items()
        for use in found
    )
    header = ("", "stage", "busy", "ready without a core")
    height = 40 + 150 * len(sides)
    return Plot("stages", title, says, svg("stages", title, says, height, paint), header, rows)


def _paint(axes: Axes, name: str, found: tuple[Use, ...]) -> None:
    colour = Colour.WRITTEN if name == "as written" else Colour.BEST
    stages = [use.stage for use in found]
    busy = [use.busy * 100 for use in found]
    axes.barh(stages, busy, color=colour.value)
    ends = axes.barh(stages, [use.ready * 100 for use in found], left=busy, color=colour.value,
                     alpha=0.35)  # fmt: skip
    axes.bar_label(ends, [f"{use.busy:.0%}" for use in found], padding=3, fontsize=9)
    axes.set_xlim(0, 112)
    axes.xaxis.set_major_formatter("{x:.0f} %")
    axes.set_title(name, color=Colour.MUTED.value)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
