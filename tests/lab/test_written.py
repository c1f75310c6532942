"""What outputs wrote into files: plain, gzip, zstd, several, and cut short."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import zstandard

from tuner.lab.written import WrittenFile, written_files
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.profile.model import Profile

PUBLISHED = Path(__file__).parents[2] / "examples/published"
EVENTS = 50_000
TEXT = b"".join(b"<38>host tag: seq=%012d text\n" % n for n in range(EVENTS))
PLACE = "/var/log/all.log"
SQUEEZED = {
    "plain": TEXT,
    "gzip": gzip.compress(TEXT),
    "gzip, several members": gzip.compress(TEXT[:1000]) + gzip.compress(TEXT[1000:]),
    "zstd": zstandard.ZstdCompressor().compress(TEXT),
    "zstd, several frames": zstandard.ZstdCompressor().compress(TEXT[:1000])
    + zstandard.ZstdCompressor().compress(TEXT[1000:]),
}


def profile_with(**places: object) -> Profile:
    text = (PUBLISHED / "p3-archive.yaml").read_text("utf-8")
    changes = {f"outputs[archive].{key}": value for key, value in places.items()}
    return parse_profile(edit(text, changes), "p.yaml").profile


def written(folder: Path, data: bytes) -> WrittenFile:
    path = Path(f"{folder}{PLACE}")
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    (found,) = written_files(profile_with(file=PLACE), folder)
    return found


@pytest.mark.parametrize("kind", SQUEEZED)
def test_every_event_is_counted_whatever_the_compression(tmp_path: Path, kind: str) -> None:
    found = written(tmp_path, SQUEEZED[kind])
    assert (found.output, found.events) == ("archive", EVENTS)
    assert found.bytes == len(SQUEEZED[kind])
    assert (found.decompress_cpu_s is None) == (kind == "plain")


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_file_that_is_cut_short_lacks_events(tmp_path: Path, kind: str) -> None:
    whole = SQUEEZED[kind]
    assert written(tmp_path, whole[: len(whole) // 2]).events < EVENTS


def test_files_by_a_property_count_together(tmp_path: Path) -> None:
    for name in ("by-host/a", "by-host/b/c", "other"):
        path = tmp_path / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(SQUEEZED["gzip"])
    dyna = {"before": "/logs/by-", "property": "hostname"}
    (found,) = written_files(profile_with(file=None, dynaFile=dyna), tmp_path)
    assert found.events == 2 * EVENTS


def test_a_file_that_was_never_written_holds_nothing(tmp_path: Path) -> None:
    (found,) = written_files(profile_with(file=PLACE), tmp_path)
    assert (found.bytes, found.events) == (0, 0)
