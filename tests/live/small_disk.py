"""A file system that is soon full."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def small_disk(folder: Path, size: str = "4m") -> Iterator[None]:
    """A file system of that size on `folder`, which only root can mount."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        # What is being ended may hold it for another moment.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
