"""Where a search is shown: in lines or, on a terminal, with a view below them that stays."""

from __future__ import annotations

import contextlib
import statistics
import textwrap
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
    TrialRow,
    detail_lines,
    freshness,
    stage_line,
    trial_line,
    trial_name,
    what,
)
from tuner.host.signals import unbroken
from tuner.measure.measurement import Failure, Measurement, PacedMeasurement
from tuner.report.figures import pair_text, steps, steps_text
from tuner.report.result import SUSTAINED
from tuner.schema.numerals import eps, percent, seconds
from tuner.search.climb import Leader
from tuner.search.study import BASELINE, SCORED, Changes, Phase, Trial

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
_BARS, _ASCII_BARS = "▁▂▃▄▅▆▇█", "_.-~=+*#"
_MOST_BARS = 40
_LABEL = 12
_MOST_CHANGED = 6
# Reports have all of it.
_REASON = 240


def view(progress: Progress, now_s: float, *, ascii_only: bool = False) -> Group:
    """What stands below the trials at `now_s` seconds of the budget, the most important first."""
    facts = Table.grid()
    facts.add_column(width=_LABEL, style="dim")
    facts.add_column(overflow="fold")
    for label, text in _facts(progress, ascii_only):
        facts.add_row(label, text)
    title = Text(_one_line(progress.title))
    # Without padding a bar does not end its line.
    bar = Padding(ProgressBar(progress.budget_s, now_s), 0)
    return Group(Rule(title, align="left", style="dim"), _status(progress, now_s), bar, facts)


def trial_row(row: TrialRow, progress: Progress) -> Table:
    """A trial among others on a terminal: number, rate, change, and what it was; below that why it
    failed."""
    trial, outcome = row.trial, row.trial.outcome
    pair = pair_text(trial.phase, trial.pair)
    remark = Text(_one_line(f"{pair}{': ' * bool(pair)}{what(row, progress)}"))
    rate, ratio = Text("failed", style="red"), Text()
    if isinstance(outcome, Failure):
        reason = textwrap.shorten(_one_line(str(outcome)), _REASON, placeholder=" ...")
        remark.append(f"\n{reason}", style="red")
    else:
        if isinstance(outcome, PacedMeasurement):
            remark.append(freshness(outcome))
        is_best = trial.phase in SCORED and outcome.eps == row.best_eps and row.ratio is not None
        rate = Text(eps(outcome.eps), style="bold" if is_best else "")
        if row.ratio is not None:
            is_other = trial.changes != BASELINE or trial.pair is not None
            ratio = Text(percent(row.ratio), style=_style_of(row.ratio) if is_other else "")
        elif row.pair is not None:
            ratio = Text(percent(row.pair.lesser), style=_style_of(row.pair.lesser))
            remark.append(f", this pair {row.pair}" * (row.pair.steady != row.pair.sustained))
    grid = Table.grid()
    for width in (4, 8, 10):
        grid.add_column(width=width, justify="right")
    grid.add_column(width=2)
    grid.add_column(overflow="fold")
    number = "" if trial.number < 0 else str(trial.number)
    grid.add_row(Text(number, style="dim"), rate, ratio, "", remark)
    return grid


def _one_line(text: str) -> str:
    """What others wrote, without what could steer the terminal."""
    return " ".join(printable(text).split())


def _status(progress: Progress, now_s: float) -> RenderableType:
    """The phase and what is under way on the left, the time on the right."""
    running = progress.running
    if running is None:
        return Text("starting", style="bold")
    name = trial_name(running)
    if progress.rows and running.phase is not Phase.WARM_UP:
        name += f" of about {progress.rows[-1].expected}"
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


def _facts(progress: Progress, ascii_only: bool) -> Iterator[tuple[str, Text]]:
    """What the search knows so far, by label."""
    best = progress.best
    if rates := progress.rates(BASELINE):
        spread = f", {eps(min(rates))} to {eps(max(rates))}" if len(rates) > 1 else ""
        rate = f"{eps(statistics.median(rates))} EPS"
        yield "as written", Text(f"{rate}, {_runs(rates)}{spread}")
    if best != BASELINE and (rates := progress.rates(best)):
        first = next(trial.number for trial in progress.trials if trial.changes == best)
        rate = f"{eps(statistics.median(rates))} EPS"
        yield "best", Text.assemble((rate, "bold"), f", trial {first}, {_runs(rates)}")
    yield from _gain(progress)
    yield from _rates(progress, ascii_only)
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


