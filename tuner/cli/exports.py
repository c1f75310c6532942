"""Files that results are written to as a whole: what the options --export-json and
--export-markdown name."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tuner.errors import BadUsage, JobFailed
from tuner.report.markdown import blocks_markdown
from tuner.report.sections import PlainBlock

JsonFile = Annotated[
    Path | None,
    typer.Option(
        "--export-json",
        metavar="FILE",
        help="Write the results to FILE as JSON, whatever is printed.",
        show_default=False,
    ),
]
MarkdownFile = Annotated[
    Path | None,
    typer.Option(
        "--export-markdown",
        metavar="FILE",
        help="Write the results to FILE as Markdown, whatever is printed.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Exports:
    """The files that were asked for beside what is printed."""

    json: Path | None
    markdown: Path | None

    def require_writable(self, *inputs: Path) -> None:
        """Raise BadUsage for a file that is named twice or is one of `inputs`, and JobFailed for
        one that cannot be written: before a measurement, not after it."""
        taken = {path.resolve() for path in inputs}
        for path in filter(None, (self.json, self.markdown)):
            if path.resolve() in taken:
                raise BadUsage(f"{path} is used twice: name another file to export to")
            taken.add(path.resolve())
            if path.is_dir():
                raise JobFailed(f"cannot write {path}: it is a folder")
            try:
                _beside(path).touch()
            except OSError as error:
                raise JobFailed(f"cannot write {path}: {error.strerror}") from None
            finally:
                _remove(_beside(path))

    def write(self, data: Mapping[str, object], blocks: Iterable[PlainBlock]) -> None:
        """Write the results; raises JobFailed."""
        if self.json is not None:
            write_whole(self.json, json.dumps(data, indent=2) + "\n")
        if self.markdown is not None:
            write_whole(self.markdown, blocks_markdown(blocks))


def write_whole(path: Path, text: str) -> None:
    """Put `text` in place as a whole: a reader sees the old file or the new one, with the
    owner, as far as allowed, and the permissions of the old.  Raises JobFailed."""
    beside = _beside(path)
    try:
        beside.write_text(text, encoding="utf-8", newline="")
        if path.exists():
            _like(path, beside)
        beside.replace(path)
    except OSError as error:
        raise JobFailed(f"cannot write {path}: {error.strerror}") from None
    finally:
        _remove(beside)


def _like(path: Path, beside: Path) -> None:
    old, new = path.stat(), beside.stat()
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        with contextlib.suppress(PermissionError):
            os.chown(beside, old.st_uid, old.st_gid)
    beside.chmod(stat.S_IMODE(old.st_mode))


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
