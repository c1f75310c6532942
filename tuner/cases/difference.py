"""What two rsyslogds make of the same messages, compared; pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tuner.cases.judge import shown_json
from tuner.cases.run import Came

_SHOWN = 80
_NONE = "nothing"


@dataclass(frozen=True)
class RunDifference:
    """What differs of what comes by an output: `documents` or `lines` by their number, else the
    index, the id, the pipeline, the place, the line or a field; an example of both, and for how
    many of the messages."""

    output: str
    what: str
    before: str
    after: str
    count: int
    of: int

    def __str__(self) -> str:
        return (
            f"{self.output}: {self.what}: {self.before} before, {self.after} after "
            f"({self.count:,} of {self.of:,} messages)"
        )


def differences(
    first: Sequence[Sequence[Came]],
    repeated: Sequence[Sequence[Came]],
    other: Sequence[Sequence[Came]],
) -> tuple[RunDifference, ...]:
    """How what came of each message differs in the `other` run.  The first was `repeated`: what is
    another each time, such as a time of arrival, is no difference."""
    examples: dict[tuple[str, str], tuple[str, str]] = {}
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for came, again, then in zip(first, repeated, other, strict=True):
        for output, what, before, after in _of_message(came, again, then):
            examples.setdefault((output, what), (before, after))
            counts[output, what] += 1
    return tuple(
        RunDifference(output, what, *examples[output, what], count, len(first))
        for (output, what), count in counts.items()
    )


def _of_message(
    came: Sequence[Came], again: Sequence[Came], then: Sequence[Came]
) -> Iterator[tuple[str, str, str, str]]:
    outputs = dict.fromkeys(one.output for one in (*came, *then))
    for output in outputs:
        runs = [[_parts(one) for one in run if one.output == output] for run in (came, again, then)]
        before, repeated, after = runs
        if len(before) != len(after):
            if len(before) == len(repeated):
                yield output, "how many come", str(len(before)), str(len(after))
            continue
        for one, same, new in zip(before, repeated, after, strict=False):
            for what in dict.fromkeys((*one, *new)):
                old, now = one.get(what, _NONE), new.get(what, _NONE)
                if old != now and old == same.get(what, _NONE):
                    yield output, what, old, now


def _parts(came: Came) -> Mapping[str, str]:
    arrival = came.arrival
    if arrival.place:
        return {"where it goes": arrival.place, "the line": shown_json(arrival.text, _SHOWN)}
    fields = arrival.fields
    whole = {"the document, which is no JSON": shown_json(arrival.text, _SHOWN)}
    named = (
        whole
        if fields is None
        else {f"field {k}": shown_json(v, _SHOWN) for k, v in fields.items()}
    )
    heads = {"index": arrival.index, "id": arrival.document_id, "pipeline": arrival.pipeline}
    return {what: text for what, text in heads.items() if text is not None} | named
