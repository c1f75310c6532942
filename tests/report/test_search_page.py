"""The report of a search as a page."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import re
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

from tests.measure.factory import SPEED, failed, measured
from tests.measure.paced import paced
from tests.measure.stages import CALM
from tests.report.markup import Seen, seen
from tests.report.test_runs import USED
from tests.search.simulated import START_S, World, search
from tuner.measure.bottleneck import judge as judge_stages
from tuner.measure.measurement import Failure, FailureKind, Spent
from tuner.report.figures import interval
from tuner.report.page import _environment
from tuner.report.page import page as page_of
from tuner.report.result import analyse
from tuner.report.search_report import search_report, trials_csv
from tuner.schema.numerals import share
from tuner.search.journal import read
from tuner.search.study import BASELINE, Ending, Note, Phase, Study
from tuner.search.verdict import Claim, judge

HOSTILE = "</style></title><script>alert(1)</script>]]>\"'`<b>`&amp;\u202e\x1b[2J\ud800"
SHOWN = "</style></title><script>alert(1)</script>]]>\"'<b>&amp;[U+202E][U+001B][2J[U+D800]"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda _: None)
        return search(
            tmp_path_factory.mktemp("run"), World(START_S, computes_s=0.25, restart_s=5.0)
        )


def page(study: Study) -> str:
    """The page without its drawings, which take most of the time."""
    with mock.patch.dict(_environment().filters, {"svg": lambda _plot: "<svg></svg>"}):
        return drawn(study)


def drawn(study: Study) -> str:
    return page_of(search_report(analyse(study), Path("run")))


def with_stages(study: Study) -> Study:
    """The study as if every trial had looked at the stages of its pipeline and what they used."""
    verdict = judge_stages(CALM)
    trials = tuple(
        replace(one, outcome=replace(one.measurement, verdict=verdict, effective=USED))
        if one.measurement
        else one
        for one in study.trials
    )
    return replace(study, trials=trials)


def assert_asks_for_nothing(found: Seen) -> None:
    """No scripts, nothing from elsewhere, and a policy that would refuse both."""
    active = {"script", "img", "iframe", "object", "embed", "link", "base", "form", "foreignobject"}
    assert not active & found.names()
    assert {"title", "style", "main", "section"} <= found.names()
    attributes = {name for _, held in found.elements for name in held}
    assert "style" not in attributes
    assert not {name for name in attributes if name.startswith("on") or name == "src"}
    assert all(target.startswith("#") for target in found.values("href"))
    assert not re.search(r"url\(|@import", found.style)
    (policy,) = (one for one in found.values("content") if one.startswith("default-src"))
    digest = base64.b64encode(hashlib.sha256(found.style.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def test_the_page_asks_for_nothing_and_is_small(study: Study) -> None:
    shown = drawn(study)
    assert len(shown.encode()) < 1_000_000
    assert_asks_for_nothing(seen(shown))


def test_the_page_of_a_search_of_days_is_small_too(study: Study) -> None:
    """What is left out is said."""
    searched = study.of(Phase.SEARCH)
    before = [trial for trial in study.trials if trial.number < searched[0].number]
    after = [trial for trial in study.trials if trial.number > searched[-1].number]
    many = [*before, *searched * (4000 // len(searched)), *after]
    trials = tuple(replace(trial, number=number) for number, trial in enumerate(many, -1))
    shown = drawn(replace(study, trials=trials))
    assert len(shown.encode()) < 1_000_000
    text = seen(shown).text
    assert f"The last 250 of {len(trials)} trials; all of them are in trials.csv." in text


def test_the_page_is_the_same_for_the_same_journal(tmp_path: Path) -> None:
    written = search(tmp_path, World(START_S))
    assert drawn(written) == drawn(read(tmp_path))


def test_the_first_screen_has_the_verdict_and_the_evidence_what_it_rests_on(study: Study) -> None:
    verdict = judge(study)
    found = verdict.claimed
    assert found is not None
    text = " ".join(seen(page(study)).text.replace("\N{NO-BREAK SPACE}", " ").split())
    first, _, evidence = text.partition("Every pair as measured")
    assert f"it takes {len(verdict.changes)} changes" in first
    assert f"{found.pairs} fresh pairs" in first
    assert interval(found) in evidence
    assert f"p = {found.p:.3f}" in evidence
    assert f"minimum detectable gain: {share(found.detectable)}" in evidence


def test_a_winner_that_was_slower_in_the_pairs_is_called_so(study: Study) -> None:
    trials = tuple(
        replace(
            one, outcome=measured(50_000.0 if one.changes == BASELINE else 40_000.0 + one.number)
        )
        if one.phase is Phase.CONFIRM
        else one
        for one in study.trials
    )
    slower = replace(study, trials=trials)
    assert judge(slower).claim is Claim.NOT_SHOWN
    assert (
        "in fresh pairs the best that was found was slower than the profile as written"
        in seen(page(slower)).text
    )


def test_what_restarts_cost_in_the_pairs_is_told_and_no_part_of_the_gain(study: Study) -> None:
    """The engine restarts before each second run, which is a quarter slower."""
    first, winner = study.of(Phase.CONFIRM)[0], judge(study).confirmed
    trials = [one for one in study.trials if one.phase not in {Phase.CONFIRM, Phase.EFFECTS}]
    for number in range(16):
        pair, second = 1 + number // 2, number % 2
        changes = winner if pair % 2 == second else BASELINE
        rate = (60_000 if changes else 50_000) * (1 - 0.25 * second) + 97 * (number % 5)
        run = replace(measured(rate), spent=Spent(restart_s=25.0 * second))
        at_s = first.at_s + number
        trials.append(replace(first, number=first.number + number, changes=changes, pair=pair,
                              outcome=run, at_s=at_s, ended_s=at_s + 1))  # fmt: skip
    turned = replace(study, trials=tuple(trials))
    found = judge(turned).claimed
    assert found is not None
    assert 1.19 < found.low < 1.2 < found.high < 1.21
    text = seen(page(turned)).text
    assert "Single pairs lie off the mean, because the engine restarted between the sides" in text
    assert "so the ratios leave such runs out" in text


def test_trials_are_folded_and_those_that_failed_are_marked(study: Study) -> None:
    """By colour and by word; one that lost events most."""
    losing, failing = [one for one in study.of(Phase.SEARCH) if one.measurement][:2]
    lost = replace(losing, outcome=replace(failed("it lost two"), kind=FailureKind.DELIVERY))
    other = replace(failing, outcome=replace(failed("it broke"), kind=FailureKind.RSYSLOGD))
    told = {losing.number: lost, failing.number: other}
    trials = tuple(told.get(one.number, one) for one in study.trials)
    shown = page(replace(study, trials=trials))
    section = shown.split('<h2 id="trials">')[1]
    assert "<details open" not in section
    failures = sum(isinstance(one.outcome, Failure) for one in trials)
    summary = re.search(r"<summary>All (\d+) trials: (.*)</summary>", section)
    assert summary is not None
    assert int(summary[1]) == len(trials)
    assert f"{failures} failed, {failures - 1} of them with events lost or doubled" in summary[2]
    rows = re.findall(r'<tr class="(\w+)"><td[^>]*>(\d+)</td>(.*)</tr>', section)
    found = {int(number): (mark, rest) for mark, number, rest in rows}
    assert found[losing.number][0] == "lost"
    assert ">EVENTS LOST<" in found[losing.number][1]
    assert found[failing.number][0] == "failed"
    assert ">failed<" in found[failing.number][1]
    assert len(found) == failures


def test_a_trial_says_what_it_changed_and_of_which(study: Study) -> None:
    """Against the nearest point before it: no reason of a strategy, which says nothing of it."""
    row = study.of(Phase.SEARCH)[-1]
    table = page(study).replace("\N{NO-BREAK SPACE}", " ").split('<h2 id="trials">')[1]
    search = r"<tr[^>]*><td[^>]*>(\d+)</td><td[^>]*>search</td><td[^>]*>([^<]*)"
    cells = dict(re.findall(search, table))
    assert "at random" not in table
    assert re.fullmatch(r"(trial \d+ with )?\S+ .* \N{RIGHTWARDS ARROW} .*", cells[str(row.number)])
    assert sum(text.startswith("trial ") for text in cells.values()) > 3


def test_what_was_opened_is_not_said_to_be_kept(study: Study) -> None:
    options = replace(study.header.options, allow=("mmutf8fix",))
    opened = replace(study, header=replace(study.header, options=options))
    assert "except what was opened: mmutf8fix" in seen(page(opened)).text
    assert "except what was opened" not in seen(page(study)).text


def test_the_drawings_are_ours_whatever_the_users_matplotlibrc_says(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    import matplotlib as mpl

    ours = drawn(study)
    monkeypatch.setitem(mpl.rcParams, "savefig.facecolor", "white")
    monkeypatch.setitem(mpl.rcParams, "lines.markeredgecolor", "black")
    assert drawn(study) == ours


def test_every_plot_has_a_sentence_and_its_figures(study: Study) -> None:
    shown = drawn(with_stages(study))
    figures = re.findall(r"<figure>.*?</figure>", shown, re.DOTALL)
    names = [re.findall(r'aria-labelledby="(\w+)-t', one)[0] for one in figures]
    assert set(names) == {"pairs"}
    for figure in figures:
        assert re.search(r"<figcaption><b>[^<]+</b> [^<]+\.</figcaption>", figure)
        assert "<table" in figure
        assert "<desc" in figure
    ids = seen(shown).values("id")
    assert len(ids) == len(set(ids))


def test_the_diff_shows_what_changes_in_the_profile_and_in_what_is_rendered(study: Study) -> None:
    shown = page(study)
    text = seen(shown).text.split("What changes in the files")[1].split("What stays guaranteed")[0]
    assert "small.yaml" in text
    assert "rendered/rsyslog.conf" in text
    added = [line for line in text.splitlines() if line.startswith("+")]
    for path, level in judge(study).changes:
        if path.startswith("outputs[logs].queue.") and level is not None:
            key = path.rsplit(".", 1)[-1]
            assert any(key in line and str(level) in line for line in added), path
    assert 'class="added"' in shown
    assert 'class="removed"' in shown


def hostile(study: Study) -> Study:
    """The study with text of others wherever a journal has some."""
    header = replace(
        study.header,
        profile_path=f"/{HOSTILE.replace('/', '')}.yaml",
        command=HOSTILE, machine=HOSTILE, engine=HOSTILE, started=HOSTILE, tool=HOSTILE,
        substitutions=(HOSTILE,),
    )  # fmt: skip
    tried = study.of(Phase.SEARCH)[-1]
    broken = replace(tried, outcome=failed(HOSTILE), why=HOSTILE)
    trials = tuple(broken if one is tried else one for one in study.trials)
    return replace(study, header=header, trials=trials, notes=(Note(HOSTILE, 1.0),))


def test_what_the_traffic_did_not_reach_is_among_what_was_not_tested(study: Study) -> None:
    said = replace(study, header=replace(study.header, untested=("1 of 2 actions, here",)))
    assert "1 of 2 actions, here" in seen(page(said)).text


def test_hostile_text_stays_text(study: Study) -> None:
    shown = drawn(hostile(study))
    shown.encode("utf-8")
    found = seen(shown)
    assert_asks_for_nothing(found)
    assert "b" not in {name for name, held in found.elements if "class" in held}
    assert found.text.replace("`", "").count(SHOWN) >= 7
    assert not re.search("[\u202e\x1b\ud800]", shown)


def test_a_hostile_comment_in_a_profile_stays_text(study: Study) -> None:
    """Of a profile only comments, values and paths can be hostile: its name has small letters."""
    said = "# </style></pre><script>alert(1)</script> ]]> \"'` &lt;"
    text = study.header.profile_text.replace("    queue:", f"    {said}\n    queue:")
    shown = page(replace(study, header=replace(study.header, profile_text=text)))
    assert_asks_for_nothing(seen(shown))
    assert f"     {said}\n" in seen(shown).text


@pytest.mark.parametrize(
    ("ending", "how"), [(Ending.INTERRUPTED, "was interrupted"), (Ending.FAILED, "failed")]
)
def test_a_search_that_ended_early_gets_a_page_that_claims_nothing(
    study: Study, ending: Ending, how: str
) -> None:
    for count in (0, 1, 3, len(study.trials) // 2):
        shown = drawn(replace(study, trials=study.trials[:count], ending=ending))
        text = seen(shown).text
        assert "nothing is claimed" in text
        assert f"The search {how}." in text
        assert ("windows: none has ended;" in text) is (count == 0)
        assert "more events per second" not in text
        assert_asks_for_nothing(seen(shown))


def test_no_improvement_and_no_feasible_point_are_said_first(study: Study) -> None:
    same = tuple(
        replace(one, outcome=measured(1000.0 + one.number % 3)) if one.phase is Phase.CONFIRM
        else one for one in study.trials
    )  # fmt: skip
    unshown = replace(study, trials=same)
    assert judge(unshown).claim is Claim.NOT_SHOWN
    text = seen(page(unshown)).text
    assert "No improvement was shown" in text.split("What to change")[0]
    assert "with 2 repairs, not for speed: without them, events are lost when" in text
    options = replace(study.header.options, repairs=False)
    unrepaired = replace(unshown, header=replace(study.header, options=options))
    text = seen(page(unrepaired)).text
    assert "The profile stays as it is." in text
    assert "Nothing: best.yaml is the profile as written." in text
    slow = tuple(
        replace(one, outcome=paced(p99_s=99.0)) if one.phase is Phase.CHECK and one.changes else one
        for one in study.trials if one.phase not in {Phase.CONFIRM, Phase.EFFECTS}
    )  # fmt: skip
    breached = replace(study, trials=slow)
    assert judge(breached).claim is Claim.INFEASIBLE
    first = seen(page(breached)).text.split("What to change")[0]
    assert "Nothing that was found keeps the guardrails" in first
    assert "freshness: p99 99 s" in first


def test_the_csv_has_a_row_for_each_trial_with_every_knob(study: Study) -> None:
    rows = list(csv.DictReader(io.StringIO(trials_csv(study))))
    assert [int(row["trial"]) for row in rows] == [trial.number for trial in study.trials]
    for row, trial in zip(rows, study.trials, strict=True):
        assert row["phase"] == trial.phase.value
        if trial.measurement is not None:
            assert float(row["eps"]) == trial.measurement.eps
        for axis in study.header.space:
            level = dict(trial.changes).get(axis.path, axis.current)
            if isinstance(level, int) and not isinstance(level, bool):
                assert row[axis.path] == str(level)
    assert {row["outcome"] for row in rows} == {"measured", "failed", "fixed rate"}


def test_each_trial_names_its_machine_where_there_were_several(study: Study) -> None:
    names = ("lab1", "lab2")
    spread = tuple(replace(one, machine=names[one.number % 2]) for one in study.trials)
    several = replace(study, trials=spread)
    rows = list(csv.DictReader(io.StringIO(trials_csv(several))))
    assert [row["machine"] for row in rows] == [one.machine for one in spread]
    assert seen(page(several)).text.count("lab1") >= len(spread) // 2
    assert "lab1" not in seen(page(study)).text


def test_the_machines_speed_stands_in_the_csv_and_in_how_it_was_measured(study: Study) -> None:
    first, second, *rest = study.trials
    assert second.measurement is not None
    probed = replace(second, outcome=replace(second.measurement, speed=SPEED))
    with_probe = replace(study, trials=(first, probed, *rest))
    rows = list(csv.DictReader(io.StringIO(trials_csv(with_probe))))
    assert [row["probe_zlib_us"] for row in rows[:2]] == ["", "950.0"]
    assert rows[1]["probe_socket_us"] == "180.0"
    assert "took 950 µs of CPU for zlib and 180 µs" in seen(page(with_probe)).text
    assert "machine speed" not in seen(page(study)).text


def test_a_spreadsheet_computes_nothing_of_the_csv(study: Study) -> None:
    first, *rest = study.trials
    bad = replace(first, why='=HYPERLINK("http://x")\n', outcome=failed(HOSTILE))
    text = trials_csv(replace(study, trials=(bad, *rest)))
    text.encode("utf-8")
    row = next(csv.DictReader(io.StringIO(text)))
    assert row["why"] == '\'=HYPERLINK("http://x")\n'
    assert "[U+202E]" in row["failure"]
    assert row["at_s"] == str(first.at_s)
