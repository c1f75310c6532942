"""What outputs wrote into files: how large they are, and what reading them again costs."""

from __future__ import annotations

import gzip
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

import zstandard

from tuner.host.process import open_given
from tuner.modules.omfile import OmfileOutput
from tuner.profile.model import Profile

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 20


class _Text(Protocol):
    """What can be read of a file, decompressed or not."""

    def read(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class WrittenFile:
    """The files of one output: bytes on disk and of the text in them, the lines in
    there, and the processor seconds of decompressing them, None where they are plain."""

    output: str
    bytes: int
    text_bytes: int
    events: int
    decompress_cpu_s: float | None


def written_files(bound: Profile, folder: Path) -> tuple[WrittenFile, ...]:
    """What each output into files that takes all events of a flood wrote below a folder, once
    rsyslogd has ended."""
    return tuple(
        _written(output, folder)
        for output in bound.outputs
        if isinstance(output, OmfileOutput) and _takes_all(bound, output)
    )


def _takes_all(bound: Profile, output: OmfileOutput) -> bool:
    stands_in = output.exec_only_when_previous_is_suspended
    is_flooded = output.stream == bound.measured_stream and len(bound.flooded_numbers) == 1
    has_filter = output.filter or bound.stream(output.stream).filter
    return is_flooded and not has_filter and not stands_in


def _written(output: OmfileOutput, folder: Path) -> WrittenFile:
    paths = list(_paths(output, folder))
    read = [_read(path) for path in paths]
    took_s = [content[2] for content in read if content[2] is not None]
    return WrittenFile(
        output=output.name,
        bytes=sum(path.stat().st_size for path in paths),
        text_bytes=sum(content[0] for content in read),
        events=sum(content[1] for content in read),
        decompress_cpu_s=sum(took_s) if took_s else None,
    )


def _paths(output: OmfileOutput, folder: Path) -> Iterator[Path]:
    """The file, or all those of an output with one for each value of a property."""
    below = str(folder)
    if output.file is not None:
        paths = [Path(below + output.file)]
    elif output.dyna_file is not None:
        start = Path(below + output.dyna_file.before)
        paths = [path for path in start.parent.rglob("*") if str(path).startswith(str(start))]
    yield from (path for path in paths if path.is_file() and not path.is_symlink())


def _read(path: Path) -> tuple[int, int, float | None]:
    """The bytes of text in a file, its lines, and the processor seconds of decompressing it,
    counting not included."""
    with open_given(path) as raw, closing(_opened(raw)) as text:
        total, lines, took_s = 0, 0, 0.0
        while True:
            began_s = time.thread_time()
            chunk = _next(text)
            took_s += time.thread_time() - began_s
            if not chunk:
                return total, lines, None if text is raw else took_s
            total += len(chunk)
            lines += chunk.count(b"\n")


def _next(text: _Text) -> bytes:
    """More of the text; empty where it ends, or is cut short."""
    try:
        return text.read(_CHUNK)
    except (EOFError, zlib.error, zstandard.ZstdError):
        return b""


def _opened(raw: BinaryIO) -> _Text:
    """A file by its first bytes: gzip, zstd, or as it is."""
    magic = raw.read(len(_ZSTD))
    raw.seek(0)
    if magic.startswith(_GZIP):
        return gzip.GzipFile(fileobj=raw)
    if magic == _ZSTD:
        return zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
    return raw
