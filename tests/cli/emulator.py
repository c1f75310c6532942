"""A terminal emulator: what programs write becomes a screen that tests read."""

from __future__ import annotations

import os
import re
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pyte

_COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:[34][0-9]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")
_FARTHER = 60
_ABOUT_DRAWING = frozenset({"CI", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"})


class Emulator:
    """A terminal of a size, and one that is wider, which differs from it where a line wraps."""

    def __init__(self, columns: int, lines: int) -> None:
        self.raw = ""
        self._lock = threading.RLock()  # a view draws itself in a thread of its own
        self._screen: Any = pyte.HistoryScreen(columns, lines, history=5000)
        self._wider: Any = pyte.Screen(columns + _FARTHER, lines)
        self._streams = [pyte.Stream(self._screen), pyte.Stream(self._wider)]

    def write(self, text: str) -> None:
        """What a program writes, line ends as a terminal gets them."""
        with self._lock:
            self.raw += text
            for stream in self._streams:
                stream.feed(text)

    def resize(self, columns: int, lines: int) -> None:
        """Another size; lines that are longer are cut, as xterm does."""
        self._screen.resize(lines, columns)
        self._wider.resize(lines, columns + _FARTHER)

    @property
    def shown(self) -> list[str]:
        """The lines of the screen, without what is blank on the right."""
        with self._lock:
            return [str(line).rstrip() for line in self._screen.display]

    @property
    def text(self) -> str:
        """The screen as one text."""
        return "\n".join(self.shown)

    @property
    def scrolled(self) -> list[str]:
        """The lines that left the screen at its top."""
        rows = self._screen.history.top
        width = self._screen.columns
        return ["".join(row[at].data for at in range(width)).rstrip() for row in rows]

    @property
    def has_wrapped(self) -> bool:
        """Whether a line that is shown was too long for the screen."""
        with self._lock:
            return self.shown != [str(line).rstrip() for line in self._wider.display]

    def shows_cursor(self) -> bool:
        """Whether the cursor is to be seen."""
        return not self._screen.cursor.hidden

    @property
    def cursor_line(self) -> int:
        """Where the cursor is, 0 at the top."""
        return int(self._screen.cursor.y)

    @property
    def has_sequences(self) -> bool:
        """Whether anything but text came."""
        return "\x1b" in self.raw

    @property
    def has_colours(self) -> bool:
        """Whether there were sequences that set a colour."""
        return _COLOUR.search(self.raw) is not None


class Terminal(Emulator):
    """A program on a terminal of its own, in `folder`; of the environment that is not given it
    sees what its caller has, but nothing that says whether to draw."""

    def __init__(
        self, command: list[str], columns: int, lines: int, folder: Path, **environment: str
    ) -> None:
        super().__init__(columns, lines)
        here = {name: value for name, value in os.environ.items() if name not in _ABOUT_DRAWING}
        self.modes_at_the_end: list[Any] = []
        self.program = pexpect.spawn(
            command[0],
            command[1:],
            dimensions=(lines, columns),
            cwd=str(folder),
            env={**here, "TERM": "xterm-256color", **environment},
            encoding="utf-8",
        )

    def read_until(self, wanted: Callable[[], bool], seconds: float = 30.0) -> None:
        """Show what the program writes until something is so; fails when it ends before, or takes
        longer."""
        deadline = time.monotonic() + seconds
        while not wanted():
            assert time.monotonic() < deadline, self.text
            assert self._read(), f"it ended:\n{self.text}"

    def interrupt(self) -> None:
        """Press Ctrl-C between two drawings: a terminal throws away what is on its way to it then
        (termios(3), NOFLSH), and half a drawing looks like lines that were lost."""
        drawn = None
        while drawn != self.raw:
            drawn = self.raw
            self._read(0.3)
        self.program.sendintr()

    def read_to_the_end(self) -> int:
        """Show all that is still written; the program's exit code."""
        while self._read():
            pass
        self.modes_at_the_end = termios.tcgetattr(self.program.fileno())
        self.program.close()
        status = self.program.exitstatus
        assert status is not None, f"ended by signal {self.program.signalstatus}"
        return status

    def set_size(self, columns: int, lines: int) -> None:
        """Give the terminal another size, as a user would."""
        self.resize(columns, lines)
        self.program.setwinsize(lines, columns)

    def _read(self, seconds: float = 5.0) -> bool:
        try:
            self.write(self.program.read_nonblocking(65_536, timeout=seconds))
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        return True
