"""`compare` without a measurement: under which workload, and what two searches ended with."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.search import simulated
from tests.search.simulated import ASKED, START_S, World, search
from tuner.cli.bench import under_one_workload
from tuner.cli.commands import app
from tuner.cli.profiles import read_profile
from tuner.errors import BadUsage, JobFailed, Refused
from tuner.measure.machines import Decision
from tuner.profile.metric import Metric
from tuner.profile.starter import on_top_of
from tuner.report.compare import (
    Difference,
    compare_blocks,
    compare_json,
    compared,
    difference,
    gate_of,
    of_searches,
)
from tuner.report.markdown import blocks_markdown
from tuner.search.journal import read
from tuner.search.study import Fingerprint
from tuner.search.verdict import Claim, judge


def test_a_configuration_is_compared_under_the_workload_of_the_profile_on_top_of_it(
    tmp_path: Path,
) -> None:
    conf, sample, best = (tmp_path / name for name in ("r.conf", "log.txt", "best.yaml"))
    conf.write_text(
        'module(load="omelasticsearch")\nmodule(load="imtcp")\ninput(type="imtcp" port="514")\n'
        'action(type="omelasticsearch" server="es")\n'
    )
    sample.write_text("a line of mine\n" * 20)
    best.write_text(on_top_of(conf.name, "best", None, sample=sample.name))
    as_it_is, found = read_profile(conf).profile, read_profile(best).profile
    a, b, doubts = under_one_workload(as_it_is, found, conf)
    assert a.workload == b.workload == found.workload != as_it_is.workload
    assert doubts == []
    a, b, doubts = under_one_workload(found, as_it_is, best)
    assert a.workload == b.workload == found.workload
    assert doubts == ["the workloads differ: both sides were measured with that of A"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a search that found something."""
    folder = tmp_path_factory.mktemp("runs") / "one"
    folder.mkdir()
    study = search(folder, World(START_S))
    assert judge(study).claim is Claim.IMPROVED
    return folder


def test_a_search_compared_with_itself_differs_in_nothing(run: Path) -> None:
    found = of_searches(run, run, (read(run), read(run)))
    assert difference(found) is Difference.NOT_SHOWN
    eps = compared(found, Metric.EPS)
    assert eps is not None
    assert eps.ratio == pytest.approx(1.0)
    assert eps.pairs >= 6
    decided = gate_of(found, 0.99)
    assert decided is not None
    assert decided.decision is Decision.KEPT


def test_that_nothing_took_turns_is_said_first(run: Path) -> None:
    found = of_searches(run, run, (read(run), read(run)))
    assert found.doubts[0].startswith("the runs of A and B were not interleaved")
    assert "began with the same profile, which differed by +0.0 %" in found.doubts[-1]
    assert compare_json(found, None)["interleaved"] is False
    text = blocks_markdown(compare_blocks(found, None))
    assert f"A is {run} (what it confirmed)" in text
    assert "freshness of B at 10,000 events per second" in text


def test_that_the_profiles_differed_is_said(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulated, "ASKED", replace(ASKED, profile_text=f"{ASKED.profile_text}#\n"))
    search(tmp_path, World(START_S), seed=2)
    said = of_searches(run, tmp_path, (read(run), read(tmp_path))).doubts[-1]
    assert said.startswith("the searches began with different profiles")
    assert said.endswith(f"rsyslog-tune diff {run}/best.yaml {tmp_path}/best.yaml")


def under(folder: Path, fingerprint: Fingerprint, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a search under these conditions."""
    monkeypatch.setattr(simulated, "ASKED", replace(ASKED, fingerprint=fingerprint))
    search(folder, World(START_S), seed=2)
    return folder


@pytest.mark.parametrize(
    ("name", "there"),
    [("rsyslog", "8.2608"), ("engine", "es 8.19"), ("hardware", "64 cores"), ("workload", "abcd")],
)
def test_searches_under_other_conditions_are_refused_with_what_differs(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, there: str
) -> None:
    here = ASKED.fingerprint
    other = under(tmp_path, replace(here, **{name: there}), monkeypatch)
    with pytest.raises(Refused, match="were measured under different conditions") as refused:
        of_searches(run, other, (read(run), read(other)))
    message = str(refused.value)
    assert f": {name}: {getattr(here, name)} in A, {there} in B;" in message
    assert f"rsyslog-tune compare {run}/best.yaml {other}/best.yaml" in message


def test_searches_of_profiles_with_another_heap_are_compared(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = under(tmp_path, replace(ASKED.fingerprint, heap="9g"), monkeypatch)
    assert compared(of_searches(run, other, (read(run), read(other))), Metric.EPS) is not None


def test_a_search_that_confirmed_nothing_is_refused(tmp_path: Path, run: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()

    def stop(asked: object) -> None:
        if getattr(asked, "number", 0) > 5:
            raise JobFailed("enough")

    with pytest.raises(JobFailed, match="enough"):
        search(broken, World(START_S, stop=stop))
    with pytest.raises(JobFailed, match="holds no confirmed pairs to compare"):
        of_searches(run, broken, (read(run), read(broken)))


def test_options_about_runs_are_refused_and_so_is_one_of_each(run: Path, tmp_path: Path) -> None:
    profile = tmp_path / "p.yaml"
    shutil.copy(Path(__file__).parents[2] / "profiles/default.yaml", profile)
    with pytest.raises(BadUsage, match="leave out --pairs, --window"):
        app(["compare", str(run), str(run), "--pairs", "9", "--window", "3s"])
    with pytest.raises(BadUsage, match="compare two profiles, or two run directories"):
        app(["compare", str(run), str(profile)])


def test_the_command_prints_json(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        app(["compare", str(run), str(run), "--output", "json"])
    assert end.value.code == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "compare"
