"""Where a search is shown: in lines or, on a terminal, with a view below them that stays."""

from __future__ import annotations

import contextlib
import statistics
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.control import Control
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.segment import SegmentLines
from rich.table import Table
from rich.text import Text

from tuner.cli.console import Verbosity, is_live, printable, stderr
from tuner.cli.search_progress import (
    Progress,
    Running,
    detail_lines,
    stage_line,
    trial_line,
    trial_name,
)
from tuner.host.signals import unbroken
from tuner.measure.measurement import Failure
from tuner.report.figures import pair_text, steps, steps_text
from tuner.report.result import SUSTAINED
from tuner.schema.numerals import eps, percent, seconds
from tuner.search.climb import Leader
from tuner.search.study import BASELINE, Changes, Phase, Trial

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


_PHASES = {
    Phase.WARM_UP: "warming up",
    Phase.CALIBRATE: "calibrating",
    Phase.SEARCH: "climbing",
    Phase.FINAL: "choosing among the best",
    Phase.CHECK: "checking at a fixed rate",
    Phase.CONFIRM: "confirming",
    Phase.RECIPE: "comparing with the recipe",
    Phase.EFFECTS: "what each change gives",
}
_LABEL = 12
_MOST_CHANGED = 6


def view(progress: Progress, now_s: float) -> Group:
    """What stands below the trials at `now_s` seconds of the budget, the most important first."""
    facts = Table.grid()
    facts.add_column(width=_LABEL, style="dim")
    facts.add_column(overflow="fold")
    for label, text in _facts(progress):
        facts.add_row(label, text)
    title = Text(_one_line(progress.title))
    # Without padding a bar does not end its line.
    bar = Padding(ProgressBar(progress.budget_s, now_s), 0)
    return Group(Rule(title, align="left", style="dim"), _status(progress, now_s), bar, facts)


def _one_line(text: str) -> str:
    """What others wrote, without what could steer the terminal."""
    return " ".join(printable(text).split())


def _status(progress: Progress, now_s: float) -> RenderableType:
    """The phase and what is under way on the left, the time on the right."""
    running = progress.running
    if running is None:
        return Text("starting", style="bold")
    name = trial_name(running)
    if running.pair is not None:
        name += f", {pair_text(running.phase, running.pair)}"
    stage = f"{_one_line(running.stage)} {max(0.0, now_s - running.since_s):.0f} s"
    left_s = progress.budget_s - now_s
    left = f"{seconds(left_s)} left" if left_s > 0 else f"{seconds(-left_s)} beyond the budget"
    line = Table.grid(expand=True)
    line.add_column(ratio=1)
    line.add_column(justify="right", no_wrap=True)
    phase = (_PHASES[running.phase], "bold")
    line.add_row(Text.assemble(phase, f": {name}, {stage}"), Text(f"  {left}"))
    return line


def _facts(progress: Progress) -> Iterator[tuple[str, Text]]:
    """What the search knows so far, by label."""
    best = progress.best
    if rates := progress.rates(BASELINE):
        spread = f", {eps(min(rates))} to {eps(max(rates))}" if len(rates) > 1 else ""
        rate = f"{eps(statistics.median(rates))} EPS"
        yield "as written", Text(f"{rate}, {_runs(rates)}{spread}")
    if best != BASELINE and (rates := progress.rates(best)):
        rate = f"{eps(statistics.median(rates))} EPS"
        yield (
            "best",
            Text.assemble((rate, "bold"), f", trial {progress.first(best)}, {_runs(rates)}"),
        )
    yield from _gain(progress)
    limit, written = _bottleneck(progress, best), _bottleneck(progress, BASELINE)
    if limit and written and limit != written:
        yield "limited by", Text(f"{limit}; as written: {written}")
    elif limit or written:
        yield "limited by", Text(limit or written)
    failed = sum(isinstance(trial.outcome, Failure) for trial in progress.trials)
    doubts = [f"{failed} failed"] if failed else []
    doubts += [f"{count} {kind.value}" for kind, count in progress.doubts.most_common()]
    if doubts:
        among = f" of {len(progress.trials)} trials"
        yield "doubts", Text(", ".join(doubts) + among, style="yellow")
    if changed := steps(BASELINE, best, progress.written):
        yield "changed", Text(_one_line(steps_text(changed, progress.names, _MOST_CHANGED)))


def _runs(rates: Sequence[float]) -> str:
    return "measured once" if len(rates) == 1 else f"median of {len(rates)} runs"


def _gain(progress: Progress) -> Iterator[tuple[str, Text]]:
    """The best over the profile with its 95 % interval, and what that rests on."""
    paired = progress.paired
    gain = paired or (None if progress.leader is None else progress.leader.believed)
    if gain is None:
        return
    basis = f" {SUSTAINED.over}, estimated from all trials; pairs decide"
    if paired is not None:
        enough = "" if paired.enough else f" of {paired.fewest} or more"
        adjusted = ", adjusted for the machine's speed" * paired.is_adjusted
        basis = f" {progress.paired_rate.over}{adjusted}, by {paired.pairs}{enough} pairs"
    between = f" [{percent(gain.low)}, {percent(gain.high)}]"
    yield "gain", Text.assemble((percent(gain.ratio), _style_of(gain.ratio)), between, basis)


