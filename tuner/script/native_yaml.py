"""rsyslog's own YAML (8.2604 and newer), which is no RainerScript and no profile: recognised, with
the way out."""

from __future__ import annotations

import re
from collections.abc import Container

# What stands outermost in it, and in no profile (runtime/yamlconf.c of 8.2608); and what does so in
# profiles alone.
_NATIVE = ("version", "modules", "templates", "rulesets", "mainqueue", "include", "parsers")
_OF_PROFILES = ("name", "base", "extends", "outputs")
_FIRST_LINE = re.compile(r"(?:[ \t\r]*(?:#.*|---.*|%.*)?\n)*([^\n]*)")
_KEY = re.compile(r"[A-Za-z_][\w-]*:(?:\s|$)")


def is_native_yaml(path: str) -> bool:
    """Whether rsyslogd reads a file as its own YAML; it goes by the name."""
    return path.endswith((".yaml", ".yml"))


def is_native(keys: Container[object]) -> bool:
    """Whether what has these outermost keys is rsyslog's own YAML."""
    return any(key in keys for key in _NATIVE) and not any(key in keys for key in _OF_PROFILES)


def begins_as_yaml(text: str) -> bool:
    """Whether a file begins as YAML does, with a key: no statement of rsyslog does."""
    first = _FIRST_LINE.match(text)
    return first is not None and _KEY.match(first[1]) is not None


def yaml_advice(path: str) -> str:
    """What to do with a file in YAML."""
    if is_native_yaml(path):
        return (
            "is rsyslog's own YAML: run rsyslogd -N1 -F rainerscript -o rsyslog.conf -f "
            f"{path} (8.2604 or newer), and name the file that it writes"
        )
    return (
        "is YAML: rsyslogd reads that only from a file whose name ends in .yaml or .yml, and else "
        "as RainerScript: rename it"
    )
