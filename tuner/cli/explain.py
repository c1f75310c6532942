"""`rsyslog-tune explain`: what a key does, its default and its traps; why a rule exists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.cli.console import labelled, print_result, result_json, wrapped
from tuner.cli.usage.profiles import ExplainArguments, SchemaArguments
from tuner.lint.explain import (
    CodeExplanation,
    Explanation,
    Found,
    Mention,
    explain_code,
    is_code,
    look_up,
)
from tuner.profile.schema import every_key, fact_of, json_schema


def explain(options: ExplainArguments) -> None:
    """Carry out `rsyslog-tune explain`."""
    words = " ".join(options.key)
    answer = Found(codes=(explain_code(words),)) if is_code(words) else look_up(words)
    fields = {"keys": answer.keys, "rules": answer.codes, "mentions": answer.mentions}
    text = "\n\n".join([*map(_key_text, answer.keys), *map(_rule_text, answer.codes)])
    if answer.mentions:
        text = "\n".join(_mentions_text(words, answer.mentions))
    print_result(options.output, "explain", fields, text)


def _mentions_text(words: str, mentions: Sequence[Mention]) -> Iterator[str]:
    yield f"No key is called {words}; it is mentioned here:"
    for mention in mentions:
        yield from ("", mention.where, wrapped(mention.text, "  "))
    yield from ("", f"in full: rsyslog-tune explain '{mentions[0].where}'")


def _key_text(key: Explanation) -> str:
    labels = ("allowed", "default", "since", "changes", "search", "traps", "keys", "source")
    return "\n".join([*key.paths, wrapped(key.does, "  "), *_labelled(key, labels)])


def _rule_text(rule: CodeExplanation) -> str:
    labels = ("layer", "severity", "bad", "good", "source")
    return "\n".join([rule.code, wrapped(rule.why, "  "), *_labelled(rule, labels)])


def _labelled(answer: Explanation | CodeExplanation, labels: Sequence[str]) -> Iterator[str]:
    """The attributes of an answer that are called as the labels, each behind its label."""
    for label in labels:
        value = getattr(answer, label)
        yield from labelled([(label, (value,) if value and isinstance(value, str) else value)])


def schema(_: SchemaArguments) -> None:
    """Carry out `rsyslog-tune schema`."""
    descriptions = {(key.section.__name__, key.name): fact_of(key).does for key in every_key()}
    result_json(json_schema(descriptions))
