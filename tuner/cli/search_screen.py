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
from rich.text import Text

from tuner.cli.console import Voice, is_live, stderr
from tuner.cli.layout import Size, apart, fitted, fitting, folded, sparkline
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
from tuner.measure.measurement import Failure, Measurement, PacedMeasurement
from tuner.report.figures import eps, percent, seconds, steps, steps_lines
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
    Phase.SHRINK: "removing changes that do not help",
}
# For where the whole name and the time that is left do not fit into a line.
_SHORT_PHASES = {
    **_PHASES,
    Phase.FINAL: "choosing",
    Phase.CHECK: "checking",
    Phase.SHRINK: "removing changes",
}
_LABEL, _NARROW_LABEL = 12, 10
_MOST_LINES = 12
_MOST_CHANGED = 3
_MOST_REASON = 3
_INDENT = 6
# With less room for it than this, what a trial changed stands below its rate.
_LEAST_ROOM = 16

Lines = Iterator["RenderableType"]


def view_lines(progress: Progress, now_s: float, size: Size) -> list[RenderableType]:
    """What stands below the trials at `now_s` seconds of the budget: as much of it, the most
    important first, as leaves half of the terminal to the trials."""
    parts: Sequence[tuple[int, Callable[[], Lines]]] = (
        (9, lambda: _title(progress, size)),
        (0, lambda: _status(progress, now_s, size)),
        (4, lambda: iter([Padding(ProgressBar(progress.budget_s, now_s), 0)])),
        (3, lambda: _as_written(progress, size)),
        (1, lambda: _best(progress, size)),
        (2, lambda: _gain(progress, size)),
        (5, lambda: _changed(progress, size)),
        (6, lambda: _rates(progress, size)),
        (7, lambda: _limit(progress, size)),
        (8, lambda: _doubts(progress, size)),
    )
    lines = [(rank, line) for rank, part in parts for line in part()]
    most = max(1, min(_MOST_LINES, size.height // 2))
    by_rank = sorted(range(len(lines)), key=lambda at: (lines[at][0], at))
    chosen = (lines[at][1] for at in sorted(by_rank[:most]))
    return [fitted(line, size.width) if isinstance(line, Text) else line for line in chosen]


def row_lines(row: TrialRow, progress: Progress, width: int) -> list[Text]:
    """A trial among others on a terminal: number, rate, change, and what it was, which stands below
    them where it is too long; below that why it failed."""
    trial, outcome = row.trial, row.trial.outcome
    text = Text.assemble(("    " if trial.number < 0 else f"{trial.number:>4}", "dim"))
    if isinstance(outcome, Failure):
        text.append(f"{'failed':>8}{'':10}", style="red")
    else:
        is_best = trial.phase in SCORED and outcome.eps == row.best_eps and row.ratio is not None
        change = "" if row.ratio is None else percent(row.ratio)
        text.append(f"{eps(outcome.eps):>8}", style="bold" if is_best else "")
        is_other = trial.changes != BASELINE or trial.pair is not None
        text.append(f"{change:>10}", style=_style_of(row.ratio) if is_other else "")
    text.append("  ")
    lines = _beside(text, lambda room: _said_of(row, progress, room), width)
    if isinstance(outcome, Failure):
        lines += _reason(outcome, width)
    return lines


def _beside(head: Text, said: Callable[[int], str], width: int) -> list[Text]:
    """What is said, beside a head or, where it does not fit there, below it."""
    room, below = width - head.cell_len, width - _INDENT
    if room >= _LEAST_ROOM and len(said(room)) <= room:
        return [fitted(Text.assemble(head, said(room)), width)]
    return [fitted(head, width), *_indented(folded(said(below), below), _INDENT)]


def _reason(failure: Failure, width: int) -> list[Text]:
    """Why a trial failed, in a few lines; reports have all of it."""
    lines = folded(str(failure), width - _INDENT)
    if len(lines) > _MOST_REASON:
        rest = " ".join(line.plain.strip() for line in lines[_MOST_REASON - 1 :])
        lines[_MOST_REASON - 1 :] = [fitted(Text(f"  {rest}"), width - _INDENT)]
    for line in lines:
        line.stylize("red")
    return _indented(lines, _INDENT)


def _indented(lines: Sequence[Text], columns: int) -> list[Text]:
    return [Text(" " * columns).append(line) for line in lines]


def _said_of(row: TrialRow, progress: Progress, room: int) -> str:
    pair = "" if row.trial.pair is None else f"pair {row.trial.pair}: "
    fresh = freshness(row.trial.outcome) if isinstance(row.trial.outcome, PacedMeasurement) else ""
    return pair + what(row, progress, room - len(pair)) + fresh


def _title(progress: Progress, size: Size) -> Lines:
    yield Rule(fitted(Text(progress.title), size.width - 2), align="left", style="dim")


def _status(progress: Progress, now_s: float, size: Size) -> Lines:
    """The phase and what is under way on the left, the time on the right."""
    running = progress.running
    if running is None:
        yield Text("starting", style="bold")
        return
    name = trial_name(running)
    if progress.rows and running.phase is not Phase.WARM_UP:
        name += f" of {'~' if size.is_narrow else 'about '}{progress.rows[-1].expected}"
    if running.pair is not None:
        name += f", pair {running.pair}"
    left = _time_left(progress, now_s, size)
    if size.is_narrow:
        yield Text(_SHORT_PHASES[running.phase], style="bold")
        yield apart(Text(name), left, size.width)
        return
    stage = f", {running.stage} {max(0.0, now_s - running.since_s):.0f} s"
    long, short = _PHASES[running.phase], _SHORT_PHASES[running.phase]
    phase = fitting(size.width - len(f": {name}{stage} {left}"), long, short)
    whole = f"{phase}: {name}{stage}"
    text = Text(fitting(size.width - len(left) - 1, whole, f"{phase}: {name}"))
    text.stylize("bold", 0, len(phase))
    yield apart(text, left, size.width)


def _time_left(progress: Progress, now_s: float, size: Size) -> str:
    left_s = progress.budget_s - now_s
    if left_s <= 0:
        return f"{seconds(-left_s)} beyond the budget"
    whole = f" of {seconds(progress.budget_s)}" if size.is_wide else ""
    return f"{seconds(left_s)}{whole} left"


def _as_written(progress: Progress, size: Size) -> Lines:
    rates = progress.rates(BASELINE)
    if not rates:
        return
    text = f"{eps(statistics.median(rates))} EPS, {_runs(rates)}"
    if len(rates) > 1 and not size.is_narrow:
        text += f", {eps(min(rates))} to {eps(max(rates))}"
    yield _named("written" if size.is_narrow else "as written", Text(text), size)


def _best(progress: Progress, size: Size) -> Lines:
    rates = progress.rates(progress.best)
    if progress.best == BASELINE or not rates:
        return
    first = next(one.number for one in progress.trials if one.changes == progress.best)
    runs = "" if size.is_narrow else f", {_runs(rates)}"
    rate = f"{eps(statistics.median(rates))} EPS"
    yield _named("best", Text.assemble((rate, "bold"), f", trial {first}{runs}"), size)


def _runs(rates: Sequence[float]) -> str:
    return "measured once" if len(rates) == 1 else f"median of {len(rates)} runs"


def _gain(progress: Progress, size: Size) -> Lines:
    """The best over the profile with its 95 % interval, and what that rests on."""
    paired = progress.paired
    estimate = None if progress.leader is None else progress.leader.believed
    found = estimate if paired is None else paired
    if found is None:
        return
    label, bases = "gain", (" estimated from all trials; pairs decide", " estimated; pairs decide")
    if paired is not None:
        enough = "" if paired.enough else f" of {paired.fewest} or more"
        bases = (f" by {paired.pairs}{enough} pairs", f" by {paired.pairs} pairs")
    if size.is_narrow:
        label, bases = f"{paired.pairs} pairs" if paired is not None else "estimate", ("", "")
    ratio = percent(found.ratio)
    between = f" [{percent(found.low)}, {percent(found.high)}]"
    basis = fitting(size.width - _label(size) - len(ratio + between), *bases, "")
    text = Text.assemble((ratio, _style_of(found.ratio)), between, basis)
    yield _named(label, text, size)


def _changed(progress: Progress, size: Size) -> Lines:
    found = steps(BASELINE, progress.best, progress.written)
    lines = steps_lines(found, progress.names, size.width - _label(size), _MOST_CHANGED)
    yield from _named_lines("changed", lines, size)


def _rates(progress: Progress, size: Size) -> Lines:
    """The rates of the last trials as a sparkline, without those that a schedule set."""
    aside = (Phase.WARM_UP, Phase.CHECK)
    shown = [one.outcome for one in progress.trials if one.phase not in aside]
    outcomes = shown[-max(1, size.width - _label(size) - 20) :]
    rates = [one.eps if isinstance(one, Measurement) else None for one in outcomes]
    known = [rate for rate in rates if rate is not None]
    if known:
        between = f" {eps(min(known))} to {eps(max(known))}"
        yield _named("EPS", sparkline(rates, size.ascii_only).append(between), size)


def _limit(progress: Progress, size: Size) -> Lines:
    """What sets the rate: of the best, and of the profile where that is something else."""
    best, written = _bottleneck(progress, progress.best), _bottleneck(progress, BASELINE)
    label = "limit" if size.is_narrow else "limited by"
    if best is None or best == written:
        if written is not None:
            yield _named(label, Text(written), size)
        return
    whole = best if written is None else f"{best}; as written: {written}"
    if len(whole) <= size.width - _label(size):
        yield _named(label, Text(whole), size)
    else:
        yield from _named_lines(label, (best, f"as written: {written}"), size)


def _bottleneck(progress: Progress, changes: Changes) -> str | None:
    found = progress.verdict(changes)
    return None if found is None else found.bottleneck.value


def _doubts(progress: Progress, size: Size) -> Lines:
    failed = sum(isinstance(trial.outcome, Failure) for trial in progress.trials)
    told = [f"{failed} failed"] if failed else []
    told += [f"{count} {kind.value}" for kind, count in progress.doubts.most_common()]
    if told:
        among = "" if size.is_narrow else f" of {len(progress.trials)} trials"
        yield from _named_lines("doubts", (f"{', '.join(told)}{among}",), size, "yellow")


def _named(label: str, text: Text, size: Size) -> Text:
    return Text.assemble((label.ljust(_label(size)), "dim"), text)


def _named_lines(label: str, texts: Sequence[str], size: Size, style: str = "") -> Lines:
    """Texts below one another after one label, each in as many lines as it needs."""
    room = size.width - _label(size)
    for at, line in enumerate(line for text in texts for line in folded(text, room)):
        line.stylize(style)
        yield _named("" if at else label, line, size)


def _label(size: Size) -> int:
    return _NARROW_LABEL if size.is_narrow else _LABEL


def _style_of(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return "green" if ratio > 1.0 else "red"


# Drawing takes processor time from what is measured: some 1.5 ms each time.
_PER_SECOND = 1
_REMEMBERED = 200


class Screen:
    """Shows a search in lines: one for each trial and note, with `-v` for each stage too.  What was
    `said` before it began need not be said again."""

    def __init__(self, voice: Voice, progress: Progress, said: tuple[str, ...] = ()) -> None:
        self.voice = voice
        self.progress = progress
        self.said = said

    def say(self, text: str) -> None:
        """Something to know that stays to be read."""
        self.voice.say(text)

    def began(self, running: Running) -> None:
        """Another stage of a trial began."""
        self.progress = self.progress.at(running)
        if self.voice.is_verbose:
            self.say(stage_line(running))

    def ended(self, trial: Trial, leader: Leader | None, expected: int, left_s: float) -> None:
        """A trial ended."""
        self.took_over(trial, leader, expected, left_s)
        self._tell_trial()
        if self.voice.is_verbose:
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
        voice: Voice,
        progress: Progress,
        console: Console,
        now_s: Callable[[], float],
        said: tuple[str, ...] = (),
    ) -> None:
        super().__init__(voice, progress, said)
        self._view = _View(console, lambda size: view_lines(self.progress, now_s(), size))

    def start(self) -> None:
        """Draw, from now on."""
        self._view.start(refresh=True)

    def stop(self) -> None:
        """Take the view away and show the cursor again; once more does nothing."""
        # A terminal that hung up must not keep the results from being written.
        with contextlib.suppress(OSError):
            self._view.stop()

    def say(self, text: str) -> None:
        """See Screen; the text is folded at words."""
        self._view.put(lambda width: folded(text, width))

    def began(self, running: Running) -> None:
        """See Screen."""
        super().began(running)
        self._view.refresh()

    def _tell_trial(self) -> None:
        progress = self.progress
        self._view.put(lambda width: row_lines(progress.rows[-1], progress, width))


class _View(Live):
    """Rich's live display, with lines above it that are laid out anew for another size.

    When the terminal gets another size it is cleared, because what it made of longer lines cannot
    be known, and the last lines come again.
    """

    def __init__(self, console: Console, view: Callable[[Size], list[RenderableType]]) -> None:
        self._view = view
        self._above: deque[Callable[[int], list[Text]]] = deque(maxlen=_REMEMBERED)
        self._size, self._height = console.size, 0
        super().__init__(
            console=console,
            refresh_per_second=_PER_SECOND,
            transient=True,
            redirect_stdout=False,
            vertical_overflow="crop",
        )

    def put(self, lines: Callable[[int], list[Text]]) -> None:
        """Lines, by the width that they may have, above the view."""
        with self._lock:
            self._above.append(lines)
            if self.console.size == self._size:
                self.console.print(*lines(self._size.width), sep="\n")
            self.refresh()

    def refresh(self) -> None:
        """Draw the view, and everything where the terminal has another size than before."""
        with self._lock:
            super().refresh()
            if not self.is_started or self.console.size == self._size:
                return
            self._size = self.console.size
            lines = [line for laid_out in self._above for line in laid_out(self._size.width)]
            self.console.control(Control.clear(), Control.home())
            self.console.print(*lines[-max(1, self._size.height - self._height) :], sep="\n")

    def get_renderable(self) -> Group:
        """What stands below the lines now."""
        console = self.console
        lines = self._view(Size(console.width, console.height, console.options.ascii_only))
        self._height = len(lines)
        return Group(*lines)


@contextlib.contextmanager
def screen(
    voice: Voice, progress: Progress, now_s: Callable[[], float], said: tuple[str, ...] = ()
) -> Iterator[Screen]:
    """Where to show a search: a view on a terminal, lines elsewhere; `said` is what stands above
    it."""
    if voice.is_quiet or not is_live():
        lines = Screen(voice, progress, said)
        lines.say("first trial")
        yield lines
        return
    live = LiveScreen(voice, progress, stderr(), now_s, said)
    try:
        live.start()
        yield live
    finally:
        live.stop()
