"""Scratch folders: gone when their owner is done, removed by the next run when it was killed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tuner.host.lock import state_folder
from tuner.lab.entrances import UnixSocket
from tuner.lab.scratch import remove_abandoned, scratch

ROOT = Path(__file__).parents[2]

OWNER = """
import sys, time
from pathlib import Path
from tuner.lab.scratch import scratch
with scratch(Path(sys.argv[1])) as folder:
    (folder / "spool").mkdir()
    (folder / "spool" / "file").write_text("x")
    print(folder, flush=True)
    time.sleep(60)
"""


@contextmanager
def owner(parent: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process with a scratch folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, parent], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def records() -> set[str]:
    return {path.stem for path in (state_folder() / "scratch").iterdir()}


def test_it_is_gone_afterwards_with_its_record(tmp_path: Path) -> None:
    with scratch(tmp_path) as folder:
        (folder / "file").touch()
        assert folder.name in records()
    assert not folder.exists()
    assert folder.name not in records()


def test_what_a_killed_owner_left_is_removed(tmp_path: Path) -> None:
    with owner(tmp_path) as (process, folder):
        process.kill()
        process.wait()
        assert (folder / "spool" / "file").exists()
        assert folder in remove_abandoned()
        assert not folder.exists()
        assert folder.name not in records()
        assert folder not in remove_abandoned()


def test_what_a_living_owner_has_is_left_alone(tmp_path: Path) -> None:
    with owner(tmp_path) as (_, folder), scratch(tmp_path) as ours:
        assert {folder, ours}.isdisjoint(remove_abandoned())
        assert (folder / "spool" / "file").exists()
        assert ours.is_dir()


def test_nothing_but_a_scratch_folder_is_ever_removed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    link = tmp_path / "rsyslog-tune-lab-aaaa0000"
    link.symlink_to(precious)
    places = {
        "rsyslog-tune-lab-aaaa0000": f'{{"folder": "{link}"}}',
        "rsyslog-tune-lab-aaaa0001": f'{{"folder": "{precious}"}}',
        "rsyslog-tune-lab-aaaa0002": '{"folder": "../rsyslog-tune-lab-aaaa0002"}',
        "rsyslog-tune-lab-aaaa0003": "torn",
    }
    with scratch(tmp_path):
        for name, text in places.items():
            path = state_folder() / "scratch" / f"{name}.json"
            path.write_text(text, encoding="utf-8")
        removed = remove_abandoned()
    assert not {link, precious} & set(removed)
    assert precious.is_dir()
    assert link.is_symlink()
    assert not set(places) & records()


def test_where_sockets_would_have_too_long_a_path_it_is_in_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuner.lab.scratch.unprivileged_user", lambda: None)
    temporary, deep = Path(tempfile.gettempdir()), tmp_path / ("a" * 60)
    deep.mkdir()
    with scratch(deep) as folder:
        assert folder.parent == deep.resolve()
    with scratch(deep, holds_sockets=True) as folder:
        assert folder.parent == temporary
    with scratch(temporary, holds_sockets=True) as folder:
        UnixSocket(str(folder / "trial-learning-0a1b" / "20000.sock")).require_free()
