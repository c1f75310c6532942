"""Child processes: daemons, short programs, and Python modules of ours that we talk to by pipes.
Each has its own process group, and ends with us."""

from __future__ import annotations

import os
import pwd
import select
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import dropwhile
from pathlib import Path
from typing import IO, BinaryIO, Self, cast

from tuner.errors import JobFailed

UNPRIVILEGED = "nobody"


def unprivileged_user() -> str | None:
    """The user that our daemons run as if we are root; None if we are not."""
    return UNPRIVILEGED if os.geteuid() == 0 else None


def give_to_daemons(path: Path) -> None:
    """Make a file, or a folder with all in it, belong to the user that our daemons run as.

    Call it last: that user can then replace any file in the folder by a link, which root would
    follow if it wrote there, or changed an owner, afterwards.
    """
    user = unprivileged_user()
    if user is None:
        return
    entry = pwd.getpwnam(user)
    for entry_path in (*path.rglob("*"), path):
        os.chown(entry_path, entry.pw_uid, entry.pw_gid, follow_symlinks=False)


def open_given(path: Path) -> BinaryIO:
    """Open a file for reading in a folder that daemons own; raises OSError if they have replaced it
    by a link or by anything else that is not a regular file."""
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise FileNotFoundError(f"{path} is not a file")
    return os.fdopen(number, "rb")


_INHERITED = ("PATH", "HOME", "TZ")


def own_environment(*names: str) -> dict[str, str]:
    """The environment of a program that we start: PATH, HOME, the time zone and the variables
    `names`.

    Other variables would change what is measured: libcurl in rsyslogd follows http_proxy, a JVM
    JAVA_TOOL_OPTIONS, Elasticsearch ES_JAVA_OPTS and ES_PATH_CONF.
    """
    inherited = {name: os.environ[name] for name in (*_INHERITED, *names) if name in os.environ}
    return {**inherited, "LC_ALL": "C.UTF-8"}


# A shell adds PWD to the environment.
_IF_PARENT_LIVES = '[ "$PPID" = "$0" ] && unset PWD && exec "$@"'


def _wrapped(arguments: Sequence[str], dies_with_us: bool) -> list[str]:
    """The command wrapped in setpriv(1), which drops root and asks the kernel to kill it with us.

    If we die before that request (prctl(2), PR_SET_PDEATHSIG), the shell sees another parent and
    does not start the command.
    """
    # Only here: it runs programs by this module.
    from tuner.host.programs import setpriv

    prefix: list[str] = []
    if dies_with_us:
        prefix += ["--pdeathsig", "KILL"]
        arguments = ["sh", "-c", _IF_PARENT_LIVES, str(os.getpid()), *arguments]
    user = unprivileged_user()
    if user is not None:
        entry = pwd.getpwnam(user)
        prefix += ["--reuid", str(entry.pw_uid), "--regid", str(entry.pw_gid), "--clear-groups"]
    return [*([setpriv(), *prefix] if prefix else []), *arguments]


def daemons_can_read(path: str) -> bool:
    """Whether our daemons can read a file; test(1), run as their user, asks the kernel."""
    return run(_wrapped(["test", "-r", path], dies_with_us=True), timeout_s=10).returncode == 0


class OwnProcess:
    """A process that we started as the leader of its own process group."""

    _process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """The process id, which is also the process group's."""
        return self._process.pid

    def ending(self) -> str | None:
        """How the process ended ("exit code 1", "SIGSEGV"), or None while it runs."""
        code = self._process.poll()
        return None if code is None else describe_exit(code)


class Daemon(OwnProcess):
    """A daemon, started with these arguments, exactly this environment and its output in `log`;
    `stop` ends its whole process group.

    Its folder must be new and complete: the daemon's user owns it from the start on.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        log: Path,
        folder: Path,
        environment: Mapping[str, str],
        dies_with_us: bool = True,
    ) -> None:
        self.log = log
        with log.open("xb") as output:
            give_to_daemons(folder)
            self._process = subprocess.Popen(
                _wrapped(arguments, dies_with_us), stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, cwd=folder, env=environment, start_new_session=True,
            )  # fmt: skip

    def last_lines(self, count: int) -> list[str]:
        """The end of the output, for error messages; nothing when it cannot be read."""
        try:
            with open_given(self.log) as log:
                return log.read().decode(errors="replace").splitlines()[-count:]
        except OSError:
            return []

    def stop(self, grace_s: float = 0.0) -> None:
        """Send SIGTERM, wait up to `grace_s` seconds, then SIGKILL the whole group."""
        if grace_s > 0 and self._process.poll() is None:
            self._process.terminate()
            ended_within(self._process, grace_s)
        end_group(self.pid)
        ended_within(self._process, KILLED_S)


KILLED_S = 5.0
"""How long a killed process may take to end."""


def ended_within(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Whether a process ends within `timeout_s` seconds.

    The limit is required: if our signal handler raises while Popen holds its internal lock, nothing
    releases that lock (subprocess.py of CPython 3.11, `_internal_poll`), and `Popen.wait` without a
    limit would wait forever.
    """
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def end_group(group: int) -> None:
    """SIGKILL every process of `group`; does nothing if none is left."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def describe_exit(code: int) -> str:
    """A return code of subprocess in words.  A negative code is a signal; shells, and
    Elasticsearch's launcher, report a child killed by a signal as 128 plus its number."""
    if code < 0:
        return signal.Signals(-code).name
    by_signal = code - 128 in set(signal.Signals)
    return f"exit code {code}" + (f" ({signal.Signals(code - 128).name})" if by_signal else "")


