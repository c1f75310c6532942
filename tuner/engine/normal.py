"""The normal form of templates, settings and policies, so that a profile's can be compared with
those that an engine returns.  Pure.

Engines return settings as nested strings, and add bookkeeping, defaults and empty parts.
"""

from __future__ import annotations

from collections.abc import Mapping

from tuner.engine.client import JSON, object_at
from tuner.reading import table
from tuner.schema.units import engine_bytes, seconds

_TABLE = table("engine/implied.toml")
_OURS, _BOOKKEEPING, _MAY_BE_EMPTY = (
    frozenset(_TABLE[kind]) for kind in ("ours", "bookkeeping", "may_be_empty")
)
_IMPLIED: Mapping[str, object] = _TABLE["implied"]
# The default order of a legacy template.
_DEFAULT_ORDER = ("order", "0")


def template(body: JSON) -> JSON:
    """An index, legacy or component template in normal form: settings flat, all values strings."""
    outer = {key: value for key, value in body.items() if key not in {"template", *_BOOKKEEPING}}
    parts = _without_our_meta({**outer, **object_at(body, "template")})
    flat = settings(object_at(parts, "settings"))
    # Engines accept names without the prefix, and return them with it.
    parts["settings"] = {f"index.{key.removeprefix('index.')}": flat[key] for key in flat}
    parts["mappings"] = _without_our_meta(object_at(parts, "mappings"))
    patterns = parts.get("index_patterns")
    if isinstance(patterns, str):
        parts["index_patterns"] = [patterns]
    if "data_stream" in parts:
        parts["data_stream"] = _unimplied(_texts(parts["data_stream"]))
    plain = {
        key: _texts(value) for key, value in parts.items() if value or key not in _MAY_BE_EMPTY
    }
    return {key: value for key, value in plain.items() if (key, value) != _DEFAULT_ORDER}


def _without_our_meta(part: JSON) -> JSON:
    """The object without the entries in its `_meta` that this tool writes."""
    meta = {key: value for key, value in object_at(part, "_meta").items() if key not in _OURS}
    return {key: value for key, value in part.items() if key != "_meta"} | (
        {"_meta": meta} if meta else {}
    )


def puttable(body: JSON) -> JSON:
    """A template or policy that an engine returned, in a form that the engine accepts: without its
    bookkeeping."""
    inner = body.get("policy")
    policy = {"policy": _without_bookkeeping(inner)} if isinstance(inner, dict) else {}
    return _without_bookkeeping(body) | policy


def _without_bookkeeping(part: JSON) -> JSON:
    return {key: value for key, value in part.items() if key not in _BOOKKEEPING}


def settings(nested: JSON, prefix: str = "") -> JSON:
    """Settings by flat names, such as `index.translog.durability`, with values as strings."""
    flat: JSON = {}
    for key, value in nested.items():
        name = f"{prefix}{key}"
        flat |= settings(value, f"{name}.") if isinstance(value, dict) else {name: _texts(value)}
    return flat


def policy(body: JSON) -> JSON:
    """An ILM or ISM policy without the bookkeeping and defaults that the engine adds."""
    return object_at(_unimplied(_texts(_without_our_meta(object_at(body, "policy")))))


def respelled(theirs: object, ours: object) -> object:
    """`theirs`, in which each value that means the same as ours is spelled like ours."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return {key: respelled(value, ours.get(key)) for key, value in theirs.items()}
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        return [respelled(*pair) for pair in zip(theirs, ours, strict=True)]
    return ours if ours is not None and same(theirs, ours) else theirs


def same(theirs: object, ours: object) -> bool:
    """Whether two values mean the same: `5s` and `5000ms`, `1gb` and `1024mb`, 10 and `10.0`."""
    return theirs == ours or _meaning(theirs) == _meaning(ours)


def _meaning(value: object) -> object:
    text = str(value) if not isinstance(value, dict | list) else None
    if text is None:
        return value
    time_s, size = seconds(text), engine_bytes(text)
    if time_s is not None:
        return ("seconds", time_s)
    if size is not None:
        return ("bytes", size)
    try:
        return ("number", float(text))
    except ValueError:
        return text


def _texts(value: object) -> object:
    """Numbers, booleans and null as strings, the way engines write settings."""
    if isinstance(value, dict):
        return {key: _texts(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_texts(inner) for inner in value]
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def _unimplied(value: object) -> object:
    """The value without the engine's bookkeeping and without members that have default values."""
    if isinstance(value, list):
        return [_unimplied(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _unimplied(inner)
        for key, inner in value.items()
        if key not in _BOOKKEEPING and (key not in _IMPLIED or _IMPLIED[key] != inner)
    }
