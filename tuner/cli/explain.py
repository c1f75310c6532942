"""`rsyslog-tune explain`: what a key does, its default and its traps; why a rule is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.cli.console import labelled, print_result, result_json, wrapped
from tuner.cli.usage.profiles import ExplainArguments, SchemaArguments
from tuner.lint.codes import CodeExplanation, explain_code, is_code
from tuner.lint.explain import Explanation, Found, Mention, look_up
from tuner.profile.schema import every_key, fact_of, json_schema
from tuner.render.assets import asset_texts


def explain(options: ExplainArguments) -> None:
    """Carry out `rsyslog-tune explain`."""
    asked = " ".join(options.key)
    if is_code(asked):
        found = Found(codes=(explain_code(asked),))
    else:
        pages = {f"docs/{name}": text for name, text in asset_texts("docs", ".md").items()}
        found = look_up(asked, pages)
    fields = {"keys": found.keys, "rules": found.codes, "mentions": found.mentions}
    text = "\n\n".join([*map(_text, found.keys), *map(_rule_text, found.codes)])
    if found.mentions:
        text = "\n".join(_mentioned(asked, found.mentions))
    print_result(options.output, "explain", fields, text)


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


def schema(_: SchemaArguments) -> None:
    """Carry out `rsyslog-tune schema`."""
    does = {(key.section.__name__, key.name): fact_of(key).does for key in every_key()}
    result_json(json_schema(does))
