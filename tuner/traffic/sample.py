"""What traffic is like: heads, templates of texts, and what stands in the blanks of those.

It says how to write any number of messages like those of a source, and holds no value of them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from tuner.schema.scalars import FACILITIES, SEVERITIES, NonNegative, Positive
from tuner.schema.section import Section

KINDS = frozenset(
    {
        "word", "Word", "WORD", "digits", "hex", "HEX", "mixed", "text", "ipv4", "ipv6", "mac",
        "uuid", "time", "clock",
    }
)  # fmt: skip
"""What a blank may hold: words in three spellings, runs of digits or hex digits, of digits and
letters, words with blanks between, addresses, and times."""

LogFormat = Literal["rfc3164", "rfc5424", "bare"]
"""What heads the messages of a log have."""

_PART = re.compile(r"<<|<([^<>]*)>|[^<]+|<")
_BLANK = re.compile(
    r"(?P<kind>[A-Za-z0-9]+)(?: (?P<lengths>\d+(?:,\d+)*))?"
    r"(?: of (?P<distinct>[1-9]\d*)(?: first (?P<first>\d+)%)?)?"
)
_CHOICE = re.compile(r"(?P<text>[^|*]+)\*(?P<times>[1-9]\d*)")


@dataclass(frozen=True)
class Blank:
    """What stands at a place of a text: a value of that kind, with one of `lengths` characters.

    It is one of `distinct` values, the first of which has that share of all, or another one each
    time where that is None.
    """

    kind: str
    lengths: tuple[int, ...] = ()
    distinct: int | None = None
    first: float = 0.0

    def __str__(self) -> str:
        lengths = " " + ",".join(map(str, self.lengths)) if self.lengths else ""
        few = "" if self.distinct is None else f" of {self.distinct}"
        first = f" first {self.first * 100:.0f}%" if self.first and few else ""
        return f"<{self.kind}{lengths}{few}{first}>"


@dataclass(frozen=True)
class Choice:
    """One of some words, each so many times."""

    words: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return "<" + "|".join(f"{word}*{times}" for word, times in self.words) + ">"


Part = str | Blank | Choice


def written(parts: tuple[Part, ...]) -> str:
    """Parts as the text of a template."""
    return "".join(
        part.replace("<", "<<") if isinstance(part, str) else str(part) for part in parts
    )


def parts_of(text: str) -> Iterator[Part]:
    """The parts that the text of a template consists of; raises ValueError for another text."""
    for part in _PART.finditer(text):
        inner = part[1]
        if inner is None:
            if part[0] == "<":
                raise ValueError(f"a lone < at character {part.start() + 1}: write <<")
            yield "<" if part[0] == "<<" else part[0]
        elif (blank := _BLANK.fullmatch(inner)) is not None and blank["kind"] in KINDS:
            lengths = tuple(map(int, re.findall(r"\d+", blank["lengths"] or "")))
            few = None if blank["distinct"] is None else int(blank["distinct"])
            yield Blank(blank["kind"], lengths, few, int(blank["first"] or 0) / 100)
        else:
            choices = [_CHOICE.fullmatch(choice) for choice in inner.split("|")]
            if not all(choices):
                raise ValueError(f"<{inner}> is neither a blank nor a choice")
            yield Choice(
                tuple((choice["text"], int(choice["times"])) for choice in choices if choice)
            )


def _template(text: str) -> str:
    for _ in parts_of(text):
        pass
    return text


TemplateText = Annotated[str, AfterValidator(_template)]
PriorityName = Annotated[
    str, Field(pattern=rf"^({'|'.join(FACILITIES)})\.({'|'.join(SEVERITIES)})$")
]
"""A facility and a severity, as auth.info."""


class MessageTemplate(Section):
    """Messages of one kind: how many of the source were so, as how many different texts where those
    come again (None: another one each time), their program, priorities and text."""

    times: Positive
    variants: Positive | None = None
    program: Annotated[str, Field(pattern=r"^[!-~]{0,48}$")] = ""
    pid: bool = False
    priorities: dict[PriorityName, Positive] | None = None
    msgid: Annotated[str, Field(pattern=r"^[!-~]{1,32}$")] = "-"
    data: TemplateText = "-"
    text: TemplateText


class TrafficSample(Section):
    """Everything learnt: `hosts` have so many messages each; `mean_bytes` is that of the texts,
    `peak_per_second` the most of a second, where the source has times.

    A message is of the template of the one before it with the probability `stays`, else of any, as
    their times say.
    """

    kind: Literal["traffic sample"] = "traffic sample"
    messages: Positive
    mean_bytes: Annotated[float, Field(gt=0)]
    format: LogFormat
    stays: Annotated[float, Field(ge=0, le=1)] = 0.0
    mean_per_second: Annotated[float, Field(ge=0)] | None = None
    peak_per_second: NonNegative | None = None
    hosts: dict[Annotated[str, Field(pattern=r"^[!-~]{1,255}$")], Positive] | None = None
    templates: Annotated[tuple[MessageTemplate, ...], Field(min_length=1, max_length=2000)]
