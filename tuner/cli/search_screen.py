"""How far a search is, a value that each of its steps makes a new one of, and where that is shown:
in lines or, on a terminal, with a view below them that stays."""

from __future__ import annotations

import contextlib
import statistics
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
from tuner.host.signals import signals_deferred
from tuner.measure.bottleneck import Diagnosis
from tuner.measure.measurement import DoubtKind, Failure, Measurement, PacedMeasurement
from tuner.measure.paired import Comparison
from tuner.profile.model import Profile
from tuner.profile.objective import Objective
from tuner.profile.schema import full_name, names_in
from tuner.report import figures
from tuner.report.figures import STEADY, SUSTAINED
from tuner.schema.numerals import eps, percent, seconds
from tuner.search.climb import Leader
from tuner.search.study import BASELINE, PAIRED, SCORED, Changes, Phase, Trial
from tuner.search.verdict import candidate_of, compared, lesser_gain, pairs_of
from tuner.space.knob import Knob, level_text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


@dataclass(frozen=True)
class Running:
    """The trial that is under way and its stage, which began at `since_s` of the search's clock."""

    number: int
    phase: Phase
    pair: int | None
    stage: str
    since_s: float


@dataclass(frozen=True)
class Progress:
    """A search so far: what it is of, its trials, what leads and what is under way."""

    title: str
    budget_s: float
    profile: Profile
    knobs: tuple[Knob, ...]
    trials: tuple[Trial, ...] = ()
    leader: Leader | None = None
    running: Running | None = None

    def after(self, trial: Trial, leader: Leader | None) -> Progress:
        """What it is once a trial ended; `leader` is what leads by then."""
        return replace(self, trials=(*self.trials, trial), leader=leader)

    def at(self, running: Running) -> Progress:
        """What it is once another stage began."""
        return replace(self, running=running)

    @cached_property
    def names(self) -> dict[str, str]:
        """Short names of the settings by their paths."""
        return names_in(self.profile, [knob.path for knob in self.knobs])

    @cached_property
    def written(self) -> figures.Levels:
        """The levels of the profile as written, the most promising settings first."""
        return {knob.path: knob.current for knob in sorted(self.knobs, key=lambda knob: knob.rank)}

    @property
    def best(self) -> Changes:
        """What is confirmed or would be; the profile as written before there is anything else."""
        leading = BASELINE if self.leader is None else self.leader.changes
        return candidate_of(self.trials) or leading

    def first(self, changes: Changes) -> int:
        """The number of the trial that measured a point first."""
        return next(trial.number for trial in self.trials if trial.changes == changes)

    def rates(self, changes: Changes | None = None) -> tuple[float, ...]:
        """What trials show that the search learns from, of one point or of all."""
        return tuple(
            self.aim.of(trial.outcome)
            for trial in self.trials
            if changes in {None, trial.changes}
            and trial.phase in SCORED
            and isinstance(trial.outcome, Measurement)
        )

    @property
    def aim(self) -> figures.Rate:
        """What single runs are shown by."""
        return figures.claimed_rate(self.trials, None, None)

    @property
    def paired(self) -> tuple[Comparison | None, figures.Rate]:
        """The best against the profile by fresh pairs, by the lesser of both rates, as a claim will
        be, None with less than two; and the rate that it is of."""
        pairs = pairs_of(self.trials)
        rates = (compared(pairs, rate.of) for rate in (STEADY, SUSTAINED))
        return lesser_gain(pairs), figures.claimed_rate(self.trials, *rates)

    def verdict(self, changes: Changes) -> Diagnosis | None:
        """What limited a point when it was measured last."""
        measured = (trial.measurement for trial in self.trials if trial.changes == changes)
        verdicts = [run.verdict for run in measured if run is not None]
        return next((verdict for verdict in reversed(verdicts) if verdict is not None), None)

    @property
    def doubts(self) -> Counter[DoubtKind]:
        """In how many trials there was each doubt."""
        measured = [trial.measurement for trial in self.trials]
        return Counter(doubt.kind for run in measured if run is not None for doubt in run.doubts)


