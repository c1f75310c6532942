"""Files of a host, for whoever reads there: its configuration, and what its impstats wrote; only
reads."""

from __future__ import annotations

import errno
import io
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import PurePath

from tuner.diagnose.files import lines_in
from tuner.errors import JobFailed
from tuner.host.remote import BEGIN, END, MOST_BYTES, MOST_SHOWN, Host, printed_by_script
from tuner.modules.stats_rounds import Numbered
from tuner.script.configuration import MAX_BYTES
from tuner.script.objects import Base, module_address

_READ = f'echo {BEGIN}; head -c "$1" -- "$2" && echo {END}'
_READ_PART = 'tail -c "+$1" -- "$2" | head -c "$3"'
# A day of rounds every 10 s of a usual configuration has about 100 MB as JSON.
_MOST_BYTES = 64 * 2**20
# An answer of a host holds less than MOST_BYTES.
_PIECE = MOST_BYTES // 2
_READ_LIMIT_S = 600.0
_PACKED = (".xz", ".bz2", ".zst")

Complain = Callable[[str], None]


@dataclass
class HostFiles:
    """Reads and lists what absolute paths name; each folder is listed once."""

    host: Host
    environment: None = None
    _folders: dict[str, Mapping[str, bool]] = field(default_factory=dict)

    def read(self, path: str) -> bytes:
        """The first bytes of a file; raises OSError in the words of the host, Unreachable where
        nothing of ours ran, and JobFailed for what breaks off."""
        answer = self.host.run(["sh", "-c", _READ, "sh", str(MAX_BYTES + 1), path])
        content = printed_by_script(self.host.name, answer)
        if answer.code != 0:
            reason = answer.err.strip().rpartition(": ")[2][:MOST_SHOWN]
            raise OSError(errno.EIO, reason or os.strerror(errno.EIO))
        return content

    def listed(self, folder: str) -> Mapping[str, bool]:
        """The names in a folder, each with whether it is no folder itself."""
        if folder not in self._folders:
            options = ["-mindepth", "1", "-maxdepth", "1", "-printf", "%y%f\\0"]
            answer = self.host.run(["find", "-L", folder, *options])
            entries = answer.out.decode(errors="surrogateescape").split("\0")
            names = {entry[1:]: entry[0] != "d" for entry in entries if entry}
            strange = next((name for name in names if "/" in name or name in {"", ".", ".."}), None)
            if strange is not None:
                raise JobFailed(f"{self.host.name}: {folder} holds {strange[:300]!r}, no name")
            self._folders[folder] = names
        return self._folders[folder]


@dataclass(frozen=True)
class HostLog:
    """A file of counters on a host: how large it is, and when it was written last."""

    path: str
    size: int
    written: float


def counters_file(base: Base) -> str | None:
    """Where a configuration has impstats write its counters; None where it writes no file."""
    module = base.objects.get(module_address("impstats"))
    return None if module is None else module.text("log.file")


def udp_ports(base: Base) -> tuple[int, ...]:
    """The ports that imudp reads."""
    texts = (
        text
        for _, source in base.of_kind("input")
        if source.type == "imudp" and (port := source.get("port")) is not None
        for text in port.texts
    )
    return tuple(dict.fromkeys(int(text) for text in texts if text.isdecimal() and len(text) < 6))


def counters_logs(host: Host, path: PurePath, complain: Complain) -> tuple[HostLog, ...]:
    """The file and those that logrotate made of it, oldest first, as many as are read; `complain`
    takes a sentence about others.  Raises JobFailed where the file is not there."""
    options = ["-mindepth", "1", "-maxdepth", "1", "-type", "f", "-printf", r"%T@ %s %f\0"]
    answer = host.run(["find", "-L", str(path.parent), *options])
    entries = (entry.split(" ", 2) for entry in answer.out.decode(errors="replace").split("\0"))
    try:
        logs = [
            HostLog(f"{path.parent}/{name}", int(size), float(written))
            for written, size, name in filter(any, entries)
            if name == path.name or name.startswith((f"{path.name}.", f"{path.name}-"))
        ]
    except ValueError:
        raise JobFailed(f"{host.name}: find does not answer as it should") from None
    if str(path) not in {log.path for log in logs}:
        raise _unread(host, path, answer.err or "No such file or directory")
    logs.sort(key=lambda log: (log.path == str(path), log.written))
    packed = [log.path for log in logs if log.path.endswith(_PACKED)]
    if packed:
        complain(f"{host.name}: not read, packed otherwise than by gzip: {', '.join(packed[:3])}")
    return _newest([log for log in logs if log.path not in packed], host, complain)


