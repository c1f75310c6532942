"""Recognises rsyslog's own YAML format (8.2604 and newer), which is neither RainerScript nor a
profile, and says how to convert it."""

from __future__ import annotations

import re
from collections.abc import Container

# Top-level keys of that format that no profile has (runtime/yamlconf.c of 8.2608), and keys that
# only profiles have.
_NATIVE = ("version", "modules", "templates", "rulesets", "mainqueue", "include", "parsers")
_OF_PROFILES = ("name", "base", "extends", "outputs")
_FIRST_LINE = re.compile(r"(?:[ \t\r]*(?:#.*|---.*|%.*)?\n)*([^\n]*)")
_KEY = re.compile(r"[A-Za-z_][\w-]*:(?:\s|$)")


def is_native_yaml(path: str) -> bool:
    """Whether rsyslogd reads a file as its own YAML, which depends on the file's name."""
    return path.endswith((".yaml", ".yml"))


def is_native(keys: Container[object]) -> bool:
    """Whether a document with these top-level keys is rsyslog's own YAML."""
    return any(key in keys for key in _NATIVE) and not any(key in keys for key in _OF_PROFILES)


def begins_as_yaml(text: str) -> bool:
    """Whether a file begins with a YAML key, as no RainerScript statement does."""
    first = _FIRST_LINE.match(text)
    return first is not None and _KEY.match(first[1]) is not None


def yaml_advice(path: str) -> str:
    """Why a YAML file is not read, and how to convert or rename it."""
    if is_native_yaml(path):
        return (
            "is rsyslog's own YAML: run rsyslogd -N1 -F rainerscript -o rsyslog.conf -f "
            f"{path} (8.2604 or newer), and name the file that it writes"
        )
    return (
        "is YAML: rsyslogd reads that only from a file whose name ends in .yaml or .yml, and else "
        "as RainerScript: rename it"
    )
