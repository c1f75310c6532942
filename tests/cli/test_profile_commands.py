"""The commands `init`, `explain` and `schema`, as a user meets them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.emulator import Terminal
from tuner.cli.commands import app
from tuner.errors import BadUsage, Refused
from tuner.lint.load import load_profile

RUN = CliRunner()


def test_init_writes_a_profile_once(tmp_path: Path) -> None:
    path = tmp_path / "My site.yaml"
    first = RUN.invoke(app, ["init", str(path)])
    assert (first.exit_code, first.stdout) == (0, f"{path}\n")
    assert load_profile(path).profile.name == "my-site"
    assert load_profile(path).warnings == ()
    path.write_text("mine", encoding="utf-8")
    again = RUN.invoke(app, ["init", str(path)])
    assert isinstance(again.exception, Refused)
    assert path.read_text(encoding="utf-8") == "mine"


def test_explain_says_why_a_rule_is_there() -> None:
    shown = RUN.invoke(app, ["explain", "rt404"]).stdout
    assert shown.startswith("RT404\n  F1: ")
    for word in ("layer     lint", "severity  warning", "source    rsyslog"):
        assert word in shown
    data = json.loads(RUN.invoke(app, ["explain", "RT404", "--output", "json"]).stdout)
    assert [one["code"] for one in data["rules"]] == ["RT404"]
    assert isinstance(RUN.invoke(app, ["explain", "RT999"]).exception, BadUsage)


def test_init_writes_over_no_link_either(tmp_path: Path) -> None:
    link = tmp_path / "link.yaml"
    link.symlink_to(tmp_path / "elsewhere.yaml")
    assert isinstance(RUN.invoke(app, ["init", str(link)]).exception, Refused)
    assert not (tmp_path / "elsewhere.yaml").exists()


def test_explain_says_what_a_reader_needs() -> None:
    shown = RUN.invoke(app, ["explain", "timeoutEnqueue"]).stdout
    places = ("main_queue", "lanes.queue", "streams[].queue", "outputs[].queue")
    assert "".join(f"{place}.timeoutEnqueue\n" for place in places) in shown
    for word in ("allowed ", "default ", "search ", "F9: ", "source "):
        assert word in shown
    assert any(line.endswith(" before the event is dropped.") for line in shown.splitlines())


def test_explain_folds_its_sentences_on_a_terminal(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("rsyslog-tune")), "explain", "timeoutEnqueue"]
    terminal = Terminal(command, 200, 50, tmp_path)
    assert terminal.read_to_the_end() == 0
    assert "F9: " in terminal.text
    assert max(map(len, terminal.shown)) <= 96


def test_explain_as_json() -> None:
    shown = json.loads(RUN.invoke(app, ["explain", "codec", "--output", "json"]).stdout)
    (key,) = shown["keys"]
    assert (shown["schema"], shown["kind"]) == (1, "explain")
    assert key["paths"] == ["outputs[].index.settings.codec"]


def test_explain_looks_up_words_that_are_no_key() -> None:
    full = RUN.invoke(app, ["explain", "queue", "full"]).stdout
    assert "outputs[].queue.timeoutEnqueue" in full
    assert "RT113\n  " in full
    shown = RUN.invoke(app, ["explain", "time", "zone"]).stdout
    assert shown.startswith("No key is called time zone; it is mentioned here:\n\ninputs[].")
    assert shown.endswith("in full: rsyslog-tune explain 'inputs[].defaultTZ'\n")
    data = json.loads(RUN.invoke(app, ["explain", "time zone", "--output", "json"]).stdout)
    assert data["keys"] == data["rules"] == []
    assert {"where", "text"} == data["mentions"][0].keys()


def test_explain_refuses_what_is_no_key() -> None:
    assert isinstance(RUN.invoke(app, ["explain", "dequeueBatch"]).exception, BadUsage)


def test_the_schema_is_json_and_nothing_else() -> None:
    shown = json.loads(RUN.invoke(app, ["schema"]).stdout)
    assert shown["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert {"extends", "name", "inputs", "outputs"} <= shown["properties"].keys()


@pytest.mark.parametrize("command", [["validate", "--offline"], ["render"], ["advise"]])
def test_the_profile_of_the_folder_is_meant_where_none_is_named(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    missing = RUN.invoke(app, command)
    assert isinstance(missing.exception, BadUsage)
    assert "or make one with rsyslog-tune init" in str(missing.exception)
    assert RUN.invoke(app, ["init"]).exit_code == 0
    assert RUN.invoke(app, command).exit_code == 0


def test_help_fills_the_lines_of_a_terminal() -> None:
    said = RUN.invoke(app, ["validate", "--help"], env={"COLUMNS": "80"}).stdout
    assert "adds the layer `engine`, --smoke the layer `smoke`. Exits with" in said
