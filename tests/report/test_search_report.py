"""What the report of a search says of its time and of its changes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.measure.factory import failed, measured
from tests.report.markup import seen
from tests.search.simulated import START_S, WORKERS, World, search
from tuner.report.figures import SUSTAINED, interval
from tuner.report.markdown import blocks_markdown, report_markdown
from tuner.report.page import page
from tuner.report.result import analyse
from tuner.report.search_report import SECTIONS, report_json, search_report
from tuner.report.sections import FileDiff
from tuner.schema.numerals import percent
from tuner.search.effects import EffectRatio, effects_of
from tuner.search.study import BASELINE, Ending, Phase, Study, Trial
from tuner.search.verdict import Claim, experiments, judge
from tuner.space.table import REPLY_FILTER


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    return search(tmp_path, World(START_S, computes_s=0.25, restart_s=5.0))


def markdown(study: Study) -> str:
    return report_markdown(search_report(analyse(study), Path("run")))


def section(text: str, title: str) -> str:
    """A section of a report, without its title."""
    return text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def rows(text: str) -> list[list[str]]:
    """The rows of the first table, without its header."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_section_stands_in_all_reports_under_its_own_anchor(study: Study) -> None:
    report = search_report(analyse(study), Path("run"))
    # No front was asked for.
    assert len(report.sections) == len(SECTIONS) - 1
    anchors = [one.anchor for one in report.sections]
    assert len(set(anchors)) == len(anchors)
    text, shown = report_markdown(report), seen(page(report))
    for one in report.sections:
        assert f"\n## {one.heading}\n" in text
        assert ("h2", {"id": one.anchor}) in shown.elements
        assert ("a", {"href": f"#{one.anchor}"}) in shown.elements


def test_a_diff_cannot_leave_its_fence() -> None:
    text = blocks_markdown([FileDiff("it.yaml", ("+```", "+# <b> ````"))])
    assert text == "### it.yaml\n\n`````diff\n+```\n+# <b> ````\n`````\n"


def test_what_others_said_becomes_no_markup(study: Study) -> None:
    first, *rest = study.trials
    broken = replace(rest[-1], outcome=failed("<img src=x> [a](http://b) @all `code <b>`"))
    machine = "<script> ![x](http://y)"
    header = replace(study.header, machine=machine, command="a `b` c")
    said = markdown(replace(study, header=header, trials=(first, *rest[:-1], broken)))
    assert "<script>" not in said
    assert "<img" not in said
    assert "](http" not in said
    assert "@all" not in said
    assert "`a 'b' c`, budget" in said
    assert "<br>" in said


def test_a_limit_of_memory_stands_beside_what_was_used(study: Study) -> None:
    winner = [one.number for one in study.of(Phase.CONFIRM) if one.changes != BASELINE]
    trials = tuple(
        replace(one, outcome=replace(one.measurement, shipper_rss_bytes=150 * 1024**2))
        if one.measurement and one.number == winner[-1]
        else one
        for one in study.trials
    )
    limits = replace(study.header.limits, rss_bytes=200 * 1024**2)
    limited = replace(study, trials=trials, header=replace(study.header, limits=limits))
    used = "rsyslogd used at most 150 MiB, of the 200 MiB that rss_bytes allows"
    assert used in section(markdown(limited), "What stays guaranteed")
    free = replace(study.header, limits=replace(study.header.limits, rss_bytes=None))
    unlimited = replace(study, header=free)
    assert "rss_bytes allows" not in section(markdown(unlimited), "What stays guaranteed")


def test_a_search_that_was_interrupted_says_so(study: Study) -> None:
    early = replace(study, ending=Ending.INTERRUPTED)
    assert " fresh pairs; " in markdown(early).split("\n## ", 1)[0]
    assert "The search was interrupted." in markdown(early)
    assert "The search was interrupted." not in markdown(study)


def effect_rows(study: Study) -> list[list[str]]:
    """What is said of each change that was chosen: of those recommended, then of the removed."""
    text = markdown(study)
    given = text.partition("\n## Taken back before the confirmation\n")[2].partition("\n## ")[0]
    removed = rows(given) if "| change |" in given else []
    return rows(section(text, "What to change")) + removed


