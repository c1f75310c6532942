"""What outputs wrote into files: how large they are, what reading them again costs, and what an
engine refused."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tuner.host.process import open_given
from tuner.modules.omfile import OmfileOutput
from tuner.profile.model import Profile
from tuner.traffic.records import decompressing

_CHUNK = 1 << 20


@dataclass(frozen=True)
class WrittenFile:
    """The files of one output: bytes on disk, the lines of the text in them, and the processor
    seconds of decompressing them, None where they are plain."""

    output: str
    bytes: int
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
    took_s = [seconds for _, seconds in read if seconds is not None]
    return WrittenFile(
        output=output.name,
        bytes=sum(path.stat().st_size for path in paths),
        events=sum(lines for lines, _ in read),
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


def _read(path: Path) -> tuple[int, float | None]:
    """The lines of a file, and the processor seconds of decompressing it, counting not
    included."""
    with open_given(path) as raw:
        kind, read = decompressing(raw)
        lines, took_s = 0, 0.0
        while True:
            began_s = time.thread_time()
            chunk = read(_CHUNK)
            took_s += time.thread_time() - began_s
            if not chunk:
                return lines, took_s if kind else None
            lines += chunk.count(b"\n")


# The reply of one bulk; what stands first says as much as what follows.
_MOST_BYTES = 1 << 24
_REASON = re.compile(r'"reason": ?"((?:[^"\\]|\\.)+)"')


def refusal_in(folder: Path) -> str | None:
    """Why the engine refused events, in its own words, from a file below that folder that
    omelasticsearch or a ruleset of retries writes then; None where none is there."""
    for path in folder.rglob("*.json"):
        with contextlib.suppress(OSError), open_given(path) as file:
            reason = _REASON.search(file.read(_MOST_BYTES).decode(errors="replace"))
            if reason is not None:
                return " ".join(reason[1].replace("\\n", " ").replace('\\"', '"').split())
    return None
