"""Why an engine refuses an index name or a document; pure."""

from __future__ import annotations

import json
import re

_FORBIDDEN = ' "*,/<>?\\|'
_LISTED = ",".join(map(repr, _FORBIDDEN)).replace("\\\\", "\\")
_LONGEST_BYTES = 255
_DATE_MATH = re.compile(r"<[^<>]*\{now[^<>]*\}[^<>]*>")


def name_refusal(name: str) -> str | None:
    """Why an engine refuses an index name, in its own words
    (MetadataCreateIndexService.validateIndexOrAliasName); None if it accepts the name.  It resolves
    date math such as `<name-{now/d}>` itself."""
    if _DATE_MATH.fullmatch(name):
        return None
    length = len(name.encode(errors="surrogateescape"))
    reasons = (
        (name == "", "must not be empty"),
        (
            any(character in _FORBIDDEN for character in name),
            f"must not contain the following characters [{_LISTED}]",
        ),
        ("#" in name, "must not contain '#'"),
        (":" in name, "must not contain ':'"),
        (name[:1] in tuple("_-+"), "must not start with '_', '-', or '+'"),
        (length > _LONGEST_BYTES, f"index name is too long, ({length} > {_LONGEST_BYTES})"),
        (name in {".", ".."}, "must not be '.' or '..'"),
        (name != name.lower(), "must be lowercase"),
    )
    return next((reason for applies, reason in reasons if applies), None)


def document_refusal(text: str | bytes) -> str | None:
    """Why an engine cannot parse a text as a document; None if it can.  It accepts only a JSON
    object, without duplicate or blank names (seen on Elasticsearch 8.19)."""
    try:
        value = json.loads(text, object_pairs_hook=_members, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as bad:
        return str(bad) or "too deep"
    return None if isinstance(value, dict) else "it is no object"


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for name, value in pairs:
        if name in members:
            raise ValueError(f"duplicate field {name!r}")
        if not name.strip():
            raise ValueError("the name of a field is empty")
        members[name] = value
    return members


def _refuse_constant(name: str) -> object:
    """Python also parses NaN and Infinity, which are not JSON."""
    raise ValueError(f"{name} is no JSON")
