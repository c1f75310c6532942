"""Hostile events by a seed, each with what its document must hold."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

CASES = 100
SEED = 20261121

# Pieces of text, and what they are in the document: rsyslog writes control characters as #ooo
# when it receives them, mmutf8fix writes a blank for each byte that is no UTF-8.
PIECES = (
    (b'"', '"'), (b"\\", "\\"), (b"\\u0000", "\\u0000"), (b'"}\n{"index":{}}\n', None), (b"'", "'"),
    (b"\x00", "#000"), (b"\x07", "#007"), (b"\x1b[31m", "#033[31m"), (b"\t", "#011"),
    (b"\x7f", "\x7f"), (b"\xff", " "), (b"\xc3(", " ("), (b"caf\xc3\xa9", "caf\u00e9"),
    (b"\xe2\x82\xac", "\u20ac"), (b"\xf0\x9f\x90\x98", "\U0001f418"), (b"%msg%", "%msg%"),
    (b"$!all-json", "$!all-json"), (b"`id`", "`id`"), (b"</script>", "</script>"), (b"//*", "//*"),
    (b"{", "{"), (b"]", "]"), (b"word", "word"), (b"long" * 100, "long" * 100),
)  # fmt: skip

# What stands in a typed field; its values as an integer, a float and a boolean, None for none.
TYPED: tuple[tuple[str, int | None, float | None, bool | None], ...] = (
    ("5", 5, 5.0, None), ("-3", -3, -3.0, None), ("0", 0, 0.0, None), ("-0", 0, 0.0, None),
    ("1628.75", None, 1628.75, None), ("1e5", None, 1e5, None), ("1E-7", None, 1e-7, None),
    ("true", None, None, True), ("false", None, None, False), ("TRUE", None, None, None),
    ("", None, None, None), ("abc", None, None, None), ("0x10", None, None, None),
    ("007", None, None, None), ("NaN", None, None, None), ("-Infinity", None, None, None),
    ("+5", None, None, None), ("5.", None, None, None), (".5", None, None, None),
    ("1x5", None, None, None), ("5;6", None, None, None), ("--1", None, None, None),
    ("1e999", None, None, None), ("9" * 18, 10**18 - 1, 10**18 - 1, None),
    ("9" * 19, None, int("9" * 19), None), ("9" * 1000, None, None, None),
    ("null", None, None, None), ("[1]", None, None, None),
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One event: the text that is sent, and what its document must hold."""

    text: bytes
    wanted: Mapping[str, object]


def pieces(random_: random.Random) -> tuple[bytes, str]:
    """A hostile text, and the same as a document shows it."""
    chosen = random_.choices(PIECES, k=random_.randint(0, 12))
    shown = (b.replace(b"\n", b"#012").decode() if s is None else s for b, s in chosen)
    return b"".join(b for b, _ in chosen), "".join(shown)


def plain(random_: random.Random) -> Case:
    text, shown = pieces(random_)
    # rsyslog drops a newline or NUL at the very end of a message.
    return Case(b"x" + text + b"x", {"message": f" x{shown}x"})


def csv(random_: random.Random) -> Case:
    """Integer, float, boolean, a quoted text, a date; quotes in the text are doubled."""
    cells = [random_.choice(TYPED) for _ in range(3)]
    text, shown = pieces(random_)
    when = random_.choice(["1483230600", "yesterday", ""])
    quoted = b'"' + text.replace(b'"', b'""') + b'"'
    first = ",".join(cell[0] for cell in cells).encode()
    doubled = shown.replace('"', '""')
    return Case(
        first + b"," + quoted + b"," + when.encode(),
        {**typed(cells), "text": doubled, "when": when},
    )


def kv(random_: random.Random) -> Case:
    """Pairs in any order after free text; quoted values hold no quotes, and cannot pose as keys."""
    cells = [random_.choice([one for one in TYPED if one[0] != ""]) for _ in range(3)]
    text, shown = pieces(random_)
    text, shown = text.replace(b'"', b""), shown.replace('"', "")
    when = random_.choice(["1483230600", "yesterday"])
    pairs = [
        f"i={cells[0][0]}".encode(), f'f="{cells[1][0]}"'.encode(), f"b={cells[2][0]}".encode(),
        b'text="' + text + b' i=1 b=true"', f"when={when}".encode(),
    ]  # fmt: skip
    random_.shuffle(pairs)
    wanted = {**typed(cells), "text": f"{shown} i=1 b=true", "when": when}
    return Case(b"some words " + b" ".join(pairs), wanted)


def json_(random_: random.Random) -> Case:
    """Values of any kind where others are expected; a text with whatever JSON can hold."""
    chosen = random_.choices("\"\\/\b\n\r\t\x01\x1f\x7f\u00e9\u20ac\U0001f418{}a' ", k=20)
    text = "".join(chosen)
    cells = [random_.choice(TYPED[:6] + TYPED[7:12] + TYPED[13:17]) for _ in range(3)]
    body = json.dumps(
        {"t": {"ext": text}, "i": cells[0][0], "f": cells[1][0], "b": cells[2][0], "when": "never"},
        ensure_ascii=random_.random() < 0.5,
    )
    for number in ("5", "-3", "1628.75", "1e5", "true", "false"):  # some of them as themselves
        if random_.random() < 0.5:
            body = body.replace(f'"{number}"', number)
    if random_.random() < 0.2:
        return Case(body[:-1].encode(), {"i": None, "f": None, "b": None, "text": "", "when": ""})
    return Case(body.encode(), {**typed(cells), "text": text, "when": "never"})


def typed(
    cells: list[tuple[str, int | None, float | None, bool | None]],
) -> dict[str, object]:
    return {"i": cells[0][1], "f": cells[1][2], "b": cells[2][3]}


def fields(source: str, text: str = "text") -> list[dict[str, object]]:
    return [
        {"property": "procid", "name": "n", "type": "integer"},
        {source: "i", "name": "i", "type": "integer", "uses": ["range"]},
        {source: "f", "name": "f", "type": "float", "uses": ["range"]},
        {source: "b", "name": "b", "type": "boolean", "uses": ["term"]},
        {source: text, "name": "text", "uses": ["full_text", "term"]},
        {source: "when", "name": "when", "type": "date", "format": "epoch_second"},
    ]


KINDS: dict[str, tuple[Callable[[random.Random], Case], dict[str, object]]] = {
    "plain": (plain, {"outputs[logs].document": [
        {"property": "procid", "name": "n", "type": "integer"},
        {"property": "msg", "name": "message", "uses": ["full_text"]},
        {"constant": 'a "quoted" \\ \u00e9\n', "name": "fixed"},
    ]}),
    "csv": (csv, {
        "parse": {"format": "csv", "columns": ["i", "f", "b", "text", "when"], "quoted": True},
        "outputs[logs].document": fields("column"),
    }),
    "kv": (kv, {"parse": {"format": "kv"}, "outputs[logs].document": fields("key")}),
    "json": (json_, {
        "parse": {"format": "json", "cookie": ""},
        "outputs[logs].document": fields("json", "t.ext"),
    }),
}  # fmt: skip


def cases(kind: str) -> list[Case]:
    """The same cases every time."""
    make, random_ = KINDS[kind][0], random.Random(SEED)
    return [make(random_) for _ in range(CASES)]
