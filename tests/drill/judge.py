"""What a diagnosis told against the truth: each number that it gives, and each cause."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.drill.scenario import OutputTruth, Scenario, Truth

Finding = Mapping[str, Any]

# A step of the counters more, and what a busy machine adds.
_SLACK_S, _SLACK = 3.0, 1.5
_WAITED = re.compile(r"waited[^.;]*? (up to|at least|about) ([\d,.]+) (s|min)\b")
_CAME_BACK = re.compile(r"([\d,]+) came back")
_MODULES = {"omelasticsearch": "es"}
# What only the settings show.
_OF_SETTINGS = {"senders_slowed", "few_workers", "disk_queue"}
# What a busy machine does is true of any scenario.
_ALWAYS = {"counters_delayed"}


@dataclass(frozen=True)
class Verdict:
    """Of one scenario: what was lost and what was told of it, `false` sentences, and what was not
    told; `exact` where every number of lost events is that of the truth,
    `is_counted` where what is lost is counted at all."""

    name: str
    sent: int
    lost: str
    told: str
    false: tuple[str, ...]
    missed: tuple[str, ...]
    exact: bool
    is_counted: bool = True

    @property
    def text(self) -> str:
        """`exact`, `within` the bounds that are said, `not counted` by any counter, `missed`, or
        `FALSE`."""
        if self.false:
            return "FALSE"
        if self.missed:
            return "missed"
        if not self.is_counted:
            return "not counted"
        return "exact" if self.exact else "within"


def judged(
    name: str, row: Scenario, truth: Truth, diagnosis: Mapping[str, Any], text: str
) -> Verdict:
    """The verdict on a diagnosis, as JSON and as text."""
    findings = [one for host in diagnosis["hosts"] for one in host["findings"]]
    starts = sum(len(host["starts"]) for host in diagnosis["hosts"])
    lost = [one for one in findings if one["effect"] == "lost"]
    false = [
        *_false_numbers(row, truth, lost), *_false_waits(row, truth, findings),
        *_false_causes(row, findings), *_false_starts(truth, starts),
        *_false_returns(row, truth, findings),
    ]  # fmt: skip
    if row.never and (wrong := re.search(row.never, text)):
        false.append(f"says {wrong.group()!r}")
    missed = list(_missed(row, truth, findings, starts, text))
    told = [f"{one['cause']} {one['where']}: {_bounds(one)} {one['certainty']}" for one in lost]
    most = max((one.lost for one in truth.outputs.values()), default=0)
    numbers = [(one["events"]["least"], one["events"]["most"]) for one in lost]
    is_exact = sum(least or 0 for least, _ in numbers) == most
    is_exact &= all(least == upper for least, upper in numbers)
    said = "; ".join(told) or ", ".join(one["cause"] for one in findings)
    is_counted = not any(_too_little(row, truth, findings))
    return Verdict(
        name, truth.sent, f"{most:,}", said, tuple(false), tuple(missed), is_exact, is_counted
    )


def without_settings(row: Scenario) -> Scenario:
    """What to ask of a diagnosis that is not given the configuration."""
    must = (one for one in row.must.split() if not _OF_SETTINGS & set(one.split("|")))
    return replace(row, never="", must=" ".join(must), may=f"{row.may} {row.must}")


def _bounds(one: Finding) -> str:
    least, most = one["events"]["least"], one["events"]["most"]
    return f"{least}" if least == most else f"{least}..{'' if most is None else most}"


def _of(row: Scenario, truth: Truth, one: Finding) -> str | None:
    """The receiver that a finding is about; None for what all of them miss."""
    where = re.sub(r"^action\[(.*)\]", r"\1", one["where"])
    where = _MODULES.get(where, where)
    where = next((to for begin, to in row.aliases.items() if where.startswith(begin)), where)
    names = sorted(truth.outputs, key=len, reverse=True)
    return next((name for name in names if re.match(rf"{name}\b", where)), None)


def _lost(row: Scenario, truth: Truth, one: Finding) -> int:
    """How many were lost where a finding says so: an input's or the main queue's loss is of every
    receiver, which may have lost others too."""
    output = _of(row, truth, one)
    return truth.lost if output is None else truth.outputs[output].lost


def _false_numbers(row: Scenario, truth: Truth, lost: Sequence[Finding]) -> Iterator[str]:
    for one in lost:
        least, really = one["events"]["least"] or 0, _lost(row, truth, one)
        if least > really + _own_lines(row, truth):
            yield f"{one['cause']} {one['where']}: {_bounds(one)} lost, truth {really}"
    for where in {_of(row, truth, one) for one in lost}:
        every = [one for one in lost if _of(row, truth, one) == where]
        least = sum(one["events"]["least"] or 0 for one in every)
        really = _lost(row, truth, every[0])
        if len(every) > 1 and least > really:
            yield f"{where or 'inputs'}: {least} lost by {len(every)} findings, truth {really}"


def _own_lines(row: Scenario, truth: Truth) -> float:
    """How many events the counters are themselves, where they are events."""
    return 20 * truth.seconds if 'log.syslog="on"' in row.stats else 0


def _told_for(row: Scenario, truth: Truth, name: str, findings: Sequence[Finding]) -> float:
    """The most that a diagnosis says was lost of what a receiver should have had."""
    most = 0.0
    for one in findings:
        if _of(row, truth, one) in {None, name}:
            upper = one["events"]["most"]
            if one["effect"] == "lost":
                most += float("inf") if upper is None else upper
            elif one["effect"] == "at risk":
                most += upper or 0
    return most


def _too_little(
    row: Scenario, truth: Truth, findings: Sequence[Finding]
) -> Iterator[tuple[str, OutputTruth, float]]:
    """The receivers that lost more than is told, and how much is told."""
    for name, output in truth.outputs.items():
        told = _told_for(row, truth, name, findings)
        if output.lost > told + truth.dropped:
            yield name, output, told


def _missed(
    row: Scenario,
    truth: Truth,
    findings: Sequence[Finding],
    starts: int,
    text: str,
) -> Iterator[str]:
    """Losses, restarts and causes that are not told."""
    if not row.untold:
        for name, output, told in _too_little(row, truth, findings):
            yield f"{name}: {output.lost - told:.0f} of {output.lost} lost"
    if starts < truth.starts:
        yield f"{truth.starts - starts} of {truth.starts} restarts"
    doubled = sum(one.doubled for name, one in truth.outputs.items() if name.startswith("es"))
    if doubled and not re.search(r"twice|sent again", text):
        yield f"{doubled} came twice"
    causes = {one["cause"] for one in findings}
    for wanted in row.must.split():
        if not causes & set(wanted.split("|")):
            yield wanted


def _false_starts(truth: Truth, starts: int) -> Iterator[str]:
    if starts > truth.starts:
        yield f"{starts} restarts, truth {truth.starts}"


def _false_causes(row: Scenario, findings: Sequence[Finding]) -> Iterator[str]:
    allowed = {*row.may.replace("|", " ").split(), *row.must.replace("|", " ").split(), *_ALWAYS}
    for one in findings:
        if one["cause"] not in allowed and (one["certainty"] != "possible" or row.is_healthy):
            yield f"{one['cause']} {one['where']} ({one['certainty']})"


def _false_waits(row: Scenario, truth: Truth, findings: Sequence[Finding]) -> Iterator[str]:
    full = {one["where"] for one in findings if one["cause"] == "queue_full"}
    for one in findings:
        found = _WAITED.search(f"{one['meaning']}; {one['evidence']}")
        if found is None:
            continue
        seconds = float(found[2].replace(",", "")) * (60 if found[3] == "min" else 1)
        output = _of(row, truth, one)
        really = max(
            each.waited_s for name, each in truth.outputs.items() if output in {None, name}
        )
        if seconds > _SLACK * really + _SLACK_S:
            yield f"{one['where']}: waited {found[1]} {seconds:g} s, truth {really} s"
        # What feeds it waited too, where it was full.
        is_full = one["where"] in full or "had to wait" in one["evidence"]
        is_most = found[1] != "at least" and not is_full
        if is_most and really > _SLACK * seconds + _SLACK_S:
            yield f"{one['where']}: waited {found[1]} {seconds:g} s only, truth {really} s"


def _false_returns(row: Scenario, truth: Truth, findings: Sequence[Finding]) -> Iterator[str]:
    for one in findings:
        found = _CAME_BACK.search(one["evidence"])
        output = _of(row, truth, one)
        if found is None or output is None:
            continue
        came = truth.sent - truth.outputs[output].lost - truth.outputs[output].waiting
        if int(found[1].replace(",", "")) > came:
            yield f"{one['where']}: {found[0]}, truth {came}"


def table(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """All scenarios, then the sums."""
    yield "| scenario | sent | lost | told | verdict |"
    yield "|---|---|---|---|---|"
    for one in verdicts:
        wrong = "; ".join((*one.false, *(f"not told: {miss}" for miss in one.missed)))
        verdict = f"{one.text}: {wrong}" if wrong else one.text
        yield f"| {one.name} | {one.sent:,} | {one.lost} | {one.told or 'nothing'} | {verdict} |"
    yield ""
    yield summary(verdicts)


def summary(verdicts: Sequence[Verdict]) -> str:
    """How many of each kind."""
    kinds = [one.text for one in verdicts]
    every = ("exact", "within", "not counted", "missed", "FALSE")
    counts = ", ".join(f"{kind} {kinds.count(kind)}" for kind in every)
    return f"{len(verdicts)} cases: {counts}"
