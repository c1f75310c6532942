"""`rsyslog-tune explain`: what a key does, its default and its traps; why a rule is there."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from tuner.cli.console import OutputFormat, print_result, result_json
from tuner.cli.options import OutputOption
from tuner.lint.codes import CodeExplanation, explain_code, is_code
from tuner.lint.explain import Explanation
from tuner.lint.explain import explain as explanations_of
from tuner.profile.facts import fact_of
from tuner.profile.schema import every_key, json_schema

_WIDTH = 96
_LABEL = 10


def _offered(incomplete: str) -> list[str]:
    """The names of keys that begin so, for completion."""
    return sorted({key.name for key in every_key() if key.name.startswith(incomplete)})


def explain(
    key: Annotated[
        str,
        typer.Argument(
            help="A key such as dequeueBatchSize, a path such as "
            "outputs[].index.settings.refresh_interval, a word of rsyslog's such as imtcp or "
            "searchIndex, or a code such as RT112 or F11.",
            autocompletion=_offered,
        ),
    ],
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Explain a key of a profile: what it does, its default, range and pitfalls; an rsyslog
    module and its keys; or a lint rule, by the code at the end of its messages."""
    rules = (explain_code(key),) if is_code(key) else ()
    found = () if rules else explanations_of(key)
    fields = {"keys": [asdict(one) for one in found], "rules": [asdict(one) for one in rules]}
    text = "\n\n".join([*map(_text, found), *map(_rule_text, rules)])
    print_result(output, "explain", fields, text)


def _text(found: Explanation) -> str:
    rows = [
        ("allowed", found.allowed),
        ("default", found.default),
        ("since", found.since),
        ("changes", (found.changes,) if found.changes else ()),
        ("search", found.search),
        ("trap", found.traps),
        ("keys", found.keys),
        ("source", (found.source,)),
    ]
    return "\n".join([*found.paths, _wrapped(found.does, "  ", "  "), *_lines(rows)])


def _rule_text(found: CodeExplanation) -> str:
    rows = [
        ("layer", (found.layer,)),
        ("severity", (found.severity,) if found.severity else ()),
        ("bad", found.bad),
        ("good", found.good),
        ("source", (found.source,)),
    ]
    return "\n".join([found.code, _wrapped(found.why, "  ", "  "), *_lines(rows)])


def _lines(rows: Iterable[tuple[str, tuple[str, ...]]]) -> Iterator[str]:
    for label, values in rows:
        indent = " " * (_LABEL + 2)
        for number, value in enumerate(values):
            first = f"  {label if number == 0 else '':<{_LABEL}}"
            yield _wrapped(value, first, indent)


def _wrapped(text: str, first: str, indent: str) -> str:
    width = min(_WIDTH, shutil.get_terminal_size((_WIDTH, 0)).columns)
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False
    )


def schema() -> None:
    """Print the JSON Schema of a profile, for editors that complete and check YAML.

    Write it beside the profile as profile.schema.json, the name in the profile's first line.
    """
    does = {(key.section.__name__, key.name): fact_of(key).does for key in every_key()}
    result_json(json_schema(does))
