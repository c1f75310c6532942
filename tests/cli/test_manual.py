"""The manual page: up to date, complete, and set without a warning."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.manual import page
from tuner.cli.commands import COMMANDS

PAGE = Path(__file__).parents[2] / "man" / "rsyslog-tune.1"

needs_man = pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")


def shown(*options: str) -> subprocess.CompletedProcess[str]:
    """What man makes of the page, and what it complains about."""
    return subprocess.run(
        ["man", *options, "-l", str(PAGE)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANPAGER": "cat", "TERM": "dumb"},
    )


def test_the_page_says_what_the_commands_say_now() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it anew: make man"


def test_every_command_with_every_exit_code_is_there() -> None:
    sections = re.findall(r"^\.SS (\S+)", page(), re.MULTILINE)
    assert set(sections) == set(COMMANDS)
    _, _, codes = page().partition(".SH EXIT STATUS")
    codes, _, _ = codes.partition(".SH FILES")
    assert re.findall(r"^\.B (.*)$", codes, re.MULTILINE) == (
        ["0", "1", "2", "3", "4", "5", "6", "7", "64", "69", "70", "75", "78", "129", "130", "143"]
    )


@needs_man
def test_man_sets_the_page_without_a_warning() -> None:
    assert shown("--warnings").stderr == ""


@needs_man
def test_options_can_be_searched_for_as_they_are_typed() -> None:
    text = re.sub(r".\x08", "", shown().stdout)
    for typed in ("--budget <str>", "--no-effects", "-o, --output-dir", "rsyslogd -N1"):
        assert typed in text
