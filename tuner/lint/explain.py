"""What a key does, its default, its range and its traps, for someone who meets it in a profile;
what is behind each code that a message ends with, such as RT112, and each finding about rsyslog,
such as F11; and what somebody looks up who knows neither: by the words of the trade, else by any.
"""

from __future__ import annotations

import difflib
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tuner.engines.node import Node
from tuner.engines.settings import ALWAYS, Setting, Update
from tuner.errors import BadUsage
from tuner.lint.lint import BASE_RULES, RULES
from tuner.modules.input import Input
from tuner.modules.output import Output
from tuner.modules.queue import Queue
from tuner.modules.registry import MODULES, name_of
from tuner.modules.step import StreamStep
from tuner.profile.model import Profile
from tuner.profile.schema import (
    Key,
    allowed,
    default_of,
    every_key,
    fact_name,
    fact_of,
    facts,
    queue_defaults,
    source_of,
)
from tuner.profile.source import read
from tuner.reading import packaged, table
from tuner.schema.path import Path
from tuner.schema.section import kind_of, since
from tuner.space.guarantees import GUARANTEES
from tuner.space.knob import Knob, level_text
from tuner.space.knobs import knobs

_PREFIXES = ("queue.", "index.")
_CHANGES = {
    Update.FINAL: "with new indices only",
    Update.STATIC: "with new indices, or on closed ones",
    Update.DYNAMIC: "on open indices too",
    Update.ENGINE: "by the engine alone",
}


@dataclass(frozen=True)
class Explanation:
    """One key, or one that means the same in several places; or one of rsyslog's words, and what
    a profile says instead.  `keys` are those of a module, each with what it does."""

    paths: tuple[str, ...]
    does: str
    allowed: tuple[str, ...] = ()
    default: tuple[str, ...] = ()
    since: tuple[str, ...] = ()
    changes: str = ""
    search: tuple[str, ...] = ()
    traps: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    source: str = "rsyslog's manual"


def explain(asked: str) -> tuple[Explanation, ...]:
    """What is known about a path or a bare name of a profile, or one of rsyslog's; raises BadUsage
    with near misses."""
    word = asked.lower()
    modules = {name_of(module): module for module in MODULES}
    if word in modules:
        return (_module(word, modules[word]),)
    spelling = facts().spellings.get(word)
    if spelling is not None and not any(path.ends_with(word) for path in _paths().values()):
        explanations = _of_paths(frozenset(spelling.keys))
        return (
            Explanation((asked,), f"rsyslog's own word. In a profile {spelling.write}."),
            *explanations,
        )
    return _of_paths(_matching(asked))


def _module(name: str, module: type[Input | Output | StreamStep]) -> Explanation:
    """A module of rsyslog, and the keys that a profile has for it."""
    section = "outputs[]"
    if not issubclass(module, Output):
        section = "inputs[]" if issubclass(module, Input) else "steps[]"
    keys = [key for key in every_key() if key.section is module and key.path.count(".") <= 2]
    does = inspect.cleandoc(module.__doc__ or "").partition("\n\n")[0]
    return Explanation(
        (f"{section} with type: {name}",),
        " ".join(does.split()),
        keys=tuple(f"{key.name}: {fact_of(key).does}" for key in keys),
        source=source_of(f"{section}.", (name,)),
    )


def _of_paths(paths: frozenset[str]) -> tuple[Explanation, ...]:
    by_fact: dict[str, list[Key]] = {}
    for key in every_key():
        if key.path in paths:
            by_fact.setdefault(fact_name(key), []).append(key)
    return tuple(_explained(name, keys) for name, keys in by_fact.items())


@cache
def _paths() -> Mapping[str, Path]:
    """Every path of a profile, and how it is compared."""
    return {key.path: _plain(key.path) for key in every_key()}


def _matching(asked: str) -> frozenset[str]:
    paths = _paths()
    plain = _plain(asked)
    for prefix in ("", *_PREFIXES):
        word = plain.removeprefix(prefix)
        if prefix and word == plain:
            continue
        exact = frozenset(path for path, compared in paths.items() if compared == word)
        if exact and "." in word:
            return exact
        # Of any queue, main_queue among them.
        of_main = f"main_{word}" if word.startswith("queue.") else None
        matches = exact | {
            path
            for path, compared in paths.items()
            if compared.ends_with(word) or compared == of_main
        }
        if matches:
            return matches
    near = _near(plain, tuple(paths))
    hint = f": did you mean {' or '.join(near)}?" if near else ""
    raise BadUsage(f"a profile has no key {asked}{hint}")


def _plain(path: str) -> Path:
    """The path in lower case and without items, for comparison."""
    return Path(path.lower()).without_items


