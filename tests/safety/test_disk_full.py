"""F10: a full disk, wherever it is, is named, and nothing that was on it before is lost."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

import pytest

from tests.live.conftest import COMMAND, QUICK
from tests.live.engines import running
from tests.live.quick import NODE_PACE
from tests.live.small_disk import small_disk
from tests.safety import invariants
from tests.safety.invariants import require_exact, require_kept, require_one_cause, trials
from tests.safety.scorecard import control, row
from tests.safety.searches import RESUMED, Search, tune, unguarded
from tuner.engines.versions import DEFAULT as DISTRIBUTION
from tuner.search.budget import smallest_budget_s

pytestmark = [
    pytest.mark.live,
    pytest.mark.full,
    pytest.mark.skipif(os.geteuid() != 0, reason="a small file system can be mounted by root only"),
]

DEFAULT = Path(__file__).parents[2] / "profiles" / "default.yaml"
BENCH = ("--repeat", 1, "--window", "8s", "--no-freshness")
BUDGET = ("--budget", f"{smallest_budget_s(NODE_PACE) + 60:g}s", "--no-effects")


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """A folder without room: what others free there is taken at once."""
    ended = threading.Event()

    def take(file: FileIO) -> None:
        while not ended.wait(0.005):
            with suppress(OSError):
                while True:
                    file.write(bytes(4096))

    ballast = folder / "ballast"
    with FileIO(ballast, "w") as file:
        taking = threading.Thread(target=take, args=(file,))
        taking.start()
        try:
            yield
        finally:
            ended.set()
            taking.join()
    ballast.unlink()


def run_directory_full(site: Path, command: tuple[str, ...]) -> None:
    """The journal cannot be written any more: that is said, what it holds stays, and once there is
    room the search goes on."""
    run = site / "run"
    kept = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    with small_disk(run, "3m"):
        for name, text in kept.items():
            (run / name).write_bytes(text)
        with Search(site, *RESUMED, command=command) as search:
            search.await_candidate()
            before = search.records()
            with full(run):
                done = search.wait()
            require_one_cause(done.code, 1, done.err, "No space left")
        require_kept(before, invariants.records(run))
        known = len(trials(invariants.records(run)))
        with Search(site, *RESUMED) as again:
            again.await_until(lambda: len(trials(again.records())) > known, "a trial")
            assert again.interrupt().code == 130
            require_exact(again.records())


@row("F10")
def test_f10_a_full_run_directory_ends_the_search_and_loses_nothing(begun: Path, run: int) -> None:
    run_directory_full(begun, QUICK)


@control("F10")
def test_control_f10(begun: Path) -> None:
    with pytest.raises(AssertionError, match=r"damaged|lost what it held"):
        run_directory_full(begun, unguarded("rewrite_the_journal"))


def on_disk(profile: str) -> str:
    """The profile with its main queue on disk."""
    queue = "  type: Disk\n  filename: main\n  spoolDirectory: /var/spool/rsyslog\n"
    return re.sub(r"(main_queue:\n)  type: FixedArray[^\n]*\n", rf"\1{queue}", profile)


@row("F10")
def test_f10_a_full_spool_is_no_measurement(site: Path, run: int) -> None:
    """The disk queue of rsyslogd has no room: `bench` says which run failed and why."""
    (site / "p.yaml").write_text(on_disk(DEFAULT.read_text("utf-8")), encoding="utf-8")
    with small_disk(site / "tmp", "3m"):
        done = tune(site, "bench", "p.yaml", "--engine", "sink", *BENCH, command=COMMAND)
        assert done.code in {1, 6}, done.out + done.err
        require_one_cause(done.code, done.code, done.err, "run failed|No space")
    invariants.require_no_files_left(site)


@row("F10")
def test_f10_an_engine_whose_disk_is_full_gives_no_score(site: Path, run: int) -> None:
    folder = site / "engine"
    folder.mkdir()
    with small_disk(folder, "6m"), running(DISTRIBUTION.release, folder) as client:
        done = tune(site, "bench", DEFAULT, "--elasticsearch", client.url, *BENCH, command=QUICK)
        assert done.code in {1, 6}, done.out + done.err
        require_one_cause(done.code, done.code, done.err)
