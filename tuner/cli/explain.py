"""`rsyslog-tune explain`: what a key does, its default and its traps; why a rule is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from tuner.cli.console import OutputFormat, labelled, print_result, result_json, wrapped
from tuner.cli.options import OutputOption
from tuner.lint.codes import CodeExplanation, explain_code, is_code
from tuner.lint.explain import Explanation
from tuner.lint.look_up import Found, Mention, look_up
from tuner.profile.schema import every_key, fact_of, json_schema
from tuner.render.assets import asset_texts


def _offered(incomplete: str) -> list[str]:
    """The names of keys that begin so, for completion."""
    return sorted({key.name for key in every_key() if key.name.startswith(incomplete)})


def explain(
    key: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY...",
            help="A key such as dequeueBatchSize, a path such as "
            "outputs[].index.settings.refresh_interval, a word of rsyslog's such as imtcp or "
            "searchIndex, a code such as RT112 or F11, or words such as: queue full.",
            autocompletion=_offered,
        ),
    ],
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Explain a key of a profile: what it does, its default, range and pitfalls; an rsyslog
    module and its keys; or a lint rule, by the code at the end of its messages.

    Other words are looked up: what people call a setting, then keys, rules and documentation that
    have all of them.
    """
    asked = " ".join(key)
    if is_code(asked):
        found = Found(codes=(explain_code(asked),))
    else:
        pages = {f"docs/{name}": text for name, text in asset_texts("docs", ".md").items()}
        found = look_up(asked, pages)
    fields = {
        "keys": [asdict(one) for one in found.keys],
        "rules": [asdict(one) for one in found.codes],
        "mentions": [asdict(one) for one in found.mentions],
    }
    text = "\n\n".join([*map(_text, found.keys), *map(_rule_text, found.codes)])
    if found.mentions:
        text = "\n".join(_mentioned(asked, found.mentions))
    print_result(output, "explain", fields, text)


def _mentioned(asked: str, several: Sequence[Mention]) -> Iterator[str]:
    yield f"No key is called {asked}; it is mentioned here:"
    for one in several:
        yield from ("", one.where, wrapped(one.text, "  "))
    explained = next((one.where for one in several if not one.where.startswith("docs/")), None)
    if explained is not None:
        yield from ("", f"in full: rsyslog-tune explain '{explained}'")


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
    return "\n".join([*found.paths, wrapped(found.does, "  "), *labelled(rows)])


def _rule_text(found: CodeExplanation) -> str:
    rows = [
        ("layer", (found.layer,)),
        ("severity", (found.severity,) if found.severity else ()),
        ("bad", found.bad),
        ("good", found.good),
        ("source", (found.source,)),
    ]
    return "\n".join([found.code, wrapped(found.why, "  "), *labelled(rows)])


def schema() -> None:
    """Print the JSON Schema of a profile, for editors that complete and check YAML.

    Write it beside the profile as profile.schema.json, the name in the profile's first line.
    """
    does = {(key.section.__name__, key.name): fact_of(key).does for key in every_key()}
    result_json(json_schema(does))
