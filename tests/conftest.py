"""Expected outputs that live in files, the flag that accepts new ones, and what is not run."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

# As the command line does it, before anything imports numpy: on two cores that are busy otherwise,
# searches took four times as long with a thread for each.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

ACCEPT = "--accept-golden"
Expect = Callable[[Path, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        ACCEPT, action="store_true", help="write what tests find into their golden files"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Fuzzing is for those who ask for it: `pytest -m fuzz`."""
    if "fuzz" not in config.getoption("markexpr"):
        items[:] = [item for item in items if item.get_closest_marker("fuzz") is None]


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
