"""Rendered files on disk: written whole or not at all, compared, and shown as a diff."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path

from tuner.errors import JobFailed, Refused
from tuner.render.artefacts import OPTIONAL, OURS, Artefact, mark_of

_PRIVATE, _PUBLIC = 0o600, 0o644


class Status(Enum):
    """What rendering does to a file in the folder."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REMOVED = "removed"


def write(artefacts: Iterable[Artefact], directory: Path) -> dict[str, Status]:
    """Bring `directory` up to date, and say what that did to each path."""
    files = tuple(artefacts)
    foreign = _foreign(files, directory)
    if foreign:
        raise Refused(
            f"{directory / foreign[0]} was not rendered by rsyslog-tune and would be overwritten: "
            "move it away, or name another folder"
        )
    links = [file.path for file in files if (directory / file.path).is_symlink()]
    if links:
        link = directory / links[0]
        raise Refused(
            f"{link} is a symbolic link to {link.readlink()} and would be replaced by a file: "
            "remove it, or name another folder"
        )
    try:
        states = states_of(files, directory)
        for file in files:
            _write(directory / file.path, file)
        for path in _left_over(files, directory):
            (directory / path).unlink()
    except OSError as bad:
        reason = bad.strerror or str(bad)
        raise JobFailed(f"cannot write {bad.filename or directory}: {reason}") from bad
    return states


def states_of(artefacts: Iterable[Artefact], directory: Path) -> dict[str, Status]:
    """What `write` would do to each path below `directory`."""
    files = tuple(artefacts)
    states = {file.path: _state(file, directory) for file in files}
    states |= dict.fromkeys(_left_over(files, directory), Status.REMOVED)
    return dict(sorted(states.items()))


def stale(artefacts: Iterable[Artefact], directory: Path) -> tuple[str, ...]:
    """The paths below `directory` whose files are missing, differ or should be gone."""
    states = states_of(artefacts, directory)
    return tuple(path for path, state in states.items() if state is not Status.UNCHANGED)


def diff(artefacts: Iterable[Artefact], directory: Path) -> str:
    """What `write` would change, as a unified diff; empty when there is nothing to do."""
    files = tuple(artefacts)
    texts = {file.path: file.text for file in files}
    return "".join(
        line
        for path in stale(files, directory)
        for line in unified(path, _read(directory / path), texts.get(path))
    )


def unified(path: str, old: str | None, new: str | None) -> Iterator[str]:
    """The lines of a unified diff of one file, None where there is none; each ends its line."""
    lines = difflib.unified_diff(
        (old or "").splitlines(keepends=True),
        (new or "").splitlines(keepends=True),
        "/dev/null" if old is None else f"a/{path}",
        "/dev/null" if new is None else f"b/{path}",
    )
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _state(file: Artefact, directory: Path) -> Status:
    text = _read(directory / file.path)
    if text is None:
        return Status.NEW
    return Status.UNCHANGED if text == file.text else Status.CHANGED


def _foreign(files: tuple[Artefact, ...], directory: Path) -> list[str]:
    """Files in the way that somebody else wrote; of ours, all but live settings say so."""
    marked = [file.path for file in files if OURS in file.text]
    texts = {path: _read(directory / path) for path in marked}
    return [path for path, text in texts.items() if text and OURS not in text]


def _left_over(files: tuple[Artefact, ...], directory: Path) -> list[str]:
    """Files of ours that this profile no longer has."""
    paths = {file.path for file in files}
    gone = (path for path in OPTIONAL if path not in paths)
    return [path for path in gone if (mark_of(path) or OURS) in (_read(directory / path) or "")]


def _read(path: Path) -> str | None:
    """The text of a file to its last byte, None when it is not there."""
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as bad:
        raise JobFailed(f"cannot read {path}: {bad.strerror}") from bad


def _write(path: Path, artefact: Artefact) -> None:
    """Put a finished file in place; readers see the old one or the new one, never a part."""
    mode = _PRIVATE if artefact.private else _PUBLIC
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(artefact.text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
