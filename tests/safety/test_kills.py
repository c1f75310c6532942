"""F15, F16, F25: killed, cut off from power or rebooted, a search loses one trial at most."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.live.conftest import COMMAND, QUICK
from tests.safety import invariants
from tests.safety.invariants import (
    Json,
    Surroundings,
    records,
    require_exact,
    require_kept,
    require_no_files_left,
    require_one_cause,
    trials,
    under_way,
)
from tests.safety.scorecard import control, row
from tests.safety.searches import ON_SINK, RESUMED, Engine, Search, tune, unguarded
from tests.safety.test_engine_faults import DEFAULT, attached
from tests.search.simulated import START_S, World, search
from tests.search.test_resume import require_sound
from tuner.search.journal import recorded
from tuner.search.study import Asked, Study

pytestmark = [pytest.mark.live, pytest.mark.full]

ROOT = Path(__file__).parents[2]
DEAD_WITHIN_S = 15.0
KILLS = 10
STEPS = ("intent", "header", "candidate", "session", "trial", "note", "phase")


def killed_at(site: Path, step: str, command: tuple[str, ...] = QUICK) -> list[Json]:
    """A search that is killed soon after such a line; what it leaves running ends by itself."""
    has_begun = (site / "run").exists()
    surroundings = Surroundings()
    with Search(site, *(RESUMED if has_begun else ON_SINK), command=command) as killed:
        before = killed.records()
        if step == "candidate":
            killed.await_candidate()
        else:
            new = len(before)
            killed.await_until(lambda: any(step in one for one in killed.records()[new:]), step)
            time.sleep(random.uniform(0.0, 0.5))
        found = killed.records()
        killed.kill()
        require_kept(before, found)
        require_kept(found, records(site / "run"))
    surroundings.require_as_before(DEAD_WITHIN_S)
    return records(site / "run")


def resumed_to_a_trial(site: Path, known: list[Json]) -> None:
    """Every trial that had ended is kept, the one in flight is asked for again unless it ended two
    sessions, and nothing of the killed session is left."""
    with Search(site, *RESUMED) as again:
        again.await_until(lambda: len(trials(again.records())) > len(trials(known)), "a trial")
        done = again.interrupt()
        require_one_cause(done.code, 130, done.err, "interrupted")
        after = again.records()
    require_kept(trials(known), trials(after))
    asked = under_way(known)
    fresh = [one for one in trials(after)[len(trials(known)) :] if one["number"] >= 0]
    if asked is not None and fresh and asked["number"] >= 0 and sessions_ended_in(known, asked) < 2:
        # Where calibration was not done, the profile as written comes first.
        assert fresh[0]["changes"] in ([], asked["changes"]), "another trial was asked for"
    require_exact(after)
    require_no_files_left(site)


def sessions_ended_in(known: list[Json], asked: Json) -> int:
    """How many sessions were killed while the point of a trial was under way."""
    ended, now = 0, None
    for line in (*known, {"session": None}):
        if "intent" in line:
            now = line["intent"]["asked"]["changes"]
        elif "trial" in line:
            now = None
        elif "session" in line:
            ended += now == asked["changes"]
            now = None
    return ended


@row("F15", runs=3)
def test_f15_killed_at_each_kind_of_line(site: Path, run: int) -> None:
    """From its first lines on, then twice again while it resumes."""
    first = STEPS[run % len(STEPS)]
    known = killed_at(site, first)
    for _ in range(2):
        known = killed_at(site, random.choice(("session", "intent", "trial")))
    resumed_to_a_trial(site, known)


@control("F15")
def test_control_f15(begun: Path) -> None:
    with pytest.raises(AssertionError, match="still running"):
        killed_at(begun, "candidate", unguarded("let_daemons_live"))


@row("F15")
def test_f15_what_a_kill_leaves_in_a_users_engine_goes_with_the_next_run(
    site: Path, engine: Engine, run: int
) -> None:
    theirs = invariants.foreign(engine.url)
    with Search(site, *attached(engine)) as killed:
        killed.await_candidate()
        killed.kill()
    assert invariants.ours(engine.url), "the kill came too late to leave anything"
    done = tune(site, "bench", DEFAULT, "--elasticsearch", engine.url, "--repeat", 1,
                "--window", "1s", "--no-freshness", command=QUICK)  # fmt: skip
    assert done.code in {0, 6}, done.err
    assert invariants.ours(engine.url) == [], "indices of the killed run are left"
    assert invariants.foreign(engine.url) == theirs


@row("F15")
def test_f15_killed_ten_times_it_comes_to_its_end_and_counts_nothing_twice(
    tmp_path: Path, run: int
) -> None:
    """In a computed pipeline (I11)."""
    left: list[Study] = []
    for kill in range(KILLS + 1):
        with subprocess.Popen(
            [sys.executable, "-m", "tests.search.simulated", tmp_path, "0.01"], cwd=ROOT
        ) as process:
            if kill < KILLS:
                # Never twice in one trial, which would then have failed.
                await_lines(process, tmp_path, random.randint(5, 20))
                time.sleep(random.random() * 0.02)
                process.kill()
        left.append(recorded(tmp_path).study)
    for one in left[:-1]:
        require_sound(one, left[-1])


def await_lines(process: subprocess.Popen[bytes], folder: Path, more: int) -> None:
    """Until a search has written so many lines to its journal."""
    path = folder / "trials.jsonl"
    before = path.read_bytes().count(b"\n") if path.exists() else 0
    while process.poll() is None:
        if path.exists() and path.read_bytes().count(b"\n") >= before + more:
            return
        time.sleep(0.001)


class PowerCut(BaseException):
    """The machine is off."""


def record_syncs(
    journal: Path, on_disk: list[bytes], monkeypatch: pytest.MonkeyPatch, syncs: bool
) -> None:
    """From now on `on_disk` holds a journal as it was at each fsync: what a power cut leaves."""
    whole = os.fsync

    def fsync(file: int) -> None:
        whole(file)
        if syncs and journal.exists() and os.path.samestat(os.fstat(file), journal.stat()):
            on_disk.append(journal.read_bytes())

    monkeypatch.setattr(os, "fsync", fsync)


def power_cut(folder: Path, monkeypatch: pytest.MonkeyPatch, syncs: bool = True) -> None:
    """F16: whatever a search did before it began a trial is on disk when the power goes in it; it
    goes on from there, and from a line of which a part was written, to its end."""
    whole = folder / "whole"
    whole.mkdir()
    undisturbed = search(whole, World(START_S))
    last = random.randrange(5, len(undisturbed.trials) - 2)
    run = folder / "cut"
    run.mkdir()
    begun: list[Asked] = []
    on_disk, image = [b""], [b""]

    def stop(asked: Asked) -> None:
        begun.append(asked)
        if asked.number == last:
            image[0] = on_disk[-1]
            raise PowerCut

    with monkeypatch.context() as patched:
        record_syncs(run / "trials.jsonl", on_disk, patched, syncs)
        with pytest.raises(PowerCut):
            search(run, World(START_S, stop=stop))
    torn = b'{"check": "0000'[: random.randrange(15)]
    (run / "trials.jsonl").write_bytes(image[0] + torn)
    done = [one["number"] for one in trials(records(run))]
    assert done == [asked.number for asked in begun[:-1]], "what was done is not on disk"
    assert under_way(records(run)) is not None, "what is not done is claimed"
    before = recorded(run).study
    require_sound(before, search(run, World(START_S)))


@row("F16", runs=5)
def test_f16_a_power_cut_loses_the_trial_in_flight_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: int
) -> None:
    power_cut(tmp_path, monkeypatch)


@control("F16")
def test_control_f16(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match="is not on disk"):
        power_cut(tmp_path, monkeypatch, syncs=False)


def rebooted(site: Path, command: tuple[str, ...] = COMMAND) -> None:
    """F25: everything is killed at once, and when it is resumed the machine has another boot id."""
    surroundings = Surroundings()
    with Search(site, *RESUMED) as first:
        first.await_candidate()
        known = first.records()
        first.kill()
        for process in surroundings.left():
            process.kill()
    identity = site / "boot_id"
    identity.write_text("5cd5a2f5-0000-4000-8000-2b2d5e0a7b11\n", encoding="ascii")
    script = f'mount --bind {identity} /proc/sys/kernel/random/boot_id && exec "$@"'
    other_boot = ("unshare", "--mount", "sh", "-c", script, "sh", *command)
    with Search(site, *RESUMED, command=other_boot) as again:
        again.await_line("resuming")
        again.await_until(lambda: len(trials(again.records())) > len(trials(known)), "a trial")
        assert again.interrupt().code == 130
        require_kept(trials(known), trials(again.records()))


@row("F25")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a process another boot id")
def test_f25_after_a_reboot_it_goes_on(begun: Path, run: int) -> None:
    rebooted(begun, QUICK)
    require_no_files_left(begun)


@control("F25")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a process another boot id")
def test_control_f25(begun: Path) -> None:
    with pytest.raises(AssertionError, match="it ended before 'resuming'"):
        rebooted(begun, unguarded("believe_lock_files"))
