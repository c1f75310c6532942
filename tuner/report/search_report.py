"""The report of a search: its first screen, and the list of its sections."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tuner.report.figures import counted
from tuner.report.result import StudyResult
from tuner.report.search_changes import change, effects
from tuner.report.search_course import course, how, not_traded, open_questions, sure
from tuner.report.search_evidence import diff, evidence, limits
from tuner.report.search_losses import loss_lines
from tuner.report.search_numbers import numbers
from tuner.report.search_trials import trials
from tuner.report.sections import Caution, FirstScreen, Report, ReportSection
from tuner.search.study import Ending, Study
from tuner.search.verdict import Claim

SECTIONS: tuple[Callable[[StudyResult], ReportSection], ...] = (
    change,
    evidence,
    effects,
    sure,
    limits,
    diff,
    not_traded,
    open_questions,
    course,
    how,
    trials,
)
"""The sections in the order of the report; one without blocks is left out."""


def search_report(result: StudyResult) -> Report:
    """The whole report of a search."""
    sections = tuple(section(result) for section in SECTIONS)
    return Report(first_screen(result), tuple(one for one in sections if one.blocks))


def first_screen(result: StudyResult) -> FirstScreen:
    """The verdict, what to know before believing it, and the numbers it rests on."""
    header, name = result.study.header, result.written.profile.name
    return FirstScreen(
        title=f"rsyslog-tune: {name}",
        name=f"{name}: {result.verdict.claim.value} (rsyslog-tune)",
        verdict=sentence(result),
        remarks=tuple(_remarks(result)),
        is_improvement=result.verdict.claim is Claim.IMPROVED and not _in_question(result),
        cautions=tuple(_cautions(result)),
        numbers=tuple(numbers(result)),
        about=(
            f"{header.engine}, rsyslogd {header.rsyslog}, {header.machine}. {header.started}, "
            f"{header.tool}, seed {header.seed}."
        ),
    )


def _cautions(result: StudyResult) -> Iterator[Caution]:
    if result.is_sink:
        yield Caution(
            "Measured against the sink, not an engine",
            "this is what rsyslogd can do by itself, and says nothing about how fast an engine "
            "would index.",
        )
    if result.opened:
        lines = tuple(f"`{one.name}`: {one.gives_up}" for one in result.opened)
        yield Caution("Guarantees that were opened", lines=lines)
    if result.costs or result.given_up:
        yield Caution("What it costs", lines=(*map(str, result.costs), *result.given_up))
    if result.losses:
        yield Caution("Trials that lost or doubled events", lines=tuple(loss_lines(result)))
    early = _cut_short(result.study)
    if early:
        yield Caution(early)


def _cut_short(study: Study) -> str:
    """A sentence on what an early end left undone; empty for a search that came to its end."""
    if study.ending is Ending.FINISHED:
        return ""
    how_it_ended = "was interrupted" if study.ending is Ending.INTERRUPTED else "failed"
    return f"The search {how_it_ended}."


def sentence(result: StudyResult) -> str:
    """The verdict in one sentence for somebody who will not read on, after what can be lost."""
    return f"{_at_risk(result)}{_claim(result)}{_doubt(result)}"


def _at_risk(result: StudyResult) -> str:
    """What the profile that is recommended can lose; empty where nothing is known."""
    if not result.unrepaired:
        return ""
    losses = "; ".join(one.loss for one in result.unrepaired)
    return f"This profile can lose events ({losses}): rsyslog-tune validate --fix repairs it. "


def _claim(result: StudyResult) -> str:
    verdict, claimed = result.verdict, result.verdict.claimed
    if verdict.claim is Claim.IMPROVED and claimed is not None:
        what = "rsyslogd, sending to the test sink," if result.is_sink else "this pipeline"
        return (
            f"{_changing(result)} {what} carry {_gain(claimed.ratio)} more events per second "
            f"(between {_gain(claimed.low)} and {_gain(claimed.high)}, with 95 % confidence)"
            f"{_delivered(result)}"
        )
    if verdict.claim is Claim.NOT_SHOWN:
        slower = claimed is not None and claimed.high < 1
        what = "was slower" if slower else "was not shown to be faster"
        return (
            f"No improvement was shown: the best that was found {what} in fresh pairs with the "
            "profile as written, which stays as it is."
        )
    claim = verdict.claim.value
    return f"{claim[0].upper()}{claim[1:]}. {verdict.failure}".strip().removesuffix(".") + "."


def _delivered(result: StudyResult) -> str:
    """Whether any trial lost or doubled events, and how near that was to what is recommended."""
    if not result.losses:
        ended = " that came to its end" if result.failures else ""
        return f", and no trial{ended} lost or doubled an event."
    faulty, trials = len(result.losses), len(result.study.trials)
    nearest = "the nearest " if faulty > 1 else ""
    settings = counted(len(result.losses[0].apart), "setting")
    return (
        f". {faulty} of {trials} trials lost or doubled events, {nearest}{settings} away from this."
    )


def _in_question(result: StudyResult) -> bool:
    return any(one.puts_in_question for one in result.doubts)


def _doubt(result: StudyResult) -> str:
    """The gravest doubt about the pairs, where it belongs beside the claim."""
    gravest = next((one for one in result.doubts if one.is_notable), None)
    if gravest is None:
        return ""
    return f" {'In question: ' if gravest.puts_in_question else ''}{gravest}."


def _changing(result: StudyResult) -> str:
    count = len(result.tuning(result.verdict.changes))
    if not count:
        return "The repairs alone let"
    return "1 changed setting lets" if count == 1 else f"{count} changed settings together let"


def _remarks(result: StudyResult) -> Iterator[str]:
    """What is part of the change for another reason, what was taken out of it before the pairs,
    which are of what is left, and how many of several settings were shown to help."""
    verdict = result.verdict
    if verdict.claim is not Claim.IMPROVED:
        return
    if result.repaired:
        yield f"The change contains {counted(len(result.repaired), 'repair')}, not for speed."
    removed = len(verdict.chosen) - len(verdict.changes)
    if removed:
        were, they = ("change was", "it") if removed == 1 else ("changes were", "they")
        yield f"{removed} more {were} removed before these pairs, because {they} did not help."
    every, unshown = len(result.tuning(verdict.changes)), _unshown(result)
    if every > 1 and unshown:
        shown = every - unshown
        some, were = (f"Only {shown}" if shown else "None"), "were" if shown > 1 else "was"
        yield f"{some} of the {every} settings {were} shown to help alone."


def _unshown(result: StudyResult) -> int:
    """How many changes were not shown to help by themselves, or with what they were measured
    with."""
    groups = [group for group in result.effect_groups if not group[0].undone]
    return sum(len(group) for group in groups if not group[0].is_shown)


def _gain(ratio: float) -> str:
    gain = (ratio - 1) * 100
    return f"{gain:.1f} %" if abs(gain) < 10 else f"{gain:.0f} %"
