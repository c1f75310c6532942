"""Long-running processes that we own: each in its own process group, each dying with us."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tuner.errors import JobFailed

UNPRIVILEGED = "nobody"


def unprivileged_user() -> str | None:
    """The user our daemons run as when we are root; None when we are not."""
    return UNPRIVILEGED if os.geteuid() == 0 else None


def give_to_daemons(path: Path) -> None:
    """Make `path` belong to the user that our daemons run as."""
    user = unprivileged_user()
    if user is not None:
        entry = pwd.getpwnam(user)
        os.chown(path, entry.pw_uid, entry.pw_gid)


@dataclass(frozen=True)
class Command:
    """What to run: arguments, environment added to ours, folder, and the file for its output."""

    arguments: Sequence[str]
    log: Path
    folder: Path
    environment: Mapping[str, str]
    dies_with_us: bool = True


def _wrapped(command: Command) -> list[str]:
    """The command behind setpriv(1), which drops root and asks the kernel to end it with us."""
    prefix = ["setpriv"]
    if command.dies_with_us:
        prefix += ["--pdeathsig", "KILL"]
    user = unprivileged_user()
    if user is not None:
        entry = pwd.getpwnam(user)
        prefix += ["--reuid", str(entry.pw_uid), "--regid", str(entry.pw_gid), "--clear-groups"]
    return [*(prefix if len(prefix) > 1 else []), *command.arguments]


class Daemon:
    """A process we started; `stop` ends it and everything in its group."""

    def __init__(self, command: Command) -> None:
        self.log = command.log
        with command.log.open("ab") as output:
            self._process = subprocess.Popen(
                _wrapped(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=command.folder,
                env={**os.environ, **command.environment},
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process id, which is also the process group's."""
        return self._process.pid

    def ending(self) -> str | None:
        """How the process ended ("exit code 1", "SIGSEGV"), or None while it runs."""
        code = self._process.poll()
        return None if code is None else describe_exit(code)

    def last_lines(self, count: int = 12) -> str:
        """The end of the output, for error messages."""
        return last_lines(self.log, count)

    def stop(self, grace_s: float = 0.0) -> None:
        """Ask with SIGTERM for `grace_s` seconds, then end the whole group with SIGKILL."""
        if grace_s > 0 and self._process.poll() is None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(grace_s)
        end_group(self.pid)
        self._process.wait()


def end_group(group: int) -> None:
    """SIGKILL every process of the group `group`; none left is fine."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def describe_exit(code: int) -> str:
    """A return code of subprocess in words; a negative one is a signal."""
    if code < 0:
        return signal.Signals(-code).name
    return f"exit code {code}"


def last_lines(log: Path, count: int) -> str:
    """The last `count` lines of a text file; empty when there is none."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-count:])


def run(
    arguments: Sequence[str], timeout_s: float, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a short program to its end, in `folder` or the current one, and keep its output.

    Raises JobFailed when it takes longer than `timeout_s`; the exit code is the caller's to judge.
    """
    try:
        return subprocess.run(
            arguments, capture_output=True, text=True, errors="replace", timeout=timeout_s,
            check=False, stdin=subprocess.DEVNULL, cwd=folder,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise JobFailed(f"{arguments[0]} did not end within {timeout_s:g} s") from None


def wait_until(condition: Callable[[], bool], timeout_s: float, poll_s: float = 0.05) -> bool:
    """Call `condition` until it is true; False when `timeout_s` seconds pass first."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(poll_s)
    return True
