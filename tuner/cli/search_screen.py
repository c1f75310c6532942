"""Where a search is shown: in lines or, on a terminal, with a view below them that stays."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rich.console import Group
from rich.control import Control
from rich.live import Live
from rich.text import Text

from tuner.cli.console import Voice, is_live, stderr
from tuner.cli.layout import Size, folded
from tuner.cli.search_progress import Progress, Running, detail_lines, stage_line, trial_line
from tuner.cli.search_view import row_lines, view_lines
from tuner.search.climb import Leader
from tuner.search.study import Trial

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

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
