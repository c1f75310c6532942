"""What disk queues have on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def spool_bytes(folder: Path, filenames: Sequence[str]) -> int:
    """Bytes in the files of the queues with these `queue.filename`s; 0 when there are none.

    A queue names its files FILENAME.00000001 and so on, and FILENAME.qi.
    """
    sizes = []
    for name in filenames:
        for path in folder.glob(f"{name}.*"):
            try:
                sizes.append(path.stat().st_size)
            except FileNotFoundError:
                continue
    return sum(sizes)
