"""A hash that tells which profile a rendered file came from."""

from __future__ import annotations

import hashlib
import json

_DIGITS = 16


def fingerprint(sections: object) -> str:
    """The first 64 bits of the SHA-256 of plain data, in hexadecimal."""
    canonical = json.dumps(sections, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()[:_DIGITS]
