"""Completion in a real bash, with the script that the command prints."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")

TOOL = Path(sys.executable).with_name("rsyslog-tune")
SCRIPT = """
source /dev/stdin <<< "$(_RSYSLOG_TUNE_COMPLETE=source_bash rsyslog-tune)"
COMP_WORDS=({words})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
{function}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def completed(words: str) -> list[str]:
    """What bash offers for the last of `words`."""
    script = SCRIPT.format(words=words, function="_rsyslog_tune_completion rsyslog-tune")
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PATH": f"{TOOL.parent}:{os.environ['PATH']}"},
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_commands_are_offered() -> None:
    assert completed("rsyslog-tune va") == ["validate"]
    assert set(completed("rsyslog-tune s")) >= {"search", "sink", "schema"}


def test_options_of_a_command_and_their_values_are_offered() -> None:
    assert completed("rsyslog-tune search --bud") == ["--budget"]
    assert completed("rsyslog-tune search --engine s") == ["sink"]
    assert completed("rsyslog-tune validate --output g") == ["github", "gitlab"]


def test_keys_of_profiles_are_offered() -> None:
    assert completed("rsyslog-tune explain dequeueBatch") == ["dequeueBatchSize"]


def test_commands_within_a_command_are_offered() -> None:
    assert set(completed("rsyslog-tune lab ''")) >= {"up", "status", "down"}
