"""What somebody looks up who does not know the key: the words of the trade, then full text over
keys, rules and pages of documentation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tuner.errors import BadUsage
from tuner.lint.codes import CodeExplanation, explain_code, explained_codes
from tuner.lint.explain import Explanation, explain
from tuner.profile.schema import every_key, fact_of


@dataclass(frozen=True)
class Topic:
    """What people call something, and where it is explained: keys or modules, and codes."""

    names: tuple[str, ...]
    keys: tuple[str, ...]
    codes: tuple[str, ...] = ()


_SETTINGS = "outputs[].index.settings"
TOPICS = (
    Topic(("bulk", "bulk size", "bulk request"), ("queue.dequeueBatchSize", "outputs[].maxbytes"),
          ("RT207", "RT215")),
    Topic(("batch", "batch size"), ("queue.dequeueBatchSize", "queue.minDequeueBatchSize"),
          ("RT103", "RT111")),
    Topic(("shard", "shards"), (f"{_SETTINGS}.number_of_shards",)),
    Topic(("replica", "replicas"), (f"{_SETTINGS}.number_of_replicas",), ("RT302",)),
    Topic(("refresh", "refresh interval"), (f"{_SETTINGS}.refresh_interval",)),
    Topic(("ilm", "ism", "lifecycle policy"),
          ("outputs[].index.lifecycle", "outputs[].index.rotate"), ("RT504",)),
    Topic(("retry", "retries", "resume"),
          ("outputs[].action.resumeRetryCount", "outputs[].retryfailures"), ("RT208", "F8")),
    Topic(("duplicate", "duplicates", "duplicated events"),
          ("outputs[].bulkid", "guardrails.duplicated"), ("F2", "F3")),
    Topic(("queue full", "full queue", "discarded events"),
          ("queue.timeoutEnqueue", "queue.size", "queue.discardMark"), ("RT113", "F9")),
    Topic(("data stream", "data streams", "datastream"), ("outputs[].index.data_stream",)),
    Topic(("freshness", "latency", "delay"),
          ("guardrails.freshness_p99_s", f"{_SETTINGS}.refresh_interval")),
    Topic(("udp",), ("imudp",)),
    Topic(("tcp",), ("imptcp", "imtcp")),
)  # fmt: skip
_BY_NAME: Mapping[str, Topic] = {name: topic for topic in TOPICS for name in topic.names}

# So many of each kind are shown, the best first.
_MOST = 5
_LONGEST = 200
_WORD = re.compile(r"[a-z0-9_]+")
# They are in every sentence.
_COMMON = frozenset({"a", "an", "and", "are", "by", "how", "in", "is", "it", "my", "of", "on", "or",
                     "the", "to", "what", "why", "with"})  # fmt: skip


@dataclass(frozen=True)
class Mention:
    """A place that has all the words: a key, a code or the heading of a page, and its text."""

    where: str
    text: str


@dataclass(frozen=True)
class Found:
    """What is known of the words: what they are called here, explained; or where they stand."""

    keys: tuple[Explanation, ...] = ()
    codes: tuple[CodeExplanation, ...] = ()
    mentions: tuple[Mention, ...] = ()


def look_up(asked: str, pages: Mapping[str, str]) -> Found:
    """What is known of some words; `pages` are the texts of the documentation, by their names.
    Raises BadUsage, with near misses, for what stands nowhere."""
    topic = _BY_NAME.get(" ".join(asked.lower().split()), Topic((), ()))
    meant = [one for key in topic.keys for one in explain(key)]
    codes = tuple(map(explain_code, topic.codes))
    try:
        spelled = explain(asked)
    except BadUsage:
        mentions = () if meant else tuple(_mentions(asked, pages))
        if not meant and not mentions:
            raise
        return Found(tuple(meant), codes, mentions)
    return Found((*meant, *(one for one in spelled if one not in meant)), codes)


def _mentions(asked: str, pages: Mapping[str, str]) -> Iterator[Mention]:
    wanted = frozenset(_words(asked)) - _COMMON
    if not wanted:
        return
    codes = (Mention(one.code, one.why) for one in explained_codes())
    for kind in (_of_keys(), codes, _of_pages(pages)):
        several = [one for one in kind if wanted <= {*_words(one.where), *_words(one.text)}]
        # In its name it is what is asked for, in a short text more so than in a long one.
        several.sort(key=lambda one: (not wanted <= {*_words(one.where)}, len(one.text)))
        yield from (Mention(one.where, _around(one.text, wanted)) for one in several[:_MOST])


def _words(text: str) -> Iterator[str]:
    """The words of a text, each in the singular, those of a path or camel case by themselves too;
    short ones as they are."""
    for word in _WORD.findall(text.lower()):
        for part in {word, *word.split("_")}:
            yield part[:-1] if part.endswith("s") and len(part) > 3 else part


def _of_keys() -> Iterator[Mention]:
    known: dict[str, str] = {}
    for key in every_key():
        fact = fact_of(key)
        known.setdefault(f"{key.path} {fact.does}", " ".join((fact.does, *fact.traps)))
    seen: set[str] = set()
    for named, text in known.items():
        if text not in seen:
            seen.add(text)
            yield Mention(named.partition(" ")[0], text)


def _of_pages(pages: Mapping[str, str]) -> Iterator[Mention]:
    """Each paragraph, and item of a list, under its heading."""
    for name, text in pages.items():
        heading = ""
        for paragraph in re.split(r"\n\s*\n|\n(?=[-|] )|\n(?=#)", text):
            if paragraph.startswith("#"):
                heading = paragraph.partition("\n")[0].lstrip("# ")
            elif not paragraph.startswith("```"):
                yield Mention(f"{name}: {heading}", " ".join(paragraph.split()))


def _around(text: str, wanted: Iterable[str]) -> str:
    """The text, or the part of a long one that has the most of the words."""
    if len(text) <= _LONGEST:
        return text
    sentences = re.split(r"(?<=[.:;]) ", text)
    best = max(sentences, key=lambda one: len({*_words(one)} & {*wanted}))
    return best if len(best) <= _LONGEST else f"{best[:_LONGEST].rpartition(' ')[0]} ..."
