"""The report of a search as Markdown for a merge request; a pure function of the study."""

from __future__ import annotations

from tuner.lint.load import parse_profile
from tuner.measure.measurement import DoubtKind, Measurement
from tuner.profile.model import Profile
from tuner.report.bottleneck import bottleneck_text
from tuner.report.effective import effective_text
from tuner.report.figures import (
    eps,
    interval,
    mebibytes,
    percent,
    restart_text,
    seconds,
    setting,
    table,
)
from tuner.report.search_course import (
    at_fixed_rate,
    beside,
    cut_short,
    is_sink,
    opened_by,
    opened_part,
    said,
)
from tuner.report.search_explained import what_each_change_gave
from tuner.report.search_time import where_the_time_went
from tuner.report.search_trials import every_trial
from tuner.report.shown import plain_markdown
from tuner.search.pairs import pairs_of
from tuner.search.study import BASELINE, SCORED, Phase, Study
from tuner.search.verdict import Claim, Verdict, judge
from tuner.space.knobs import Knob, knobs

_NEVER_TESTED = (
    "message sizes, formats and connection counts other than the profile's workload",
    "what happens under overload and after a failure of the engine",
    "runs longer than the windows named at the end: merges of large segments come later",
)
SINK_ONLY = (
    "**Measured against the sink, not an engine:** this is what rsyslog can do by itself, and says "
    "nothing about how fast an engine would index."
)


CHANGES_HEADER = ("setting", "as written", "change to", "note")
PAIRS_HEADER = ("pair", "as written, EPS", "best found, EPS", "change",
                "as written, sent / indexed", "best found, sent / indexed")  # fmt: skip
_PAID = "events per second, with the work paid for that was put off past the window"
_DURABLE = "events per second, first send to refreshed and flushed"
_ENGINE_CPU = "engine CPU per event"
_MERGED = "events per second, first send to merged as well"
_DISK = "bytes on disk per event, after those merges"
_OF_AN_ENGINE = frozenset({_PAID, _DURABLE, _MERGED, _ENGINE_CPU, _DISK})


def markdown(study: Study) -> str:
    """The whole report."""
    verdict = judge(study)
    header = study.header
    written = parse_profile(header.profile_text, header.profile_path, header.profile_layers)
    profile = written.profile
    known = {knob.path: knob for knob in knobs(profile, header.options.allow)}
    parts = [
        f"# rsyslog-tune: {profile.name}",
        *([SINK_ONLY] if is_sink(study) else []),
        *opened_part(study, profile),
        headline(study, verdict),
        *_changes(verdict, known),
        *_evidence(study, verdict),
        *what_each_change_gave(study, verdict),
        *at_fixed_rate(study),
        *said(study),
        *_limits(study),
        *_guarantees(study, profile),
        *_not_tested(study),
        *where_the_time_went(study),
        *every_trial(study, known),
        *_method(study),
    ]
    return plain_markdown("\n\n".join(parts)) + "\n"


def headline(study: Study, verdict: Verdict) -> str:
    """The verdict in one sentence, with the numbers it rests on."""
    found = verdict.claimed
    if found is None:
        sentence = f"**{verdict.claim.value[0].upper()}{verdict.claim.value[1:]}.**"
        return f"{sentence} {verdict.failure}".rstrip() + _ended(study)
    rests_on = (
        f"{found.pairs} fresh interleaved pairs: {interval(found)} with 95 % confidence, exact "
        f"sign-flip p = {found.p:.3f}"
    )
    measure = "over the steady window"
    if found is verdict.paid:
        measure = "with the work paid for that was put off past the window"
    if verdict.claim is Claim.IMPROVED:
        return f"**{percent(found.ratio)} events per second** {measure}. {rests_on}.{_ended(study)}"
    smallest = f"The smallest gain such pairs show is {found.detectable * 100:.1f} %"
    return f"**No improvement shown** {measure}. {rests_on}. {smallest}.{_ended(study)}"


def _ended(study: Study) -> str:
    """What weakens the verdict: an early end, and doubts about the runs it rests on."""
    early = cut_short(study)
    ended = f" {early}" if early else ""
    runs = [trial.measurement for trial in study.of(Phase.CONFIRM)]
    measured = [run for run in runs if run is not None]
    shaky = [run for run in measured if any(d.kind is DoubtKind.UNSTEADY for d in run.doubts)]
    if not shaky:
        return ended
    return f"{ended} {len(shaky)} of the {len(measured)} runs behind this did not settle."


def _changes(verdict: Verdict, known: dict[str, Knob]) -> list[str]:
    if verdict.claim is not Claim.IMPROVED:
        return ["## What to change", "Nothing: `best.yaml` is the profile as written."]
    return ["## What to change", table(CHANGES_HEADER, change_rows(verdict, known))]


def change_rows(verdict: Verdict, known: dict[str, Knob]) -> list[tuple[str, ...]]:
    """A row for each change that is recommended, under `CHANGES_HEADER`."""
    return [
        (f"`{path}`", setting(known[path].current), setting(level), known[path].note)
        for path, level in verdict.changes
    ]


def _evidence(study: Study, verdict: Verdict) -> list[str]:
    rows = pair_rows(study)
    if not rows:
        return []
    compared = "\n".join(f"- {line}" for line in comparisons(study, verdict))
    return ["## Evidence", table(PAIRS_HEADER, rows), compared]


