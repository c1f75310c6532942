"""Files of counters: in any order, rotated, gzipped, damaged."""

from __future__ import annotations

import gzip
import os
import sys
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.diagnose.logged import LOGS, text_of
from tuner.diagnose.files import STDIN, in_order, lines_of
from tuner.errors import JobFailed


def silent(_: str) -> None:
    """Nothing is damaged."""


@pytest.fixture
def rotated(tmp_path: Path) -> list[Path]:
    """A log in three files, the oldest gzipped, cut in the middle of a round."""
    lines = text_of("healthy").splitlines(keepends=True)
    parts = (lines[:70], lines[70:200], lines[200:])
    names = ("impstats.log.2.gz", "impstats.log.1", "impstats.log")
    for name, part in zip(names, parts, strict=True):
        data = "".join(part).encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    return [tmp_path / name for name in names]


def test_files_are_read_in_the_order_of_their_time(rotated: list[Path]) -> None:
    assert in_order(rotated[::-1]) == tuple(rotated)
    assert in_order([rotated[1], rotated[0], rotated[2], rotated[1]]) == tuple(rotated)
    text = [line for path in in_order(rotated[::-1]) for _, _, line in lines_of(path, silent)]
    assert text == text_of("healthy").splitlines()


def test_what_is_too_long_of_a_line_is_no_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "long"
    for text in ("a" * 25 + "\nshort\n", "a" * 10 + "\nshort", "short\n" + "b" * 20):
        path.write_text(text)
        read = [line for _, _, line in lines_of(path, silent, longest=10)]
        assert read == [line[:10] for line in text.splitlines()]


def test_a_damaged_gzip_file_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = (LOGS / "healthy.log.gz").read_bytes()
    complaints: list[str] = []
    for name, data in (
        ("cut", whole[: len(whole) // 2]), ("broken", whole[:900] + b"\0" * 40 + whole[940:]),
        ("more", whole + b"no gzip"),
    ):  # fmt: skip
        path = tmp_path / name
        path.write_bytes(data)
        read = list(lines_of(path, complaints.append))
        assert len(complaints) == 1, name
        assert complaints.pop().startswith(
            f"{path}: the gzip file is damaged after line {len(read)}"
        )


def test_a_line_without_end_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "endless"
    path.write_bytes(b"x" * (9 * 2**20))
    assert max(len(line) for _, _, line in lines_of(path, silent)) <= 4 * 2**20


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(JobFailed):
            list(lines_of(path, silent))


def test_what_comes_by_stdin_may_be_gzipped(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (b"one\ntwo\n", gzip.compress(b"one\ntwo\n")):
        stdin = SimpleNamespace(buffer=BytesIO(data))
        monkeypatch.setattr(sys, "stdin", stdin)
        assert [line for _, _, line in lines_of(STDIN, silent)] == ["one", "two"]
        assert not stdin.buffer.closed


def test_a_pipe_is_read_once(tmp_path: Path, rotated: list[Path]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert in_order([pipe, rotated[1], rotated[0]]) == (rotated[0], rotated[1], pipe)


def _log(at: str, begin: int, rounds: int) -> str:
    """Rounds every second of a process that counts on."""
    return "".join(
        f"Sat Nov 28 {at}:{n:02} 2026: {what}\n"
        for n in range(rounds)
        for what in (
            f"resource-usage: origin=impstats utime={9000 * (begin + n)} nvcsw={7 * (begin + n)} ",
            f"main Q: origin=core.queue size=0 enqueued={100 * (begin + n)} ",
        )
    )


def test_files_between_which_the_clock_was_set_back_are_in_the_order_of_the_process(
    tmp_path: Path,
) -> None:
    first, then = tmp_path / "a.log", tmp_path / "b.log"
    first.write_text(_log("11:11", 1, 20), "utf-8")
    then.write_text(_log("10:11", 21, 20), "utf-8")
    assert in_order([then, first]) == (first, then)
    # A process that began anew at the later time is no sign of that.
    first.write_text(_log("11:11", 1, 5), "utf-8")
    assert in_order([first, then]) == (then, first)
