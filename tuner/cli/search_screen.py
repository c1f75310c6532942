"""Where a search is shown: in lines or, on a terminal, with a view below them that stays."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rich.console import Group
from rich.control import Control
from rich.live import Live
from rich.text import Text

from tuner.cli.console import Voice, is_live, stderr
from tuner.cli.progress import Progress, Running
from tuner.cli.progress_lines import detail_lines, stage_line, trial_line
from tuner.cli.progress_view import row_lines, view_lines
from tuner.cli.terminal import Size, folded
from tuner.search.climb import Leader
from tuner.search.study import Trial

if TYPE_CHECKING:
    from rich.console import Console

# Drawing takes processor time from what is measured: some 1.5 ms each time.
_EVERY_S = 1.0
_REMEMBERED = 200


class Screen:
    """Shows a search in lines: one for each trial and note, with `-v` for each stage too."""

    def __init__(self, voice: Voice, progress: Progress) -> None:
        self.voice = voice
        self.progress = progress

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

    `now_s` gives the seconds of the budget that are used.  When the terminal gets another size it
    is cleared, because what it made of longer lines cannot be known, and the last lines come again.
    """

    def __init__(
        self, voice: Voice, progress: Progress, console: Console, now_s: Callable[[], float]
    ) -> None:
        super().__init__(voice, progress)
        self._console = console
        self._now_s = now_s
        self._size = console.size
        self._told: deque[Callable[[int], list[Text]]] = deque(maxlen=_REMEMBERED)
        self._lock = threading.RLock()
        self._is_over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._live = Live(
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            vertical_overflow="crop",
        )

    def start(self) -> None:
        """Draw, from now on."""
        self._live.start()
        self._draw()
        self._ticker.start()

    def stop(self) -> None:
        """Take the view away and show the cursor again; once more does nothing."""
        try:
            self._is_over.set()
            with self._lock:
                pass  # what is being drawn is finished
        finally:
            # A terminal that hung up must not keep the results from being written.
            with contextlib.suppress(OSError):
                self._live.stop()

    def say(self, text: str) -> None:
        """See Screen; the text is folded at words."""
        self._put(lambda width: folded(text, width))

    def began(self, running: Running) -> None:
        """See Screen."""
        super().began(running)
        self._draw()

    def _tell_trial(self) -> None:
        progress = self.progress
        self._put(lambda width: row_lines(progress.rows[-1], progress, width))

    def _put(self, lines: Callable[[int], list[Text]]) -> None:
        """Lines, by the width that they may have, above the view."""
        with self._lock:
            self._told.append(lines)
            if self._console.size == self._size:
                self._console.print(*lines(self._size.width), sep="\n")
            self._draw()

    def _tick(self) -> None:
        while not self._is_over.wait(_EVERY_S):
            self._draw()

    def _draw(self) -> None:
        with self._lock:
            if self._is_over.is_set():
                return
            self._live.update(self._view(), refresh=True)
            if self._console.size == self._size:
                return
            self._size = self._console.size
            lines = [line for told in self._told for line in told(self._size.width)]
            shown = lines[-max(1, self._size.height - self._height) :]
            self._console.control(Control.clear(), Control.home())
            self._console.print(*shown, sep="\n")

    def _view(self) -> Group:
        console = self._console
        size = Size(console.width, console.height, console.options.ascii_only)
        lines = view_lines(self.progress, self._now_s(), size)
        self._height = len(lines)
        return Group(*lines)


@contextlib.contextmanager
def screen(voice: Voice, progress: Progress, now_s: Callable[[], float]) -> Iterator[Screen]:
    """Where to show a search: a view on a terminal, lines elsewhere."""
    if voice.is_quiet or not is_live():
        lines = Screen(voice, progress)
        lines.say("first trial")
        yield lines
        return
    live = LiveScreen(voice, progress, stderr(), now_s)
    try:
        live.start()
        yield live
    finally:
        live.stop()
