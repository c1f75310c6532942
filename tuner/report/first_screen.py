"""The first screen of a search's report: the verdict in words, and what it rests on."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from tuner.measure.contrast import Estimate
from tuner.measure.measurement import COUNTED, Consequence
from tuner.measure.paired import Comparison
from tuner.profile.objective import FigureBound
from tuner.report.figures import STEADY, SUSTAINED, Rate, interval, setting
from tuner.report.result import FRESHNESS, StudyResult
from tuner.report.sections import Caution, FirstScreen
from tuner.report.traffic import shares_of_actions
from tuner.schema.numerals import counted, p_value, share
from tuner.search.effects import TOLERATED, EffectRatio
from tuner.search.study import BASELINE, Ending, Phase, Study
from tuner.search.verdict import Claim, Loss

_MOST_LINES = 3


def first_screen(result: StudyResult) -> FirstScreen:
    """The verdict, and what to know before believing it."""
    header, name = result.study.header, result.written.profile.name
    improved = result.verdict.claim is Claim.IMPROVED
    return FirstScreen(
        title=f"rsyslog-tune: {name}",
        name=f"{name}: {result.verdict.claim.value} (rsyslog-tune)",
        verdict=sentence(result),
        remarks=tuple(_remarks(result)),
        is_improvement=improved and not (result.is_questioned or result.is_slower_elsewhere),
        cautions=tuple(_cautions(result)),
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
    if parts := tuple(shares_of_actions(result.written.profile, result.study.header.shares)):
        yield Caution("Which actions were tuned", lines=parts)
    if result.opened:
        lines = tuple(f"`{guarantee.name}`: {guarantee.gives_up}" for guarantee in result.opened)
        yield Caution("Guarantees that were opened", lines=lines)
    if result.losses:
        nearest = [*loss_lines(result)]
        if more := nearest[_MOST_LINES:]:
            further = counted(len(more), "more trial")
            nearest[_MOST_LINES:] = [f"{further}, further away, in the evidence"]
        yield Caution("Trials that lost or doubled events", lines=tuple(nearest))
    ending = result.study.ending
    if ending is not Ending.FINISHED:
        how_it_ended = "was interrupted" if ending is Ending.INTERRUPTED else "failed"
        yield Caution(f"The search {how_it_ended}.")


def sentence(result: StudyResult) -> str:
    """The verdict in one sentence for somebody who will not read on, after what can be lost."""
    claim = f"{_claim(result)}{_slower_elsewhere(result)}"
    return f"{_at_risk(result)}{claim}{_lost_as_written(result)}{_doubt(result)}"


def _at_risk(result: StudyResult) -> str:
    """What the profile that is recommended can lose; empty where nothing is known."""
    if not result.unrepaired:
        return ""
    losses = "; ".join(dict.fromkeys(repair.loss for repair in result.unrepaired))
    return f"This profile can lose events ({losses}): rsyslog-tune validate --fix repairs it. "


def _claim(result: StudyResult) -> str:
    verdict, claimed = result.verdict, result.verdict.claimed
    if verdict.claim is Claim.IMPROVED and claimed is not None:
        rate = result.claimed_rate
        before, after = rate.averages(claimed)
        label = rate.label
        if result.is_sink:
            of_rate = f"{rate.facts.label} of rsyslogd" if rate.is_rate else label
            label = f"{of_rate}, sending to the test sink"
        return (
            f"{_gain(rate.change(claimed).ratio)} {label}: {before} -> {after} "
            f"({_surely(claimed, rate)}; {_delivered(result)})."
        )
    if verdict.claim is Claim.NOT_SHOWN:
        return f"No improvement was shown: {_not_shown(result)}. {_left(result)}"
    claim = verdict.claim.value
    outcome = f"{claim[0].upper()}{claim[1:]}. {verdict.failure}".strip().removesuffix(".")
    return f"{outcome}. {_left(result)}" if verdict.claim is Claim.INFEASIBLE else f"{outcome}."


def _not_shown(result: StudyResult) -> str:
    """Why no improvement was shown."""
    verdict, claimed = result.verdict, result.verdict.claimed
    is_tuned = bool(result.tuning(verdict.confirmed))
    was_tried = any(result.tuning(trial.changes) for trial in result.study.trials)
    untried = "" if was_tried else ", and no setting was tried for speed"
    if claimed is None:
        return f"{verdict.failure}{untried}"
    if verdict.missed and claimed.shows_more:
        return "; ".join(_missed(bound, moved) for bound, moved in verdict.missed)
    if claimed.shows_more and claimed.ratio < 1 + TOLERATED:
        rate = result.claimed_rate
        return (
            f"{_gain(rate.change(claimed).ratio)} {rate.label} ({_surely(claimed, rate)}) is less "
            f"than {TOLERATED * 100:g} %, which is worth no change"
        )
    slower = (_SLOWER if result.claimed_rate.is_rate else _WORSE)[claimed.high >= 1]
    best = "the best that was found" if is_tuned else "the profile with its repairs alone"
    return f"in fresh pairs {best} {slower} than {result.baseline}{untried}"


def _missed(bound: FigureBound, moved: Comparison | None) -> str:
    """What a gain was not shown to keep."""
    figure = bound.objective.facts.label
    if moved is None:
        return f"no run shows the {figure}, of which --at-least {bound} asks for something"
    return f"{figure} {_gain(moved.ratio)} ({_sure_of(moved)}), and --at-least asks for {bound}"


_SLOWER = ("was slower", "was not shown to be faster")
_WORSE = ("was worse", "was not shown to be better")


def _slower_elsewhere(result: StudyResult) -> str:
    """The rates that count more than the claim does, and are shown to have fallen; of a claim that
    is not of a rate, whatever else got worse."""
    if result.verdict.claim is not Claim.IMPROVED:
        return ""
    if not result.claimed_rate.is_rate:
        worse = [(figure, moved) for figure, moved in result.figures if figure.got_worse(moved)]
        costs = (
            f"{figure.name} {_gain(moved.ratio)} ({_sure_of(moved)})" for figure, moved in worse
        )
        return f" It costs: {'; '.join(costs)}." if worse else ""
    if not result.is_slower_elsewhere:
        return ""
    fallen = "; ".join(
        f"{figure.name.removeprefix(_RATE)} {_gain(comparison.ratio)} ({_sure_of(comparison)})"
        for figure, comparison in result.slower_rates
    )
    return f" But slower where more is counted: {fallen}."


_RATE = "events per second, "


def _lost_as_written(result: StudyResult) -> str:
    """Why the profile was not measured as written; empty where it was."""
    if not result.is_repaired:
        return ""
    lost = min((loss for loss in result.losses if not loss.changes), key=lambda loss: loss.trial)
    return (
        f" As written, the profile {lost} in {loss_name(lost)}: what is called as written here has "
        "its repairs."
    )


def _left(result: StudyResult) -> str:
    """What is recommended where no change is for speed."""
    if not result.repaired:
        return "The profile stays as it is."
    losses = "; ".join(dict.fromkeys(repair.loss for repair in result.repaired))
    repairs = len(result.repaired)
    return (
        f"best.yaml is the profile with {counted(repairs, 'repair')}, not for speed: "
        f"without {'it' if repairs == 1 else 'them'}, {losses}."
    )


def _delivered(result: StudyResult) -> str:
    """What became of all events, and how near a trial that lost or doubled some was to what is
    recommended."""
    if not result.losses:
        sent = f"{result.sent:,} events"
        return f"none of {sent} lost" if result.is_identified else f"{sent} {COUNTED}"
    faulty, trials = len(result.losses), len(result.study.trials)
    nearest = "the nearest " if faulty > 1 else ""
    settings = counted(len(result.losses[0].apart), "setting")
    return f"{faulty} of {trials} trials lost or doubled events, {nearest}{settings} away from this"


# Of an interval that is no wider, or says at most half as much gain again at its upper end, nobody
# would measure again to make it narrower.
_NARROW, _HALF_AGAIN = 1.1, 1.5


def _doubt(result: StudyResult) -> str:
    """The gravest doubt about the pairs, where it would change what a reader does: the claim should
    not be believed for it, or it is why the interval is wide."""
    claimed = result.verdict.claimed
    is_wide = claimed is None or (
        claimed.high > _NARROW * claimed.low and claimed.high - 1 > _HALF_AGAIN * (claimed.low - 1)
    )
    notable = (doubt for doubt in result.doubts if doubt.is_notable)
    gravest = next((doubt for doubt in notable if doubt.puts_in_question or is_wide), None)
    if gravest is None:
        return ""
    return f" {'In question: ' if gravest.puts_in_question else ''}{gravest}."


def _remarks(result: StudyResult) -> Iterator[str]:
    """What else is better, what it costs, and how many changes it takes."""
    if result.verdict.claimed is None:
        yield from _as_written(result.study, result.claimed_rate)
    if result.verdict.claim is not Claim.IMPROVED:
        return
    yield from _beside_the_claim(result)
    better, worse = [], []
    for figure, comparison in result.figures:
        if figure.short and figure.got_better(comparison):
            better.append(f"{figure.short} {_gain(comparison.ratio)}")
        elif figure.short and figure.got_worse(comparison):
            why = figure.explain(result.pairs)
            worse.append(f"{figure.short} {_gain(comparison.ratio)}{f' ({why})' if why else ''}")
    if better:
        yield f"also better: {', '.join(better)}"
    pays = [concession.short for concession in result.given_up]
    pays += [str(cost) for cost in result.costs if cost.figure == FRESHNESS]
    if pays or worse:
        yield f"you pay: {', '.join([*pays, *worse])}"
    yield f"it takes {_taking(result)}"
    beyond = result.verdict.beyond_recipe
    if beyond is not None:
        rate = result.claimed_rate
        gain = f"{_gain(rate.change(beyond).ratio)} ({_surely(beyond, rate)})"
        yield f"beyond the recipe that it began with: {gain}"


def _beside_the_claim(result: StudyResult) -> Iterator[str]:
    """Of what the claim is the lower one, or the adjusted one, where the two differ."""
    verdict, claimed = result.verdict, result.verdict.claimed
    is_rate = result.claimed_rate.is_rate
    if is_rate and verdict.eps is not None and verdict.paid is not None and not result.is_sink:
        both = ((STEADY, verdict.eps), (SUSTAINED, verdict.paid))
        texts = [f"{_gain(comparison.ratio)} {rate.over}" for rate, comparison in both]
        if _gain(verdict.eps.ratio) != _gain(verdict.paid.ratio):
            yield f"the claim is the lower of two rates: {' and '.join(texts)}"
    if claimed is not None and claimed.by_speed is not None:
        raw, adjusted = (
            _gain(result.claimed_rate.change(gain).ratio)
            for gain in (claimed.by_speed.raw, claimed.by_speed.adjusted)
        )
        if raw != adjusted:
            yield (
                f"as measured that is {raw}, adjusted for the machine's speed {adjusted} "
                f"({claimed.by_speed.counts.value})"
            )


def _taking(result: StudyResult) -> str:
    """How many changes and repairs there are, and how many changes were taken back."""
    verdict, repairs = result.verdict, len(result.repaired)
    tuned = len(result.tuning(verdict.changes))
    texts = [counted(tuned, "change") if tuned else "no change for speed"]
    if repairs:
        texts.append(f"{counted(repairs, 'repair')} that stop{'s' * (repairs == 1)} a loss")
    return " and ".join(texts) + _taken_back(result)


def _taken_back(result: StudyResult) -> str:
    """How many changes were taken back, whose section says what each gave."""
    count = sum(len(group.changes) for group in result.effect_groups if group.taken_back)
    return f"; {count} more {'was' if count == 1 else 'were'} taken back" if count else ""


def _surely(comparison: Comparison, rate: Rate | None = None) -> str:
    changed = comparison if rate is None else rate.change(comparison)
    return f"{_sure_of(changed)}; {comparison.pairs} fresh pairs"


def _sure_of(comparison: Estimate | EffectRatio) -> str:
    return f"95 % sure of {_gain(comparison.low)} to {_gain(comparison.high)}"


def _gain(ratio: float) -> str:
    gain = (ratio - 1) * 100
    return f"{gain:+.1f} %" if abs(gain) < 10 else f"{gain:+.0f} %"


def averages_line(result: StudyResult, claimed: Comparison) -> str:
    """What the pairs of a comparison come to, for whoever has no table of that."""
    rate = result.claimed_rate
    before, after = rate.averages(claimed)
    adjusted = ", adjusted for the machine's speed" if claimed.is_adjusted else ""
    return (
        f"{rate.label}, geometric means{adjusted}: {before} -> {after}, "
        f"{interval(rate.change(claimed))}"
    )


def evidence_lines(result: StudyResult, claimed: Comparison) -> Iterator[str]:
    """What a comparison rests on: its pairs, and the doubts about their runs."""
    yield (
        f"{claimed.pairs} fresh pairs, exact sign-flip p {p_value(claimed.p)}; minimum detectable "
        f"gain: {share(claimed.detectable)} (80 % power at 5 % error)"
    )
    runs = [run for pair in result.pairs for run in pair[:2]]
    grave = {doubt.kind for doubt in result.doubts if doubt.consequence is not Consequence.INFORMS}
    count = sum(any(doubt.kind in grave for doubt in run.doubts) for run in runs)
    why = [
        f"{doubt.kind.value} {doubt.count} ({doubt.consequence.value})" for doubt in result.doubts
    ]
    yield f"doubted runs: {count} of {len(runs)} ({'; '.join(why) or 'nothing to doubt'})"


def _as_written(study: Study, rate: Rate) -> Iterator[str]:
    rates = [
        rate.of(trial.measurement)
        for trial in study.of(Phase.CALIBRATE)
        if trial.measurement is not None and trial.changes == BASELINE
    ]
    if rates:
        count = "1 run" if len(rates) == 1 else f"median of {len(rates)} runs"
        runs = f"{count} {rate.over}".rstrip()
        yield f"as written: {rate.text(statistics.median(rates))} ({runs})"


def loss_lines(result: StudyResult) -> Iterator[str]:
    """A line for each trial that lost or doubled events, the nearest to what is recommended
    first."""
    for loss in result.losses:
        yield f"{loss_name(loss)} {loss}, {_where(loss, result)}"


def loss_name(loss: Loss) -> str:
    """The trial that it was in."""
    return "the warm-up" if loss.trial < 0 else f"trial {loss.trial}"


def _where(loss: Loss, result: StudyResult) -> str:
    """With which settings, beside those that are recommended."""
    if loss.changes == BASELINE:
        repaired = [trial.number for trial in result.study.trials if trial.repaired]
        return "with the profile " + ("and its repairs" if loss.trial in repaired else "as written")
    recommended = result.verdict.changes
    if not recommended:
        changed = (result.changed_code(path, level) for path, level in loss.changes)
        return f"with {', '.join(changed)}"
    shared = f"{len(loss.shared)} of the {counted(len(recommended), 'recommended change')}"
    return f"with {shared}; it differs in {', '.join(_apart_texts(loss, result))}"


def _apart_texts(loss: Loss, result: StudyResult) -> Iterator[str]:
    """What it had instead of what is recommended."""
    made, recommended = dict(loss.changes), dict(result.verdict.changes)
    for path in loss.apart:
        as_written = result.as_written(path)
        made_text, recommended_text = (
            setting(levels.get(path, as_written)) for levels in (made, recommended)
        )
        yield f"`{result.name(path)}` {made_text} instead of {recommended_text}"
