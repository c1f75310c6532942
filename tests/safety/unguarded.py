"""rsyslog-tune with one guard disabled, for negative controls: `python unguarded.py GUARD ...`.

With its shortest trials, as `quick.py` runs them, unless the guard is about the budget.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO
from unittest.mock import patch

from tuner.errors import JobFailed, Unreachable
from tuner.host import allow, lock, process, signals
from tuner.measure import place, summary
from tuner.measure.measurement import Measurement, Result
from tuner.modules.secrets import SecretRef
from tuner.script import quoting
from tuner.search import journal

QUICK = Path(__file__).parents[1] / "live" / "quick.py"


def score_everything() -> None:
    """A trial that fails gets the number of the last one that did not."""
    whole = place.run_profile
    good: list[Measurement] = []

    def lenient(*arguments: Any, **named: Any) -> Result:
        try:
            outcome = whole(*arguments, **named)
        except Unreachable:
            if not good:
                raise
            outcome = good[-1]
        if isinstance(outcome, Measurement):
            good.append(outcome)
        return good[-1] if good else outcome

    patch.object(place, "run_profile", lenient).start()


def let_daemons_live() -> None:
    """The kernel does not end our daemons with us."""
    whole = process._wrapped

    def wrapped(arguments: Sequence[str], dies_with_us: bool) -> list[str]:
        return whole(arguments, dies_with_us=False)

    patch.object(process, "_wrapped", wrapped).start()


def ask_daemons_only() -> None:
    """A daemon that is to be stopped is asked, and asked only."""

    def ask(self: process.Daemon, grace_s: float = 0.0) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)

    patch.object(process.Daemon, "stop", ask).start()


def ignore_locks() -> None:
    """Every lock is free."""

    def unlocked(path: Path) -> TextIO:
        return path.open("a+", encoding="utf-8")

    patch.object(lock, "locked", unlocked).start()


def believe_lock_files() -> None:
    """A lock is held as long as its file is there."""

    def by_file(path: Path) -> TextIO | None:
        return None if path.exists() else path.open("a+", encoding="utf-8")

    patch.object(lock, "locked", by_file).start()


def allow_every_target() -> None:
    """Any host may be flooded."""
    patch.object(allow, "require_allowed_host", lambda host: None).start()


def leave_signals_alone() -> None:
    """Signals do what they do to any Python program."""
    patch.object(signals, "install_handlers", lambda: None).start()


def trust_the_wall_clock() -> None:
    """Time is what the wall clock says."""
    patch.object(time, "monotonic", time.time).start()


def trust_the_journal() -> None:
    """Lines of the journal are not checked."""

    def parsed(line: bytes, before: journal.End) -> tuple[dict[str, object], journal.End] | None:
        try:
            record = json.loads(line)
        except ValueError:
            return None
        check = int(record.pop("check", "0"), 16)
        return record, journal.End(before.size + len(line) + 1, check)

    patch.object(journal, "_parsed", parsed).start()


def rewrite_the_journal() -> None:
    """The journal is written anew for each line, in its place: nothing of it is left where there is
    no room."""
    whole = journal.Journal._append

    def rewrite(self: journal.Journal, record: dict[str, object]) -> None:
        if os.fstatvfs(self._file).f_bavail == 0:
            os.ftruncate(self._file, 0)
            raise JobFailed("No space left on device")
        whole(self, record)

    patch.object(journal.Journal, "_append", rewrite).start()


def render_secrets() -> None:
    """A secret stands in the configuration itself."""

    def inline(reference: SecretRef) -> quoting.Emitted:
        return quoting.quote(Path(str(reference.file)).read_text("utf-8").strip())

    patch.object(quoting, "secret", inline).start()


def leak() -> None:
    """Each trial keeps a megabyte and an open file."""
    whole, kept = place.run_profile, []

    def leaking(*arguments: Any, **named: Any) -> Result:
        kept.append((bytearray(os.urandom(1024)) * 1024, os.open("/dev/null", os.O_RDONLY)))
        return whole(*arguments, **named)

    patch.object(place, "run_profile", leaking).start()


def crash() -> None:
    """Not a guard: the first trial meets a bug."""

    def broken(*arguments: Any, **named: Any) -> Result:
        raise RuntimeError("a bug")

    patch.object(place, "run_profile", broken).start()


def never_doubt() -> None:
    """Nothing is said against the machine that a measurement was made on."""
    patch.object(summary, "machine_doubts", lambda window, others_cpu: iter(())).start()


GUARDS: dict[str, Callable[[], None]] = {
    one.__name__: one
    for one in (
        score_everything, let_daemons_live, ask_daemons_only, ignore_locks,
        believe_lock_files, allow_every_target, leave_signals_alone, trust_the_wall_clock,
        trust_the_journal, rewrite_the_journal, render_secrets, leak, crash,
        never_doubt,
    )
}  # fmt: skip
UNHURRIED = {"trust_the_wall_clock", "never_doubt"}


def main() -> None:
    guard = sys.argv.pop(1)
    GUARDS[guard]()
    if guard in UNHURRIED:
        from tuner.cli import main as command

        command.main()
    else:
        runpy.run_path(str(QUICK), run_name="__main__")


if __name__ == "__main__":
    main()
