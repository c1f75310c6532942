"""Profiles full of hostile texts, made from the model itself: a new section comes by itself.

A case is a profile that we ship, or one of the test's own, with keys that the model knows added at
random, and texts in any place bent as far as the pattern of that place lets them, or further.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from hypothesis import strategies as st

from tests.shipped import EXAMPLES, PROFILES
from tuner.profile.model import Profile
from tuner.schema.scalars import posix_regex

Json = dict[str, Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]
Step = str | int

_EXPRESSIONS = {"startmsg.regex", "endmsg.regex", "ereregex", "expression"}

SCHEMA: Json = Profile.model_json_schema(by_alias=True)

HOSTILE = (
    '"', '\\"', "\\", "\\\\", "`id`", "'", "\n", "\r\n", "\t", "\0", "\x01", "\x1b[31m", "\x7f",
    "%msg%", "%", "$", "$!all-json", "$.x", "${x}", "include(", '") action(type="omprog', "*/",
    "/*", "#", "//", "}", "{", ")", "(", "[", "]", ";", ",", "=", "\\101", "\\x41", "\\n", "\\0",
    "\\u0022", "\u202e", "\u2066", "\u2028", "\u0085", "\ud800", "\udfff", "\u00e9", "\u20ac",
    "\U0001f418", "\u0663", " ", "  ", "-", ".", "..", "|", "&", "?", "*", "^", "<", "stop", "'%s'",
    "9" * 5000, "\ufeff", " " * 300, "long" * 300, "\\" * 200, '"' * 200, "\u20ac" * 400,
)  # fmt: skip

PLAIN = """\
name: plain
release: {rsyslog: "8.2302", elasticsearch: "8.19"}
global: {workDirectory: /var/spool/rsyslog}
inputs:
  - {type: imptcp, port: 10514}
  - {type: imfile, file: /var/log/app.log, tag: "app:"}
outputs:
  - name: logs
    type: omelasticsearch
    servers: ["http://127.0.0.1:9200"]
    auth: {uid: shipper, pwd: {file: /etc/rsyslog.d/es.pwd}}
    tls: {cacert: /etc/ssl/ca.pem}
    document: [{constant: fixed, name: a.b}, {property: msg, name: a.c}, {constant: x, name: d}]
    filter: {programname: [app], match: [{property: msg, contains: [word], negate: true}]}
    retryfailures: {file: /var/log/refused.json}
    queue: {type: LinkedList, size: 50000, filename: logs, spoolDirectory: /var/spool/rsyslog}
    index: {name: syslog}
"""

OTHERS = """\
name: others
release: {rsyslog: "8.2302", elasticsearch: "8.19"}
global: {workDirectory: /var/spool/rsyslog}
inputs:
  - {type: imuxsock, socket: /run/app.sock}
  - {type: imfile, file: /var/log/app.log, tag: "app:", startmsg.regex: "^a"}
  - {type: imtcp, port: 10514, maxSessions: 512, gnutlsPriorityString: NORMAL}
parse: {format: json, cookie: "@cee:"}
outputs:
  - {name: all, type: omfile, file: /srv/all/all.log}
  - {name: each, type: omfile, dynaFile: {before: /srv/hosts/, property: hostname, after: .log}}
  - name: wire
    type: omfwd
    target: relay.example.org
    port: 514
    document:
      - {property: msg, name: text, regex: {expression: "a(b)", submatch: 1}, onEmpty: skip}
      - {property: hostname, name: x-host, split: {delimiter: ".", number: 2}, case: lower}
      - {json: a.b, name: whole, type: json}
      - {constant: "fixed", name: place}
      - {json: "*"}
    filter: {match: [{property: programname, isequal: [app]}, {property: msg, ereregex: [a]}]}
  - {name: near, type: omrelp, target: relay.example.org, port: 2514}
"""

STEPS = """\
name: steps
release: {rsyslog: "8.2302", elasticsearch: "8.19"}
inputs:
  - {type: imptcp, port: 10514}
parse: {format: json, cookie: ""}
lookup_tables: {owners: {file: /etc/owners.json}}
impstats: {log.syslog: true, stream: stats, format: cee}
steps:
  - {type: mmanon, ipv4.mode: simple, ipv4.replaceChar: x}
  - {type: parse}
  - type: set
    json: label
    value: [{property: hostname, case: lower}, {constant: "-"}, {json: user}, {variable: owner}]
    fallback: nobody
    filter: {match: [{variable: owner, isequal: [team]}, {json: kind, startswith: [a]}]}
  - {type: set, variable: owner, lookup: owners, value: [{property: msg, position: {to: 9}}]}
  - {type: unset, json: secret}
streams:
  stats: {parse: {format: json}, steps: [{type: set, variable: a, value: [{property: msg}]}]}
