"""Traffic that a configuration tells apart: for each way to an engine action messages that take it,
as far as its conditions can be read."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice, product

from tuner.schema.scalars import FACILITIES, OLD_SEVERITIES, SEVERITIES, priority_name
from tuner.script.objects import Base
from tuner.script.script import (
    Array,
    Block,
    Call,
    Expression,
    Foreach,
    FunctionCall,
    If,
    LegacyFilter,
    Operation,
    Quoted,
    ScriptNumber,
    ScriptObject,
    Variable,
    objects_in,
)
from tuner.script.template import ends_with_message, whole_document
from tuner.traffic.sample import Blank, MessageTemplate, Part, TrafficSample, written

# So many ways are told apart, and so many alternatives of a condition.
_MOST_WAYS, _MOST_ALTERNATIVES = 200, 20
_MOST_STEPS = 20_000
_PROGRAMS = ("sshd", "nginx", "kernel", "cron", "app")
_USUAL = {
    "user.info": 1, "daemon.notice": 2, "daemon.debug": 1, "daemon.err": 1, "auth.info": 2,
    "cron.info": 1, "authpriv.notice": 1, "mail.info": 1, "local0.warning": 1, "local2.info": 1,
}  # fmt: skip
_MEMBER = re.compile(r"\$!([\w-]+(?:!+[\w-]+)*)")
_TEXT_MEMBER = "message"
_OF_ANY_JSON = ("level", "logger", _TEXT_MEMBER)
_ALL_JSON = frozenset({"all-json", "all-json-plain"})
_TEXT_MEMBERS = frozenset({"msg", "log", "text", _TEXT_MEMBER})
_OWN_STATISTICS = "rsyslogd-pstats"
_VALUE = Blank("word", (4, 6, 8, 10), 500)
Priorities = frozenset[tuple[int, int]]
"""Pairs of a facility's and a severity's code."""
EVERY: Priorities = frozenset(product(range(len(FACILITIES)), range(len(SEVERITIES))))
# The part of a priority that a property is, one by two names (propNameToID() of msg.c).
_PARTS = {"syslogfacility": 0, "syslogseverity": 1, "syslogpriority": 1}
_NAMES = (FACILITIES, SEVERITIES)
_OF_PROGRAM = frozenset({"programname", "app-name", "syslogtag"})
_OF_HOST = frozenset({"hostname", "source", "fromhost"})
_OF_TEXT = frozenset({"msg", "rawmsg", "rawmsg-after-pri"})
_COMPARES = {
    "==": operator.eq, "!=": operator.ne, "<>": operator.ne, "<=": operator.le, ">=": operator.ge,
    "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_CODE = re.compile("[0-9]{1,9}")
_NEGATIVE = frozenset({"!=", "<>"})
# How a text may be the whole of what it is compared with.
_FITS = frozenset({"==", *_NEGATIVE, "startswith", "contains"})


@dataclass(frozen=True)
class _Demand:
    """What a message must be like to take a way: members of its JSON by path, each with a value."""

    program: str = ""
    host: str = ""
    priorities: Priorities = EVERY
    texts: tuple[str, ...] = ()
    members: tuple[tuple[str, str], ...] = ()

    def with_also(self, inner: _Demand) -> _Demand:
        """Both; where they contradict each other, as the inner one says."""
        return _Demand(
            inner.program or self.program,
            inner.host or self.host,
            self.priorities & inner.priorities or inner.priorities,
            tuple(dict.fromkeys((*self.texts, *inner.texts))),
            tuple({**dict(self.members), **dict(inner.members)}.items()),
        )


_ANY = _Demand()


def wanted_by(base: Base, mean_bytes: int) -> TrafficSample | None:
    """Messages with about that mean size in bytes: half of them take the ways to engine actions,
    equally many each, the others are like those of any host.  None where the configuration treats
    all messages alike."""
    steps = (demand for demand in islice(_ways(base), _MOST_STEPS) if demand is not None)
    ways = dict.fromkeys(islice(steps, _MOST_WAYS))
    # Its own statistics rsyslogd writes once in a while: no flood is of them.
    demands = [demand for demand in ways if demand.program != _OWN_STATISTICS] or [*ways]
    cookie = _cookie(base)
    paths = () if cookie is None else _members(base) or _OF_ANY_JSON
    passes_json = cookie is None and _passes_messages(base)
    if passes_json:
        cookie, paths = "", _OF_ANY_JSON
    if not paths and set(demands) <= {_ANY}:
        return None
    lengths = tuple(max(1, round(share * mean_bytes)) for share in (0.6, 0.9, 1.1, 1.4))
    templates = [
        MessageTemplate(
            times=len(_PROGRAMS),
            program=demand.program or "app",
            priorities=_names(demand.priorities),
            text=written(_text(demand, paths, cookie, lengths)),
        )
        for demand in demands
    ]
    templates += [
        MessageTemplate(
            times=max(1, len(demands)),
            program=program,
            pid=True,
            priorities=_USUAL,
            text=written(_text(_ANY, paths, cookie if passes_json else None, lengths)),
        )
        for program in _PROGRAMS
    ]
    hosts = [demand.host for demand in demands if demand.host]
    hosts += [f"web-{number}" for number in range(1, 6)]
    return TrafficSample(
        messages=sum(template.times for template in templates),
        mean_bytes=float(mean_bytes),
        format="rfc3164",
        hosts=dict.fromkeys(hosts, 1),
        templates=tuple(templates),
    )


def _names(priorities: Priorities) -> dict[str, int] | None:
    """Some of those that are asked for; None where any will do."""
    if priorities == EVERY:
        return None
    usual = sorted(priorities, key=lambda pair: (abs(pair[0] - 3), abs(pair[1] - 5)))
    return {priority_name(8 * high + low): 1 for high, low in usual[:8]}


def _ways(base: Base) -> Iterator[_Demand | None]:
    """What messages must be like to reach each engine action; None for each statement on the way,
    so that whoever asks can stop.  Calls in a row take no stack."""
    bodies = reversed([*base.bodies.values()])
    waiting = [(iter(body), _ANY, frozenset[str]()) for body in bodies]
    while waiting:
        statements, demand, called = waiting[-1]
        statement = next(statements, None)
        if statement is None:
            waiting.pop()
            continue
        yield None
        match statement:
            case ScriptObject(kind="action", type="omelasticsearch"):
                yield demand
            case If() | LegacyFilter():
                for below, also in reversed([*_blocks(statement)]):
                    waiting.append((iter(below), demand.with_also(also), called))
            case Foreach():
                waiting.append((iter(statement.body), demand, called))
            case Call(target=str(target)) if target.lower() not in called:
                name = target.lower()
                waiting.append((iter(base.bodies.get(name, ())), demand, called | {name}))


def _blocks(statement: If | LegacyFilter) -> Iterator[tuple[Block, _Demand]]:
    """The blocks of an `if` or a filter, each with every demand that leads to it."""
    if isinstance(statement, If):
        condition, then, otherwise = statement.condition, statement.then, statement.otherwise
    else:
        condition, then, otherwise = _condition_of(statement), statement.body, ()
    for below, holds in ((then, True), (otherwise, False)):
        for demand in _alternatives(condition, holds=holds) if below else ():
            yield below, demand


def _alternatives(condition: Expression, *, holds: bool) -> list[_Demand]:
    """What makes a condition hold, or not: one of these is enough."""
    word = condition.operator if isinstance(condition, Operation) else ""
    if isinstance(condition, Operation) and word == "not":
        return _alternatives(condition.operands[0], holds=not holds)
    if isinstance(condition, Operation) and word in {"and", "or"}:
        parts = [_alternatives(operand, holds=holds) for operand in condition.operands]
        if (word == "or") is holds:
            return [demand for part in parts for demand in part][:_MOST_ALTERNATIVES]
        return [
            reduce(_Demand.with_also, combination, _ANY)
            for combination in islice(product(*parts), _MOST_ALTERNATIVES)
        ]
    return _compared(condition, holds=holds)


def _compared(condition: Expression, *, holds: bool) -> list[_Demand]:
    """What makes a single comparison hold, or not."""
    match condition:
        case FunctionCall(name=name, operands=(Quoted(text=text),)) if name.lower() == "prifilt":
            return [_of_priorities(_selected(text), holds=holds)]
        case Operation(operator=word, operands=(Variable(name=variable), right)):
            name = variable if variable.startswith("$!") else variable.removeprefix("$").lower()
            texts = tuple(_texts(right))
            if name in _PARTS and word in _COMPARES and _CODE.fullmatch(" ".join(texts)):
                code, part, compares = int(texts[0]), _PARTS[name], _COMPARES[word]
                taken = frozenset(pair for pair in EVERY if compares(pair[part], code))
                return [_of_priorities(taken, holds=holds)]
            if texts and word.removesuffix("_i") in _FITS and (word in _NEGATIVE) is not holds:
                return [_of_text(name, text, is_whole=word in _COMPARES) for text in texts]
        case _:
            pass
    return [_ANY]


def _of_priorities(priorities: Priorities | None, *, holds: bool) -> _Demand:
    """One of these priorities, or none of them; any where that leaves none."""
    taken = EVERY if priorities is None else priorities if holds else EVERY - priorities
    return _Demand(priorities=taken or EVERY)


def _texts(value: Expression) -> Iterator[str]:
    match value:
        case Quoted(text=text, backtick=False):
            yield text
        case ScriptNumber(number=number):
            yield str(number)
        case Array(items=items):
            yield from (item.text for item in items)
        case _:
            pass


def _of_text(name: str, text: str, *, is_whole: bool) -> _Demand:
    """What passes a comparison of a property with one text, which may be the whole of it."""
    is_word = re.fullmatch(r"[!-~]{1,40}", text) is not None
    part = _PARTS.get(name.removesuffix("-text")) if name.endswith("-text") else None
    if name.startswith("$!"):
        return _Demand(members=((name[2:], text),))
    if name in _OF_PROGRAM and is_word:
        return _Demand(program=text.rstrip(":").partition("[")[0])
    if name in _OF_HOST and is_word:
        return _Demand(host=text if is_whole else _whole_name(text))
    if name in _OF_TEXT:
        return _Demand(texts=(text,))
    if part is not None and text in _NAMES[part]:
        code = _NAMES[part].index(text)
        return _Demand(priorities=frozenset(pair for pair in EVERY if pair[part] == code))
    return _ANY


# Facilities have commas between them; after a severity a comma is as good as a semicolon.
_SELECTED = re.compile(r"[^,;.\s][^.;]*\.[^,;\s]*|[^,;\s]+")


def _selected(text: str) -> Priorities | None:
    """The priorities that a selector takes; each part changes what those before it say
    (DecodePRIFilter in rsyslog's parse.c).  None where rsyslogd reads none."""
    taken: set[tuple[int, int]] = set()
    for part in _SELECTED.findall(text):
        names, dot, level = part.partition(".")
        severities, facilities = _severities(level.lower()), _facilities(names.lower())
        if not dot or severities is None or facilities is None:
            return None
        pairs = set(product(facilities, severities))
        is_taken = not level.startswith("!") and level.lower() != "none"
        taken = taken | pairs if is_taken else taken - pairs
    return frozenset(taken)


def _facilities(names: str) -> list[int] | None:
    codes: list[int] = []
    for name in names.split(","):
        word = "auth" if name.strip() == "security" else name.strip()
        if word == "*":
            codes.extend(range(len(FACILITIES)))
        elif word in FACILITIES:
            codes.append(FACILITIES.index(word))
        elif word != "mark":
            return None
    return codes


def _severities(level: str) -> range | None:
    """`info` and everything more urgent, `=info` alone."""
    word = level.removeprefix("!")
    exact = word.startswith("=")
    word = OLD_SEVERITIES.get(word.removeprefix("="), word.removeprefix("="))
    if word in {"*", "none"}:
        return range(len(SEVERITIES))
    if word not in SEVERITIES:
        return None
    code = SEVERITIES.index(word)
    return range(code, code + 1) if exact else range(code + 1)


def _condition_of(filter_: LegacyFilter) -> Expression:
    """The condition that an event passes as it passes the filter; rsyslogd compares names of
    priorities otherwise there, and matches basic regular expressions."""
    origin = filter_.origin
    if not filter_.text.startswith(":"):
        return FunctionCall("prifilt", (Quoted(filter_.text, origin),), origin)
    name, operation, text = (part.strip() for part in filter_.text.removeprefix(":").split(",", 2))
    word = operation.removeprefix("!").strip().lower()
    # Only quotes and backslashes are escaped here (runtime/stringbuf.c, parsQuotedCStr).
    wanted = Quoted(text[1:-1].replace('\\"', '"').replace("\\\\", "\\"), origin)
    operands = (Variable(f"${name.removeprefix('$')}", origin), wanted)
    condition = Operation("==" if word == "isequal" else word, operands, origin)
    return Operation("not", (condition,), origin) if operation.startswith("!") else condition


def _whole_name(part: str) -> str:
    """A name of a host with that part; rsyslogd takes none that ends with a hyphen."""
    return f"{'' if part[0].isalnum() else 'web'}{part}{'' if part[-1].isalnum() else '1'}"


def _members(base: Base) -> tuple[str, ...]:
    """The paths of JSON members that the configuration names, and one for a text: without any,
    messages would be short, and those with the same words alike."""
    texts = [text for _, text in base.text]
    paths = (path.strip("!") for text in texts for path in _MEMBER.findall(text))
    named = tuple(path for path in dict.fromkeys(paths) if path not in _ALL_JSON)
    has_text = any(not _TEXT_MEMBERS.isdisjoint(path.split("!")) for path in named)
    return named if has_text or not named else (*named, _TEXT_MEMBER)


def _cookie(base: Base) -> str | None:
    """What stands before JSON that is parsed; None where none is."""
    for item in objects_in(base.block):
        if item.type == "mmjsonparse":
            cookie = item.text("cookie")
            return "@cee:" if cookie is None else cookie
    return None


def _passes_messages(base: Base) -> bool:
    """Whether the document of an engine action is the message itself, or ends with it, which then
    is JSON."""
    names = (action.text("template") or "" for _, action in base.engine_actions)
    templates = [template for name in names if (template := base.template(name)) is not None]
    return any(
        whole_document(template) == "msg" or ends_with_message(template) for template in templates
    )


def _text(
    demand: _Demand, paths: Sequence[str], cookie: str | None, lengths: tuple[int, ...]
) -> tuple[Part, ...]:
    """A text with what is demanded of it; JSON where that is parsed."""
    filling = Blank("text", lengths)
    demanded = " ".join(demand.texts)
    if cookie is None:
        return (f"{demanded} ", filling) if demanded else (filling,)
    values: dict[str, object] = {}
    blanks: dict[str, Part] = {}
    given = dict(demand.members)
    for path in dict.fromkeys((*paths, *given, *(["msg"] if demanded else []))):
        *above, last = path.split("!")
        section = values
        for key in above:
            below = section.setdefault(key, {})
            section = below if isinstance(below, dict) else {}
        mark = f"\x01{len(blanks)}\x01"
        is_text = last in _TEXT_MEMBERS
        if path in given:
            section.setdefault(last, given[path])
        elif demanded and last == "msg":
            section.setdefault(last, f"{demanded} {mark}")
            blanks[mark] = filling
        else:
            section.setdefault(last, mark)
            blanks[mark] = filling if is_text else _VALUE
    whole = f"{cookie} {json.dumps(values)}".lstrip()
    pieces = re.split(r"(\\u0001\d+\\u0001)", whole)
    return tuple(
        blanks[json.loads(f'"{piece}"')] if piece.startswith("\\u0001") else piece
        for piece in pieces
        if piece
    )
