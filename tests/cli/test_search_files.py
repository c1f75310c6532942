"""The run directory of a search: its best profile and what that is rendered to."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.profile.test_base import CONF
from tests.profile.test_base import loaded as loaded_base
from tests.search.simulated import ASKED, START_S, TEXT, World, search
from tuner.cli.commands import app
from tuner.cli.files import copy_snippets, write_results
from tuner.cli.search_session import Stopwatch, resumed_job
from tuner.errors import BadProfile, DifferencesFound, JobFailed
from tuner.lint.load import load_profile
from tuner.search.journal import journal, recorded
from tuner.writing import raw_of

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
    copy_snippets(run, written)
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


def test_no_secret_of_a_base_is_in_a_journal_or_a_report_and_what_is_rendered_has_it(
    tmp_path: Path,
) -> None:
    """Whoever may read the results may not read the configuration."""
    conf = CONF.replace('server="es1"', 'uid="me" pwd="s3cret\\\n  More" server="es1"')
    loaded = loaded_base(tmp_path, conf=conf)
    text, path = loaded.text, str(loaded.path)
    asked = replace(
        ASKED, profile_text=text, profile_path=path, profile_base=loaded.beside_without_secrets
    )
    run = tmp_path / "run"
    run.mkdir()
    with journal(run, asked):
        pass
    record = recorded(run)
    written = resumed_job(run, record, Stopwatch(0.0), on_cluster=False).loaded
    assert written.beside == loaded.beside
    write_results(run, written, record.study)
    assert "s3cret" in (run / "rendered/rsyslog.conf").read_text(encoding="utf-8")
    shutil.rmtree(run / "rendered")
    for file in run.iterdir():
        assert "s3cret" not in file.read_text(encoding="utf-8")
        assert "More" not in file.read_text(encoding="utf-8")

    (tmp_path / "rsyslog.conf").unlink()
    elsewhere = resumed_job(run, record, Stopwatch(0.0), on_cluster=False).loaded
    with pytest.raises(JobFailed, match=r"rsyslog\.conf has changed .* or is gone, and no secret"):
        write_results(run, elsewhere, record.study)
    assert not (run / "rendered").exists()


def test_results_that_may_hold_a_secret_are_for_their_owner_alone(tmp_path: Path) -> None:
    """A snippet has one, and a comment in the profile tells of one."""
    path, run = tmp_path / "site.yaml", tmp_path / "run"
    (tmp_path / "secret.conf").write_text('set $.token = "winter";\n', encoding="utf-8")
    text = f"{TEXT}snippets: {{outputs: [secret.conf]}}\n# password: winter\n"
    path.write_text(text, encoding="utf-8")
    run.mkdir()
    with journal(run, replace(ASKED, profile_text=text)):
        pass
    copy_snippets(run, load_profile(path))
    write_results(run, load_profile(path), recorded(run).study)
    modes = {name: (run / name).stat().st_mode & 0o777 for name in ("secret.conf", "best.yaml")}
    assert modes == {"secret.conf": 0o600, "best.yaml": 0o600}


def test_a_search_of_a_profile_whose_snippet_is_not_there_does_not_begin(tmp_path: Path) -> None:
    path = tmp_path / "site.yaml"
    path.write_text(f"{TEXT}snippets: {{outputs: [gone.conf]}}\n", encoding="utf-8")
    refused = RUN.invoke(app, ["search", str(path), "--dry-run", "--engine", "sink"])
    assert isinstance(refused.exception, BadProfile)
    assert "the snippet" in str(refused.exception)
