"""Files of ours: whole or not at all, for whoever may read them."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path

from tuner.errors import BadUsage, JobFailed, Refused

_STDOUT = Path("-")


def raw_of(text: str) -> bytes:
    """The bytes of a rendered file, and of one that is kept as a `SourceFile`."""
    return text.encode("utf-8", "surrogateescape")


def write_whole(path: Path, text: str, mode: int | None = None) -> None:
    """Put a finished file in place; readers see the old one or the new one, never a part.

    Without `mode` it gets the owner, as far as allowed, and the permissions of the old one.  Raises
    JobFailed.
    """
    put_all([(path, text, mode)])


def write_new(files: Mapping[Path, str], private: Container[Path] = ()) -> None:
    """Files that are not there yet, all of them whole or none; the private ones are for their
    owner.  Raises Refused where one exists, and JobFailed."""
    for path in files:
        require_new(path)
    with contextlib.ExitStack() as undo:
        for path in files:
            with saying_why(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch(0o600 if path in private else 0o666, exist_ok=False)
            undo.callback(path.unlink, missing_ok=True)
        put_all((path, text, None) for path, text in files.items())
        undo.pop_all()


def require_new(path: Path) -> None:
    """Raise Refused where a file is there already, and BadUsage for `-`."""
    require_named(path)
    if path.exists() or path.is_symlink():
        raise Refused(f"{path} exists: name another file, or move it")


def require_writable(path: Path) -> None:
    """Raise JobFailed where `write_whole` could not write a file."""
    require_named(path)
    if path.is_dir():
        raise JobFailed(f"cannot write {path}: it is a folder")
    beside = _beside(path)
    try:
        _finish(path, beside, "", None)
    finally:
        beside.unlink(missing_ok=True)


def require_named(path: Path) -> None:
    """Raise BadUsage for `-`, which stands for stdout elsewhere."""
    if path == _STDOUT:
        raise BadUsage("- is not stdout here: name a file or a folder, or leave the option out")


def put_all(files: Iterable[tuple[Path, str, int | None]]) -> None:
    """Bring finished files to their places; where one cannot be written none is changed."""
    finished = []
    with contextlib.ExitStack() as undo:
        for path, text, mode in files:
            beside = _beside(path)
            undo.callback(beside.unlink, missing_ok=True)
            _finish(path, beside, text, mode)
            finished.append((path, beside))
        for path, beside in finished:
            with saying_why(path):
                beside.replace(path)


def _beside(path: Path) -> Path:
    """A name in the same folder that nobody can know before: where others may write too, a link at
    a known name would send a file elsewhere."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")


def _finish(path: Path, beside: Path, text: str, mode: int | None) -> None:
    """Write what will be `path` beside it, to the disk."""
    with saying_why(path):
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(handle, "wb") as file:
            if mode is not None:
                os.fchmod(handle, mode)
            elif path.exists():
                _make_like(path.stat(), handle)
            file.write(raw_of(text))
            file.flush()
            os.fsync(handle)


@contextlib.contextmanager
def saying_why(path: Path | None = None) -> Iterator[None]:
    """Raise JobFailed where a path cannot be written: this one, or else what the error names."""
    try:
        yield
    except OSError as error:
        raise JobFailed(f"cannot write {path or error.filename}: {error.strerror}") from None


def _make_like(old: os.stat_result, handle: int) -> None:
    with contextlib.suppress(PermissionError):
        os.fchown(handle, old.st_uid, old.st_gid)
    os.fchmod(handle, old.st_mode & 0o777)