_MOVING = frozenset({Phase.SEARCH, Phase.FINAL, Phase.EFFECTS})


def trial_line(progress: Progress, trial: Trial, left_s: float) -> str:
    """A trial that ended after those of `progress`, in a line that is as long as it gets: which
    one, what came out, what is left, what it changed and why.  Nothing is cut."""
    name = "warm-up" if trial.phase is Phase.WARM_UP else f"trial {trial.number:>3}"
    name = f"{name:<9} {figures.pair_text(trial.phase, trial.pair)}".rstrip()
    outcome = _outcome(progress, trial)
    return f"{name}  {outcome}  ({seconds(left_s)} left)  {_changed(progress, trial)}"


def stage_line(running: Running) -> str:
    """What is going on at this moment."""
    return f"{trial_name(running)}: {running.stage}"


def trial_name(running: Running) -> str:
    """Which trial it is."""
    return "warm-up" if running.phase is Phase.WARM_UP else f"trial {running.number}"


def detail_lines(progress: Progress, trial: Trial) -> Iterator[str]:
    """What a trial showed beside its rate, for those who want all of it."""
    moved = figures.move(progress.best, trial.changes, progress.written)
    for step in moved.steps if trial.phase in _MOVING else ():
        name = full_name(progress.profile, step.path)
        yield f"    {name}: {level_text(step.before)} -> {level_text(step.after)}"
    outcome = trial.outcome
    if isinstance(outcome, Failure):
        return
    yield (
        f"    CPU per event: rsyslogd {outcome.shipper_cpu_us:.1f} µs, "
        f"engine {outcome.engine_cpu_us:.1f} µs"
    )
    if isinstance(outcome, Measurement):
        yield f"    window {outcome.window_s:.1f} s, drained in {outcome.drain_s:.1f} s"
        if outcome.verdict is not None:
            yield f"    bottleneck: {outcome.verdict.bottleneck.value}"
    for doubt in outcome.doubts:
        yield f"    doubt: {doubt}: {doubt.kind.advice}"


def _changed(progress: Progress, trial: Trial) -> str:
    """What a trial changed, and why it was made: `refresh_interval 5s -> 30s (at random)`; of a
    point that was measured before, its first trial."""
    moved = figures.move(progress.best, trial.changes, progress.written)
    if trial.phase is Phase.FINAL:
        first = progress.first(trial.changes)
        is_best = not moved.steps and trial.changes != BASELINE
        return f"again, as trial {first}{', the best so far' * is_best}"
    if trial.phase not in _MOVING or trial.changes == BASELINE or not moved.steps:
        return trial.why
    best = "best with " if moved.from_best else ""
    return f"{best}{figures.steps_text(moved.steps, progress.names)} ({trial.why})"


def _outcome(progress: Progress, trial: Trial) -> str:
    outcome = trial.outcome
    if isinstance(outcome, Failure):
        return f"failed: {' '.join(str(outcome).split())}"
    rate = f"{eps(outcome.eps):>9} EPS"
    if isinstance(outcome, PacedMeasurement):
        fresh = outcome.freshness_s
        return rate if fresh is None else f"{rate}, freshness p99 {fresh.p99:.1f} s"
    aim = progress.after(trial, progress.leader).aim
    if outcome.objective is not Objective.EPS:
        rate = f"{aim.write(outcome.figure):>13}"
    if trial.phase in PAIRED:
        return f"{rate}{_pair_ratios(progress, trial)}"
    known = progress.after(trial, progress.leader)
    written = known.rates(BASELINE)
    if trial.phase is Phase.WARM_UP or not written:
        return rate
    ratio = percent(aim.of(outcome) / statistics.median(written))
    best = max(known.rates()) if aim.facts.more_is_better else min(known.rates())
    return f"{rate} {ratio:>8}, best seen {aim.write(best)}"


