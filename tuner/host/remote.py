"""Runs programs on a host, with content on their standard input.

testinfra's backends make the connections (`local://`, `ssh://`).  This module adds what they lack:
standard input, a time limit, and a strict check of the host's identity.
"""

from __future__ import annotations

import base64
import os
import re
import select
import selectors
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from testinfra.backend.base import BaseBackend, CommandResult
from testinfra.backend.local import LocalBackend
from testinfra.backend.ssh import SshBackend
from testinfra.host import Host as TestinfraHost

from tuner.errors import JobFailed, Refused, Unreachable
from tuner.host.process import end_group, own_environment
from tuner.host.programs import ssh

ADDRESSES = "ssh://[USER@]HOST[:PORT] or local://"
# A name, or an IPv6 address in brackets; ssh(1) cannot take either for an option.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+(%[A-Za-z0-9.]+)?\]")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_OPTIONS = {"local": {"sudo"}, "ssh": {"sudo", "ssh_config", "ssh_identity_file"}}
# These are first on the command line, so that no configuration file of ssh can weaken them.
_STRICT = " ".join(
    f"-o {option}"
    for option in (
        "StrictHostKeyChecking=yes", "BatchMode=yes", "PasswordAuthentication=no",
        "ForwardAgent=no", "ForwardX11=no", "PermitLocalCommand=no", "LogLevel=ERROR",
        "ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=3",
    )
)  # fmt: skip
_LIMIT_S = 60.0
MOST_BYTES = 16 << 20
"""The longest answer that is read; a sound host sends less to any of our scripts."""
BEGIN, END = "rsyslog-tune begins", "rsyslog-tune ends"
"""The first and the last line that our scripts print; without BEGIN, another program answered."""
MOST_SHOWN = 300
"""How many characters of a line from a host are shown."""
_WRONG_KEY = ("Host key verification failed", "IDENTIFICATION HAS CHANGED")


@dataclass(frozen=True)
class Answer:
    """The result of a program on a host: exit code, standard output, standard error."""

    code: int
    out: bytes
    err: str


def printed_by_script(name: str, answer: Answer) -> bytes:
    """The output of our script between the lines BEGIN and END; a login shell may print more around
    them.  Raises Unreachable without BEGIN, and JobFailed without END despite exit code 0."""
    _, begin, output = answer.out.partition(f"{BEGIN}\n".encode())
    if not begin:
        error = f": {last_words(answer.err)}" if answer.err.strip() else ""
        raise Unreachable(
            f"{name}: sh did not begin there, which ended with {answer.code}{error}; is the "
            "login shell of the user one that runs nothing, such as /bin/false?"
        )
    content, end, _ = output.rpartition(f"{END}\n".encode())
    if answer.code == 0 and not end:
        raise JobFailed(f"{name}: its answer has no end")
    return content


def last_words(err: str) -> str:
    """The lines of standard error with the last one first: it says what failed, and those before it
    say why."""
    *before, last = [line.strip()[:MOST_SHOWN] for line in err.splitlines() if line.strip()]
    return f"{last}: {'; '.join(before[-6:])}" if before else last


def connect(name: str, address: str) -> Host:
    """The host at an address of testinfra's form; nothing is sent to it yet.  Raises Refused for a
    wrong address, and ProgramMissing without ssh."""
    check_address(address)
    parts = urlsplit(address)
    options = dict(parse_qsl(parts.query))
    sudo = options.pop("sudo", "") == "true"
    if parts.scheme == "local":
        return Host(name, LocalBackend(sudo=sudo))
    ssh()
    files = {key: str(Path(value).expanduser()) for key, value in options.items()}
    backend = SshBackend(
        parts.netloc, sudo=sudo, controlpersist=0, ssh_extra_args=_STRICT, **files
    )  # fmt: skip
    return Host(name, backend)


