"""A signal ends a command, even where a library swallows what it raises."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal
from typing import Annotated
from pydantic import BaseModel, PlainSerializer
from tuner.host.signals import install_handlers, received

def interrupted(value):
    os.kill(os.getpid(), signal.SIGTERM)
    return value

class Section(BaseModel):
    key: Annotated[int, PlainSerializer(interrupted)] | str

install_handlers()
try:
    Section(key=1).model_dump()
except (Exception, SystemExit) as error:
    print(type(error).__name__, received().exit_code)
"""


def test_a_swallowed_signal_still_ends_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.stdout == "UserWarning 143\n", done.stderr


FINISHING = """
import os, signal
from tuner.host.signals import install_handlers, ignore_signals, received

install_handlers()
ignore_signals()
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    os.kill(os.getpid(), number)
print("written", received())
"""


def test_what_is_finished_is_written_whatever_signal_comes() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FINISHING], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "written None\n"), done.stderr


DETACHED = """
import os, signal
from tuner.host.signals import install_handlers
from tuner.errors import Interrupted

signal.signal(signal.SIGHUP, {before})
install_handlers()
try:
    os.kill(os.getpid(), signal.SIGHUP)
    print("goes on")
    os.kill(os.getpid(), signal.SIGTERM)
except Interrupted as ended:
    print(ended.exit_code)
"""


@pytest.mark.parametrize(
    ("before", "written"), [("signal.SIG_IGN", "goes on\n143\n"), ("signal.SIG_DFL", "129\n")]
)
def test_what_nohup_started_goes_on_when_its_terminal_is_closed(before: str, written: str) -> None:
    program = DETACHED.format(before=before)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == written, done.stderr
