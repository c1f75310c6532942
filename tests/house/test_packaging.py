"""The wheel carries everything, and works away from the checkout."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the checkout by the environment's own hatchling."""
    target = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(target.glob("*.whl"))


def test_the_wheel_holds_every_template_profile_and_page(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("templates", "profiles", "docs"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                assert f"tuner/_assets/{path.relative_to(ROOT)}" in inside


@pytest.mark.full
@pytest.mark.live
def test_the_installed_wheel_renders_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """Into an empty environment, its dependencies installed as a user's pip would."""
    home = tmp_path / "environment"
    venv.create(home, with_pip=True)
    tool = home / "bin"
    install = [str(tool / "pip"), "install", "-q", "--no-compile", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    profile = next(home.rglob("_assets/profiles/default.yaml"))
    done = subprocess.run(
        [tool / "rsyslog-tune", "render", str(profile), "-o", "out"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "omelasticsearch" in (tmp_path / "out" / "rsyslog.conf").read_text(encoding="utf-8")