def address_of(host: TestinfraHost) -> str:
    """The address of a host that testinfra has connected to; raises Refused for a backend other
    than local and ssh."""
    backend = host.backend
    sudo = "true" if backend.sudo else None
    if isinstance(backend, LocalBackend):
        return written_address(None, sudo=sudo)
    if not isinstance(backend, SshBackend):
        raise Refused(f"{backend.get_pytest_id()}: not {ADDRESSES}")
    files = {key: getattr(backend, key) for key in ("ssh_config", "ssh_identity_file")}
    spec = backend.host
    return written_address(spec.name, spec.user, spec.port, **files, sudo=sudo)


def written_address(
    host: str | None, user: str | None = None, port: str | None = None, **options: str | None
) -> str:
    """The address of a host, with the options that have a value; `host` None is this machine."""
    query = urlencode({key: value for key, value in options.items() if value})
    query = f"?{query}" if query else ""
    if host is None:
        return f"local://{query}"
    login = f"{quote(user, safe='')}@" if user else ""
    name = f"[{host}]" if ":" in host else host
    return f"ssh://{login}{name}{f':{port}' if port else ''}{query}"


def script_of(
    text: str, settings: Mapping[str, str], printed: Mapping[str, bytes], call: str
) -> bytes:
    """A script for `sh -s` that runs the command `call`.

    It defines `settings` as variables, a function for each content in `printed` that prints it, and
    the functions in `text`.  It is sent on standard input, so that no part of a configuration is in
    a program's arguments, which other users can see.
    """
    lines = [f"{name}={shlex.quote(value)}" for name, value in settings.items()]
    for name, content in printed.items():
        encoded = base64.encodebytes(content).decode()
        lines.append(f"{name}() {{ base64 -d <<'END'\n{encoded}END\n}}")
    return "\n".join([*lines, text, f"{call} </dev/null", ""]).encode()


def check_address(address: str) -> None:
    """Raise Refused unless `address` has the form ADDRESSES, without a password and with known
    options only."""
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError as bad:
        raise Refused(f"{address} is not {ADDRESSES}: {bad}") from None
    if parts.password is not None:
        raise Refused("write no password into an address: log in with a key, or an agent")
    if parts.scheme not in _OPTIONS or parts.path not in {"", "/"} or parts.fragment:
        raise Refused(f"{address} is not {ADDRESSES}")
    if parts.scheme == "local" and parts.netloc:
        raise Refused(f"{address} names a host: local:// is this machine, ssh://HOST another")
    at_host = parts.netloc.rpartition("@")[2]
    name = at_host if at_host.endswith("]") else re.sub(r":\d*$", "", at_host)
    if parts.scheme == "ssh" and (not host or not _NAME.fullmatch(name)):
        raise Refused(f"{address}: {name or 'nothing'} is not the name or address of a host")
    if parts.username is not None and not _USER.fullmatch(parts.username):
        raise Refused(f"{address}: {parts.username} is not the name of a user")
    unknown = {key for key, _ in parse_qsl(parts.query, keep_blank_values=True)}
    unknown -= _OPTIONS[parts.scheme]
    if unknown:
        options = ", ".join(sorted(_OPTIONS[parts.scheme]))
        raise Refused(f"{address}: {', '.join(sorted(unknown))} is not one of {options}")


class _TooLong(Exception):
    """The output of a program exceeds MOST_BYTES."""


def _answer(
    process: subprocess.Popen[bytes], content: bytes, deadline: float
) -> tuple[bytes, bytes]:
    """Write `content` to a program, which need not read it, and read its standard output and error
    until it ends.  Raises subprocess.TimeoutExpired and _TooLong."""
    source, out, err = process.stdin, process.stdout, process.stderr
    if source is None or out is None or err is None:
        raise ValueError("the program has pipes")
    output, errors = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(source, selectors.EVENT_WRITE)
        selector.register(out, selectors.EVENT_READ, output)
        selector.register(err, selectors.EVENT_READ, errors)
        while selector.get_map():
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise subprocess.TimeoutExpired(process.args, 0)
            for key, _ in selector.select(left_s):
                if key.fileobj is source:
                    content = _write(key.fd, content)
                    if not content:
                        selector.unregister(source)
                        source.close()
                elif piece := os.read(key.fd, 1 << 16):
                    key.data.extend(piece)
                else:
                    selector.unregister(key.fileobj)
            if len(output) + len(errors) > MOST_BYTES:
                raise _TooLong
    process.wait(max(0.0, deadline - time.monotonic()))
    return bytes(output), bytes(errors)


