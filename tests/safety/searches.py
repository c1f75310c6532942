"""The command line as a user runs it, watched from outside."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psutil
import pytest

from tests.live.conftest import COMMAND, QUICK, Done
from tests.live.quick import SINK_PACE
from tests.safety.invariants import (
    Json,
    named,
    records,
    require_exact,
    require_one_cause,
    trials,
    under_way,
)
from tuner.search.budget import smallest_budget_s

ON_SINK = (
    "--engine",
    "sink",
    "--budget",
    f"{smallest_budget_s(SINK_PACE) + 20:g}s",
    "--no-effects",
)
RESUMED = ("--resume", "run")
_PATIENCE_S = 240.0


def unguarded(guard: str) -> tuple[str, ...]:
    """rsyslog-tune with the shortest trials and one of its guards disabled: a check that then still
    passes sees nothing."""
    return (sys.executable, str(Path(__file__).with_name("unguarded.py")), guard)


def require_seen(scenario: Callable[..., None], *place: object) -> None:
    """Where a trial that a fault struck gets a score, the scenario sees it."""
    with pytest.raises(AssertionError, match="was struck and has a score"):
        scenario(*place, unguarded("score_everything"))


@dataclass(frozen=True)
class Engine:
    """A real engine that somebody else started: where it answers, and its Java process."""

    url: str
    pid: int


def server_of(javas: Sequence[psutil.Process]) -> psutil.Process:
    """The engine's own process, beside that which launched it."""
    return max(javas, key=lambda one: one.memory_info().rss)


def compiled(source: Path, site: Path) -> Path:
    """A library of ours that programs are started with (LD_PRELOAD)."""
    library = site / f"{source.stem}.so"
    options = ("-shared", "-fPIC", "-O2", "-Wall", "-o", library)
    subprocess.run(["gcc", *options, source, "-ldl"], check=True)
    return library


def surroundings_of(site: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a command whose files are all below `site`."""
    ours = {"XDG_STATE_HOME": str(site / "state"), "TMPDIR": str(site / "tmp")}
    return {**os.environ, **ours, **(more or {})}


def tune(
    site: Path,
    *arguments: object,
    command: tuple[str, ...] = COMMAND,
    environment: Mapping[str, str] | None = None,
) -> Done:
    """Run a command to its end."""
    done = subprocess.run(
        [*command, *map(str, arguments)], cwd=site, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL, timeout=_PATIENCE_S, env=surroundings_of(site, environment),
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


class Search:
    """A search in the folder `run` of a site, for a `with` statement; killed at its end."""

    def __init__(
        self,
        site: Path,
        *options: object,
        command: tuple[str, ...] = QUICK,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.site, self.run = site, site / "run"
        asked = options or ON_SINK
        if "--resume" not in asked:
            asked = (*asked, "--run-dir", "run")
        self.lines: list[str] = []
        self._out = (site / "out").open("w+", encoding="utf-8")
        # What nohup or a shell's `&` starts ignores a signal or two, these tests among it.
        self._process = subprocess.Popen(
            ["env", "--default-signal", *command, "search", *map(str, asked)],
            cwd=site, text=True, stdin=subprocess.DEVNULL,
            stdout=self._out, stderr=subprocess.PIPE, env=surroundings_of(site, environment),
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def err(self) -> str:
        return "".join(self.lines)

    def daemons(self, name: str) -> list[psutil.Process]:
        """The processes of that name that it started."""
        with suppress(psutil.NoSuchProcess):
            return named(name, psutil.Process(self.pid).children(recursive=True))
        return []

    def records(self) -> list[Json]:
        """Its journal, as far as it is written."""
        return records(self.run) if (self.run / "trials.jsonl").exists() else []

    def under_way(self) -> Json | None:
        """The trial that it is about to measure."""
        return under_way(self.records())

    def await_until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something to happen before the search ends."""
        deadline = time.monotonic() + _PATIENCE_S
        while not condition():
            assert self._process.poll() is None, f"it ended before {what}: {self.err}"
            assert time.monotonic() < deadline, f"no {what}: {self.err}"
            time.sleep(0.02)

    def await_line(self, text: str) -> None:
        self.await_until(lambda: any(text in line for line in list(self.lines)), repr(text))

    def await_candidate(self, daemon: str = "rsyslogd") -> int:
        """Wait until it measures settings other than those of the profile; the trial's number."""

        def begun() -> bool:
            asked = self.under_way()
            return bool(asked and asked["changes"] and self.daemons(daemon))

        self.await_until(begun, "candidate")
        time.sleep(random.uniform(0.0, 0.5))
        asked = self.under_way()
        return self.await_candidate(daemon) if asked is None else int(asked["number"])

    def await_after(self, number: int) -> None:
        """Wait until a later trial has ended."""
        done = f"end of a trial after {number}"
        self.await_until(
            lambda: any(one["number"] > number for one in trials(self.records())), done
        )

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        """As the system does where memory is short; what it started may live on for a moment."""
        self._process.kill()
        self._process.wait()

    def wait(self) -> Done:
        """Its end."""
        code = self._process.wait(_PATIENCE_S)
        self._reader.join()
        self._out.seek(0)
        return Done(code, self._out.read(), self.err)

    def interrupt(self) -> Done:
        """End it as Ctrl-C does."""
        self.signal(signal.SIGINT)
        return self.wait()

    def end(self) -> None:
        """End it as Ctrl-C does: it says so, and every trial with a number lost nothing."""
        done = self.interrupt()
        require_one_cause(done.code, 130, done.err, "interrupted")
        require_exact(self.records())

    def _read(self) -> None:
        assert self._process.stderr is not None
        with suppress(OSError, ValueError):
            for line in self._process.stderr:
                self.lines.append(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(10)
        self._out.close()
        assert self._process.stderr is not None
        with suppress(OSError):
            self._process.stderr.close()


def end_of(process: psutil.Process) -> None:
    """Kill what a control left running."""
    with suppress(psutil.NoSuchProcess):
        process.kill()
