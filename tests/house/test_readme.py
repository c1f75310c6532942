"""README.md and docs/: every command runs as it is written, every table is that of the code.

Commands that need daemons run in tests/live/test_readme.py.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from tests.diagnose.logged import text_of as text_of_log
from tests.diagnose.test_refusal import FORMS
from tests.house.pages import (
    DOCS,
    PAGES,
    README,
    ROOT,
    TOOL,
    Block,
    Command,
    anchors,
    blocks,
    commands,
    links,
    mentions,
    profile_block,
    rows,
    section,
    text_of,
)
from tests.lab.test_bind import SITE
from tests.live.rsyslogs import SUITES
from tests.live.tested import AREAS, ENGINES, table_in
from tests.measure.factory import measured
from tests.measure.series import benched
from tests.search.simulated import START_S, World, search
from tests.shipped import PROFILES
from tuner.cases.case_file import load_cases
from tuner.cli.commands import COMMANDS, app, command, summaries
from tuner.deploy.inventory import load_inventory
from tuner.errors import DifferencesFound, Refused
from tuner.lab.bind import bind
from tuner.lint.load import load_profile, parse_profile
from tuner.lint.load_experiment import load_experiment
from tuner.modules.registry import MODULES, name_of
from tuner.profile.documents import used_fields
from tuner.profile.edit import edit
from tuner.report.bench import bench_json
from tuner.schema.section import doc

RUN = CliRunner()
GROUPS: dict[str, Any] = {name: command(name) for name in ("lab", "cluster")}
PROFILE = "rsyslog-tune.yaml"
REFERENCE = DOCS / "reference.md"
KEYS = DOCS / "profiles.md"
# What a command gets so that it needs no daemon, and what it loses for that.
OFFLINE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "init": ((), ()),
    "import": (("rsyslog.conf",), ("/etc/rsyslog.conf",)),
    "schema": ((), ()),
    "advise": ((), ()),
    "explain": ((), ()),
    "plan": ((), ()),
    "render": ((), ()),
    "report": ((), ()),
    "validate": (("--offline",), ("--smoke",)),
    "search": (("--dry-run",), ()),
    "sweep": (("--dry-run",), ()),
    "workload": (("syslog",), ("/var/log/syslog",)),
    "diagnose": (("impstats.log",), ("/var/log/rsyslog/impstats.log*",)),
}
LIVE = {
    "bench",
    "compare",
    "flood",
    "diff",
    "validate",
    "apply",
    "confirm",
    "verify",
    "recover",
    "trial",
    "cluster",
    "test",
}
EVERY = commands()
CONFIGURATION = ROOT / "tests/script/golden/modern.conf"
LINE = "Nov 25 17:00:01 web1 sshd[7]: Connection closed by 192.0.2.7 port 5022\n"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of a search that was computed, with its results."""
    folder = tmp_path_factory.mktemp("searched") / "run"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        search(folder, World(START_S))
    done = RUN.invoke(app, ["search", "--resume", str(folder)])
    assert done.exit_code == 0, done.exception
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's folder: the whole profile of the pages, a run, a bench, the examples."""
    (tmp_path / PROFILE).write_text(profile_block(), encoding="utf-8")
    shutil.copytree(finished, tmp_path / "run")
    bench = json.dumps(bench_json(benched([measured(60_000)])))
    (tmp_path / "bench.json").write_text(bench, encoding="utf-8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "profiles").symlink_to(ROOT / "profiles")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def offline(one: Command) -> list[str]:
    """The command as it runs without a daemon, on a configuration of this folder."""
    more, less = OFFLINE[one.words[0]]
    more = () if "--resume" in one.words or set(more) <= set(one.words) else more
    if "--refused" in one.words:
        more = ()
    words = [word.removeprefix("/var/log/rsyslog/").removesuffix("*") if "errors" in word else word
             for word in one.words if word not in less]  # fmt: skip
    return [*(word.replace("/etc/rsyslog.conf", "rsyslog.conf") for word in words), *more]


def _asks_another(command: Command) -> bool:
    """Whether it asks a host, an index or a second rsyslogd, which is not here."""
    others = {"--host", "--elasticsearch", "--new-rsyslogd"} & {*command.words}
    return command.words[0] in {"advise", "diagnose"} and bool(others)


@pytest.mark.parametrize(
    "one",
    [c for c in EVERY if c.words[0] in OFFLINE and not _asks_another(c)],
    ids=str,
)
def test_a_command_runs_as_it_is_written(one: Command, folder: Path) -> None:
    if one.words[0] in {"init", "import"}:
        (folder / PROFILE).unlink()
    shutil.copy(CONFIGURATION, folder / "rsyslog.conf")
    (folder / "syslog").write_text(LINE, encoding="utf-8")
    (folder / "impstats.log").write_text(text_of_log("healthy"), encoding="utf-8")
    (folder / "errors.json").write_text(json.dumps(FORMS["plain"]), encoding="utf-8")
    done = RUN.invoke(app, offline(one))
    is_found = "--refused" in one.words and isinstance(done.exception, DifferencesFound)
    assert is_found or done.exit_code == 0, done.exception or done.stderr
    if one.into is not None:
        assert json.loads(done.stdout)
    if one.words[0] == "init":
        assert load_profile(folder / PROFILE).warnings == ()


def test_two_profiles_differ_in_what_they_render(folder: Path) -> None:
    (one,) = (c for c in EVERY if c.words[0] == "diff" and "--elasticsearch" not in c.words)
    text = edit(profile_block(), {"outputs[logs].queue.dequeueBatchSize": 4321})
    (folder / one.words[2]).write_text(text, encoding="utf-8")
    done = RUN.invoke(app, [*one.words])
    assert isinstance(done.exception, DifferencesFound)
    assert 'queue.dequeueBatchSize="4321"' in done.stdout


def test_every_command_of_the_pages_is_run_by_a_test() -> None:
    assert len(EVERY) > 20
    assert {one.words[0] for one in EVERY} <= OFFLINE.keys() | LIVE


def options_of(name: str) -> set[str]:
    """Every option of a command, those of a group's commands too."""
    found = command(name)
    every = [found, *getattr(found, "commands", {}).values()]
    params = [parameter for one in every for parameter in one.params]
    return {name for one in params for name in (*one.opts, *one.secondary_opts)} | {"--help"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_told_of_commands_within_the_text_exists(page: Path) -> None:
    called = [words[1:] for words in mentions(page) if words[0] == TOOL and len(words) > 1]
    told = [words for words in called if not words[0].startswith("--") and words[0] != "COMMAND"]
    assert {words[0] for words in told} <= COMMANDS.keys()
    told += [words for words in mentions(page) if words[0] in COMMANDS]
    told += [one.words for one in EVERY if one.page == page.name]
    for words in told:
        if words[0] in GROUPS and len(words) > 1:
            assert words[1] in GROUPS[words[0]].commands
        given = {word for word in words if word.startswith("--") and word != "--"}
        assert given <= options_of(words[0]), words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_an_option_within_the_text_is_one_of_some_command(page: Path) -> None:
    known = {option for name in COMMANDS for option in options_of(name)}
    # Of podman, pytest and the command itself.
    known |= {"--build-arg", "--install-completion"}
    told = {words[0] for words in mentions(page) if words[0].startswith("--")}
    assert told <= known


def yaml_blocks() -> list[Block]:
    return [block for page in PAGES for block in blocks(page) if block.language == "yaml"]


@pytest.mark.parametrize("block", yaml_blocks(), ids=str)
def test_a_yaml_block_is_what_the_tool_takes(block: Block, folder: Path) -> None:
    """A profile, a layer, an experiment, or sections that fit into the whole profile."""
    written = yaml.safe_load(block.text)
    if "repos" in written:
        return
    if "cases" in written:
        (folder / "tests.yaml").write_text(block.text, encoding="utf-8")
        assert load_cases(folder / "tests.yaml").cases.cases
        return
    if "hosts" in written:
        (folder / "hosts.yaml").write_text(block.text, encoding="utf-8")
        assert load_inventory(folder / "hosts.yaml")
        return
    if all(isinstance(one, dict) and "uses" in one for one in written.values()):
        assert used_fields(block.text, "uses.yaml")
        return
    (folder / "its").mkdir()
    path = folder / "its" / "block.yaml"
    if "knobs" in written:
        path = folder / "block.yaml"
        path.write_text(block.text, encoding="utf-8")
        assert load_experiment(path).variants
        return
    alone = {"inputs", "extends", "base"} & written.keys()
    named = CONFIGURATION.read_text(encoding="utf-8").replace('"Engine"', '"es"')
    (folder / "its" / "rsyslog.conf").write_text(named, encoding="utf-8")
    template = '{"index_patterns": ["*"], "settings": {"refresh_interval": "30s"}}'
    (folder / "its" / "index-template.json").write_text(template, encoding="utf-8")
    (folder / "its" / "sample.yaml").write_text(LINE, encoding="utf-8")
    (folder / "base.yaml").write_text(profile_block(), encoding="utf-8")
    path.write_text(block.text if alone else profile_block() + block.text, encoding="utf-8")
    assert load_profile(path).profile.outputs


def test_the_table_of_what_was_tested_live_has_every_area_and_no_failure() -> None:
    header, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]]
                        for line in table_in(text_of(REFERENCE)))  # fmt: skip
    assert header[1:] == [suite.release for suite in SUITES]
    assert [row[0] for row in rows] == [*AREAS, *ENGINES]
    assert not [cell for row in rows for cell in row if "failed" in cell]
    assert all(cell.endswith(" passed") for cell in (row[2] for row in rows))


