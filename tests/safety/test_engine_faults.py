"""F01, F02, F03, F09: what happens to a real engine in a trial is no score, and is named."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from tests.live.conftest import QUICK
from tests.live.quick import NODE_PACE
from tests.safety import invariants
from tests.safety.invariants import require_not_scored, require_one_cause
from tests.safety.scorecard import control, row
from tests.safety.searches import RESUMED, Engine, Search, require_seen, server_of, tune
from tests.safety.trials import PROFILE, SHORT
from tuner.engine.client import EngineClient
from tuner.lab.engine import AttachedEngine
from tuner.lab.lab import lab_around, new_run_id
from tuner.lab.scratch import scratch
from tuner.measure import watch
from tuner.measure.measurement import Failure, FailureKind
from tuner.measure.place import LabTrials, run_profile
from tuner.search.budget import smallest_budget_s

pytestmark = [pytest.mark.live, pytest.mark.full]

DEFAULT = Path(__file__).parents[2] / "profiles" / "default.yaml"
BUDGET = ("--budget", f"{smallest_budget_s(NODE_PACE) + 60:g}s", "--no-effects")
OWN = (DEFAULT, "--engine", "node", *BUDGET)
FROZEN_S = 30.0
# Elasticsearch sets the first at the flood stage, and takes it away by itself.
BLOCK, USERS_BLOCK = "index.blocks.read_only_allow_delete", "index.blocks.write"


def attached(engine: Engine) -> tuple[object, ...]:
    return (DEFAULT, "--elasticsearch", engine.url, *BUDGET)


def killed_once(site: Path, command: tuple[str, ...]) -> None:
    """F01: the search's own engine is killed; it must go on with another one."""
    with Search(site, *OWN, command=command) as search:
        struck = search.await_candidate()
        server_of(search.daemons("java")).kill()
        search.await_after(struck)
        require_not_scored(search.records(), struck)
        search.end()


@row("F01")
def test_f01_an_engine_that_is_killed_is_started_again(site: Path, run: int) -> None:
    killed_once(site, QUICK)
    invariants.require_no_files_left(site)


@control("F01")
def test_control_f01(site: Path) -> None:
    require_seen(killed_once, site)


def killed_for_good(site: Path, command: tuple[str, ...]) -> None:
    """F03: it ends by itself, says why, and writes what it knows."""
    with Search(site, *OWN, command=command) as search:
        struck = search.await_candidate()

        def kill() -> None:
            for java in search.daemons("java"):
                with suppress(psutil.NoSuchProcess):
                    java.kill()

        with invariants.meanwhile(kill, 0.05):
            done = search.wait()
        require_not_scored(search.records(), struck)
        require_one_cause(done.code, 4, done.err, "elasticsearch")
        assert (search.run / "report.html").exists(), "what is known was not written"


@row("F03")
def test_f03_an_engine_that_never_comes_back_ends_the_search(site: Path, run: int) -> None:
    killed_for_good(site, QUICK)
    invariants.require_no_files_left(site)


@control("F03")
def test_control_f03(site: Path) -> None:
    require_seen(killed_for_good, site)


def mark_of(number: int) -> str:
    """What the names of a trial's indices have in them."""
    return f"-t{number + 1}-"


def with_traffic(search: Search, engine: Engine) -> int | None:
    """The candidate under way, if events of it are in the engine."""
    asked = search.under_way()
    if not asked or not asked["changes"]:
        return None
    mark = mark_of(asked["number"])
    indices = invariants.get(engine.url, "/_stats/indexing")["indices"].items()
    mine = (one["primaries"]["indexing"]["index_total"] for name, one in indices if mark in name)
    return int(asked["number"]) if any(mine) else None


@contextmanager
def frozen_in_a_trial(search: Search, engine: Engine) -> Iterator[int]:
    """The engine does nothing from the moment that events of a candidate arrive in it; the trial's
    number.  Where that trial had ended by then, it is thawed, and frozen in a later one."""
    struck: list[int] = []

    def froze() -> bool:
        if (number := with_traffic(search, engine)) is None:
            return False
        os.kill(engine.pid, signal.SIGSTOP)
        if (asked := search.under_way()) and asked["number"] == number:
            struck.append(number)
        else:
            os.kill(engine.pid, signal.SIGCONT)
        return bool(struck)

    try:
        search.await_until(froze, "events of a candidate")
        yield struck[0]
    finally:
        os.kill(engine.pid, signal.SIGCONT)


def given_up_while_frozen(site: Path, engine: Engine, command: tuple[str, ...]) -> None:
    """F02: the trial is given up while the engine is frozen; the search goes on or can."""
    with Search(site, *attached(engine), command=command) as search:
        with frozen_in_a_trial(search, engine) as struck:
            before = search.records()
            time.sleep(FROZEN_S)
        search.await_until(lambda: search.records() != before, "an end of the trial")
        require_not_scored(search.records(), struck)
        done = search.interrupt()
        assert done.code in {4, 130}, done.err
        require_one_cause(done.code, done.code, done.err)
        invariants.require_kept(before, search.records())
    with Search(site, *RESUMED) as again:
        again.await_after(struck)
        again.end()


