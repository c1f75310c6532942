"""Why an engine refused a document: its own words, matched with the kinds in refusals.toml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache

from tuner.diagnose.refusal import Refusal
from tuner.reading import table


class Fate(Enum):
    """What the engine's answer means for the event: it will never be taken, it would be later, or
    it is stored already."""

    REFUSED = "refused"
    BUSY = "busy"
    STORED = "stored"


class MendedIn(Enum):
    """Where it is mended."""

    TEMPLATE = "template"
    ACTION = "action"
    MAPPING = "mapping"
    SETTING = "setting"
    ENGINE = "engine"
    PIPELINE = "pipeline"


@dataclass(frozen=True)
class RefusalKind:
    """A reason to refuse: how it is recognised, why it happens, and the way out, another one for
    what a retry ruleset has already; `mapping` is what an index template would say of the field
    instead, `proof` how a case of `rsyslog-tune test` proves that a template is mended."""

    name: str
    title: str
    pattern: re.Pattern[str]
    status: frozenset[int]
    fate: Fate
    place: MendedIn
    why: str
    way_out: str
    way_out_retried: str
    mapping: str
    proof: str


UNKNOWN = RefusalKind(
    "unknown", "refused for another reason", re.compile(""), frozenset(), Fate.REFUSED,
    MendedIn.ENGINE, "rsyslog-tune does not know these words of the engine", "", "", "", "",
)  # fmt: skip


@dataclass(frozen=True)
class NamedRefusal:
    """The kind of a refusal, and what the engine says in it: field, wanted, got, limit, name."""

    kind: RefusalKind
    said: Mapping[str, str]

    @property
    def field(self) -> str:
        """The path of the field, empty where it is about none."""
        return self.said.get("field", "")


@cache
def kinds() -> tuple[RefusalKind, ...]:
    """All that are known, in the order in which they are tried."""
    return tuple(
        RefusalKind(
            name=row["name"],
            title=row["title"],
            pattern=re.compile(row["pattern"]),
            status=frozenset(row.get("status", ())),
            fate=Fate(row["fate"]),
            place=MendedIn(row["place"]),
            why=row["why"],
            way_out=row["way_out"],
            way_out_retried=row.get("way_out_retried", row["way_out"]),
            mapping=row.get("mapping", ""),
            proof=row.get("proof", ""),
        )
        for row in table("diagnose/refusals.toml")["kind"]
    )


def named(refusal: Refusal) -> NamedRefusal:
    """What kind of refusal it is."""
    text = refusal.text
    if refusal.status == _TOO_LARGE:
        # A proxy answers with a page of its own.
        text = f"request entity too large: {text}"
    for kind in kinds():
        if kind.status and refusal.status and refusal.status not in kind.status:
            continue
        found = kind.pattern.search(text)
        if found is not None:
            return NamedRefusal(kind, _said(found, text))
    name = _BY_STATUS.get(refusal.status)
    known = next((kind for kind in kinds() if kind.name == name), UNKNOWN)
    return NamedRefusal(known, {})


_TOO_LARGE = 413
# Where the words are a proxy's.
_BY_STATUS = {
    401: "not_allowed", 403: "not_allowed", 404: "no_such_address", 429: "rejected",
    500: "server_failed", 502: "server_failed", 503: "server_failed", 504: "server_failed",
}  # fmt: skip


# Elasticsearch 6 and older name no type.
_FIELD = re.compile(r"failed to parse (?:field )?\[([^\]\n]+)\]")


def _said(found: re.Match[str], text: str) -> Mapping[str, str]:
    """The named groups; alternatives of one name end with a number, as a name cannot come twice.
    The field is also told by the words around the cause."""
    said: dict[str, str] = {}
    for name, value in found.groupdict().items():
        if value is not None:
            said.setdefault(name.rstrip("0123456789"), value)
    field = _FIELD.search(text)
    if "field" not in said and field is not None:
        said["field"] = field[1]
    return said


_VALUES = (
    r"Preview of field's value: '(.*?)'(?:$|\n| \()",
    r'For input string: "(.*?)"(?:$|\n| )',
    r"failed to parse date field \[(.*?)\] with",
    r"Failed to parse value \[(.*?)\]",
    r"'([^'\n]*)' is not an IP",
    r"Unrecognized token '([^']*)'",
    r"unable to parse date \[(.*?)\]",
    r"Value \[(.*?)\] is out of range",
    r"Numeric value \((.*?)\) out of range",
)
_VALUE = re.compile("|".join(_VALUES), re.DOTALL)
_LONGEST = 40
# Quotes of a document do not pair.
_QUOTED = (
    re.compile('"(.*)"', re.DOTALL), re.compile("'(.*)'", re.DOTALL), re.compile(r"\[([^\[\]]*)\]"),
)  # fmt: skip
_WORD = re.compile(r"[^\W_]{4,}")


def value_of(text: str) -> str | None:
    """The value of the event that the engine's words quote; None where they quote none."""
    found = _VALUE.search(text)
    return None if found is None else next(part for part in found.groups() if part is not None)


def shape(value: str) -> str:
    """A value without its content: letters become a and A, digits 9; 40 characters of it.  `x-7.1`
    gives `a-9.9`."""
    cut = value[:_LONGEST]
    kept = "".join(map(_shape_of, cut))
    return kept + ("..." if len(value) > _LONGEST else "")


def _shape_of(character: str) -> str:
    if character.isdigit():
        return "9"
    if character.isalpha():
        return "A" if character.isupper() else "a"
    return character if character.isprintable() else "?"


def masked(text: str, document: str = "") -> str:
    """The engine's words without the document that they quote at their end, and by its shape alone
    what stands between the first and the last quote of a kind, in brackets, and in the document."""
    kept = text.partition("[Source:")[0]
    for pattern in _QUOTED:
        kept = pattern.sub(_masked, kept)
    held = frozenset(_WORD.findall(document))
    return _WORD.sub(lambda word: shape(word[0]) if word[0] in held else word[0], kept)


def _masked(found: re.Match[str]) -> str:
    return f"{found[0][0]}{shape(found[1])}{found[0][-1]}"
