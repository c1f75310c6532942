"""The run directory of a search: its best profile and what that is rendered to."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.search.simulated import START_S, TEXT, World, search
from tuner.cli.commands import app
from tuner.cli.files import keep_snippets, write_results
from tuner.errors import BadProfile, DifferencesFound
from tuner.lint.load import load_profile
from tuner.render.tree import raw_of

RUN = CliRunner()
LAYERED = TEXT.replace("name: small\n", "extends: site/lower.yaml\nname: small\n")
FILES = {
    "start.conf": 'module(load="mmcount")\n',
    "own/kept.conf": 'set $.kept = "\\xe9";\n',
    "../shared.conf": 'set $.shared = "1";\n',
    "of-stream.conf": "stop\n",
    "site/lower.conf": 'set $.lower = "1";\n',
}
CASES = {
    "its own": f"{TEXT}snippets: {{start: [start.conf], outputs: [own/kept.conf]}}\n",
    "outside of its folder": f"{TEXT}snippets: {{outputs: [own/kept.conf, ../shared.conf]}}\n",
    "of a stream": TEXT.replace("port: 10514", "port: 10514, stream: web").replace(
        "type: omelasticsearch", "type: omelasticsearch\n    stream: web"
    )
    + "streams: {web: {snippets: [of-stream.conf]}}\n",
    "of a layer below": LAYERED,
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_what_a_search_renders_is_what_its_best_profile_does(text: str, tmp_path: Path) -> None:
    folder, run = tmp_path / "work", tmp_path / "work/runs/one"
    for name, script in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(raw_of(script))
    (folder / "site/lower.yaml").write_text("snippets: {outputs: [lower.conf]}\n", "utf-8")
    (folder / "site.yaml").write_text(text, encoding="utf-8")
    run.mkdir(parents=True)
    written = load_profile(folder / "site.yaml")
    study = search(run, World(START_S))
    keep_snippets(run, written)
    write_results(run, written, study)

    again = RUN.invoke(
        app, ["render", str(run / "best.yaml"), "-o", str(run / "rendered"), "--diff"]
    )
    assert again.exit_code == 0, again.stdout
    conf = (run / "rendered/rsyslog.conf").read_bytes()
    assert b"was not read" not in conf
    assert b", as it is:" in conf
    diff = RUN.invoke(app, ["diff", str(folder / "site.yaml"), str(run / "best.yaml")])
    assert isinstance(diff.exception, DifferencesFound)
    changed = [line for line in diff.stdout.splitlines() if line[:1] in "+-"]
    is_elsewhere = "shared.conf" in text
    assert any("as it is" in line for line in changed) is is_elsewhere
    assert RUN.invoke(app, ["validate", "--offline", str(run / "best.yaml")]).exit_code == 0


def test_a_search_of_a_profile_whose_snippet_is_not_there_does_not_begin(tmp_path: Path) -> None:
    path = tmp_path / "site.yaml"
    path.write_text(f"{TEXT}snippets: {{outputs: [gone.conf]}}\n", encoding="utf-8")
    refused = RUN.invoke(app, ["search", str(path), "--dry-run", "--engine", "sink"])
    assert isinstance(refused.exception, BadProfile)
    assert "the snippet" in str(refused.exception)
