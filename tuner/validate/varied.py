"""Events that differ in everything that a configuration may look at."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence

from tuner.rainerscript.script import (
    Array,
    Block,
    Expression,
    FunctionCall,
    If,
    Operation,
    PropertyFilter,
    Quoted,
    Variable,
    every,
)
from tuner.rainerscript.selectors import condition_of
from tuner.rainerscript.tokens import SURROGATES

EVENTS = 300
_SEED = 20
_PROGRAMS = ("sshd", "sudo", "kernel", "nginx", "app-1", "CRON", "postfix/smtpd")
_HOSTS = ("web1", "db2", "10.1.2.3", "host.example.org", "2001:db8::1")
_BODIES = (
    "plain text", "", 'a "quoted" word', "back\\slash", "tab\there", "\ttab first",
    "caf\u00e9 \u20ac \U0001f418", "percent %msg% $!all-json `id`", "it's {not} [json]", "x" * 900,
    "123", "true", "  blanks  ",
    '@cee: {"user":"ann","status":200,"nested":{"a":[1,2,"three"]}}',
    '{"user":"bob","status":"500","level":"warn","time":1.5}', '{"broken": ', "a,b,c;d|e",
    "key=value other=\"two words\"", "</script><b>", "line\rend",
)  # fmt: skip
# Bytes that are no UTF-8, where text is expected.
_HOSTILE = (
    b"\xff\xfe broken", b"\xc3( cut", b"nul\x00inside", b"\x1b[31mred", b"caf\xe9 of latin-1",
)  # fmt: skip
# Heads: what a message says of its priority, time, host, program and number.
_USUAL = "<{p}>Nov 21 06:30:{s:02d} {h} {t}[{n}]: "
_NEW = "<{p}>1 2026-11-21T06:30:{s:02d}.{n:06d}+01:00 {h} {t} {n} {i} - "
_SPECIAL = (
    _NEW,
    '<{p}>1 2026-11-21T23:30:{s:02d}.5-05:00 {h} {t} {n} {i} [a@1 k="v \\"q\\" \\]"][b@2 x="y"] ',
    "<{p}>1 2026-11-21T06:30:{s:02d}Z {h} {t} - - - ",
    "<{p}>1 - - - - - - ",
    "<{p}>2026-11-21T00:10:{s:02d}+05:30 {h} {t}: ",
    "<{p}>Nov 21 06:30:{s:02d} {t}: ",
    "<{p}>Nov  1 06:30:{s:02d} {h} {t} ",
    "<{p}>no head ",
    "<{p}>Nov 21 06:30:{s:02d} caf\udce9 {t}\udce9[{n}]: ",
    "no priority ",
)
# Every so many events have one of these.
_EACH = 4
# Longer than rsyslog's default of 8 KiB for a message, which is cut there, between words: imptcp
# makes a message of each letter that is left.  No number is in the others.
_LAST = (
    b"<13>Nov 21 06:30:00 web1 app: n00297 " + b"long word " * 900,
    b"<13>Nov 21 06:30:00 web1 app:",
    b"<13>",
)
_MOST_TEXTS = 60
_NUMBER = re.compile(r"n(\d{5})")


def varied_events(asked_for: Mapping[str, Sequence[str]]) -> tuple[bytes, ...]:
    """The same events for the same configuration, each with a number of its own but for some that
    are empty; `asked_for` holds texts that conditions compare properties with, so that conditions
    are met too."""
    choose = random.Random(_SEED)
    programs = (*_names(asked_for, "programname", "app-name", "syslogtag"), *_PROGRAMS)
    hosts = (*_HOSTS, *_names(asked_for, "hostname", "source"))
    asked = (*asked_for.get("msg", ()), *asked_for.get("rawmsg", ()))
    texts = [text.encode("utf-8", SURROGATES) for text in asked]
    # A blank comes after the tag anyway, and JSON after what announces it.
    announced = [text.strip() + b' {"user":"eve","status":200}' for text in texts]
    bodies = [*(body.encode() for body in _BODIES), *_HOSTILE, *texts, *announced]
    ids = ("-", *_names(asked_for, "msgid"))
    # Every body comes from every program, as far as there are events enough.
    numbered = (
        _event(
            number,
            programs[number // len(bodies) % len(programs)],
            choose.choice(hosts),
            choose.choice(ids),
            bodies[number % len(bodies)],
        )
        for number in range(EVENTS - len(_LAST))
    )
    return (*numbered, *_LAST)


def number_in(document: str) -> int | None:
    """The number of the event that a document is of; None where it holds none."""
    found = _NUMBER.search(document)
    return int(found[1]) if found else None


def _names(asked_for: Mapping[str, Sequence[str]], *properties: str) -> tuple[str, ...]:
    """What may stand in the head of a message."""
    texts = (text.strip() for name in properties for text in asked_for.get(name, ()))
    return tuple(text for text in texts if re.fullmatch(r"[!-~]{1,48}", text))


def _event(number: int, program: str, host: str, message_id: str, body: bytes) -> bytes:
    """Every priority comes in turn; most events are in the old format."""
    mark = f"n{number:05d}".encode()
    brace = body.find(b"{")
    if brace >= 0 and _is_json(body[brace:]):
        text = body[:-1] + b',"mark":"' + mark + b'"}'
    else:
        text = body + b" " + mark
    turn, is_usual = divmod(number, _EACH)
    head = (_USUAL if is_usual else _SPECIAL[turn % len(_SPECIAL)]).format(
        p=number * 7 % 192, s=number % 60, n=number, h=host, t=program.rstrip(":"), i=message_id
    )
    return head.encode("utf-8", SURROGATES) + text


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return True


def words_asked_for(block: Block) -> dict[str, tuple[str, ...]]:
    """By property in lower case, the texts that conditions compare it with."""
    found: dict[str, dict[str, None]] = {}
    for statement in every(block):
        if isinstance(statement, If):
            condition = statement.condition
        elif isinstance(statement, PropertyFilter):
            condition = condition_of(statement)
        else:
            continue
        for name, text in _words_in(condition):
            found.setdefault(name, {})[text] = None
    return {name: tuple(texts)[:_MOST_TEXTS] for name, texts in found.items()}


def _words_in(expression: Expression) -> Iterator[tuple[str, str]]:
    if not isinstance(expression, Operation | FunctionCall):
        return
    names = [one.name for one in expression.operands if isinstance(one, Variable)]
    for operand in expression.operands:
        for text in _texts_of(operand) if names else ():
            yield names[0].removeprefix("$").lower(), text
        yield from _words_in(operand)


def _texts_of(operand: Expression) -> tuple[str, ...]:
    if isinstance(operand, Quoted):
        return (operand.text,)
    return tuple(one.text for one in operand.items) if isinstance(operand, Array) else ()
