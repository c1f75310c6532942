"""Files that a user names, opened in one way: what is no regular file might be read for ever, or
change something when it is opened; and the files that come with the tool."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from tuner.errors import NotReadable, ProgramMissing

_KINDS = {
    stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}  # fmt: skip
# Files of the kernel's call themselves regular: /proc/kmsg waits for more, and what is read of it
# is gone.
_KERNEL = ("/proc/", "/sys/")
# Elasticsearch takes fields in 20 objects, each of which is two levels of a mapping.
_DEEPEST = 100
_TOO_DEEP = f"it is nested more than {_DEEPEST} levels deep"
WAY_TO_READ = "run this as root, or as a user who may read it"


class NotRegular(OSError):
    """What a path names is no regular file."""

    def __init__(self, what: str, path: str) -> None:
        super().__init__(0, f"it is {what}: only regular files are read", path)


def opened(path: str | Path) -> BinaryIO:
    """A regular file, to be read; /dev/null, which stands for none, is empty.  Raises OSError."""
    return open(path, "rb", opener=_opened)


def content(path: str | Path, most: int = -1) -> bytes:
    """The first `most` bytes of such a file, all of it without.  Raises OSError."""
    with opened(path) as file:
        return file.read(most)


def required_content(path: str | Path, most: int = -1) -> bytes:
    """The content of a file that the user named; raises NotReadable."""
    try:
        return content(path, most)
    except OSError as error:
        raise unreadable(path, error) from None


def json_of(text: str | bytes) -> Any:
    """What a JSON text says; raises ValueError, also where it is nested deeper than any is."""
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    level = [data]
    for _ in range(_DEEPEST):
        level = [inner for one in level for inner in _inside(one)]
    if level:
        raise ValueError(_TOO_DEEP)
    return data


def _inside(data: object) -> Iterable[object]:
    if isinstance(data, dict):
        return data.values()
    return data if isinstance(data, list) else ()


def resolved(path: str | Path) -> Path:
    """Where a path leads, as far as it does: links may lead in a circle."""
    return Path(os.path.realpath(path))


def readable(path: str | Path | None, role: str = "") -> str | None:
    """The path of a file that something else is about to read, None for none; raises NotReadable,
    which says its `role`."""
    if path is None:
        return None
    try:
        opened(path).close()
    except OSError as error:
        raise unreadable(f"{path}{role}", error) from None
    return str(path)


def unreadable(path: str | Path, error: OSError) -> NotReadable:
    """Why a file that a user named cannot be read, as the command says it."""
    reason = why(error)
    return NotReadable(f"{path} cannot be read: {reason[:1].lower()}{reason[1:]}")


def why(error: OSError) -> str:
    """Why a file cannot be read, and what to do where this user may not."""
    reason = error.strerror or str(error)
    return f"{reason}: {WAY_TO_READ}" if isinstance(error, PermissionError) else reason


def _opened(path: str, flags: int) -> int:
    # To open some devices already does something.
    _require(Path(path).stat(), path)
    handle = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        _require(os.fstat(handle), path)
        _require_no_kernel(handle, path)
    except OSError:
        os.close(handle)
        raise
    return handle


def _require(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise NotRegular("a folder", path)
    is_null = stat.S_ISCHR(status.st_mode) and status.st_rdev == os.makedev(1, 3)
    if not stat.S_ISREG(status.st_mode) and not is_null:
        raise NotRegular(_KINDS.get(stat.S_IFMT(status.st_mode), "none"), path)


def _require_no_kernel(handle: int, path: str) -> None:
    there = Path(f"/proc/self/fd/{handle}")
    if there.is_symlink() and str(there.readlink()).startswith(_KERNEL):
        raise NotRegular("a file of the kernel's", path)


def packaged(name: str) -> str:
    """The text of a file that lies in the package, such as `lab/openssl.cnf`."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


@cache
def table(name: str) -> dict[str, Any]:
    """The table of facts in a TOML file of the package."""
    return tomllib.loads(packaged(name))


def asset(folder: str, name: str) -> Path:
    """The file `name` of `folder`, which is `templates` or `profiles`; raises ProgramMissing."""
    path = asset_folder(folder) / name
    if not path.is_file():
        raise ProgramMissing(f"{folder}/{name} is missing: install rsyslog-tune again")
    return path


def asset_text(folder: str, name: str) -> str:
    """The text of an asset."""
    return asset(folder, name).read_text(encoding="utf-8")


@cache
def asset_folder(folder: str) -> Path:
    """Where the assets of a folder lie: in the package of a wheel, or beside it in a checkout."""
    packed = Path(__file__).parent / "_assets" / folder
    return packed if packed.is_dir() else Path(__file__).parents[1] / folder
