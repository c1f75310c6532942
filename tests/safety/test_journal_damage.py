"""F17: whatever happened to a journal, nothing is made up, lost in silence, or a traceback."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.live.conftest import COMMAND
from tests.safety.invariants import require_one_cause
from tests.safety.scorecard import control, row
from tests.safety.searches import tune, unguarded
from tests.search.simulated import START_S, World, search
from tuner.cli.commands import app
from tuner.errors import TuneError
from tuner.search import journal

NAME = journal.NAME
FLIPS = 60
RUN = CliRunner()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of a search that came to its end."""
    folder = tmp_path_factory.mktemp("finished")
    search(folder, World(START_S))
    return folder


def truncated(run: Path) -> None:
    (run / NAME).write_bytes((run / NAME).read_bytes()[:10])


def emptied(run: Path) -> None:
    (run / NAME).write_bytes(b"")


def deleted(run: Path) -> None:
    (run / NAME).unlink()


def of_another_version(run: Path) -> None:
    (run / NAME).write_text('{"header": {"schema": 999}}\n', encoding="utf-8")


def foreign(run: Path) -> None:
    shutil.copy("/bin/sh", run / NAME)


def changed(run: Path) -> None:
    text = (run / NAME).read_bytes()
    (run / NAME).write_bytes(text.replace(b'"eps": 5', b'"eps": 6', 1))


def a_folder(run: Path) -> None:
    (run / NAME).unlink()
    (run / NAME).mkdir()


DAMAGES = (truncated, emptied, deleted, of_another_version, foreign, changed, a_folder)


def refused(run: Path, damage: Callable[[Path], None], command: tuple[str, ...] = COMMAND) -> None:
    """Both commands that read a journal say what is wrong; the journal is kept as it was."""
    damage(run)
    site = run.parent
    text = (run / NAME).read_bytes() if (run / NAME).is_file() else None
    for arguments in (("report", "run"), ("search", "--resume", "run")):
        done = tune(site, *arguments, command=command)
        require_one_cause(done.code, 1, done.err, NAME)
    if text is not None:
        kept = [path.read_bytes() for path in run.glob(f"{NAME}*")]
        assert text in kept, "the damaged journal was not kept"


@row("F17")
@pytest.mark.full
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda one: one.__name__)
def test_f17_a_journal_that_is_not_what_it_was_is_named(
    site: Path, finished: Path, damage: Callable[[Path], None], run: int
) -> None:
    (site / "run").mkdir()
    shutil.copy(finished / NAME, site / "run")
    refused(site / "run", damage)


@control("F17")
@pytest.mark.full
def test_control_f17(site: Path, finished: Path) -> None:
    (site / "run").mkdir()
    shutil.copy(finished / NAME, site / "run")
    with pytest.raises(AssertionError, match="exit code 0, not 1"):
        refused(site / "run", changed, unguarded("trust_the_journal"))


def failed_as_it_should(shown: Result) -> bool:
    return isinstance(shown.exception, TuneError)


@row("F17")
@pytest.mark.full
def test_f17_a_bit_that_flipped_anywhere_is_seen(tmp_path: Path, finished: Path, run: int) -> None:
    whole = (finished / NAME).read_bytes()
    cut = whole.rindex(b"\n", 0, -1)
    for _ in range(FLIPS):
        text = bytearray(whole)
        text[random.randrange(cut)] ^= 1 << random.randrange(8)
        (tmp_path / NAME).write_bytes(text)
        shown = RUN.invoke(app, ["report", str(tmp_path)])
        assert failed_as_it_should(shown), (shown.exception, shown.output)
        assert (tmp_path / NAME).read_bytes() == text


@row("F17")
@pytest.mark.full
def test_f17_a_run_directory_that_cannot_be_written_is_named(begun: Path, run: int) -> None:
    """Read-only for root too."""
    script = 'mount --bind run run && mount -o remount,bind,ro run && exec "$@"'
    done = tune(begun, "search", "--resume", "run",
                command=("unshare", "--mount", "sh", "-c", script, "sh", *COMMAND))  # fmt: skip
    if "unshare" in done.err:
        pytest.skip("mount namespaces need privileges")
    require_one_cause(done.code, 1, done.err, "cannot write")
    assert subprocess.run(["touch", "run/x"], cwd=begun, check=False).returncode == 0