def _pair_ratios(progress: Progress, trial: Trial) -> str:
    """The best over the other side of a pair, as measured, by both rates: a claim is of the lower
    one.  Empty until both sides are known; runs of two sessions are no pair."""
    pair = (trial.phase, trial.pair, trial.machine, trial.at_s)
    before = [
        earlier
        for earlier in progress.trials
        if (earlier.phase, earlier.pair, earlier.machine, earlier.ended_s) == pair
    ]
    runs = {run.changes: run.measurement for run in (*before, trial)}
    best = candidate_of([*progress.trials, trial])
    ordered = [runs[changes] for changes in sorted(runs, key=lambda changes: changes == best)]
    measured = [run for run in ordered if run is not None]
    if len(measured) != 2:
        return ""
    aim = progress.after(trial, progress.leader).aim
    if not aim.is_rate:
        return f", this pair {percent(aim.of(measured[1]) / aim.of(measured[0]))}"
    steady, sustained = (
        percent(rate.of(measured[1]) / rate.of(measured[0])) for rate in (STEADY, SUSTAINED)
    )
    both = f"{steady} {STEADY.over}, {sustained} {SUSTAINED.over}"
    return f", this pair {steady if steady == sustained else both}"


_PHASES = {
    Phase.WARM_UP: "warming up",
    Phase.CALIBRATE: "calibrating",
    Phase.SEARCH: "climbing",
    Phase.FINAL: "choosing among the best",
    Phase.CHECK: "checking at a fixed rate",
    Phase.CONFIRM: "confirming",
    Phase.RECIPE: "comparing with the recipe",
    Phase.FRONT: "confirming the front",
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
        name += f", {figures.pair_text(running.phase, running.pair)}"
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
        aim = progress.aim
        spread = f", {aim.write(min(rates))} to {aim.write(max(rates))}" if len(rates) > 1 else ""
        rate = aim.text(statistics.median(rates))
        yield "as written", Text(f"{rate}, {_runs(rates)}{spread}")
    if best != BASELINE and (rates := progress.rates(best)):
        median = (progress.aim.text(statistics.median(rates)), "bold")
        yield "best", Text.assemble(median, f", trial {progress.first(best)}, {_runs(rates)}")
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
    if changed := figures.steps(BASELINE, best, progress.written):
        yield "changed", Text(_one_line(figures.steps_text(changed, progress.names, _MOST_CHANGED)))


def _runs(rates: Sequence[float]) -> str:
    return "measured once" if len(rates) == 1 else f"median of {len(rates)} runs"


def _gain(progress: Progress) -> Iterator[tuple[str, Text]]:
    """The best over the profile with its 95 % interval, and what that rests on."""
    paired, rate = progress.paired
    gain = paired or (None if progress.leader is None else progress.leader.believed)
    if gain is None:
        return
    over = SUSTAINED.over if progress.aim is STEADY else progress.aim.label
    basis = f" {over}, estimated from all trials; pairs decide"
    if paired is not None:
        enough = "" if paired.enough else f" of {paired.fewest} or more"
        adjusted = ", adjusted for the machine's speed" * paired.is_adjusted
        over = rate.over if rate.is_rate else rate.label
        basis = f" {over}{adjusted}, by {paired.pairs}{enough} pairs"
    changed = progress.aim.change(gain)
    between = f" [{percent(changed.low)}, {percent(changed.high)}]"
    style = "green" if gain.ratio > 1.0 else "red"
    yield "gain", Text.assemble((percent(changed.ratio), style), between, basis)


def _bottleneck(progress: Progress, changes: Changes) -> str:
    verdict = progress.verdict(changes)
    return "" if verdict is None else verdict.bottleneck.value


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
        with signals_deferred(), contextlib.suppress(OSError):
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
        with signals_deferred(), self._lock:
            self._above.append(line)
            if self.console.size == self._size:
                self.console.print(line, soft_wrap=False)
            self.refresh()

    def refresh(self) -> None:
        """Draw the view, and everything where the terminal has another size than before."""
        with signals_deferred(), self._lock:
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
