"""The counters of a host's rsyslogd: the files that its configuration has impstats write, and what
the kernel counts; only reads."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

from tuner.deploy.target import RemoteHost
from tuner.diagnose.inputs import KernelCounts
from tuner.errors import JobFailed
from tuner.host.remote import MOST_BYTES, MOST_SHOWN, Host
from tuner.modules.stats_rounds import Numbered
from tuner.script.objects import Base, module_address

# A day of rounds every 10 s of a usual configuration has about 100 MB as JSON.
_MOST_BYTES = 64 * 2**20
# An answer of a host holds less than MOST_BYTES.
_PIECE = MOST_BYTES // 2
_READ_LIMIT_S = 600.0
_GZIPPED = ".gz"
_PACKED = (".xz", ".bz2", ".zst")
_AS_GZIP = 16 + zlib.MAX_WBITS

Complain = Callable[[str], None]


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
        for _, one in base.of_kind("input")
        if one.type == "imudp" and (port := one.get("port")) is not None
        for text in port.texts
    )
    return tuple(dict.fromkeys(int(text) for text in texts if text.isdecimal() and len(text) < 6))


def counters_logs(host: Host, path: PurePath, complain: Complain) -> tuple[HostLog, ...]:
    """The file and those that logrotate made of it, oldest first, as many as are read; `complain`
    takes a sentence about others.  Raises JobFailed where the file is not there."""
    ways = ["-mindepth", "1", "-maxdepth", "1", "-type", "f", "-printf", r"%T@ %s %f\0"]
    answer = host.run(["find", "-L", str(path.parent), *ways])
    entries = (one.split(" ", 2) for one in answer.out.decode(errors="replace").split("\0") if one)
    try:
        every = [
            HostLog(f"{path.parent}/{name}", int(size), float(written))
            for written, size, name in entries
            if name == path.name or name.startswith((f"{path.name}.", f"{path.name}-"))
        ]
    except ValueError:
        raise JobFailed(f"{host.name}: find does not answer as it should") from None
    if str(path) not in {one.path for one in every}:
        raise _unread(host, path, answer.err or "No such file or directory")
    every.sort(key=lambda one: (one.path == str(path), one.written))
    packed = [one.path for one in every if one.path.endswith(_PACKED)]
    if packed:
        complain(f"{host.name}: not read, packed otherwise than by gzip: {', '.join(packed[:3])}")
    return _newest([one for one in every if one.path not in packed], host, complain)


def _newest(every: list[HostLog], host: Host, complain: Complain) -> tuple[HostLog, ...]:
    """As many of the newest as are not too long together; the newest in any case."""
    kept: list[HostLog] = []
    left = _MOST_BYTES
    for one in reversed(every):
        left -= one.size
        if left < 0 and kept:
            older = len(every) - len(kept)
            complain(
                f"{host.name}: {older} older files are not read, of {len(every)}: the newest "
                f"{_MOST_BYTES >> 20} MiB are"
            )
            break
        kept.append(one)
    return tuple(reversed(kept))


def grown(host: Host, path: PurePath, for_s: float) -> Iterator[Numbered]:
    """What is written to a file of counters during that time."""
    before = _size(host, path)
    time.sleep(for_s)
    size = _size(host, path)
    # It was rotated meanwhile where it is shorter.
    first = before if size >= before else 0
    yield from _lines(host, path, _pieces(host, path, first, size))


def lines_of_logs(host: Host, logs: Iterable[HostLog], complain: Complain) -> Iterator[Numbered]:
    """The lines of these files, of one that is too long its end."""
    for one in logs:
        path, first = PurePath(one.path), max(0, one.size - _MOST_BYTES)
        if one.path.endswith(_GZIPPED):
            packed = _pieces(host, path, 0, one.size)
            yield from _lines(host, path, _unpacked(host, path, packed, complain))
            continue
        if first:
            complain(f"{host.name}: {path}: the last {_MOST_BYTES >> 20} MiB are read")
        yield from _lines(host, path, _pieces(host, path, first, one.size))


def _pieces(host: Host, path: PurePath, first: int, size: int) -> Iterator[bytes]:
    """The bytes from `first` to `size`; raises JobFailed where they cannot be read."""
    script = 'tail -c "+$1" -- "$2" | head -c "$3"'
    while first < size:
        number = min(_PIECE, size - first)
        words = ["sh", "-c", script, "sh", str(first + 1), str(path), str(number)]
        answer = host.run(words, limit_s=_READ_LIMIT_S)
        if not answer.out:
            raise _unread(host, path, answer.err or "it became shorter")
        yield answer.out
        first += number


def _unpacked(
    host: Host, path: PurePath, pieces: Iterable[bytes], complain: Complain
) -> Iterator[bytes]:
    """What a gzipped file holds, no more than that of it, as far as it can be read."""
    unpacker, left = zlib.decompressobj(_AS_GZIP), _MOST_BYTES
    try:
        for piece in pieces:
            packed = piece
            while packed and left > 0 and not unpacker.eof:
                data = unpacker.decompress(packed, min(_PIECE, left))
                packed, left = unpacker.unconsumed_tail, left - len(data)
                yield data
    except zlib.error as error:
        complain(f"{host.name}: {path}: the gzip file is damaged: {error}")
        return
    if not unpacker.eof:
        complain(f"{host.name}: {path}: the gzip file is cut off, or longer than what is read")


def _lines(host: Host, path: PurePath, pieces: Iterable[bytes]) -> Iterator[Numbered]:
    """The lines of a file with their numbers, from the place where it is read."""
    name, number, rest = f"{host.name}:{path}", 0, b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            number += 1
            yield name, number, line.decode(errors="replace").rstrip("\r")
    if rest:
        yield name, number + 1, rest.decode(errors="replace").rstrip("\r")


def _size(host: Host, path: PurePath) -> int:
    answer = host.run(["stat", "-L", "-c", "%s", "--", str(path)])
    text = answer.out.decode(errors="replace").strip()
    if answer.code != 0 or not text.isdecimal() or len(text) > 20:
        raise _unread(host, path, answer.err)
    return int(text)


def _unread(host: Host, path: PurePath, said: str) -> JobFailed:
    why = said.strip().rpartition(": ")[2][:MOST_SHOWN] or "it cannot be read"
    return JobFailed(f"{host.name}: {path}: {why}")


def kernel_counts(there: RemoteHost, ports: Iterable[int]) -> KernelCounts | None:
    """What the kernel of a host counted since rsyslogd started, of it and of sockets on these
    ports; None where no rsyslogd runs."""
    said = there.counted(tuple(ports))
    if said.started is None:
        return None
    return KernelCounts(said.started, said.now, said.udp_drops, said.open_files)