def _rates(progress: Progress, ascii_only: bool) -> Iterator[tuple[str, Text]]:
    """The rates of the last trials as a sparkline, without those that a schedule set."""
    aside = (Phase.WARM_UP, Phase.CHECK)
    trials = [trial for trial in progress.trials if trial.phase not in aside][-_MOST_BARS:]
    outcomes = [trial.outcome for trial in trials]
    rates = [seen.eps if isinstance(seen, Measurement) else None for seen in outcomes]
    measured = [rate for rate in rates if rate is not None]
    if measured:
        between = f" {eps(min(measured))} to {eps(max(measured))}"
        yield "EPS", sparkline(rates, ascii_only).append(between)


def sparkline(values: Sequence[float | None], ascii_only: bool) -> Text:
    """A bar for each value between the lowest and the highest of them, an x for None."""
    bars = _ASCII_BARS if ascii_only else _BARS
    numbers = [value for value in values if value is not None]
    low = min(numbers, default=0.0)
    spread = max(numbers, default=0.0) - low
    line = Text()
    for value in values:
        if value is None:
            line.append("x", style="red")
        else:
            share = (value - low) / spread if spread else 1.0
            line.append(bars[round(share * (len(bars) - 1))], style="cyan")
    return line


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
    """Shows a search in lines: one for each trial and note, with `-v` for each stage too.  What was
    `announced` before it began need not be said again."""

    def __init__(
        self, verbosity: Verbosity, progress: Progress, announced: tuple[str, ...] = ()
    ) -> None:
        self.verbosity = verbosity
        self.progress = progress
        self.announced = announced

    def say(self, text: str) -> None:
        """Something to know that stays to be read."""
        self.verbosity.say(text)

    def began(self, running: Running) -> None:
        """Another stage of a trial began."""
        self.progress = self.progress.at(running)
        if self.verbosity is Verbosity.VERBOSE:
            self.say(stage_line(running))

    def ended(self, trial: Trial, leader: Leader | None, expected: int, left_s: float) -> None:
        """A trial ended."""
        self.took_over(trial, leader, expected, left_s)
        self._tell_trial()
        if self.verbosity is Verbosity.VERBOSE:
            for line in detail_lines(self.progress):
                self.say(line)

    def took_over(self, trial: Trial, leader: Leader | None, expected: int, left_s: float) -> None:
        """An earlier session made a trial: it counts, and is not told of again."""
        self.progress = self.progress.after(trial, leader, expected, left_s)

    def stop(self) -> None:
        """What is said from now on comes from elsewhere."""

    def _tell_trial(self) -> None:
        self.say(trial_line(self.progress))


class LiveScreen(Screen):
    """A view at the bottom of a terminal, drawn once a second, and above it the lines, which stay.

    `now_s` gives the seconds of the budget that are used.
    """

    def __init__(
        self,
        verbosity: Verbosity,
        progress: Progress,
        console: Console,
        now_s: Callable[[], float],
        announced: tuple[str, ...] = (),
    ) -> None:
        super().__init__(verbosity, progress, announced)
        ascii_only = console.options.ascii_only
        self._view = _View(console, lambda: view(self.progress, now_s(), ascii_only=ascii_only))

    def start(self) -> None:
        """Draw, from now on."""
        self._view.start(refresh=True)

    def stop(self) -> None:
        """Take the view away and show the cursor again; once more does nothing."""
        # A terminal that hung up must not keep the results from being written.
        with unbroken(), contextlib.suppress(OSError):
            self._view.stop()

    def say(self, text: str) -> None:
        """See Screen; the text is folded at words."""
        self._view.put(Text(printable(text)))

    def began(self, running: Running) -> None:
        """See Screen."""
        super().began(running)
        self._view.refresh()

    def _tell_trial(self) -> None:
        self._view.put(trial_row(self.progress.rows[-1], self.progress))


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
    if verbosity is Verbosity.QUIET or not is_live():
        lines = Screen(verbosity, progress, announced)
        lines.say("first trial")
        yield lines
        return
    live = LiveScreen(verbosity, progress, stderr(), now_s, announced)
    try:
        live.start()
        yield live
    finally:
        live.stop()
