"""Expected outputs that live in files, the flag that accepts new ones, and what is not run."""

from __future__ import annotations

import ast
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
            _process_of(item.nodeid) not in {_ENGINE, _HOSTS},
            "tests/safety/" not in item.nodeid,
            item.get_closest_marker("live") is None,
        ),
    )


_ENGINE, _HOSTS = "engine", "hosts"
_ROOT = Path(__file__).parents[1]


@cache
def _needs_hosts(module: str) -> bool:
    """Whether tests of a module need a machine that has room for one set of hosts at a time."""
    text = (_ROOT / module).read_text(encoding="utf-8")
    return "tests.live.hosts" in text and "--cluster" in text


@cache
def _with_engine(module: str) -> frozenset[str]:
    """The functions of a module that get the Elasticsearch of a test run, as an argument or by a
    fixture of the module."""
    tree = ast.parse((_ROOT / module).read_text(encoding="utf-8"))
    arguments = {
        node.name: {argument.arg for argument in node.args.args}
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }
    users = frozenset({"elasticsearch", "each_engine"})
    while more := {name for name, names in arguments.items() if names & users} - users:
        users |= more
    return users


def _process_of(nodeid: str) -> str:
    """What shares a process: the tests of a module, those that share an Elasticsearch, and those
    that share hosts."""
    module, _, test = nodeid.partition("::")
    if _needs_hosts(module):
        return _HOSTS
    return _ENGINE if test.partition("[")[0] in _with_engine(module) else module


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
