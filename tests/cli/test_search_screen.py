"""A search as it looks on a terminal, read from the screen of an emulator."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.cli.emulator import Emulator, Terminal
from tests.cli.simulated_screen import NOTHING_YET, watch
from tests.measure.factory import failed, measured
from tests.search.simulated import START_S, World, search
from tuner.cli.console import Verbosity
from tuner.cli.search_screen import Running, Screen
from tuner.errors import Interrupted
from tuner.host.signals import install_handlers
from tuner.measure.measurement import TrialPlan
from tuner.search.search import Search
from tuner.search.study import BASELINE, Phase, Step, Trial

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-m", "tests.cli.simulated_screen"]
PLAN = TrialPlan(1.0, 2.0)


class Seen(io.StringIO):
    """A file that is an emulator."""

    def __init__(self, emulator: Emulator) -> None:
        super().__init__()
        self.emulator = emulator

    def write(self, text: str) -> int:
        self.emulator.write(text.replace("\n", "\r\n"))
        return len(text)


def console_on(emulator: Emulator, columns: int, lines: int, **options: Any) -> Console:
    return Console(
        file=Seen(emulator), force_terminal=True, width=columns, height=lines,
        highlight=False, soft_wrap=True, color_system="256", **options,
    )  # fmt: skip


def shown_on(console: Console, now_s: Callable[[], float]) -> Screen:
    return Screen(Verbosity.NORMAL, NOTHING_YET, now_s, console=console)


@cache
def watched(columns: int, lines: int) -> list[str]:
    """The screens of a whole search, one for each step, and all that is left at its end; none of
    them wraps a line."""
    emulator = Emulator(columns, lines)
    world = World(START_S)
    screens = []
    live = shown_on(console_on(emulator, columns, lines), lambda: world.now_s)
    show = watch(world, live)

    def hear(searching: Search, step: Step) -> None:
        show(searching, step)
        assert not emulator.has_wrapped, emulator.text
        screens.append(emulator.text)

    live.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            search(Path(folder), world, hear=hear)
    finally:
        live.stop()
    return [*screens, "\n".join((*emulator.scrolled, *emulator.shown))]


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


SIZES = [
    (80, 24),
    *(pytest.param(*one, marks=pytest.mark.full) for one in ((200, 50), (60, 20), (60, 6))),
]


@pytest.mark.parametrize(("columns", "lines"), SIZES)
def test_every_trial_stays_in_a_line_of_its_own_and_none_wraps(columns: int, lines: int) -> None:
    *_, left = watched(columns, lines)
    numbers = re.findall(
        r"^trial +(\d+)(?: \w+ \d+)?  +(?:[\d,]{6} EPS|failed: )", left, re.MULTILINE
    )
    assert [int(number) for number in numbers] == list(range(len(numbers)))
    assert len(numbers) > 60
    assert re.search(r"^trial +\d+  failed: ", left, re.MULTILINE)
    assert "delivery incomplete: it lost two events" in " ".join(left.split())
    assert "climbing" not in left
    assert "baseline noise is" in left


@pytest.mark.parametrize(
    ("columns", "lines"), [(80, 24), pytest.param(200, 50, marks=pytest.mark.full)]
)
def test_the_view_says_how_far_it_is_and_how_good(columns: int, lines: int) -> None:
    climbing = next(text for text in watched(columns, lines) if "climbing: trial 20" in text)
    for pattern in (
        r"^small, elasticsearch 8.19.3, seed 1 ─+$",
        r"^climbing: trial 20, drain \d+ s +\d+ min \d\d s left$",
        r"^as written  [\d,]{6} EPS, median of \d runs, [\d,]{6} to [\d,]{6}$",
        r"^best        [\d,]{6} EPS, trial \d+, measured once$",
        r"^gain        \+\d+.\d % \[[+-]\d+.\d %, \+\d+.\d %\] including deferred work, ",
        r"^changed     \S+ .* -> ",
        r"^limited by  engine CPU; as written: main queue worker$",
        r"^doubts      1 failed, \d unsteady of 22 trials$",
        r"^trial  20     [\d,]{6} EPS +[+-]\d+\.\d %, best seen [\d,]{6}  \(",
    ):
        assert re.search(pattern, climbing, re.MULTILINE), f"{pattern}\n{climbing}"


def test_the_pairs_take_the_place_of_the_estimate() -> None:
    screens = watched(80, 24)
    sure = next(text for text in screens if "by 6 pairs" in text)
    assert re.search(r"^confirming: trial \d\d, pair ", sure, re.MULTILINE), sure
    assert re.search(r"^gain +\+\d\d.* by 6 pairs$", sure, re.MULTILINE), sure
    assert " s left" in screens[-2]


def test_a_low_terminal_keeps_what_matters_most() -> None:
    climbing = next(text for text in watched(60, 6) if "climbing: trial 20" in text)
    title, status, _ = climbing.splitlines()[-3:]
    assert title.startswith("small, elasticsearch 8.19.3, seed 1 ─")
    assert status.startswith("climbing: trial 20, ")


def screen_with_trials(emulator: Emulator, console: Console, trials: int = 30) -> Screen:
    live = shown_on(console, lambda: 100.0)
    live.start()
    live.say("a note that is longer than sixty columns, and is folded at a word where it must be")
    for number in range(trials):
        live.began(Running(number, Phase.CALIBRATE, None, "window", 90.0))
        trial = Trial(number, Phase.CALIBRATE, BASELINE, "as written", PLAN, measured(1e4), 1.0)
        live.ended(trial, None, 500.0)
    return live


@pytest.mark.parametrize("after", [(60, 16), (150, 40), (80, 10), (60, 50)])
def test_after_the_terminal_got_another_size_nothing_of_the_old_screen_is_left(
    after: tuple[int, int],
) -> None:
    emulator, anew = Emulator(80, 24), Emulator(*after)
    console = console_on(emulator, 80, 24)
    live = screen_with_trials(emulator, console)
    emulator.resize(*after)
    console.size = after
    live.began(Running(30, Phase.CALIBRATE, None, "window", 90.0))
    shown = emulator.shown
    live.stop()
    other = screen_with_trials(anew, console_on(anew, *after))
    other.began(Running(30, Phase.CALIBRATE, None, "window", 90.0))
    assert [line for line in shown if line] == [line for line in anew.shown if line]
    assert not emulator.has_wrapped
    other.stop()


def test_where_only_ascii_can_be_written_only_ascii_is(monkeypatch: pytest.MonkeyPatch) -> None:
    emulator = Emulator(80, 24)
    console = console_on(emulator, 80, 24)
    monkeypatch.setattr(type(console), "encoding", "ascii")
    screen_with_trials(emulator, console).stop()
    assert emulator.raw.isascii()


def test_what_a_trial_says_cannot_steer_the_terminal() -> None:
    emulator = Emulator(80, 24)
    console = console_on(emulator, 80, 24)
    title = replace(NOTHING_YET, title="\x1b[2Jx")
    live = Screen(Verbosity.NORMAL, title, lambda: 1.0, console=console)
    live.start()
    hostile = failed("\x1b[31mred\nand \x9b2J [bold]more[/bold]")
    trial = Trial(1, Phase.SEARCH, BASELINE, "found by \x1b]0;x\x07", PLAN, hostile, 1.0)
    live.ended(trial, None, 500.0)
    live.say("\x1b[2J")
    assert "?[31mred and ?2J [bold]more[/bold]" in emulator.text
    assert "found by ?]0;x" in emulator.text
    assert "?[2Jx ─" in emulator.text
    live.stop()


@pytest.fixture
def signals_as_before() -> Iterator[None]:
    """Signals are taken as before when the test has ended."""
    ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(each) for each in ends]
    yield
    for each, handler in zip(ends, before, strict=True):
        signal.signal(each, handler)


@pytest.mark.usefixtures("signals_as_before")
def test_ctrl_c_in_the_midst_of_a_drawing_takes_no_trial_away() -> None:
    higher = "a stage whose name takes more than one line of a terminal " * 3
    install_handlers()

    def interrupted(moment: int) -> tuple[int, str]:
        """The calls of a drawing that is interrupted at one of them, and the last line left."""
        emulator = Emulator(120, 24)
        live = screen_with_trials(emulator, console_on(emulator, 120, 24), 2)
        calls = 0

        def count(*_: object) -> None:
            nonlocal calls
            calls += 1
            if calls == moment:
                signal.raise_signal(signal.SIGINT)

        sys.setprofile(count)
        try:
            live.began(Running(30, Phase.SEARCH, None, higher, 90.0))
        except Interrupted:
            install_handlers()
        finally:
            sys.setprofile(None)
        live.stop()
        return calls, [line for line in emulator.shown if line][-1]

    calls, _ = interrupted(0)
    for moment in range(calls, calls // 2, -calls // 40):
        assert interrupted(moment)[1].startswith("trial   1 "), moment / calls


def started(folder: Path, until: int, columns: int = 80, **environment: str) -> Terminal:
    """A search whose trial of that number lasts until it is interrupted."""
    command = [*PROGRAM, str(folder), "0.1", "normal", str(until)]
    return Terminal(command, columns, 24, ROOT, **environment)


def test_ctrl_c_gives_the_terminal_back_with_the_trials_on_it(tmp_path: Path) -> None:
    terminal = started(tmp_path, 7)
    modes = termios.tcgetattr(terminal.program.fileno())
    terminal.read_until(lambda: "trial 7, " in terminal.text)
    assert not terminal.shows_cursor()
    assert terminal.has_colours
    terminal.interrupt()
    assert terminal.read_to_the_end() == 130
    assert terminal.shows_cursor()
    assert "climbing" not in terminal.text
    assert "Traceback" not in terminal.text
    shown = [line for line in terminal.shown if line]
    numbered = [line for line in shown if re.match(r"trial +\d+ ", line)]
    assert numbered[-1].startswith("trial   6 ")
    assert terminal.cursor_line == len(shown)
    assert not terminal.has_wrapped
    assert modes == terminal.modes_at_the_end


def test_without_colours_the_view_is_there_all_the_same(tmp_path: Path) -> None:
    terminal = started(tmp_path, 3, NO_COLOR="1")
    terminal.read_until(lambda: "trial 3, " in terminal.text)
    assert not terminal.has_colours
    terminal.interrupt()
    terminal.read_to_the_end()


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"CI": "true"}])
def test_a_terminal_that_cannot_be_drawn_on_gets_lines(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    terminal = started(tmp_path, 4, 200, **environment)
    terminal.read_until(lambda: "trial   3  " in terminal.text)
    terminal.interrupt()
    assert terminal.read_to_the_end() == 130
    assert not terminal.has_sequences


def piped(folder: Path, verbosity: str) -> str:
    done = subprocess.run(
        [*PROGRAM, str(folder), "0", verbosity], cwd=ROOT, check=True, capture_output=True,
        text=True, env={**os.environ, "FORCE_COLOR": "1"},
    )  # fmt: skip
    assert done.stdout == ""
    return done.stderr


def test_a_pipe_gets_a_line_for_each_trial_and_nothing_else(tmp_path: Path) -> None:
    shown = piped(tmp_path / "a", "normal")
    assert "\x1b" not in shown
    assert len(re.findall(r"^trial +\d+", shown, re.MULTILINE)) > 60
    assert ": window" not in shown


@pytest.mark.full
def test_verbose_says_every_stage_and_quiet_says_nothing(tmp_path: Path) -> None:
    told = piped(tmp_path / "a", "verbose")
    assert "trial 7: window\n" in told
    assert "    bottleneck: engine CPU\n" in told
    assert piped(tmp_path / "b", "quiet") == ""