def _near(plain: str, paths: tuple[str, ...]) -> list[str]:
    """Up to three paths or bare names with a similar spelling."""
    endings: dict[str, str] = {}
    for path in paths:
        for end in reversed(Path(path).suffixes):
            endings.setdefault(_plain(end), end)
    return [endings[ending] for ending in difflib.get_close_matches(plain, endings, 3)]


def _explained(name: str, keys: list[Key]) -> Explanation:
    known = [fact_of(key) for key in keys]
    paths = tuple(dict.fromkeys(key.path for key in keys))
    return Explanation(
        paths=paths,
        does=" ".join(_by_kind(keys, [fact.does for fact in known])),
        allowed=_by_kind(keys, [allowed(key) for key in keys]),
        default=_defaults([fact.default for fact in known], keys),
        since=_since(keys),
        changes=_changes(keys[0]),
        search=_search(paths),
        traps=tuple(dict.fromkeys(trap for fact in known for trap in fact.traps)),
        source=source_of(name, _kinds(keys)),
    )


def _defaults(stated: list[str], keys: list[Key]) -> tuple[str, ...]:
    if keys[0].section is Queue:
        return (stated[0],) if stated[0] else queue_defaults(keys[0])
    written = [default_of(key.info) for key in keys]
    return _by_kind(
        keys,
        [
            "; ".join(dict.fromkeys(text for text in pair if text and text != "not set"))
            or ("not set" if "not set" in pair else "")
            for pair in zip(written, stated, strict=True)
        ],
    )


def _by_kind(keys: list[Key], texts: list[str]) -> tuple[str, ...]:
    """One text for each kind of input or output, or one for all if they agree."""
    if len(set(texts)) == 1:
        return tuple(text for text in texts[:1] if text)
    kinds = zip(map(_kind, keys), texts, strict=True)
    return tuple(dict.fromkeys(f"{kind}: {text}" for kind, text in kinds if text))


def _kind(key: Key) -> str:
    """`imptcp` for a key of imptcp inputs; the path where there are no kinds."""
    return kind_of(key.section) or key.path


def _kinds(keys: list[Key]) -> tuple[str, ...]:
    """The kinds of inputs or outputs that have the key itself, not inside a section of theirs."""
    return tuple(kind for key in keys if (kind := _kind(key)) != key.path)


def _setting(key: Key) -> Setting | None:
    """The engine's record of the setting; None for other keys."""
    return next((mark for mark in key.info.metadata if isinstance(mark, Setting)), None)


def _since(keys: list[Key]) -> tuple[str, ...]:
    """The releases that introduced the key; empty if every supported release has it."""
    setting = _setting(keys[0])
    if setting is None:
        releases = [since(key.info) for key in keys]
        return _by_kind(keys, [f"rsyslog 8.{release}" if release else "" for release in releases])
    engines = (("Elasticsearch", setting.elasticsearch), ("OpenSearch", setting.opensearch))
    return tuple(
        f"not in {engine}" if version is None else f"{engine} {version[0]}.{version[1]}"
        for engine, version in engines
        if version != ALWAYS
    )


def _changes(key: Key) -> str:
    """How a setting of the engine can be changed; empty for other keys."""
    setting = _setting(key)
    if setting is None:
        return ""
    return "at a restart" if key.section is Node else _CHANGES[setting.update]


def _search(paths: tuple[str, ...]) -> tuple[str, ...]:
    """What a search does with the key."""
    effects, inside = [], []
    for path, knob in _every_knob().items():
        if path in paths:
            levels = ", ".join(level_text(level) for level in knob.levels)
            effects.append(f"tries {levels} on {path} ({knob.cost.value})")
        elif any(path.is_in(section) for section in paths):
            inside.append(path)
    if inside:
        effects.append(f"varies {', '.join(inside)}")
    effects += [
        f"leaves it unchanged without --allow {guarantee.name}, which gives something up: "
        f"{guarantee.gives_up}"
        for guarantee in GUARANTEES.values()
        if any(Path(path).ends_with(guarantee.name) for path in paths)
    ]
    return tuple(effects) or ("leaves it unchanged",)


@cache
def _every_knob() -> Mapping[Path, Knob]:
    """Each knob by its path without names, as the first sample that has it shows it."""
    by_path: dict[Path, Knob] = {}
    for sample in table("lint/explained.toml")["samples"]:
        for knob in knobs(Profile.model_validate(table("lint/explained.toml")["sample"] | sample)):
            by_path.setdefault(knob.path.pattern, knob)
    return by_path


_CODE = re.compile(r"RT[0-9]{3}|F[0-9]{1,2}", re.IGNORECASE)
_SOURCE = "rsyslog's source, and tests of 8.2302"
_SEVERITIES = {
    **{rule.code: rule.severity.value for rule in RULES},
    **{rule.code: rule.severity.value for rule in BASE_RULES},
}


