"""What was learnt of a log, in a page, and how traffic parts on its way to several outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tuner.profile.model import Profile
from tuner.profile.schema import called
from tuner.profile.workload import LEAST_SHARE
from tuner.report.sections import Paragraph, PlainBlock, Table
from tuner.schema.numerals import counted, digits, share
from tuner.traffic.sample import TrafficSample

_ROWS = 10
_LONGEST = 120


def traffic_blocks(sample: TrafficSample) -> tuple[PlainBlock, ...]:
    """How much there was, from where, how grave, and the templates of most messages."""
    templates = sorted(sample.templates, key=lambda template: -template.times)
    programs, severities = Counter[str](), Counter[str]()
    for template in templates:
        programs[template.program or "-"] += template.times
        for priority, times in (template.priorities or {}).items():
            severities[priority.partition(".")[2]] += times
    new = sum(template.times for template in templates if template.variants is None)
    covered = sum(template.times for template in templates)
    blocks: list[PlainBlock] = [
        Paragraph(
            f"{counted(sample.messages, 'message')} in {counted(len(templates), 'template')}, "
            f"{sample.mean_bytes:.0f} bytes each in the mean without the head; "
            f"{new / covered:.0%} are of templates whose texts hardly ever come again",
            is_lead=True,
        )
    ]
    if sample.mean_per_second:
        blocks.append(
            Paragraph(
                f"the source had {digits(sample.mean_per_second)} messages a second in the mean, "
                f"and {sample.peak_per_second} in the second with most"
            )
        )
    for name, shares in (
        ("hosts", sample.hosts or {}), ("programs", programs), ("severities", severities),
    ):  # fmt: skip
        if shares:
            blocks.append(Paragraph(f"{name}: {_shares(shares)}"))
    rows = tuple(
        (f"{template.times / covered:.1%}", template.program or "-", _cut(template.text))
        for template in templates[:_ROWS]
    )
    return (*blocks, Table("Templates", ("share", "program", "text"), rows))


def _shares(times: Mapping[str, int]) -> str:
    whole, ordered = sum(times.values()), Counter(times).most_common()
    texts = [f"{name} {count / whole:.1%}" for name, count in ordered[:_ROWS]]
    if others := ordered[_ROWS:]:
        texts.append(f"{len(others)} others {sum(count for _, count in others) / whole:.1%}")
    return ", ".join(texts)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def shares_of_actions(profile: Profile, shares: Sequence[tuple[str, float]]) -> Iterator[str]:
    """What part of the documents goes to each of several outputs, which of them are tuned, and
    where the parts come from."""
    parts, documents = dict(shares), sum(share for _, share in shares)
    if len(profile.indexed) < 2 or not documents:
        return
    part = {
        number: parts.get(output.name, 0.0) / documents for number, output in profile.enumerated
    }
    text = {number: f"{called(profile, number)} {share(part[number])}" for number in part}
    tuned = ", ".join(text[number] for number in profile.tuned)
    yield f"tuned, by their parts of the documents: {tuned}"
    shut = [number for number in part if number not in profile.tuned]
    if seldom := [text[number] for number in shut if part[number] < LEAST_SHARE]:
        yield f"not tuned, as less than {LEAST_SHARE * 100:.0f} % goes there: {', '.join(seldom)}"
    if unasked := [text[number] for number in shut if part[number] >= LEAST_SHARE]:
        yield f"not tuned, as it was not asked for: {', '.join(unasked)}"
    load = profile.workload
    if load.learnt is None and load.replay is None and not load.shares:
        yield (
            "these parts are those of made-up messages; where production's are others, other "
            "actions matter: give workload.shares, or messages like yours (--sample)"
        )