def test_the_pairs_are_told_by_the_rate_that_is_claimed(study: Study) -> None:
    """A search whose best puts work off beyond the window, so that it gained less with that."""

    def retold(trial: Trial) -> Trial:
        run = trial.measurement
        if trial.phase is not Phase.CONFIRM or run is None or not trial.changes:
            return trial
        return replace(trial, outcome=replace(run, eps_paid=run.eps * 0.9))

    on_an_engine = replace(study.header, engine="elasticsearch 8.19.0")
    put_off = replace(study, header=on_an_engine, trials=tuple(map(retold, study.trials)))
    result = analyse(put_off)
    assert result.claimed_rate is SUSTAINED
    text = section(markdown(put_off), "Evidence")
    shown = text.partition(
        "### Every pair as measured, events per second including deferred work\n"
    )[2]
    listed = rows(shown.partition("\n### ")[0])
    assert [row[3] for row in listed] == [
        percent(after.eps_paid / before.eps_paid) for before, after, _ in result.pairs
    ]
    assert "| change over the steady window |" in shown
    assert [row[4] for row in listed] == [
        percent(after.eps / before.eps) for before, after, _ in result.pairs
    ]
    assert text.count("sent / indexed |\n") == 1
    # Of one that ended before there were enough of them, too.
    last = put_off.of(Phase.CONFIRM)[4].number
    early = replace(put_off, trials=tuple(one for one in put_off.trials if one.number < last))
    assert analyse(early).verdict.claimed is None
    assert "### Every pair as measured, events per second" in section(markdown(early), "Evidence")


def test_each_change_has_what_it_gave_with_its_interval(study: Study) -> None:
    verdict = judge(study)
    found = effect_rows(study)
    listed = [path for row in found for path in changed(row)]
    assert sorted(listed) == sorted(dict(verdict.chosen))
    apart = [row for row in found if row[1] != "not measured by itself: the engine restarts for it"]
    assert len(apart) >= len(found) - 1
    for row, effect in apart:
        assert re.search(r"[+-]\d+\.\d % \[[+-]\d+\.\d %, [+-]\d+\.\d %\]", effect)
        assert ("together" in effect) == (len(changed([row])) > 1)


def test_it_is_said_which_runs_the_effects_are_from_and_what_they_come_to(study: Study) -> None:
    verdict = judge(study)
    effects = verdict.effects
    assert effects is not None
    said = section(markdown(study), "What to change")
    assert f"By {2 * effects.blocks} runs before the pairs" in said
    # With the pairs the effects say more than they did when some were taken back.
    kept = [at for at, of in enumerate(effects.groups) if {*of} <= {*verdict.confirmed}]
    back = [at for at in range(len(effects.groups)) if at not in kept]
    assert back
    assert f"those that are kept together {percent(effects.of(*kept).ratio)}" in said
    assert f"those that were taken back {percent(effects.of(*back).ratio)}" in said


