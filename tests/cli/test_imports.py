"""What a command does not import: `--help` and `render` do not wait for what measuring needs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEFAULT = str(ROOT / "profiles/default.yaml")
MEASURING = {"numpy", "scipy", "requests", "psutil", "testinfra", "tuner.measure", "tuner.lab"}
PROFILES = {"pydantic", "yaml", "jinja2", "tuner.profile"}

SHOW = """
import sys
from tuner.cli.main import main
try:
    main()
finally:
    print("\\n".join(sys.modules), file=sys.stderr)
"""


def imported(*arguments: str) -> set[str]:
    """The names of the modules and packages that a run of the command imported."""
    done = subprocess.run(
        [sys.executable, "-c", SHOW, *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )
    return set(done.stderr.split())


def test_help_imports_no_more_than_help_needs() -> None:
    found = imported("--help")
    assert "typer" in found
    assert found & (MEASURING | PROFILES) == set()


def test_render_imports_no_more_than_render_needs() -> None:
    found = imported("render", DEFAULT)
    assert found >= PROFILES
    assert found & MEASURING == set()


def test_what_reads_a_configuration_is_imported_for_a_profile_that_stands_on_one(
    tmp_path: Path,
) -> None:
    (tmp_path / "rsyslog.conf").write_text('input(type="imtcp" port="514")\n', encoding="utf-8")
    on_base = tmp_path / "prod.yaml"
    on_base.write_text("name: prod\nbase: {rsyslog: rsyslog.conf}\n", encoding="utf-8")
    assert "lark" in imported("render", str(on_base))
    assert "lark" not in imported("render", DEFAULT)


def test_nothing_is_drawn_with_before_there_is_a_report() -> None:
    show = "import sys, tuner.cli.search"
    told = f"{show}; print('tuner.report.page' in sys.modules, 'matplotlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.split() == ["True", "False"]


def test_the_help_of_a_command_waits_for_nothing_that_the_command_does() -> None:
    found = imported("search", "--help")
    assert (
        found & {"numpy", "scipy", "requests", "yaml", "jinja2", "tuner.lab", "tuner.engine"}
        == set()
    )
    assert sum(name.startswith("tuner.") for name in found) < 40


def test_diagnose_imports_what_reads_counters_and_writes_of_them() -> None:
    show = "import sys, tuner.cli.diagnose"
    told = f"{show}; print(sum(name.startswith('tuner.') for name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert int(done.stdout) <= 120


@pytest.mark.parametrize("arguments", [("explain", "RT101"), ("schema",)])
def test_what_reads_and_writes_text_needs_nothing_that_measures(arguments: tuple[str]) -> None:
    assert imported(*arguments) & MEASURING == set()


def test_ctrl_c_while_python_still_imports_ends_it_without_a_traceback(tmp_path: Path) -> None:
    """A library that takes long to import stands for the first tenth of a second."""
    slow = "import os, time; os.write(1, b'importing'); time.sleep(60)"
    (tmp_path / "typer.py").write_text(slow, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("rsyslog-tune")), "--help"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(9) == b"importing"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, b"rsyslog-tune: interrupted\n")
