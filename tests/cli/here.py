"""The command line in this process: a new one takes seconds to import what most commands need."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from unittest import mock

from tuner.cli.commands import run


@dataclass(frozen=True)
class Done:
    """A finished command."""

    code: int
    out: str
    err: str


def here(*words: object) -> Done:
    """What a user sees of a command, but that signals are pytest's."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with (
        mock.patch("sys.argv", ["rsyslog-tune", *map(str, words)]),
        mock.patch("tuner.cli.commands.install_handlers"),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            run()
        except SystemExit as end:
            code = end.code
    assert code is None or isinstance(code, int)
    return Done(code or 0, out.getvalue(), err.getvalue())