@dataclass(frozen=True)
class CodeExplanation:
    """One code: which layer of validation reports it, how severe it is, why, and the source. A rule
    of the linter also has an example that breaks it and the change that fixes it, each with one
    setting a line.
    """

    code: str
    layer: str
    severity: str
    why: str
    source: str
    bad: tuple[str, ...] = ()
    good: tuple[str, ...] = ()


def is_code(asked: str) -> bool:
    """Whether `asked` is a code rather than a key."""
    return _CODE.fullmatch(asked) is not None


def explain_code(asked: str) -> CodeExplanation:
    """What is known about a rule's code or a finding; raises BadUsage if there is no such one."""
    code, findings = asked.upper(), facts().findings
    if code in findings:
        return CodeExplanation(code, "rsyslog", "", findings[code], _SOURCE)
    if code not in _rows():
        raise BadUsage(
            f"there is no rule or finding {code}: a message ends with the code of its rule, RT112; "
            f"findings are F1 to F{len(findings)}"
        )
    row = code_row(code)
    bad, good = _lines(row.get("bad")), _lines(row.get("good"))
    layer, severity = row.get("layer", "lint"), row.get("severity") or _SEVERITIES[code]
    return CodeExplanation(code, layer, severity, row["why"], row["source"], bad, bad and good)


def explained_codes() -> Iterator[CodeExplanation]:
    """Every code that a message can end with."""
    return map(explain_code, _rows())


def code_row(code: str) -> Mapping[str, Any]:
    """The row of codes.yaml about a code."""
    data = read(_rows()[code], "codes.yaml").data
    return data[code] if isinstance(data, dict) else {}


@cache
def _rows() -> Mapping[str, str]:
    """The text of each row: a row is read alone, as reading all takes a tenth of a second."""
    text = packaged("lint/codes.yaml")
    return {row[:5]: row for row in re.split(r"\n(?=RT[0-9]{3}:)", text)[1:]}


def _lines(example: Mapping[str, object] | list[str] | None) -> tuple[str, ...]:
    """Settings as lines of YAML; of a rule about a base the first of several texts."""
    if isinstance(example, list):
        return tuple(example[0].split("\n")) if example else ()
    return tuple(
        f"{path}: (left out)" if value is None else f"{path}: {json.dumps(value)}"
        for path, value in (example or {}).items()
    )


@dataclass(frozen=True)
class Topic:
    """What people call something, and where it is explained: keys or modules, and codes."""

    names: tuple[str, ...]
    keys: tuple[str, ...]
    codes: tuple[str, ...] = ()


def topics() -> tuple[Topic, ...]:
    """What explained.toml says."""
    return tuple(Topic(**topic) for topic in table("lint/explained.toml")["topics"])


# So many of each kind are shown, the best first.
_MOST = 5
_WORD = re.compile(r"[a-z0-9]+")
# They are in every sentence, as are those of two letters.
_COMMON = frozenset({"and", "are", "how", "the", "what", "why", "with"})


@dataclass(frozen=True)
class Mention:
    """A key or a code whose name or text has all the words, and that text."""

    where: str
    text: str


@dataclass(frozen=True)
class Found:
    """What is known of the words: what they are called here, explained; or where they stand."""

    keys: tuple[Explanation, ...] = ()
    codes: tuple[CodeExplanation, ...] = ()
    mentions: tuple[Mention, ...] = ()


def look_up(asked: str) -> Found:
    """What is known of some words.  Raises BadUsage, with near misses, for what stands nowhere."""
    words = " ".join(asked.lower().split())
    topic = next((topic for topic in topics() if words in topic.names), Topic((), ()))
    by_topic = [explanation for key in topic.keys for explanation in explain(key)]
    codes = tuple(map(explain_code, topic.codes))
    try:
        spelled = explain(asked)
    except BadUsage:
        mentions = () if by_topic else (*_with_words(words, _keys()), *_with_words(words, _codes()))
        if not by_topic and not mentions:
            raise
        return Found(tuple(by_topic), codes, mentions)
    return Found(
        (*by_topic, *(explanation for explanation in spelled if explanation not in by_topic)), codes
    )


def _keys() -> Iterator[Mention]:
    """What each key does, once for all that do the same."""
    paths = {fact_of(key).does: key.path for key in every_key()}
    return (Mention(path, does) for does, path in paths.items())


def _codes() -> Iterator[Mention]:
    return (Mention(row.code, row.why) for row in explained_codes())


def _with_words(asked: str, mentions: Iterable[Mention]) -> list[Mention]:
    """The shortest of those that have all the words."""
    words = {word for word in _WORD.findall(asked) if len(word) > 2} - _COMMON
    having = [
        mention
        for mention in mentions
        if words and words <= set(_WORD.findall(f"{mention.where} {mention.text}".lower()))
    ]
    return sorted(having, key=lambda mention: len(mention.text))[:_MOST]