def test_what_the_pairs_give_to_the_repairs_is_said(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that what is kept and the repairs come to the claim."""
    verdict = judge(study)
    assert verdict.effects is not None
    found = replace(verdict.effects, beside=EffectRatio(1.12, 0.95, 1.3))
    monkeypatch.setattr("tuner.report.result.judge", lambda _: replace(verdict, effects=found))
    said = section(markdown(study), "What to change")
    assert "by the pairs alone, +12.0 % [-5.0 %, +30.0 %]. The claim" in said


def test_changes_that_were_not_taken_apart_have_one_figure_and_why(
    study: Study,
) -> None:
    trials = tuple(one for one in study.trials if one.phase is not Phase.EFFECTS)
    ((names, effect),) = rows(section(markdown(replace(study, trials=trials)), "What to change"))
    assert len(changed([names])) == len(judge(study).changes) > 1
    assert effect.startswith("together +")
    untold = replace(study, trials=trials)

    def said(*, effects: bool) -> str:
        options = replace(study.header.options, effects=effects)
        header = replace(study.header, options=options)
        return section(markdown(replace(untold, header=header)), "What to change")

    assert "gave was not measured: a larger budget has time for it." in said(effects=True)
    assert "gave was not measured (--no-effects)." in said(effects=False)


def test_a_setting_that_rides_in_another_parameter_says_so_where_it_is_listed(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "outputs[logs].filter_path"
    only = ((path, REPLY_FILTER),)
    verdict = replace(judge(study), changes=only, confirmed=only, effects=None)
    monkeypatch.setattr("tuner.report.result.judge", lambda _: verdict)
    (row,) = rows(section(markdown(study), "What to change"))
    assert changed(row) == [path]
    assert "inside the action's `timeout`, `1m&filter_path=...`" in row[0]


def changed(row: Sequence[str]) -> list[str]:
    """The settings in a row of the table."""
    return re.findall(r"(?:^|<br>)`([^`]+)` [^>]+ -> ", row[0])


def test_what_was_taken_back_is_listed_apart_with_why(study: Study) -> None:
    """What gave nothing here is all but the action's workers, and what goes with them."""
    (apart,) = experiments(study.trials)
    helping = next(group for group in apart.groups if WORKERS in dict(group))
    idle = {one for group in apart.groups for one in group} - {*helping}
    left = tuple(one for one in apart.chosen if one not in idle)

    def retold(trial: Trial) -> Trial:
        if trial.phase is Phase.EFFECTS:
            rate = 1000.0 * (1.2 if WORKERS in dict(trial.changes) else 1.0)
            return replace(trial, outcome=measured(rate + trial.number / 100))
        if trial.phase is Phase.CALIBRATE:
            return replace(trial, outcome=measured(1000.0 + trial.number / 100))
        is_confirmed = trial.phase in {Phase.CHECK, Phase.CONFIRM} and trial.changes
        return replace(trial, changes=left) if is_confirmed else trial

    told = replace(study, trials=tuple(map(retold, study.trials)))
    verdict, text = judge(told), markdown(told)
    given = section(text, "Taken back before the confirmation")
    then = effects_of(told.trials, verdict.chosen)
    assert then is not None
    together = interval(then.of(*then.taken_back))
    assert f"By the runs before the pairs they gave {together} together: without them" in given
    back = [path for row in rows(given) for path in changed(row)]
    assert sorted(back) == sorted(dict(verdict.chosen).keys() - dict(verdict.changes).keys())
    assert back
    to_change = rows(section(text, "What to change"))
    assert sorted(path for row in to_change for path in changed(row)) == sorted(dict(left))
    first = text.split("\n## ", 1)[0]
    assert f"{len(back)} more were taken back" in first


def test_without_a_claim_no_change_is_given_an_effect(study: Study) -> None:
    trials = tuple(t for t in study.trials if t.phase is not Phase.CONFIRM)
    unclaimed = replace(study, trials=trials)
    assert judge(unclaimed).claim is Claim.NOT_SHOWN
    assert "what it gave" not in markdown(unclaimed)
    assert "Taken back" not in markdown(unclaimed)


def test_an_unfinished_report_has_no_empty_section(study: Study) -> None:
    """What was not come to has no heading; the first screen says that nothing is claimed."""
    begun = (*study.of(Phase.WARM_UP), *study.of(Phase.CALIBRATE))
    for trials in ((), begun[:1], begun, study.trials[:30]):
        text = markdown(replace(study, trials=trials, ending=Ending.INTERRUPTED))
        headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
        absent = {"What to change", "What limits it", "What changes in the files"}
        assert not absent & set(headings)
        # Among the first thirty is one that lost events.
        assert ("Evidence" in headings) == (len(trials) == 30)
        assert ("Trials" in headings) == bool(trials)
        for part in re.split(r"^## .*$", text, flags=re.MULTILINE)[1:]:
            assert part.strip()


def test_programs_get_the_same(study: Study) -> None:
    found = json.loads(json.dumps(report_json(analyse(study))))
    assert (found["schema"], found["kind"]) == (7, "search")
    paths = [path for group in found["effects"] for path, _ in group["changes"]]
    assert sorted(paths) == sorted(dict(judge(study).chosen))
    assert found["effects"][0]["estimate"].keys() == {"ratio", "low", "high"}


def test_a_value_with_stars_in_it_stays_what_it_is(study: Study) -> None:
    """Outside of code, Markdown takes two stars for emphasis and leaves them out."""
    text = markdown(study)
    assert text.count("items.*.status") > 2
    for line in text.split("## How sure it can be")[0].splitlines():
        outside = "".join(line.replace("**", "").split("`")[::2])
        assert "*" not in outside


def test_a_merge_request_shows_the_verdict_and_the_changes_and_folds_the_rest(study: Study) -> None:
    shown, folded = markdown(study).split("<details><summary>")
    assert "## What to change" in shown
    assert len([line for line in shown.splitlines() if line]) <= 25
    assert folded.endswith("</details>\n")
    assert "## Evidence" in folded