def test_lint_says_of_the_profile_what_the_text_names() -> None:
    said = {warning.code for warning in parse_profile(profile_block(), PROFILE).warnings}
    assert said == set(re.findall(r"RT\d{3}", section(KEYS, "A whole profile"))) == {"RT404"}


def test_the_exit_codes_are_those_of_the_code() -> None:
    said = (app.info.epilog or "").removeprefix("Exit codes: ").removesuffix(".")
    wanted = [one.split(" ", 1) for one in re.split(r", (?=\d+ )", said)]
    found = rows(REFERENCE, "exit code")
    assert [code for code, _ in found] == [code for code, _ in wanted]
    for (_, when), (code, meaning) in zip(found, wanted, strict=True):
        assert when.startswith(meaning), f"{code} is: {meaning}"


def test_the_list_of_commands_is_complete_and_who_has_no_json_is_named() -> None:
    listed = rows(REFERENCE, "command")
    assert listed == [(f"`{name}`", says.rstrip(".")) for name, says in summaries().items()]
    silent = {
        name for name in COMMANDS.keys() - GROUPS.keys() if "--output" not in options_of(name)
    }
    silent |= {
        f"{group} {name}"
        for group, app in GROUPS.items()
        for name, one in app.commands.items()
        if not one.hidden and not any("--output" in parameter.opts for parameter in one.params)
    }
    assert silent == {"schema", "lab down", "cluster down"}
    text = " ".join(section(REFERENCE, "Commands").split())
    assert "All except `schema`, which is JSON, `lab down` and `cluster down`" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in links(page):
        place, _, anchor = target.partition("#")
        other = page if not place else (page.parent / place).resolve()
        assert other.exists(), target
        assert not anchor or anchor in anchors(other), target


