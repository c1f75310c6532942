"""The container file: it cannot be built where tests run, but what it copies must suffice."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()


def test_what_is_copied_is_enough_to_build_the_package(tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    for line in LINES:
        if line.startswith("COPY ") and "--from" not in line:
            *names, target = line.split()[1:]
            for name in names:
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, source / target)
                else:
                    shutil.copy(ROOT / name, source / target)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    inside = zipfile.ZipFile(next((source / "dist").glob("*.whl"))).namelist()
    for wanted in ("tuner/cli/main.py", "tuner/_assets/profiles/default.yaml"):
        assert wanted in inside
    assert any(name.endswith("/share/man/man1/rsyslog-tune.1") for name in inside)


def test_it_runs_as_nobody_in_particular_and_passes_signals_on() -> None:
    last = "\n".join(LINES).rpartition("\nFROM ")[2]
    assert re.search(r"^USER \d+:\d+$", last, re.MULTILINE)
    assert '\nENTRYPOINT ["/usr/bin/tini", "--", "rsyslog-tune"]\n' in last
