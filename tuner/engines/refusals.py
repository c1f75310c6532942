"""What an engine takes as the name of an index, and as a document; pure."""

from __future__ import annotations

import json
import re

_BESIDE_LETTERS = ' "*,/<>?\\|'
_LISTED = ",".join(map(repr, _BESIDE_LETTERS)).replace("\\\\", "\\")
_LONGEST_BYTES = 255
_DATE_MATH = re.compile(r"<[^<>]*\{now[^<>]*\}[^<>]*>")


def name_refusal(name: str) -> str | None:
    """Why an engine makes no index of that name, in its own words; None where it does.  A date in
    `<name-{now/d}>` it works out itself (MetadataCreateIndexService.validateIndexOrAliasName)."""
    if _DATE_MATH.fullmatch(name):
        return None
    length = len(name.encode(errors="surrogateescape"))
    reasons = (
        (name == "", "must not be empty"),
        (
            any(character in _BESIDE_LETTERS for character in name),
            f"must not contain the following characters [{_LISTED}]",
        ),
        ("#" in name, "must not contain '#'"),
        (":" in name, "must not contain ':'"),
        (name[:1] in tuple("_-+"), "must not start with '_', '-', or '+'"),
        (length > _LONGEST_BYTES, f"index name is too long, ({length} > {_LONGEST_BYTES})"),
        (name in {".", ".."}, "must not be '.' or '..'"),
        (name != name.lower(), "must be lowercase"),
    )
    return next((reason for is_so, reason in reasons if is_so), None)


def document_refusal(text: str | bytes) -> str | None:
    """Why an engine parses no document from this; None where it is a JSON object.  It takes no
    name twice in one object, and none that is blank (seen on Elasticsearch 8.19)."""
    try:
        read = json.loads(text, object_pairs_hook=_members, parse_constant=_no_number)
    except (ValueError, RecursionError) as bad:
        return str(bad) or "too deep"
    return None if isinstance(read, dict) else "it is no object"


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made: dict[str, object] = {}
    for name, value in pairs:
        if name in made:
            raise ValueError(f"duplicate field {name!r}")
        if not name.strip():
            raise ValueError("the name of a field is empty")
        made[name] = value
    return made


def _no_number(word: str) -> object:
    raise ValueError(f"{word} is no JSON")