def pair_rows(study: Study) -> list[tuple[str, ...]]:
    """A row for each pair of the confirmation, under `PAIRS_HEADER`."""
    return [
        (
            str(number),
            eps(before.eps),
            eps(after.eps),
            percent(after.eps / before.eps),
            f"{before.delivery.sent:,} / {before.delivery.indexed:,}",
            f"{after.delivery.sent:,} / {after.delivery.indexed:,}",
        )
        for number, (before, after) in enumerate(pairs_of(study.trials), 1)
    ]


def comparisons(study: Study, verdict: Verdict) -> list[str]:
    """Everything that the pairs compare, with intervals, and what the claim is made of."""
    named = (
        ("events per second, steady window", verdict.eps),
        (_PAID, verdict.paid),
        (_DURABLE, verdict.durable),
        (_MERGED, verdict.merged),
        ("rsyslogd CPU per event", verdict.shipper_cpu),
        (_ENGINE_CPU, verdict.engine_cpu),
        (_DISK, verdict.disk),
    )
    shown = [one for one in named if not (is_sink(study) and one[0] in _OF_AN_ENGINE)]
    lines = [f"{name}: {interval(found)}" for name, found in shown if found is not None]
    if verdict.claimed is not None and (restarts := restart_text(verdict.claimed)):
        lines.append(restarts)
    if verdict.claimed is not None and not is_sink(study):
        lines.append(
            "the claim is the smaller of the first two: settings that postpone work look good in "
            "a window and not beyond it"
        )
    seen = _search_best(study)
    if seen is not None and verdict.eps is not None:
        lines.append(
            f"the best trial of the search looked like {percent(seen)}; only the pairs above, "
            "measured after the choice, support a claim"
        )
    return lines


def _search_best(study: Study) -> float | None:
    """The best trial of the search over the first baseline: what luck makes it look like."""
    scored = [trial for trial in study.trials if trial.phase in SCORED]
    measured = [(t.changes, t.measurement) for t in scored]
    baseline = [m.eps for changes, m in measured if changes == BASELINE and m is not None]
    others = [m.eps for changes, m in measured if changes != BASELINE and m is not None]
    return max(others) / baseline[0] if baseline and others else None


def _limits(study: Study) -> list[str]:
    """What limits the profile as written and the best found, by their last confirming runs."""
    parts = []
    for name, run in last_confirmed(study):
        if run.verdict is not None:
            parts.append(f"{name}:\n\n```\n{bottleneck_text(run.verdict)}\n```")
            parts.append(effective_text(run))
    return ["## What limits it", *parts] if parts else []


def last_confirmed(study: Study) -> list[tuple[str, Measurement]]:
    """The last confirming run of the profile as written and of the best found, where there is
    one."""
    found = {}
    for trial in study.of(Phase.CONFIRM):
        if trial.measurement is not None:
            name = "as written" if trial.changes == BASELINE else "best found"
            found[name] = trial.measurement
    return sorted(found.items())


def _guarantees(study: Study, profile: Profile) -> list[str]:
    lines = [f"- {line}" for line in kept(study, profile)]
    return ["## What was not traded", "\n".join(lines)] if lines else []


def kept(study: Study, profile: Profile) -> list[str]:
    """What holds of every trial that has a number."""
    measured = [t.outcome for t in study.trials if isinstance(t.outcome, Measurement)]
    if not measured:
        return []
    sent = sum(m.delivery.sent for m in measured)
    memory = max(m.shipper_rss_bytes for m in measured)
    limit = study.header.limits.rss_bytes
    allowed = "" if limit is None else f", of the {mebibytes(limit)} that rss_bytes allows"
    names = [one.name for one in opened_by(study, profile)]
    but = f", except what was opened: {', '.join(names)}" if names else ""
    return [
        f"delivery: {sent:,} events sent in the {len(measured)} valid trials, every one indexed "
        "exactly once; a trial that misses or doubles an event has no number",
        f"tier `{profile.guardrails.tier.value}`: durability, replicas, `_source`, retries and "
        f"queue files are never searched; `best.yaml` has them as you wrote them{but}",
        f"memory: rsyslogd used at most {mebibytes(memory)}{allowed}",
    ]


def _not_tested(study: Study) -> list[str]:
    return ["## Not tested", "\n".join(f"- {line}" for line in not_tested(study))]


def not_tested(study: Study) -> list[str]:
    """What a lab replaced, and what no trial shows."""
    lines = [f"not tested as written: {line}" for line in study.header.substitutions]
    if not is_sink(study):
        lines.append(
            "measured documents carry one more number, `rsyslog_tune_seq`, by which every event "
            "is accounted for; what is rendered has it not"
        )
    return [*lines, *beside(study), *_NEVER_TESTED]


def _method(study: Study) -> list[str]:
    return ["## How this was measured", "\n".join(f"- {line}" for line in method(study))]


def method(study: Study) -> list[str]:
    """The command, the versions and the machine, the windows, and how numbers are made."""
    header = study.header
    plans = {trial.phase: trial.plan for trial in study.trials}
    command = header.command.replace("`", "'")
    windows = ", ".join(f"{phase.value} {plan.window_s:.1f} s" for phase, plan in plans.items())
    return [
        f"`{command}`, budget {seconds(header.budget_s)}, seed {header.seed}, "
        f"started {header.started}, {header.tool}",
        f"rsyslogd {header.rsyslog}, {header.engine}, {header.machine}",
        f"windows: {windows}; each trial on a fresh index, with its own rsyslogd",
        "EPS is the rise of the engine's `indexing.index_total` over the window, which goes from "
        "one refresh under load to another; ± is the standard error from five batch means",
        "ratios are means of log-ratios of pairs, intervals are Student's t on them",
    ]
