"""`rsyslog-tune explain`: what a key does, its default and its traps."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from typing import Annotated

import typer

from tuner.cli.console import result, result_json
from tuner.cli.options import Output, OutputOption
from tuner.profile.explain import Explanation
from tuner.profile.explain import explain as explanations_of

_WIDTH = 96
_LABEL = 10


def explain(
    key: Annotated[
        str,
        typer.Argument(
            help="A key such as dequeueBatchSize, or a path such as "
            "outputs[].index.settings.refresh_interval.",
            show_default=False,
        ),
    ],
    output: OutputOption = Output.TEXT,
) -> None:
    """Say what a key of a profile does, its default, its range and its traps."""
    found = explanations_of(key)
    if output is Output.JSON:
        result_json({"schema": 1, "kind": "explain", "keys": [asdict(one) for one in found]})
    else:
        result("\n\n".join(_text(one) for one in found))


def _text(found: Explanation) -> str:
    rows = [
        ("allowed", found.allowed),
        ("default", found.default),
        ("since", found.since),
        ("changes", (found.changes,) if found.changes else ()),
        ("search", found.search),
        ("trap", found.traps),
        ("source", (found.source,)),
    ]
    lines = [*found.paths, _wrapped(found.does, "  ", "  ")]
    for label, values in rows:
        indent = " " * (_LABEL + 2)
        for number, value in enumerate(values):
            first = f"  {label if number == 0 else '':<{_LABEL}}"
            lines.append(_wrapped(value, first, indent))
    return "\n".join(lines)


def _wrapped(text: str, first: str, indent: str) -> str:
    return textwrap.fill(
        text, _WIDTH, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False
    )
