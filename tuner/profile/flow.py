"""Values as YAML text that is safe anywhere on one line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence

import yaml

from tuner.errors import BadUsage

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*|[0-9]+[A-Za-z%][A-Za-z0-9_%]*|-1[a-z]+")
_SINGLE = re.compile(r"[\x20-\x7e]*")


def flow(value: object, style: str | None = None) -> str:
    """`value` in flow style; strings keep the quotes of `style` (' or ") where they can."""
    if isinstance(value, Mapping):
        pairs = (f"{_text(str(key), None)}: {flow(item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, str):
        return _text(value, style)
    if isinstance(value, Sequence):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    if value is None or isinstance(value, int):
        return json.dumps(value)
    if isinstance(value, float) and math.isfinite(value):
        return _float(value)
    raise BadUsage(f"{value!r} cannot be written into a profile")


def _float(value: float) -> str:
    """YAML 1.1 wants a point in the mantissa and a sign in the exponent."""
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    sign = "" if not e or exponent[0] in "+-" else "+"
    return mantissa + e + sign + exponent


def _text(value: str, style: str | None) -> str:
    if style is None and _PLAIN.fullmatch(value) and _stays_text(value):
        return value
    if style == "'" and _SINGLE.fullmatch(value):
        return "'" + value.replace("'", "''") + "'"
    quoted = yaml.safe_dump(value, default_style='"', width=math.inf)
    return quoted.rstrip("\n")


def _stays_text(value: str) -> bool:
    """Whether YAML reads the bare word as text, not as a switch or a number."""
    node = yaml.compose(value, Loader=yaml.SafeLoader)
    return node is not None and node.tag == "tag:yaml.org,2002:str"