def run(
    arguments: Sequence[str],
    timeout_s: float,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a short program to its end and capture its output, in `folder` or the current one, with
    `environment` or that of `own_environment`.

    Raises JobFailed when it takes longer than `timeout_s`; the exit code is the caller's to judge.
    """
    try:
        return subprocess.run(
            arguments, capture_output=True, text=True, errors="replace", timeout=timeout_s,
            check=False, stdin=subprocess.DEVNULL, cwd=folder,
            env=own_environment() if environment is None else environment,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise JobFailed(f"{arguments[0]} did not end within {timeout_s:g} s") from None


def run_as_daemon(
    arguments: Sequence[str], timeout_s: float, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a short program as the user that our daemons run as; else like `run`."""
    return run(_wrapped(arguments, dies_with_us=True), timeout_s, environment=environment)


@contextmanager
def suspended(pids: Sequence[int]) -> Iterator[None]:
    """Suspend processes of ours (SIGSTOP) and all that they have started, to simulate ones that
    hang with open connections; they continue afterwards, whatever happens.  Elasticsearch 8 and
    later is a child of the process that starts it."""
    stopped: list[int] = []
    try:
        for pid in pids:
            for process in (pid, *_started_by(pid)):
                os.kill(process, signal.SIGSTOP)
                stopped.append(process)
        yield
    finally:
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def _started_by(pid: int) -> tuple[int, ...]:
    """Its children, and theirs."""
    # Imported here because what only renders starts no process.
    import psutil

    with suppress(psutil.NoSuchProcess):
        return tuple(child.pid for child in psutil.Process(pid).children(recursive=True))
    return ()


def wait_until(condition: Callable[[], bool], timeout_s: float, poll_s: float = 0.05) -> bool:
    """Call `condition` until it is true; False when `timeout_s` seconds pass first."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(poll_s)
    return True


_MOST_QUIET_S = 60.0
_QUIET_POLL_S = 0.1


def wait_until_quiet(
    state: Callable[[], object], check: Callable[[], None], quiet_s: float
) -> None:
    """Wait until `state` has not changed for `quiet_s` seconds, at most a minute; `check` raises if
    it can no longer change."""
    last: object = None
    since_s, deadline_s = time.monotonic(), time.monotonic() + _MOST_QUIET_S
    while time.monotonic() - since_s < quiet_s and time.monotonic() < deadline_s:
        check()
        if (now := state()) != last:
            last, since_s = now, time.monotonic()
        time.sleep(_QUIET_POLL_S)


_GRACE_S = 5.0


class Child(OwnProcess):
    """`python -m MODULE ARGUMENTS`, in its own process group; `stop` it when done, or use `with`.

    The module must exit at the end of its input, so that it ends with us.
    """

    def __init__(self, module: str, arguments: Sequence[str] = ()) -> None:
        with ExitStack() as opened:
            self._complaints = opened.enter_context(tempfile.TemporaryFile())
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                process_group=0,
                env=_child_environment(),
            )
            self._opened = opened.pop_all()
        self.stdin = cast(IO[bytes], self._process.stdin)
        self.stdout = cast(IO[bytes], self._process.stdout)

    def tell(self, line: bytes) -> None:
        """Write a line to its input; does nothing if it has ended."""
        # Python raises ValueError for a closed pipe.
        with suppress(BrokenPipeError, ValueError):
            self.stdin.write(line)
            self.stdin.flush()

    def complaint(self) -> str:
        """Why the process ended, from its error output: the message of an exception, else the last
        line.  Not available after `close`."""
        self._complaints.seek(0)
        return complaint_in(self._complaints.read().decode(errors="replace"))

    def wait(self, timeout_s: float) -> bool:
        """Wait for the end of the process; False when `timeout_s` seconds pass first."""
        return ended_within(self._process, timeout_s)

    def end(self, grace_s: float = 0.0) -> None:
        """Close its input, and kill the process if it still runs `grace_s` seconds later."""
        with suppress(OSError):
            self.stdin.close()
        if not self.wait(grace_s):
            self._process.kill()
            self.wait(KILLED_S)

    def close(self) -> None:
        """Close the remaining pipes; no thread may still be reading from them."""
        self.stdout.close()
        self._opened.close()

    def stop(self) -> None:
        """End it, killing it only after five seconds, and close; a second call does nothing."""
        self.end(_GRACE_S)
        self.close()

    def answer(self, timeout_s: float) -> bytes | None:
        """The next line of its output, empty if it has ended; None on timeout.  Only for modules
        that write one line per request."""
        is_there, _, _ = select.select([self.stdout], [], [], timeout_s)
        return self.stdout.readline() if is_there else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def complaint_in(errors: str) -> str:
    """The message of the last exception in Python's error output, else its last line.

    If Python aborts while it exits ("Fatal Python error"), an exception before that is the reason.
    """
    text = errors.partition("Fatal Python error")[0] if "Traceback" in errors else errors
    _, has_frames, frames = text.rpartition("Traceback (most recent call last):\n")
    lines = [line for line in frames.split("\n") if line.strip()]
    if has_frames:
        words = dropwhile(lambda line: line.startswith(" "), lines)
        return " ".join(line.strip() for line in words)[:_MOST_CHARACTERS]
    return lines[-1] if lines else "it gave no reason"


# Characters of an exception's message.
_MOST_CHARACTERS = 500
# Prefixes of variables that configure this Python, and must reach the one that it starts.
_INTERPRETER = ("PYTHON", "LD_", "OPENBLAS_")


def _child_environment() -> dict[str, str]:
    """The environment of a Child; PYTHONPATH has this package, as `-P` drops the working folder."""
    places = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    names = (name for name in os.environ if name.startswith(_INTERPRETER))
    return own_environment(*names) | {"PYTHONPATH": os.pathsep.join(filter(None, places))}
