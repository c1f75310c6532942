"""The starter fits every machine, and is right as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.lint.load import parse_profile
from tuner.profile.starter import LocalMachine, starter

TEXT = (Path(__file__).parents[2] / "templates" / "starter.yaml").read_text(encoding="utf-8")
GIB = 1024**3


@pytest.mark.parametrize(
    ("machine", "rsyslog", "heap"),
    [
        (LocalMachine("8.2302", 2, 8 * GIB), "8.2302", "4g"),
        (LocalMachine("8.2504", 64, 512 * GIB), "8.2504", "4g"),
        (LocalMachine("8.2610", 1, GIB), "8.2610", "512m"),
        (LocalMachine(None, 4, 4 * GIB), "8.2302", "2g"),
        (LocalMachine("8.24", 4, 4 * GIB), "8.2302", "2g"),
        (LocalMachine("8.2912", 4, 4 * GIB), "8.2610", "2g"),
    ],
)
def test_a_starter_is_valid_without_warnings(
    machine: LocalMachine, rsyslog: str, heap: str
) -> None:
    text = starter(TEXT, "mine", machine)
    loaded = parse_profile(text, "p.yaml")
    assert loaded.warnings == ()
    assert (loaded.profile.name, loaded.profile.release.rsyslog) == ("mine", rsyslog)
    assert loaded.profile.node.heap == heap
    assert text.startswith("# yaml-language-server: $schema=profile.schema.json\n")
    assert text.count("#") > 25


def test_a_release_that_is_not_covered_is_named_in_a_comment() -> None:
    text = starter(TEXT, "mine", LocalMachine("8.24", 4, 4 * GIB))
    assert "rsyslog 8.24.\n# That release is not supported (8." in text
    newer = starter(TEXT, "mine", LocalMachine("8.2912", 4, 4 * GIB))
    assert "rsyslog 8.2912.\n# 8.2610 is the newest release that this tool knows." in newer
    assert "no rsyslog." in starter(TEXT, "mine", LocalMachine(None, 4, 4 * GIB))
