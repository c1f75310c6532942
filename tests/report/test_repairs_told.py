"""What a report says of repairs, of losses that stay, and of what a change gives up."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.measure.factory import failed
from tests.search.simulated import START_S, World, search
from tuner.cli.files import write_results
from tuner.lint.repairs import every_change, repairs
from tuner.report.first_screen import first_screen, sentence
from tuner.report.markdown import report_markdown
from tuner.report.result import analyse
from tuner.report.search_report import report_json, search_report
from tuner.search.study import Changes, Phase, Study
from tuner.search.verdict import Claim, judge

MAIN = "main_queue.size"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        folder: Path = tmp_path_factory.mktemp("run")
        return search(folder, World(START_S))


def recommending(study: Study, monkeypatch: pytest.MonkeyPatch, changes: Changes) -> Study:
    """The study, whose verdict recommends these changes."""
    verdict = replace(judge(study), changes=changes, confirmed=changes, effects=None)
    monkeypatch.setattr("tuner.report.result.judge", lambda _: verdict)
    return study


def test_what_is_not_repaired_stands_first(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    result = analyse(recommending(study, monkeypatch, ((MAIN, 200_000),)))
    assert sentence(result).startswith(
        "This profile can lose events (events are lost when the action queue stays full for 2 s; "
    )
    assert [one.code for one in result.unrepaired] == ["RT113", "RT115"]
    listed = report_json(result)["repairs"]
    assert isinstance(listed, list)
    assert [one["recommended"] for one in listed] == [False, False]


def test_repairs_stand_apart_from_what_is_tuned(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = every_change(repairs(analyse(study).written.profile))
    both = tuple(sorted((*needed, (MAIN, 200_000))))
    result = analyse(recommending(study, monkeypatch, both))
    assert not sentence(result).startswith("This profile can lose")
    assert first_screen(result).remarks[-1] == "it takes 1 change and 2 repairs that stop a loss"
    text = report_markdown(search_report(result, Path("run")))
    section = text.split("## What to change\n", 1)[1].split("\n## ", 1)[0]
    tuned, mended = section.split("### Repairs\n")
    kept = text.split("## What stays guaranteed\n", 1)[1].split("\n## ", 1)[0]
    assert "except what was repaired: `outputs[logs].queue.timeoutEnqueue`, " in kept
    assert MAIN in tuned
    assert "timeoutEnqueue" not in tuned
    assert "`outputs[logs].queue.timeoutEnqueue` | not set | `86400000` | not for speed:" in mended


def test_what_a_change_gives_up_is_named(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    result = analyse(recommending(study, monkeypatch, ((MAIN, 200_000),)))
    (one,) = result.given_up
    assert one.text.startswith(
        "main_queue.size 100,000 -> 200,000: a crash of rsyslogd loses up to 200,000"
    )
    assert report_json(result)["gives_up"] == [one.text]
    report = search_report(result, Path("run"))
    (pay,) = [line for line in report.first.remarks if line.startswith("you pay: ")]
    assert "a crash of rsyslogd loses up to 200,000 events (was 100,000)" in pay
    assert one.text in report_markdown(report).partition("### What it costs")[2]


def test_repairs_that_are_faster_too_are_said_to_be_alone(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = every_change(repairs(analyse(study).written.profile))
    first = first_screen(analyse(recommending(study, monkeypatch, needed)))
    assert first.remarks[-1] == "it takes no change for speed and 2 repairs that stop a loss"


def test_repairs_are_handed_over_where_no_gain_is_shown(
    study: Study, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    unshown = replace(judge(study), claim=Claim.NOT_SHOWN, changes=())
    monkeypatch.setattr("tuner.report.result.judge", lambda _: unshown)
    result = analyse(study)
    assert result.verdict.changes == every_change(repairs(result.written.profile))
    assert result.verdict.claim is Claim.NOT_SHOWN
    assert (
        "than the profile as written. best.yaml is the profile with 2 repairs, not for speed: "
        in sentence(result)
    )
    assert not sentence(result).startswith("This profile can lose")
    write_results(tmp_path, result.written, study)
    assert "timeoutEnqueue: 86400000" in (tmp_path / "best.yaml").read_text("utf-8")


def test_where_the_profile_lost_events_the_verdict_says_what_it_was_compared_with(
    study: Study,
) -> None:
    """The trials are those of a search that found its gain, with the repairs in its baseline."""
    first, *others = study.trials
    lost = replace(first, outcome=failed())
    repaired = [replace(one, repaired=not one.changes) for one in others]
    told = sentence(analyse(replace(study, trials=(lost, *repaired))))
    assert " As written, the profile lost 2 of 1,000 events in the warm-up: what is called" in told
    assert "As written, the profile" not in sentence(analyse(study))


def test_without_repairs_what_can_be_lost_stands_first(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    unshown = replace(judge(study), claim=Claim.NOT_SHOWN, changes=())
    monkeypatch.setattr("tuner.report.result.judge", lambda _: unshown)
    options = replace(study.header.options, repairs=False)
    result = analyse(replace(study, header=replace(study.header, options=options)))
    assert result.verdict.changes == ()
    assert sentence(result).startswith("This profile can lose events (")
    assert sentence(result).endswith("The profile stays as it is.")


def test_repairs_that_a_trial_showed_to_fail_are_not_handed_over(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = every_change(repairs(analyse(study).written.profile))
    unshown = replace(judge(study), claim=Claim.INFEASIBLE, changes=())
    monkeypatch.setattr("tuner.report.result.judge", lambda _: unshown)
    breached = replace(study.of(Phase.SEARCH)[0], changes=needed, outcome=failed("p99 is 60 s"))
    result = analyse(replace(study, trials=(*study.trials, breached)))
    assert result.verdict.changes == ()
    assert [one.code for one in result.unrepaired] == ["RT113", "RT115"]
