"""A few hundred events that differ in everything a configuration may look at."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence

from tuner.rainerscript.old_form import condition_of
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

EVENTS = 300
_SEED = 20
_PROGRAMS = ("sshd", "sudo", "kernel", "nginx", "app-1", "CRON", "postfix/smtpd")
_HOSTS = ("web1", "db2", "10.1.2.3", "host.example.org")
_BODIES = (
    "plain text", "", 'a "quoted" word', "back\\slash", "tab\there", "caf\u00e9 \u20ac \U0001f418",
    "percent %msg% $!all-json `id`", "it's {not} [json]", "x" * 900, "123", "true",
    '@cee: {"user":"ann","status":200,"nested":{"a":[1,2,"three"]}}',
    '{"user":"bob","status":"500","level":"warn","time":1.5}', '{"broken": ', "a,b,c;d|e",
    "key=value other=\"two words\"", "</script><b>", "line\rend",
)  # fmt: skip
# Bytes that are no UTF-8, where text is expected.
_HOSTILE = (b"\xff\xfe broken", b"\xc3( cut", b"nul\x00inside", b"\x1b[31mred")
_MOST_TEXTS = 60
_NUMBER = re.compile(r"n(\d{5})")


def varied_events(asked_for: Mapping[str, Sequence[str]]) -> tuple[bytes, ...]:
    """The same events for the same configuration, each with a number of its own; `asked_for` holds
    texts that conditions compare properties with, so that conditions are met too."""
    choose = random.Random(_SEED)
    programs = (*_names(asked_for, "programname", "app-name", "syslogtag"), *_PROGRAMS)
    hosts = (*_HOSTS, *_names(asked_for, "hostname", "source"))
    texts = [text.encode() for text in (*asked_for.get("msg", ()), *asked_for.get("rawmsg", ()))]
    # A blank comes after the tag anyway, and JSON after what announces it.
    announced = [text.strip() + b' {"user":"eve","status":200}' for text in texts]
    bodies = [*(body.encode() for body in _BODIES), *_HOSTILE, *texts, *announced]
    ids = ("-", *_names(asked_for, "msgid"))
    # Every body comes from every program, as far as there are events enough.
    return tuple(
        _event(
            number,
            programs[number // len(bodies) % len(programs)],
            choose.choice(hosts),
            choose.choice(ids),
            bodies[number % len(bodies)],
        )
        for number in range(EVENTS)
    )


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
    priority = (number * 7) % 192
    mark = f"n{number:05d}".encode()
    brace = body.find(b"{")
    if brace >= 0 and _is_json(body[brace:]):
        text = body[:-1] + b',"mark":"' + mark + b'"}'
    else:
        text = body + b" " + mark
    if number % 7 == 6:
        head = f"<{priority}>1 2026-11-21T06:30:{number % 60:02d}.{number:06d}+01:00"
        tag = program.rstrip(":")
        return f"{head} {host} {tag} {number} {message_id} - ".encode() + text
    tag = program if program.endswith(":") else f"{program}[{number}]:"
    return f"<{priority}>Nov 21 06:30:{number % 60:02d} {host} {tag} ".encode() + text


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
        for name, text in _compared(condition):
            found.setdefault(name, {})[text] = None
    return {name: tuple(texts)[:_MOST_TEXTS] for name, texts in found.items()}


def _compared(expression: Expression) -> Iterator[tuple[str, str]]:
    if not isinstance(expression, Operation | FunctionCall):
        return
    names = [one.name for one in expression.operands if isinstance(one, Variable)]
    for operand in expression.operands:
        for text in _texts_of(operand) if names else ():
            yield names[0].removeprefix("$").lower(), text
        yield from _compared(operand)


def _texts_of(operand: Expression) -> tuple[str, ...]:
    if isinstance(operand, Quoted):
        return (operand.text,)
    return tuple(one.text for one in operand.items) if isinstance(operand, Array) else ()
