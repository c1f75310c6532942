"""Expected outputs that live in files, the flag that accepts new ones, and what is not run."""

from __future__ import annotations

import atexit
import difflib
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

pytest_plugins = [
    "tests.drill.summary", "tests.live.repair_scorecard", "tests.live.tested",
    "tests.safety.scorecard",
]  # fmt: skip

# As the command line does it, before anything imports numpy: on two cores that are busy otherwise,
# searches took four times as long with a thread for each.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# An example that takes long is no failure: the machine may be slow.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

# Locks and records of a test run are its own, so that several can measure at once.
_STATE = Path(tempfile.mkdtemp(prefix="rsyslog-tune-tests-"))
_STATE.chmod(0o755)
atexit.register(shutil.rmtree, _STATE, ignore_errors=True)
os.environ["XDG_STATE_HOME"] = str(_STATE)

ACCEPT = "--accept-golden"
Expect = Callable[[Path, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        ACCEPT, action="store_true", help="write what tests find into their golden files"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long unless it is asked for by its marker; what needs the engine comes
    first, being the longest, then what else is live."""
    asked = config.getoption("markexpr")
    markers = ("full", "alone", "fuzz")
    left_out: tuple[str, ...] = () if any(one in asked for one in markers) else markers
    if "each_rsyslogd" in asked:
        left_out = ("alone", "fuzz")
    kept: list[pytest.Item] = []
    deselected: list[pytest.Item] = []
    for item in items:
        is_kept = not any(item.get_closest_marker(marker) for marker in left_out)
        (kept if is_kept else deselected).append(item)
    config.hook.pytest_deselected(items=deselected)
    items[:] = sorted(
        kept,
        key=lambda item: (
            _shared_by(item.path) is None,
            "tests/safety/" not in item.nodeid,
            item.get_closest_marker("live") is None,
        ),
    )


@cache
def _shared_by(module: Path) -> str | None:
    """What tests of that module share with those of others: the Elasticsearch of a test run, or a
    machine that has room for only one set of hosts at a time."""
    text = module.read_text(encoding="utf-8")
    if "tests.live.hosts" in text and "--cluster" in text:
        return "hosts"
    return "engine" if "elasticsearch: EngineClient" in text or "each_engine" in text else None


def _process_of(nodeid: str) -> str:
    """What shares a process: a module, or all modules that share something."""
    module = nodeid.partition("::")[0]
    return _shared_by(Path(__file__).parents[1] / module) or module


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """How several processes share the tests."""
    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = _process_of
    return scheduler


@pytest.fixture
def expect(request: pytest.FixtureRequest) -> Expect:
    """Compares a text with the file that holds what it must be; with the flag, writes the file."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption(ACCEPT):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        wanted = path.read_text(encoding="utf-8") if path.is_file() else ""
        lines = difflib.unified_diff(
            wanted.splitlines(), text.splitlines(), path.name, "now", n=2, lineterm=""
        )
        difference = "\n".join(lines)
        assert wanted == text, f"{path} differs; read it, then pytest {ACCEPT}:\n{difference}"

    return compare
