"""What the verdict of a search says beside its gain: losses, costs, doubts, and figures that
agree."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tests.measure.factory import failed, limited_by, measured
from tests.measure.paced import paced
from tests.profile.test_base import CONF
from tests.report.markup import seen
from tests.report.test_runs import USED
from tests.report.test_search_report import markdown, rows, section
from tests.search.simulated import START_S, Machine, Probe, World, search
from tuner.cli.layout import renderables
from tuner.cli.profiles import read_profile
from tuner.engine.bulk_times import BulkLatency
from tuner.measure.measurement import Delivery, Doubt, DoubtKind, Measurement
from tuner.report.first_screen import sentence
from tuner.report.page import page
from tuner.report.result import analyse
from tuner.report.search_report import (
    next_command,
    outcome_blocks,
    report_json,
    search_report,
    trials_csv,
)
from tuner.schema.numerals import p_value
from tuner.search.study import BASELINE, Changes, Ending, Phase, Session, Study, Trial
from tuner.search.verdict import Claim, judge
from tuner.space.knob import Bottleneck, level_text

MIB = 1024**2
DIRECTORY = Path("run")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A search that is shown to have found something, in which no trial lost an event."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        found = search(tmp_path_factory.mktemp("run"), World(START_S, crashes=0.0))
    assert judge(found).claim is Claim.IMPROVED
    return on_an_engine(found)


def on_an_engine(study: Study) -> Study:
    return replace(study, header=replace(study.header, engine="elasticsearch 8.19.0"))


def told(study: Study) -> str:
    """What the terminal shows."""
    return terminal(study, 1000)


def terminal(study: Study, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    for block in outcome_blocks(analyse(study)):
        console.print(*renderables(block), sep="\n")
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def first_screen(study: Study) -> str:
    return re.split(r"\n## (?!What to change)", markdown(study))[0]


def with_runs(study: Study, change: Callable[[Trial, Measurement], Measurement]) -> Study:
    """The study with other runs in its confirmation."""
    trials = tuple(
        replace(one, outcome=change(one, one.measurement))
        if one.phase is Phase.CONFIRM and one.measurement is not None
        else one
        for one in study.trials
    )
    return replace(study, trials=trials)


def with_lost(study: Study, changes: Changes) -> tuple[Study, int]:
    """The study, one of whose first trials had these changes, and lost one event."""
    tried = study.of(Phase.SEARCH)[0]
    delivery = Delivery(369_730, 369_729, 369_729, 1, 0)
    outcome = replace(failed(str(delivery)), sent=369_730, indexed=369_729, delivery=delivery)
    lost = replace(tried, changes=changes, outcome=outcome)
    trials = tuple(lost if one is tried else one for one in study.trials)
    return replace(study, trials=trials), lost.number


def near(study: Study) -> Changes:
    """The recommendation without its last change."""
    return judge(study).changes[:-1]


def test_where_no_trial_lost_an_event_the_verdict_says_so(study: Study) -> None:
    sent = sum(run.delivery.sent for run in analyse(study).measured)
    assert f"; none of {sent:,} events lost)." in sentence(analyse(study))
    assert "Trials that lost or doubled events" not in markdown(study)


def test_a_trial_that_lost_an_event_stands_in_the_verdict_with_its_distance(study: Study) -> None:
    """Once "no event was lost" stood above a search in which a trial lost one, with settings almost
    those recommended."""
    lossy, number = with_lost(study, near(study))
    trials, changes = len(study.trials), len(judge(study).changes)
    said = sentence(analyse(lossy))
    assert f"1 of {trials} trials lost or doubled events, 1 setting away from this)." in said
    assert "none of" not in said
    path, level = judge(study).changes[-1]
    for text in (first_screen(lossy), told(lossy)):
        assert f"trial {number} lost 1 of 369,730 events, with {changes - 1} of the " in text
        assert f"{changes} recommended changes; it differs in `{path}` " in text
        assert f"instead of `{level}`" in text
    shown = seen(page(search_report(analyse(lossy), DIRECTORY)))
    assert "1 of " in shown.text
    assert ("div", {"class": "warning"}) in shown.elements
    row = next(one for one in csv.DictReader(io.StringIO(trials_csv(lossy)))
               if one["trial"] == str(number))  # fmt: skip
    assert (row["outcome"], row["lost"], row["duplicated"]) == ("failed", "1", "0")
    (loss,) = json.loads(json.dumps(report_json(analyse(lossy))))["losses"]
    assert (loss["trial"], loss["lost"], loss["apart"]) == (number, 1, [path])


def test_of_several_losses_the_nearest_comes_first_and_all_are_in_the_evidence(
    study: Study,
) -> None:
    lossy, near_by = with_lost(study, near(study))
    far = [trial for trial in lossy.of(Phase.SEARCH) if trial.measurement is not None][:4]
    trials = [replace(one, outcome=failed()) if one in far else one for one in lossy.trials]
    many = replace(lossy, trials=tuple(trials))
    found = analyse(many).losses
    assert found[0].trial == near_by
    assert sorted(one.trial for one in found) == sorted([near_by, *(one.number for one in far)])
    assert "events, the nearest 1 setting away from this)." in sentence(analyse(many))
    assert "2 more trials, further away, in the evidence" in first_screen(many)
    listed = section(markdown(many), "Evidence").split("### Trials that lost or doubled events")[1]
    numbers = re.findall(r"^- trial (\d+) ", listed.split("\n## ")[0], re.MULTILINE)
    assert list(map(int, numbers)) == [one.trial for one in found]


def test_the_profile_as_written_that_loses_events_is_named_so(study: Study) -> None:
    lossy, number = with_lost(study, BASELINE)
    assert f"trial {number} lost 1 of 369,730 events, with the profile as" in told(lossy)


def slower_bulks(trial: Trial, run: Measurement) -> Measurement:
    """The best found takes ten times as long for a bulk request, and more memory."""
    factor = 10.0 if trial.changes else 1.0
    p50_ms = factor * (20 + (trial.pair or 0))
    used = replace(USED, bulk=BulkLatency(p50_ms, 900, 1200, 1280, 330, 614_400.0, "histogram"))
    rss_bytes = int((90 + 40 * bool(trial.changes) + (trial.pair or 0)) * MIB)
    return replace(run, effective=used, shipper_rss_bytes=rss_bytes)


def test_what_got_worse_stands_beside_the_gain(study: Study) -> None:
    costly = with_runs(study, slower_bulks)
    fresh = tuple(
        replace(one, outcome=paced(p99_s=22.3 if one.changes else 10.6))
        if one.phase is Phase.CHECK
        else one
        for one in costly.trials
    )
    costly = replace(costly, trials=fresh)
    for text in (first_screen(costly), told(costly)):
        (pays,) = re.findall(
            r"^you pay: (.*)", text.replace("\n", " ").replace(" you", "\nyou"), re.MULTILINE
        )
        assert "freshness p99, one run each: 10.60 -> 22.30 s" in pays
        assert re.search(r"time of a bulk request \+\d+ %", pays)
        assert re.search(r"rsyslogd memory \+4\d %", pays)
        assert "a request holds" not in pays
    costs = markdown(costly).partition("### What it costs")[2].partition("<details>")[0]
    assert "freshness p99, one run each: 10.60 -> 22.30 s" in costs
    assert re.search(r"bulk request, p50: 2\d\.\d\d -> 2\d\d\.\d ms", costs)
    assert re.search(r"rsyslogd memory, peak: 9\d\.\d\d -> 13\d\.\d MiB", costs)
    assert "CPU per event:" not in costs
    names = [one["figure"] for one in json.loads(json.dumps(report_json(analyse(costly))))["costs"]]
    assert names[0].startswith("freshness p99")


def test_a_bulk_request_that_takes_longer_because_it_holds_more_says_so(study: Study) -> None:
    def holding(best: float, written: float) -> Study:
        def fuller(trial: Trial, run: Measurement) -> Measurement:
            slower = slower_bulks(trial, run)
            assert slower.effective is not None
            held = best if trial.changes else written
            return replace(slower, effective=replace(slower.effective, events_per_bulk=held))

        return with_runs(study, fuller)

    assert "a request holds" not in told(holding(4_988.6, 4_977.9))
    costly = holding(4_987.6, 127.9)
    why = " (a request holds 4,988 events, was 128)"
    assert re.search(r"time of a bulk request \+\d+ %" + re.escape(why), told(costly))
    costs = markdown(costly).partition("### What it costs")[2]
    assert re.search(r"bulk request, p50: .* ms" + re.escape(why), costs)
    exported = json.loads(json.dumps(report_json(analyse(costly))))["costs"]
    assert [f" ({one['why']})" for one in exported if "bulk" in one["figure"]] == [why]


def test_what_differs_by_noise_or_hardly_is_no_cost(study: Study) -> None:
    def noisy(trial: Trial, run: Measurement) -> Measurement:
        up = (trial.pair or 0) % 2 == 0
        worse = (trial.changes and up) or (not trial.changes and not up)
        cpu_us = run.shipper_cpu_us * (1.3 if worse else 1.0)
        hardly = run.engine_cpu_us * (1.02 if trial.changes else 1.0)
        return replace(run, shipper_cpu_us=cpu_us, engine_cpu_us=hardly)

    assert analyse(with_runs(study, noisy)).costs == ()


def test_a_gain_that_is_not_shown_has_no_costs(study: Study) -> None:
    unshown = with_runs(
        study, lambda trial, _: slower_bulks(trial, measured(1000 + trial.number % 3))
    )
    assert judge(unshown).claim is Claim.NOT_SHOWN
    assert "you pay" not in told(unshown)
    assert "minimum detectable gain: " in told(unshown)


def test_where_the_claim_is_the_lower_of_two_rates_both_are_named(study: Study) -> None:
    def put_off(trial: Trial, run: Measurement) -> Measurement:
        return replace(run, eps_paid=run.eps * (0.8 if trial.changes else 1.0))

    said = told(with_runs(study, put_off))
    claimed, other = judge(with_runs(study, put_off)).claimed, judge(study).eps
    assert claimed is not None
    assert other is not None
    of = f"{(claimed.ratio - 1) * 100:+.0f} %", f"{(other.ratio - 1) * 100:+.0f} %"
    assert f"{of[0]} events per second including deferred work: " in said
    assert (
        f"the claim is the lower of two rates: {of[1]} over the steady window and {of[0]} "
        "including deferred work"
    ) in said
    assert "the lower of two" not in told(study)


def test_a_rate_that_counts_more_and_fell_stands_in_the_headline_without_green(
    study: Study,
) -> None:
    """Merges that go on for long after the window are in no claim."""

    def merging(trial: Trial, run: Measurement) -> Measurement:
        rate = (40_000 if trial.changes else 48_000) + 100 * (trial.number % 5)
        return replace(run, eps_merged=float(rate))

    slower = with_runs(study, merging)
    said = sentence(analyse(slower))
    assert re.search(
        r"lost\)\. But slower where more is counted: first send to merged as well -1\d % "
        r"\(95 % sure of -\d\d % to -\d\d %\)\.",
        said,
    )
    assert said in told(slower)
    assert not search_report(analyse(slower), DIRECTORY).first.is_improvement
    assert search_report(analyse(study), DIRECTORY).first.is_improvement


def test_where_no_setting_was_tried_for_speed_nothing_was_found(study: Study) -> None:
    """Pairs of the repairs alone, or none at all, are of nothing that was found to be fast."""
    scored = {Phase.SEARCH, Phase.FINAL, Phase.EFFECTS, Phase.CONFIRM, Phase.RECIPE, Phase.CHECK}
    untried = replace(study, trials=tuple(t for t in study.trials if t.phase not in scored))
    said = sentence(analyse(untried))
    assert said.startswith(
        "No improvement was shown: the time was enough for 0 of the 6 pairs that can show one, and "
        "no setting was tried for speed. "
    )
    assert "found" not in said
    unshown = with_runs(study, lambda one, _: measured(1000 + one.number % 3))
    assert "the best that was found was not shown to be faster" in sentence(analyse(unshown))


def number(text: str) -> float:
    return float(text.split()[0].replace(",", "").replace("+", ""))


def assert_agrees(before: float, after: float, change: float, *, digits: int = 4) -> None:
    """B/A is the change as printed, as far as the digits of both can tell."""
    ratio = after / before
    assert abs((ratio - 1) * 100 - change) <= 0.05 + 100 * ratio * 10.0 ** (1 - digits)


@pytest.fixture(scope="module", params=[Probe.NONE, Probe.SEES, Probe.BLIND])
def on_a_machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Study:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        world = World(START_S, crashes=0.0, adds=Machine(0.15, request.param))
        return on_an_engine(search(tmp_path_factory.mktemp("run"), world))


def test_the_averages_are_those_that_the_ratio_is_of(on_a_machine: Study) -> None:
    """Once medians of +61.6 % stood beside a gain of +65.9 %."""
    evidence = section(markdown(on_a_machine), "Evidence").split("| geometric means")[1]
    compared = rows(f"| geometric means{evidence}".split("\n\n", maxsplit=1)[0])
    assert len(compared) >= 6
    for _, before, after, change, _ in compared:
        assert_agrees(number(before), number(after), number(change))
    claimed = judge(on_a_machine).claimed
    assert claimed is not None
    adjusted = [name.endswith(", adjusted") for name, *_ in compared]
    assert any(adjusted) is claimed.is_adjusted


def doubting(
    kind: DoubtKind, written: bool = True, others: float = 0.0
) -> Callable[[Trial, Measurement], Measurement]:
    """The same doubt about all runs of the pairs, or about those of the best found alone."""

    def change(trial: Trial, run: Measurement) -> Measurement:
        doubts = (Doubt(kind, "12 %"),) if written or trial.changes else ()
        used = others + 0.01 * (trial.pair or 0)
        return replace(run, doubts=doubts, verdict=limited_by(Bottleneck.UNCLEAR, used))

    return change


def test_a_doubt_for_information_is_no_part_of_the_verdict(study: Study) -> None:
    short = with_runs(study, doubting(DoubtKind.SHORT_WINDOW))
    runs = len(short.of(Phase.CONFIRM))
    assert sentence(analyse(short)) == sentence(analyse(study))
    assert f"doubted runs: 0 of {runs} (short window {runs} (for information))" in markdown(short)
    assert search_report(analyse(short), DIRECTORY).first.is_improvement


def test_the_doubt_that_matters_is_named_in_the_verdict_with_its_size(study: Study) -> None:
    disturbed = with_runs(study, doubting(DoubtKind.DISTURBED, others=0.4))
    runs, most = len(disturbed.of(Phase.CONFIRM)), 40 + len(disturbed.of(Phase.CONFIRM)) // 2
    wanted = f"{runs} of {runs} runs disturbed: others used up to {most} % of the machine."
    assert sentence(analyse(disturbed)) == sentence(analyse(study))
    assert search_report(analyse(disturbed), DIRECTORY).first.is_improvement
    assert f"disturbed {runs} (widens the interval)" in markdown(disturbed)

    def uneven(times: float) -> Callable[[Trial, Measurement], Measurement]:
        def change(trial: Trial, run: Measurement) -> Measurement:
            swing = times * (1 + 0.1 * (-1) ** (trial.pair or 0)) if trial.changes else 1.0
            return replace(run, eps=run.eps * swing, eps_paid=run.eps_paid * swing)

        return change

    wide = with_runs(disturbed, uneven(1.0))
    assert sentence(analyse(wide)).endswith(wanted)
    assert wanted in told(wide)
    # Whoever gets two to three times as much does not measure again to know which.
    assert wanted not in sentence(analyse(with_runs(disturbed, uneven(2.0))))


def test_a_doubt_that_puts_the_claim_in_question_takes_its_green(study: Study) -> None:
    bent = with_runs(study, doubting(DoubtKind.SENDER_LIMITED))
    assert " In question: " in sentence(analyse(bent))
    assert not search_report(analyse(bent), DIRECTORY).first.is_improvement
    assert 'class="improved"' not in page(search_report(analyse(bent), DIRECTORY))


def test_a_sender_that_limits_the_best_alone_makes_the_gain_no_smaller(study: Study) -> None:
    careful = with_runs(study, doubting(DoubtKind.SENDER_LIMITED, written=False))
    assert "In question" not in sentence(analyse(careful))
    assert search_report(analyse(careful), DIRECTORY).first.is_improvement


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_says_what_changed_from_what_and_fits(study: Study, width: int) -> None:
    lossy, _ = with_lost(with_runs(study, slower_bulks), near(study))
    text = terminal(lossy, width)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    result = analyse(lossy)
    assert " ".join(sentence(result).split()) in words
    for path, level in result.verdict.changes:
        assert f"{path} " in words
        assert f"-> {level_text(level)}" in words
    assert re.search(r"events per second over the steady window: [\d,]+ -> [\d,]+", words)


def test_the_next_command_follows_from_the_verdict(study: Study) -> None:
    assert next_command(analyse(study), DIRECTORY) == (
        "rsyslog-tune render run/best.yaml -o rendered"
    )
    unshown = analyse(with_runs(study, lambda one, _: measured(1000 + one.number % 3)))
    assert unshown.verdict.claim is Claim.NOT_SHOWN
    command = next_command(unshown, DIRECTORY)
    assert command is not None
    assert command.startswith("rsyslog-tune search small.yaml --budget 33m --warm-start run ")


def test_the_next_search_sends_the_same_traffic_in_the_same_place(
    study: Study, tmp_path: Path
) -> None:
    unshown = analyse(with_runs(study, lambda one, _: measured(1000 + one.number % 3)))
    conf, sample = tmp_path / "rsyslog.conf", tmp_path / "messages"
    conf.write_text(CONF, encoding="utf-8")
    sample.write_text("<13>Oct  5 10:00:00 host app: it runs\n" * 20, encoding="utf-8")
    header = replace(study.header, profile_path=str(conf))
    there = replace(study, header=header, sessions=(Session("now", 1, "r1", machines=("lab1",)),))
    result = replace(unshown, study=there, written=read_profile(conf, sample))
    words = shlex.split(str(next_command(result, DIRECTORY)))
    assert words[1:6] == ["search", "--conf", str(conf), "--sample", str(sample)]
    assert words[-1] == "--cluster"
    here = shlex.split(str(next_command(unshown, DIRECTORY)))
    assert "--cluster" not in here


def test_the_next_command_stands_on_the_first_screen_of_a_search_that_ended(study: Study) -> None:
    said = "next: `rsyslog-tune render run/best.yaml -o rendered`"
    assert search_report(analyse(study), DIRECTORY).first.remarks[-1] == said
    interrupted = replace(study, ending=Ending.INTERRUPTED)
    assert said not in search_report(analyse(interrupted), DIRECTORY).first.remarks


@pytest.mark.parametrize(
    ("p", "text"), [(0.0312, "= 0.031"), (0.0006, "= 0.001"), (0.0, "< 0.001")]
)
def test_no_p_is_written_as_zero(p: float, text: str) -> None:
    assert p_value(p) == text
