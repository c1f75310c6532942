"""What was learnt of a log, in a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tuner.report.sections import Paragraph, PlainBlock, Table
from tuner.schema.numerals import counted, digits
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