outputs:
  - {name: take, type: omkafka, topic: take, broker: ["kafka:9092"], document: raw}
  - {name: out, type: omkafka, topic: out, key: k, confParam: ["c=d"], line: [{variable: owner}]}
  - name: loki
    type: omhttp
    server: ["https://loki.example.org:3100"]
    httpheaders: ["X-Scope-OrgID: logs"]
    labels: [{constant: syslog, name: job}, {property: hostname, name: host, case: lower}]
    line: [{constant: ">"}, {variable: owner}]
    batch: true
    batch.format: lokirest
  - {name: web, type: omhttp, server: [h], auth: {uid: me, pwd: {file: /p}}, document: ecs,
     dynrestpath: {before: logs-, property: hostname, after: /_bulk, fallback: rest}}
  - {name: kept, type: omfile, file: /srv/stats, stream: stats, document: [{json: a, name: b}]}
"""


def _bases() -> list[Json]:
    texts = [path.read_text(encoding="utf-8") for path in (*PROFILES, *EXAMPLES)]
    return [yaml.safe_load(text) for text in (*[PLAIN, OTHERS, STEPS] * 4, *texts)]


BASES = _bases()


@dataclass
class Case:
    """A profile as plain data; `canaries` gives what stands for each of its hostile texts."""

    data: Json
    canaries: dict[tuple[Step, ...], str] = field(default_factory=dict)

    @property
    def benign(self) -> Json:
        """The same profile with a canary in place of each hostile text."""
        data = copy.deepcopy(self.data)
        for path, canary in self.canaries.items():
            _put(data, path, canary)
        return data

    def hostile(self, text: str, in_json: bool = False) -> str:
        """`text` with each canary replaced by what it stands for, inside a text of JSON or not."""
        for path, canary in self.canaries.items():
            value = str(_get(self.data, path))
            text = text.replace(canary, json.dumps(value)[1:-1] if in_json else value)
        return text


def yaml_of(data: object) -> str:
    """`data` as YAML on one line, with escapes for what may not stand in YAML as it is."""
    if isinstance(data, dict):
        return "{" + ", ".join(f"{yaml_of(k)}: {yaml_of(v)}" for k, v in data.items()) + "}"
    if isinstance(data, list):
        return "[" + ", ".join(map(yaml_of, data)) + "]"
    if isinstance(data, bool) or data is None:
        return {True: "true", False: "false", None: "null"}[data]
    if isinstance(data, str):
        return '"' + "".join(map(_yaml_character, data)) + '"'
    return repr(data)


def _yaml_character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    plain = character == " " or (character.isprintable() and ord(character) < 0xD800)
    return character if plain else f"\\U{ord(character):08x}"


@st.composite
def cases(draw: Draw) -> Case:
    """A profile with something added and something bent."""
    case = Case(copy.deepcopy(draw(st.sampled_from(BASES))))
    for _ in range(draw(st.sampled_from((0, 0, 1, 2)))):
        _grow(draw, case.data)
    texts = [one for one in _texts(case.data, SCHEMA, ()) if one[1].get("enum") is None]
    free = [one for one in texts if _canary(one[1], 0) is not None] or texts
    some = st.sampled_from(free) | st.sampled_from(free) | st.sampled_from(texts)
    chosen = draw(st.lists(some, min_size=1, max_size=6))
    for number, (path, schema) in enumerate(chosen):
        fits = _fits_expression if _EXPRESSIONS.intersection(path) else _fits
        text = draw(_bent(schema, str(_get(case.data, path)), fits))
        _put(case.data, path, text)
        canary = _canary(schema, number)
        case.canaries.pop(path, None)
        if canary is not None:
            case.canaries[path] = canary
    return case


def _bent(schema: Json, legal: str, fits: Callable[[str, str], bool]) -> st.SearchStrategy[str]:
    """A text with hostile pieces in it: mostly one that fits the pattern of its place."""
    pattern, longest = schema.get("pattern"), schema.get("maxLength", 5000)

    def fitted(pieces: list[str], at: int) -> str:
        start = legal[: at % (len(legal) + 1)]
        end = legal[len(start) :]
        if pattern is None:
            return re.sub("[\ud800-\udfff]", "", start + "".join(pieces) + end)[:longest]
        kept = start
        for character in "".join(pieces):
            if len(kept) + len(end) < longest and fits(pattern, kept + character + end):
                kept += character
        return kept + end

    pieces = st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=6)
    bent = st.builds(fitted, pieces, st.integers(0, 30))
    return st.integers(0, 24).flatmap(lambda odd: pieces.map("".join) if odd == 0 else bent)


def _fits(pattern: str, text: str) -> bool:
    """As pydantic's own engine reads patterns: $ is the end of the text and nothing else, and
    half of a surrogate pair is no character."""
    if re.search("[\ud800-\udfff]", text):
        return False
    return re.search(pattern.removesuffix("$") + r"\Z", text) is not None


def _fits_expression(pattern: str, text: str) -> bool:
    """What fits and is an expression as well, which no pattern can tell."""
    try:
        return _fits(pattern, text) and posix_regex(text) == text
    except ValueError:
        return False


def _canary(schema: Json, number: int) -> str | None:
    """A plain text for the place of a hostile one; None where no sign of any syntax may stand,
    and where texts are names that others refer to or dots say where things go."""
    pattern = schema.get("pattern")
    for canary in (f"canary{number}x", f"/canary{number}x"):
        if pattern is None or any(_fits(pattern, canary + sign) for sign in '"$%#{'):
            return canary
    return None


def _grow(draw: Draw, data: Json) -> None:
    """Add one key that the model knows and the profile lacks, or one more item to a list."""
    places = list(_places(data, SCHEMA, ()))
    path, schema = draw(st.sampled_from(places))
    _put(data, path, draw(value_of(schema)))


def _places(data: object, schema: Json, path: tuple[Step, ...]) -> Iterator[tuple[Any, Json]]:
    """Paths at which something more may stand, with the schema of what."""
    schema = _branch(schema, data)
    if isinstance(data, dict):
        for key, inner in schema.get("properties", {}).items():
            if key in data:
                yield from _places(data[key], inner, (*path, key))
            elif key != "extends":
                yield (*path, key), inner
    elif isinstance(data, list) and "items" in schema:
        yield (*path, len(data)), schema["items"]
        for number, item in enumerate(data):
            yield from _places(item, schema["items"], (*path, number))


def _texts(data: object, schema: Json, path: tuple[Step, ...]) -> Iterator[tuple[Any, Json]]:
    """Every text of a profile, with its schema."""
    schema = _branch(schema, data)
    if isinstance(data, dict):
        for key, inner in schema.get("properties", {}).items():
            if key in data:
                yield from _texts(data[key], inner, (*path, key))
    elif isinstance(data, list):
        for number, item in enumerate(data):
            yield from _texts(item, schema.get("items", {}), (*path, number))
    elif isinstance(data, str) and "const" not in schema:
        yield path, schema


def _resolved(schema: Json) -> Json:
    if "$ref" in schema:
        found: Json = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]
        return _resolved(found)
    return schema


def _choices(schema: Json) -> list[Json]:
    """The alternatives of a schema, none of them null."""
    schema = _resolved(schema)
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return [one for part in schema[several] for one in _choices(part)]
    return [] if schema.get("type") == "null" else [schema]


_KINDS: dict[type, tuple[str, ...]] = {
    dict: ("object",), list: ("array",), str: ("string",), bool: ("boolean",),
    int: ("integer", "number"), float: ("number",),
}  # fmt: skip


def _branch(schema: Json, data: object) -> Json:
    """The alternative of `schema` that `data` is written for."""
    fitting = [one for one in _choices(schema) if one.get("type") in _KINDS[type(data)]]
    for one in fitting:
        tags = {k: v["const"] for k, v in one.get("properties", {}).items() if "const" in v}
        if not isinstance(data, dict) or all(data.get(key) == tag for key, tag in tags.items()):
            return one
    return {}


def value_of(schema: Json) -> st.SearchStrategy[Any]:
    """A value that `schema` allows; of a section what it needs and a few keys more."""
    return st.sampled_from(_choices(schema)).flatmap(_plain)


def _plain(schema: Json) -> st.SearchStrategy[Any]:
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] in {"object", "array", "string"}:
        return {"object": _section, "array": _list, "string": _text}[schema["type"]](schema)
    if schema["type"] == "boolean":
        return st.booleans()
    low = schema.get("minimum", 0)
    numbers = [low, low + 1, min(schema.get("maximum", 5000), 5000)]
    return st.sampled_from(numbers if schema["type"] == "integer" else [*numbers, 0.5])


def _list(schema: Json) -> st.SearchStrategy[Any]:
    least = schema.get("minItems", 0)
    return st.lists(value_of(schema["items"]), min_size=least, max_size=max(least, 2))


def _text(schema: Json) -> st.SearchStrategy[str]:
    if "pattern" not in schema:
        return st.sampled_from(HOSTILE).map(_short(schema))
    return st.from_regex(schema["pattern"].removesuffix("$") + r"\Z").map(_short(schema))


def _short(schema: Json) -> Callable[[str], str]:
    return lambda text: text[: schema.get("maxLength", 200)]


def _section(schema: Json) -> st.SearchStrategy[Json]:
    properties = schema.get("properties", {})
    needed = schema.get("required", [])
    others = [key for key in properties if key not in needed]
    chosen = st.lists(st.sampled_from(others), max_size=2, unique=True) if others else st.just([])
    return chosen.flatmap(
        lambda keys: st.fixed_dictionaries(
            {key: value_of(properties[key]) for key in (*needed, *keys)}
        )
    )


def _get(data: Any, path: tuple[Step, ...]) -> object:
    for step in path:
        data = data[step]
    return data


def _put(data: Any, path: tuple[Step, ...], value: object) -> None:
    for step in path[:-1]:
        data = data[step]
    if isinstance(data, list) and path[-1] == len(data):
        data.append(value)
    else:
        data[path[-1]] = value
