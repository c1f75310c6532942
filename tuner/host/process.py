"""Processes that we own: daemons, programs that end soon, and Python modules of ours that are told
and heard through pipes; each in its own process group, each dying with us."""

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
    """The user our daemons run as when we are root; None when we are not."""
    return UNPRIVILEGED if os.geteuid() == 0 else None


def give_to_daemons(path: Path) -> None:
    """Make a file, or a folder with all in it, belong to the user that our daemons run as.

    It comes last: that user may then put a link in the place of any file in the folder, which root
    would follow where it writes, or gives a file away, afterwards.
    """
    user = unprivileged_user()
    if user is None:
        return
    entry = pwd.getpwnam(user)
    for entry_path in (*path.rglob("*"), path):
        os.chown(entry_path, entry.pw_uid, entry.pw_gid, follow_symlinks=False)


def open_given(path: Path) -> BinaryIO:
    """A file for reading in a folder that was given to daemons; raises OSError where they put a
    link in its place, or what is not a file."""
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise FileNotFoundError(f"{path} is not a file")
    return os.fdopen(number, "rb")


_INHERITED = ("PATH", "HOME", "TZ")


def own_environment(*names: str) -> dict[str, str]:
    """What a program that we start has of our environment: where programs are, the time zone, and
    the variables `names`.

    Others would change what is measured: libcurl in rsyslogd follows http_proxy, a JVM
    JAVA_TOOL_OPTIONS, Elasticsearch ES_JAVA_OPTS and ES_PATH_CONF.
    """
    inherited = {name: os.environ[name] for name in (*_INHERITED, *names) if name in os.environ}
    return {**inherited, "LC_ALL": "C.UTF-8"}


# A shell adds the folder to the environment.
_WITH_PARENT = '[ "$PPID" = "$0" ] && unset PWD && exec "$@"'


def _wrapped(arguments: Sequence[str], dies_with_us: bool) -> list[str]:
    """The command behind setpriv(1), which drops root and asks the kernel to end it with us.

    That comes too late where we were killed meanwhile (prctl(2), PR_SET_PDEATHSIG): whose parent is
    another by then does not begin.
    """
    # Only here: it runs programs by this module.
    from tuner.host.programs import setpriv

    prefix: list[str] = []
    if dies_with_us:
        prefix += ["--pdeathsig", "KILL"]
        arguments = ["sh", "-c", _WITH_PARENT, str(os.getpid()), *arguments]
    user = unprivileged_user()
    if user is not None:
        entry = pwd.getpwnam(user)
        prefix += ["--reuid", str(entry.pw_uid), "--regid", str(entry.pw_gid), "--clear-groups"]
    return [*([setpriv(), *prefix] if prefix else []), *arguments]


def daemons_can_read(path: str) -> bool:
    """Whether our daemons can read a file, by whatever the kernel judges that."""
    return run(_wrapped(["test", "-r", path], dies_with_us=True), timeout_s=10).returncode == 0