def _newest(logs: list[HostLog], host: Host, complain: Complain) -> tuple[HostLog, ...]:
    """As many of the newest as have room together; the newest in any case."""
    together = accumulate(log.size for log in reversed(logs))
    number = sum(size <= _MOST_BYTES for size in together) or 1
    if number < len(logs):
        complain(
            f"{host.name}: {len(logs) - number} older files are not read, of {len(logs)}: the "
            f"newest {_MOST_BYTES >> 20} MiB are"
        )
    return tuple(logs[-number:])


class CountersTail:
    """What comes to a file of counters on a host from now on."""

    def __init__(self, host: Host, path: PurePath, complain: Complain) -> None:
        self._host, self._path = host, path
        self._read = counters_logs(host, path, complain)[-1].size

    def more(self, complain: Complain) -> Iterator[Numbered]:
        """The whole lines that came since it was asked last."""
        size = counters_logs(self._host, self._path, lambda _: None)[-1].size
        # It was rotated meanwhile where it is shorter.
        first = self._read if size >= self._read else 0
        content = _content(self._host, self._path, first, size)
        del content[content.rfind(b"\n") + 1 :]
        self._read = first + len(content)
        return _lines_of(content, self._host, self._path, complain)


def grown(host: Host, path: PurePath, for_s: float, complain: Complain) -> Iterator[Numbered]:
    """What is written to a file of counters during that time."""
    tail = CountersTail(host, path, complain)
    time.sleep(for_s)
    return tail.more(complain)


def lines_of_logs(host: Host, logs: Iterable[HostLog], complain: Complain) -> Iterator[Numbered]:
    """The lines of these files, of one that is too long its end."""
    for log in logs:
        path, first = PurePath(log.path), max(0, log.size - _MOST_BYTES)
        if path.suffix == ".gz":
            first = 0
        elif first:
            complain(f"{host.name}: {path}: the last {_MOST_BYTES >> 20} MiB are read")
        yield from _lines(host, path, first, log.size, complain)


def _lines(
    host: Host, path: PurePath, first: int, size: int, complain: Complain
) -> Iterator[Numbered]:
    """The lines of a file from the byte `first` on, as far as it is read; raises JobFailed where it
    cannot be read."""
    return _lines_of(_content(host, path, first, size), host, path, complain)


def _content(host: Host, path: PurePath, first: int, size: int) -> bytearray:
    content, end = bytearray(), min(size, first + _MOST_BYTES)
    while first < end:
        number = min(_PIECE, end - first)
        words = ["sh", "-c", _READ_PART, "sh", str(first + 1), str(path), str(number)]
        answer = host.run(words, limit_s=_READ_LIMIT_S)
        if not answer.out:
            raise _unread(host, path, answer.err or "it became shorter")
        content += answer.out
        first += number
    return content


def _lines_of(
    content: bytes | bytearray, host: Host, path: PurePath, complain: Complain
) -> Iterator[Numbered]:
    file = io.BufferedReader(io.BytesIO(content))
    return lines_in(file, f"{host.name}:{path}", complain, _MOST_BYTES)


def _unread(host: Host, path: PurePath, complaint: str) -> JobFailed:
    why = complaint.strip().rpartition(": ")[2][:MOST_SHOWN] or "it cannot be read"
    return JobFailed(f"{host.name}: {path}: {why}")