def _write(descriptor: int, content: bytes) -> bytes:
    """Write a piece of `content`; returns the rest, nothing if the reader has closed the pipe."""
    try:
        return content[os.write(descriptor, content[: select.PIPE_BUF]) :]
    except BrokenPipeError:
        return b""


class Host:
    """A machine that a testinfra backend connects to, with its name for messages.  The backend
    still builds the command lines."""

    def __init__(self, name: str, backend: BaseBackend) -> None:
        self.name = name
        self._content, self._limit_s = b"", _LIMIT_S
        self._backend = backend
        self._backend.run_local = self._run_local
        self._backend.get_sudo_command = self._sudo
        self._testinfra = TestinfraHost(backend)

    @property
    def is_local(self) -> bool:
        """Whether it is this machine."""
        return isinstance(self._backend, LocalBackend)

    def run(
        self, arguments: Sequence[str], content: bytes = b"", limit_s: float = _LIMIT_S
    ) -> Answer:
        """Run a program to its end, with `content` on its standard input.

        Raises Unreachable if the host cannot be reached, Refused if its host key is unknown or has
        changed, and JobFailed after the time limit or for an answer longer than MOST_BYTES.
        """
        self._content, self._limit_s = content, limit_s
        try:
            result = self._backend.run(shlex.join(arguments))
        except subprocess.TimeoutExpired:
            message = f"{self.name}: {arguments[0]} did not end within {limit_s:g} s"
            raise JobFailed(message) from None
        except _TooLong:
            message = f"{self.name}: {arguments[0]} answers with more than {MOST_BYTES >> 20} MiB"
            raise JobFailed(message) from None
        except RuntimeError as error:
            raise self._ssh_error(error.args[0].stderr_bytes) from None
        return Answer(result.rc, result.stdout_bytes, result.stderr_bytes.decode(errors="replace"))

    def package(self, name: str) -> str | None:
        """The installed version of a package of the distribution, None if it is not installed."""
        self._content, self._limit_s = b"", _LIMIT_S
        try:
            package = self._testinfra.package(name)
            return str(package.version) if package.is_installed else None
        except (NotImplementedError, RuntimeError, AssertionError):
            return None

    def _run_local(self, command: str, *args: str) -> CommandResult:
        """Replaces testinfra's method: adds standard input, a time limit, and a process group of
        its own.  So Ctrl-C does not reach the program, and work on a host is finished or undone.
        """
        line = f"exec {self._backend.quote(command, *args)}"
        process = subprocess.Popen(
            ["/bin/sh", "-c", line],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            process_group=0, env=own_environment("SSH_AUTH_SOCK", "USER", "LOGNAME"),
        )  # fmt: skip
        with process:
            try:
                out, err = _answer(process, self._content, time.monotonic() + self._limit_s)
            except BaseException:
                end_group(process.pid)
                raise
        return self._backend.result(process.returncode, line.encode(), out, err)

    def _sudo(self, command: str, _user: str | None) -> str:
        """Replaces testinfra's method: sudo never asks for a password, as nobody could enter it."""
        return f"sudo -n /bin/sh -c {shlex.quote(command)}"

    def _ssh_error(self, stderr: bytes) -> Refused | Unreachable:
        """The exception for an error of ssh(1), by its text: the exit code is always 255."""
        text = stderr.decode(errors="replace").strip()
        if any(phrase in text for phrase in _WRONG_KEY):
            return Refused(
                f"{self.name}: its host key is unknown, or another than before: compare it with "
                "that of the host, then put it into known_hosts"
            )
        last = text.splitlines()[-1][:MOST_SHOWN] if text else "ssh gave no reason"
        return Unreachable(f"{self.name} cannot be reached: {last}")
