"""What is installed without the extras renders, explains, advises, checks and diagnoses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.diagnose.logged import text_of
from tuner.errors import EXTRAS

ROOT = Path(__file__).parents[2]
DEFAULT = ROOT / "profiles/default.yaml"
OWN = ROOT / "examples/collector/rsyslog.conf"
HERE = "a checkout of rsyslog-tune"
LIBRARIES = [library for libraries in EXTRAS.values() for library in libraries]

# All commands in one process, in which the libraries of the extras are not to be found.
RUN = """
import contextlib, io, json, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in LIBRARIES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

LIBRARIES, lines = json.loads(sys.argv[1])
sys.meta_path.insert(0, Missing())
from tuner.cli.commands import run
done = []
for words in lines:
    sys.argv = ["rsyslog-tune", *words]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run()
        except SystemExit as end:
            code = end.code or 0
        else:
            code = 0
    done.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(done))
"""


def without_extras(folder: Path, *lines: list[str]) -> list[tuple[int, str, str]]:
    """The exit code of each command, what it printed and what it said."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps([LIBRARIES, lines])],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [(code, out, err) for code, out, err in json.loads(done.stdout)]


def commands(folder: Path) -> dict[str, list[str]]:
    """What needs no extra, on files of `folder`."""
    log = folder / "impstats.log"
    log.write_text(text_of("healthy"), encoding="utf-8")
    (folder / "syslog").write_text("Nov 28 10:00:00 web1 sshd[7]: hello\n", encoding="utf-8")
    return {
        "render": [str(DEFAULT), "-o", "rendered"],
        "explain": ["RT113"],
        "schema": [],
        "advise": ["--conf", str(OWN)],
        "validate": ["--offline", str(OWN)],
        "diagnose": [str(log)],
        "diff": [str(DEFAULT), str(DEFAULT)],
        "init": [],
        "workload": ["syslog"],
        **{
            name: ["--help"]
            for name in ("test", "import", "apply", "verify", "recover", "doctor", "flood", "sink")
        },
    }


def test_what_does_not_measure_works_without_what_measuring_needs(tmp_path: Path) -> None:
    asked = commands(tmp_path)
    done = without_extras(tmp_path, *([name, *words] for name, words in asked.items()))
    assert {name: code for name, (code, _, _) in zip(asked, done, strict=True)} == dict.fromkeys(
        asked, 0
    )


def test_what_measures_names_what_is_to_be_installed(tmp_path: Path) -> None:
    done = without_extras(
        tmp_path, ["search", "--conf", str(OWN), "--budget", "10m"], ["cluster", "status"]
    )
    assert done == [
        (
            69,
            "",
            f"rsyslog-tune: {what}: run pip install '.[{extra}]' in a checkout of rsyslog-tune\n",
        )
        for extra, what in (
            ("search", "search needs matplotlib, scipy and zstandard"),
            ("cluster", "cluster needs cryptography, dask and distributed"),
        )
    ]


def test_which_of_several_outputs_gets_the_traffic_is_not_asked_without_what_measures(
    tmp_path: Path,
) -> None:
    action = 'action(type="omelasticsearch" name="{}" searchType="" bulkmode="on")'
    lines = [
        'module(load="imtcp") module(load="omelasticsearch")',
        'input(type="imtcp" port="514")',
        action.format("few"),
        action.format("many"),
    ]
    (tmp_path / "rsyslog.conf").write_text("\n".join([*lines, ""]), encoding="utf-8")
    ((code, out, _),) = without_extras(tmp_path, ["advise", "--conf", "rsyslog.conf"])
    assert code == 0
    assert "action[many].filter_path" in out
