"""`rsyslog-tune render`, `validate` and `diff` with the options that name folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tuner.cli.commands import app
from tuner.errors import BadTemplate, BadUsage, DifferencesFound, Refused

RUN = CliRunner()
ROOT = Path(__file__).parents[2]
PROFILE = str(ROOT / "profiles/default.yaml")
EXAMPLE = str(ROOT / "examples/templates")


def states(*arguments: str) -> dict[str, str]:
    """What is said of each file, the folder left out."""
    shown = RUN.invoke(app, ["render", PROFILE, *arguments]).stdout
    words = [line.split() for line in shown.splitlines()]
    return {Path(path).name: state for state, path in words}


def test_each_file_is_new_changed_unchanged_or_removed(tmp_path: Path) -> None:
    folder = ("-o", str(tmp_path))
    assert set(states(*folder).values()) == {"new"}
    assert set(states(*folder).values()) == {"unchanged"}
    (tmp_path / "live-settings.json").write_text("{}\n", encoding="utf-8")
    policy = '{"policy": {"_meta": {"managed_by": "rsyslog-tune"}}}'
    (tmp_path / "lifecycle-policy.json").write_text(policy, encoding="utf-8")
    assert states(*folder) == {
        "heap.options": "unchanged",
        "index-template.json": "unchanged",
        "lifecycle-policy.json": "removed",
        "live-settings.json": "changed",
        "rsyslog.conf": "unchanged",
    }


def test_a_program_gets_the_files_and_what_became_of_them(tmp_path: Path) -> None:
    arguments = ["render", PROFILE, "-o", str(tmp_path), "--output", "json"]
    shown = json.loads(RUN.invoke(app, arguments).stdout)
    assert (shown["schema"], shown["kind"]) == (1, "render")
    assert set(shown["files"]) == set(shown["status"])
    assert set(shown["status"].values()) == {"new"}


def test_a_link_in_the_way_is_not_replaced(tmp_path: Path) -> None:
    link = tmp_path / "rsyslog.conf"
    link.symlink_to(tmp_path / "elsewhere.conf")
    refused = RUN.invoke(app, ["render", PROFILE, "-o", str(tmp_path)])
    assert isinstance(refused.exception, Refused)
    assert link.is_symlink()
    assert {path.name for path in tmp_path.iterdir()} == {"rsyslog.conf"}


def test_a_profile_comes_from_stdin_too() -> None:
    text = Path(PROFILE).read_text(encoding="utf-8")
    piped = RUN.invoke(app, ["render", "-", "--stdout"], input=text)
    assert piped.stdout == RUN.invoke(app, ["render", PROFILE, "--stdout"]).stdout
    assert isinstance(RUN.invoke(app, ["validate", "--fix", "-"]).exception, BadUsage)


def test_two_profiles_are_compared_by_what_they_render(tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    text = Path(PROFILE).read_text(encoding="utf-8")
    other.write_text(text.replace("refresh_interval: 5s", "refresh_interval: 7s"), encoding="utf-8")
    shown = RUN.invoke(app, ["diff", PROFILE, str(other)])
    assert isinstance(shown.exception, DifferencesFound)
    assert '-      "index.refresh_interval": "5s"' in shown.stdout
    assert '+      "index.refresh_interval": "7s"' in shown.stdout
    same = RUN.invoke(app, ["diff", PROFILE, PROFILE])
    assert (same.exit_code, same.stdout) == (0, "")
    assert isinstance(RUN.invoke(app, ["diff", PROFILE]).exception, BadUsage)


def test_a_file_name_needs_stdout() -> None:
    ended = RUN.invoke(app, ["render", PROFILE, "rsyslog.conf"])
    assert isinstance(ended.exception, BadUsage)
    assert str(ended.exception) == "rsyslog.conf: a file name needs --stdout"


def test_a_site_lays_its_templates_over_the_shipped_ones(tmp_path: Path) -> None:
    folder, site = ("-o", str(tmp_path)), ("--templates", EXAMPLE)
    states(*folder)
    assert states(*folder, *site) == {
        "heap.options": "unchanged",
        "index-template.json": "changed",
        "live-settings.json": "unchanged",
        "rsyslog.conf": "changed",
    }
    assert "immark" in (tmp_path / "rsyslog.conf").read_text(encoding="utf-8")
    assert RUN.invoke(app, ["render", PROFILE, *folder, *site, "--check"]).exit_code == 0


@pytest.mark.parametrize("command", [["render"], ["validate", "--offline"]])
def test_a_folder_that_is_not_there_is_wrong_usage(command: list[str], tmp_path: Path) -> None:
    ended = RUN.invoke(app, [*command, PROFILE, "--templates", str(tmp_path / "missing")])
    assert isinstance(ended.exception, BadUsage)
    assert ended.exception.exit_code == 64


def test_a_mistake_in_a_template_ends_with_file_and_line(tmp_path: Path) -> None:
    template = tmp_path / "rsyslog.conf.j2"
    template.write_text("# Rendered by rsyslog-tune\n{{ conf.name }}\n", encoding="utf-8")
    for command in ("render", "validate", "bench"):
        ended = RUN.invoke(app, [command, PROFILE, "--templates", str(tmp_path)])
        assert isinstance(ended.exception, BadTemplate)
        assert ended.exception.exit_code == 78
        assert str(ended.exception).startswith(f"{template}:2: 'default' did not come through")


def test_a_module_of_puppet_needs_a_folder_of_its_name(tmp_path: Path) -> None:
    folder = str(tmp_path / "modules/other")
    result = RUN.invoke(app, ["render", PROFILE, "--format", "puppet", "-o", folder])
    assert isinstance(result.exception, BadUsage)
    assert "end it in rsyslog_default" in str(result.exception)
    assert not (tmp_path / "modules").exists()