@row("F02")
def test_f02_a_frozen_engine_gives_no_score(site: Path, engine: Engine, run: int) -> None:
    theirs = invariants.foreign(engine.url)
    given_up_while_frozen(site, engine, QUICK)
    assert invariants.foreign(engine.url) == theirs
    assert invariants.ours(engine.url) == []


@control("F02")
def test_control_f02(site: Path, engine: Engine) -> None:
    require_seen(given_up_while_frozen, site, engine)


def seconds_until_seen(site: Path, engine: Engine) -> float:
    """How long after it froze in the middle of the traffic the engine was given up, by the clock of
    the trial itself."""
    frozen_at_s: list[float] = []

    def freeze(stage: str) -> None:
        if stage == "window":
            os.kill(engine.pid, signal.SIGSTOP)
            frozen_at_s.append(time.monotonic())

    def thaw(stage: str) -> None:
        if stage == "starting the engine again":
            os.kill(engine.pid, signal.SIGCONT)

    theirs = AttachedEngine(EngineClient(engine.url))
    with scratch(site) as folder, lab_around(theirs, folder, new_run_id()) as lab:
        survivor, began_s = LabTrials(lab, PROFILE, SHORT), time.monotonic()
        try:
            outcome = survivor.measured(
                PROFILE,
                lambda name, _: run_profile(lab, PROFILE, SHORT, name, freeze),
                "frozen",
                thaw,
            )
        finally:
            os.kill(engine.pid, signal.SIGCONT)
    assert isinstance(outcome, Failure), outcome
    assert outcome.kind is FailureKind.ENGINE_DOWN
    return began_s + outcome.total_s - frozen_at_s[0]


@pytest.mark.alone
@row("F02")
def test_f02_a_frozen_engine_is_seen_within_10_s(site: Path, engine: Engine, run: int) -> None:
    assert seconds_until_seen(site, engine) <= 10.0


@pytest.mark.alone
@control("F02")
def test_control_f02_a_patient_trial_sees_it_late(
    site: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "SILENCE_S", 12.0)
    assert seconds_until_seen(site, engine) > 10.0


@contextmanager
def users_index(engine: Engine) -> Iterator[str]:
    """An index of the user's, with a document, that is read-only as well."""
    name = "theirs"
    invariants.get(engine.url, f"/{name}/_doc?refresh=true", "POST", {"a": 1})
    invariants.get(engine.url, f"/{name}/_settings", "PUT", {USERS_BLOCK: True})
    try:
        yield name
    finally:
        invariants.get(engine.url, f"/{name}", "DELETE")


def read_only_in_a_trial(site: Path, engine: Engine, command: tuple[str, ...]) -> None:
    """F09: as at the flood stage of the disk's watermarks."""
    with Search(site, *attached(engine), command=command) as search:
        struck = search.await_candidate()
        index = next(one for one in invariants.our_indices(engine.url) if mark_of(struck) in one)
        invariants.get(engine.url, f"/{index}/_settings", "PUT", {BLOCK: True})
        search.await_after(struck)
        require_not_scored(search.records(), struck)
        search.end()


@row("F09")
def test_f09_an_index_made_read_only_gives_no_score(site: Path, engine: Engine, run: int) -> None:
    with users_index(engine):
        theirs = invariants.foreign(engine.url)
        read_only_in_a_trial(site, engine, QUICK)
        assert invariants.foreign(engine.url) == theirs, "what is the user's was changed"
        assert invariants.ours(engine.url) == []


@control("F09")
def test_control_f09(site: Path, engine: Engine) -> None:
    require_seen(read_only_in_a_trial, site, engine)


@contextmanager
def read_only_cluster(engine: Engine) -> Iterator[None]:
    def set_block(value: bool | None) -> None:
        block = {"cluster.blocks.read_only_allow_delete": value}
        invariants.get(engine.url, "/_cluster/settings", "PUT", {"persistent": block})

    set_block(value=True)
    try:
        yield
    finally:
        set_block(value=None)


@row("F09")
def test_f09_a_read_only_cluster_is_refused_in_its_own_words(
    site: Path, engine: Engine, run: int
) -> None:
    with read_only_cluster(engine):
        theirs = invariants.foreign(engine.url)
        done = tune(site, "bench", DEFAULT, "--elasticsearch", engine.url, "--repeat", 1,
                    "--window", "1s", "--no-freshness", command=QUICK)  # fmt: skip
        require_one_cause(done.code, 1, done.err, "block")
        assert invariants.foreign(engine.url) == theirs, "what is the user's was changed"


@control("F09")
def test_control_f09_a_changed_index_of_the_users_is_seen(engine: Engine) -> None:
    with users_index(engine) as name:
        theirs = invariants.foreign(engine.url)
        invariants.get(engine.url, f"/{name}/_settings", "PUT", {USERS_BLOCK: None})
        assert invariants.foreign(engine.url) != theirs