class OwnProcess:
    """A process that we started, the first of a group of its own."""

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
    """A process that we started with these arguments, this whole environment and the file `log` for
    its output; `stop` ends it and everything in its group.

    Its folder is new, complete, and given to it as it starts.
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
        """Ask with SIGTERM for `grace_s` seconds, then end the whole group with SIGKILL."""
        if grace_s > 0 and self._process.poll() is None:
            self._process.terminate()
            ended_within(self._process, grace_s)
        end_group(self.pid)
        ended_within(self._process, KILLED_S)


KILLED_S = 5.0
"""So long may a process take that was killed."""


def ended_within(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Whether a process ends within so many seconds.

    Never without a limit: where a signal of ours arrives just as Popen has taken the lock under
    which it asks for the end, nothing gives that back (subprocess.py of CPython 3.11,
    `_internal_poll`), and `Popen.wait` would wait for it for good.
    """
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def end_group(group: int) -> None:
    """SIGKILL every process of the group `group`; none left is fine."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def describe_exit(code: int) -> str:
    """A return code of subprocess in words; a negative one is a signal, and one above 128 is how
    shells, and Elasticsearch's launcher, tell of the signal that ended their child."""
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
    """Run a short program to its end, in `folder` or the current one, with `environment` or the
    usual one of ours, and keep its output.

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
    """The same as the user that our daemons run as."""
    return run(_wrapped(arguments, dies_with_us=True), timeout_s, environment=environment)


@contextmanager
def held(pids: Sequence[int]) -> Iterator[None]:
    """Stop processes of ours meanwhile (SIGSTOP), as one hangs that neither answers nor hangs up;
    they go on afterwards, whatever happens."""
    stopped = []
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
            stopped.append(pid)
        yield
    finally:
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


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
    """Wait until a state stays what it is for a while, at most a minute; `check` raises where it
    cannot change any more."""
    last: object = None
    since_s, deadline_s = time.monotonic(), time.monotonic() + _MOST_QUIET_S
    while time.monotonic() - since_s < quiet_s and time.monotonic() < deadline_s:
        check()
        if (now := state()) != last:
            last, since_s = now, time.monotonic()
        time.sleep(_QUIET_POLL_S)


_GRACE_S = 5.0


class Child(OwnProcess):
    """`python -m MODULE ARGUMENTS`, in its own process group; `stop` it when done, or have a `with`
    statement do so.

    It must end by itself when its input does: that is how it dies with us.
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
                env=_environment(),
            )
            self._opened = opened.pop_all()
        self.stdin = cast(IO[bytes], self._process.stdin)
        self.stdout = cast(IO[bytes], self._process.stdout)

    def tell(self, line: bytes) -> None:
        """Write a line to it; nothing happens where it has ended."""
        # Of a closed pipe Python says ValueError.
        with suppress(BrokenPipeError, ValueError):
            self.stdin.write(line)
            self.stdin.flush()

    def complaint(self) -> str:
        """Why the process ended, by what it wrote to its error output: the words of an exception,
        else the last line; not to be asked once closed."""
        self._complaints.seek(0)
        return complaint_in(self._complaints.read().decode(errors="replace"))

    def wait(self, timeout_s: float) -> bool:
        """Wait for the end of the process; False when `timeout_s` seconds pass first."""
        return ended_within(self._process, timeout_s)

    def end(self, grace_s: float = 0.0) -> None:
        """End its input, and the process itself when it is still there `grace_s` seconds later."""
        with suppress(OSError):
            self.stdin.close()
        if not self.wait(grace_s):
            self._process.kill()
            self.wait(KILLED_S)

    def close(self) -> None:
        """Close what is left of the pipes; nobody may be reading any more."""
        self.stdout.close()
        self._opened.close()

    def stop(self) -> None:
        """End it, with some time to do so by itself, and close; a second call does nothing."""
        self.end(_GRACE_S)
        self.close()

    def answer(self, timeout_s: float) -> bytes | None:
        """The next line that it writes, empty where it has ended; None where none comes in time.
        For one that writes a line when it is asked for it."""
        is_there, _, _ = select.select([self.stdout], [], [], timeout_s)
        return self.stdout.readline() if is_there else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def complaint_in(errors: str) -> str:
    """The words of the last exception in what a Python wrote, else its last line.

    Where Python aborts as it ends ("Fatal Python error"), an exception before that is the reason.
    """
    text = errors.partition("Fatal Python error")[0] if "Traceback" in errors else errors
    _, has_frames, frames = text.rpartition("Traceback (most recent call last):\n")
    lines = [line for line in frames.split("\n") if line.strip()]
    if has_frames:
        words = dropwhile(lambda line: line.startswith(" "), lines)
        return " ".join(line.strip() for line in words)[:_LONGEST]
    return lines[-1] if lines else "it gave no reason"


# Of an exception's words.
_LONGEST = 500
# What a Python that runs already goes by, and so must one that it starts.
_INTERPRETER = ("PYTHON", "LD_", "OPENBLAS_")


def _environment() -> dict[str, str]:
    """Small, with the package findable: `-P` keeps the working directory from shadowing it."""
    places = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    names = (name for name in os.environ if name.startswith(_INTERPRETER))
    return own_environment(*names) | {"PYTHONPATH": os.pathsep.join(filter(None, places))}
