"""rsyslog's own words for what a profile spells otherwise, so that both are understood."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Spelling:
    """What to write instead of one of rsyslog's words, and the keys that this is about."""

    write: str
    keys: tuple[str, ...] = ()


def _tls(name: str) -> Spelling:
    return Spelling(f"write tls: {{{name}: ...}}", ("outputs[].tls",))


_SERVERS, _INDEX = ("outputs[].servers",), ("outputs[].index",)
_DOCUMENT = ("outputs[].document",)
_INPUT, _OUTPUT = ("inputs",), ("outputs",)

# By the word in lower case: rsyslog takes any case.
SPELLINGS: dict[str, Spelling] = {
    "server": Spelling('write servers: ["http://127.0.0.1:9200"]', _SERVERS),
    "serverport": Spelling("write the port into each address of servers", _SERVERS),
    "usehttps": Spelling("begin the addresses of servers with https://", _SERVERS),
    "searchindex": Spelling("write index: {name: ...}", _INDEX),
    "dynsearchindex": Spelling(
        "write index: {name: ..., rotate: daily} for a date in the name, or by for a value",
        ("outputs[].index.rotate", "outputs[].index.by"),
    ),
    "searchtype": Spelling("remove it: the type follows from release", ("release",)),
    "dynsearchtype": Spelling("remove it: the type follows from release", ("release",)),
    "bulkmode": Spelling("remove it: it is always on"),
    "esversion.major": Spelling('write release: {elasticsearch: "8.19"}', ("release",)),
    "template": Spelling("write document: a preset or a list of fields", ("outputs[].document",)),
    "dynbulkid": Spelling("write bulkid: uuid, or bulkid: {property: ...}", ("outputs[].bulkid",)),
    "retryruleset": Spelling(
        "write retryfailures: {file: ...}: the ruleset is made for it",
        ("outputs[].retryfailures",),
    ),
    "uid": Spelling("write auth: {uid: ..., pwd: {file: ...}}", ("outputs[].auth",)),
    "pwd": Spelling("write auth: {uid: ..., pwd: {file: ...}}", ("outputs[].auth",)),
    "allowunsignedcerts": _tls("allowunsignedcerts"),
    "skipverifyhost": _tls("skipverifyhost"),
    **{f"tls.{name}": _tls(name) for name in ("cacert", "mycert", "myprivkey", "tlsversion")},
    "caseconversion": Spelling("write case: lower or upper", _DOCUMENT),
    "field.number": Spelling("write split: {delimiter: ..., number: ...}", _DOCUMENT),
    "field.delimiter": Spelling("write split: {delimiter: ..., number: ...}", _DOCUMENT),
    "regex.expression": Spelling("write regex: {expression: ..., submatch: ...}", _DOCUMENT),
    "regex.submatch": Spelling("write regex: {expression: ..., submatch: ...}", _DOCUMENT),
    "position.from": Spelling("write position: {from: ..., to: ...}", _DOCUMENT),
    "position.to": Spelling("write position: {from: ..., to: ...}", _DOCUMENT),
    "outname": Spelling("write name", _DOCUMENT),
    "datatype": Spelling("write type: string, integer, float, boolean or json", _DOCUMENT),
    "input": Spelling("write inputs: a list, each with a type", _INPUT),
    "action": Spelling("write outputs: a list, each with a name and a type", _OUTPUT),
    "module": Spelling("remove it: the modules of inputs and outputs are loaded by themselves"),
    "ruleset": Spelling("remove it: the rulesets follow from inputs and outputs"),
    "queue": Spelling("write main_queue, or queue inside an output", ("main_queue",)),
}


def spelling_of(word: str, known: Collection[str]) -> str | None:
    """What to write instead of `word` where the keys `known` are right; None where rsyslog has no
    such word."""
    prefix, _, inner = word.partition(".")
    if prefix.lower() == "queue" and inner and "queue" in known:
        return f"write queue: {{{inner}: ...}}"
    spelling = SPELLINGS.get(word.lower())
    return None if spelling is None else spelling.write
