"""Cases in a file, and what came of their messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tuner.cases.case_file import LoadedCases, load_cases
from tuner.cases.run import Arrival, Came


def cases_of(text: str, folder: Path) -> LoadedCases:
    path = folder / "tests.yaml"
    path.write_text(text, encoding="utf-8")
    return load_cases(path)


def document(
    fields: Mapping[str, object], index: str = "logs", document_id: str | None = None
) -> Came:
    return Came("es", Arrival(index, document_id, json.dumps(fields)))


def line(text: str, place: str = "/var/log/all") -> Came:
    return Came("file", Arrival(place, None, text, place=place))
