"""What came of messages: documents in bulks, and lines of files, each with its case and output."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tuner.engine.client import at
from tuner.engine.sampled import leaves
from tuner.engines.refusals import document_refusal
from tuner.host.process import open_given


@dataclass(frozen=True)
class Arrival:
    """One document as it came: its index, id and pipeline, and its text; or a line, and `place`,
    where it was written or sent to."""

    index: str
    document_id: str | None
    text: str
    pipeline: str | None = None
    place: str = ""

    @property
    def fields(self) -> Mapping[str, object] | None:
        """Its values by dotted name; None where it is no JSON object that an engine takes."""
        if document_refusal(self.text) is not None:
            return None
        return dict(leaves(json.loads(self.text)))

    def outside(self, folder: str) -> Arrival:
        """With the files that are read below `folder` named as in the configuration; JSON may
        escape their names."""
        text = self.text.replace(folder, "").replace(folder.replace("/", "\\/"), "")
        return replace(self, text=text)


@dataclass(frozen=True)
class Came:
    """What came of a message by one output."""

    output: str
    arrival: Arrival


def documents(bulks: bytes) -> Iterator[tuple[str, str, Arrival]]:
    """The documents in bulks with the numbers of their cases and outputs, which their indices say;
    a template may end in a line end of its own."""
    waiting = iter(line for line in bulks.split(b"\n") if line.strip())
    for line in waiting:
        action = json.loads(line)
        meta = action.get("create") or action.get("index") or {}
        text = next(waiting, b"").decode("utf-8", "replace")
        case, output, index = str(at(meta, "_index")).split("/", 2)
        document_id, pipeline = at(meta, "_id"), at(meta, "pipeline")
        yield (
            case[1:],
            output,
            Arrival(
                index,
                None if document_id is None else str(document_id),
                text,
                None if pipeline is None else str(pipeline),
            ),
        )


def lines(folder: Path) -> Iterator[tuple[str, str, Arrival]]:
    """The lines of files with the numbers of their cases and outputs, which their folders say."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        case, output, kind, *rest = path.relative_to(folder).parts
        place = "/" + "/".join(rest) if kind == "files" else rest[0].replace("|", "/")
        with open_given(path) as file:
            written = file.read().removesuffix(b"\n").split(b"\n")
        for line in filter(None, written) if kind == "sent" else written:
            text = line.decode("utf-8", "replace")
            yield case[1:], output, Arrival(place, None, text, place=place)