def _bottleneck(progress: Progress, changes: Changes) -> str:
    verdict = progress.verdict(changes)
    return "" if verdict is None else verdict.bottleneck.value


def _style_of(ratio: float) -> str:
    return "green" if ratio > 1.0 else "red"


# Drawing takes processor time from what is measured: some 1.5 ms each time.
_PER_SECOND = 1
_REMEMBERED = 200
_MOST_LINES = 12


class Screen:
    """Shows a search in lines: one for each trial and note, with `-v` for each stage too; with a
    `console` above a view that is drawn there once a second.

    `now_s` gives the seconds of the budget that are used.  What was `announced` before it began
    need not be said again.
    """

    def __init__(
        self,
        verbosity: Verbosity,
        progress: Progress,
        now_s: Callable[[], float],
        announced: tuple[str, ...] = (),
        console: Console | None = None,
    ) -> None:
        self.verbosity = verbosity
        self.progress = progress
        self.announced = announced
        self._view: _View | None = None
        if console is not None:
            self._view = _View(console, lambda: view(self.progress, now_s()))

    def start(self) -> None:
        """Draw the view, from now on."""
        if self._view is not None:
            self._view.start(refresh=True)

    def stop(self) -> None:
        """Take the view away and show the cursor again; once more does nothing."""
        # A terminal that hung up must not keep the results from being written.
        with unbroken(), contextlib.suppress(OSError):
            if self._view is not None:
                self._view.stop()

    def say(self, text: str) -> None:
        """Something to know that stays to be read; above a view it is folded at words."""
        if self._view is None:
            self.verbosity.say(text)
        else:
            self._view.put(Text(printable(text)))

    def began(self, running: Running) -> None:
        """Another stage of a trial began."""
        self.progress = self.progress.at(running)
        if self.verbosity is Verbosity.VERBOSE:
            self.say(stage_line(running))
        if self._view is not None:
            self._view.refresh()

    def ended(self, trial: Trial, leader: Leader | None, left_s: float) -> None:
        """A trial ended."""
        lines = [trial_line(self.progress, trial, left_s)]
        if self.verbosity is Verbosity.VERBOSE:
            lines += detail_lines(self.progress, trial)
        self.took_over(trial, leader)
        for line in lines:
            self.say(line)

    def took_over(self, trial: Trial, leader: Leader | None = None) -> None:
        """Counts a trial of an earlier session, and prints no line for it."""
        self.progress = self.progress.after(trial, leader)


class _View(Live):
    """Rich's live display, at most half of the terminal high, with lines above it.

    When the terminal gets another size it is cleared, because what it made of longer lines cannot
    be known, and the last lines come again.  A drawing that a signal ended halfway would leave rich
    with a height that is not on the terminal, and take a line above it away with the view.
    """

    def __init__(self, console: Console, draw: Callable[[], RenderableType]) -> None:
        self._draw = draw
        self._above: deque[RenderableType] = deque(maxlen=_REMEMBERED)
        self._size, self._height = console.size, 0
        super().__init__(
            console=console,
            refresh_per_second=_PER_SECOND,
            transient=True,
            redirect_stdout=False,
            vertical_overflow="crop",
        )

    def put(self, line: RenderableType) -> None:
        """A line, or several, above the view."""
        with unbroken(), self._lock:
            self._above.append(line)
            if self.console.size == self._size:
                self.console.print(line, soft_wrap=False)
            self.refresh()

    def refresh(self) -> None:
        """Draw the view, and everything where the terminal has another size than before."""
        with unbroken(), self._lock:
            super().refresh()
            if not self.is_started or self.console.size == self._size:
                return
            self._size = self.console.size
            self.console.control(Control.clear(), Control.home())
            room = max(1, self._size.height - self._height)
            self.console.print(Group(*list(self._above)[-room:]), soft_wrap=False)

    def get_renderable(self) -> SegmentLines:
        """What stands below the lines now."""
        most = max(1, min(_MOST_LINES, self.console.height // 2))
        # The ^C that a terminal echoes must not wrap its last line.
        narrower = self.console.options.update_width(max(1, self.console.width - 2))
        lines = self.console.render_lines(self._draw(), narrower, pad=False)[:most]
        self._height = len(lines)
        return SegmentLines(lines, new_lines=True)


@contextlib.contextmanager
def screen(
    verbosity: Verbosity,
    progress: Progress,
    now_s: Callable[[], float],
    announced: tuple[str, ...] = (),
) -> Iterator[Screen]:
    """Where to show a search: a view on a terminal, lines elsewhere; `announced` is what stands
    above it."""
    has_view = verbosity is not Verbosity.QUIET and is_live()
    shown = Screen(verbosity, progress, now_s, announced, stderr() if has_view else None)
    if not has_view:
        shown.say("first trial")
    try:
        shown.start()
        yield shown
    finally:
        shown.stop()