def test_every_page_is_linked_from_the_first_and_comes_with_the_source() -> None:
    there = {(ROOT / target.partition("#")[0]).resolve() for target in links(README)}
    assert set(PAGES) - {README} <= there
    project: dict[str, Any] = tomllib.loads(text_of(ROOT / "pyproject.toml"))
    assert {"/README.md", "/docs"} <= set(
        project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    )


def searched(path: Path) -> bool:
    """Whether a lab can run a profile."""
    profile = load_profile(path).profile
    ports = tuple(40514 + 100 * number for number in range(len(profile.inputs)))
    try:
        bind(profile, SITE, ports)
    except Refused:
        return False
    return True


def test_the_table_of_profiles_names_all_and_says_which_can_be_searched() -> None:
    told = {name.strip("`"): answer for name, _, answer in rows(KEYS, "[profiles/](../profiles/)")}
    assert sorted(told) == [path.stem for path in PROFILES]
    for path in PROFILES:
        assert told[path.stem].startswith("yes" if searched(path) else "no: exit 5"), path.stem


def test_the_table_of_modules_is_made_of_what_they_say() -> None:
    said = [
        (f"`{name_of(module)}`", known.does.rstrip("."), module.package)
        for module in MODULES
        if (known := doc(module, "type")) is not None
    ]
    assert rows(REFERENCE, "rsyslog module") == said
