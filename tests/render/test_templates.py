"""Templates that a site lays over the shipped ones, and what no template may do."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.profile.examples import at_hand, small
from tests.render.test_rsyslogd_accepts import verdict
from tests.render.tokens import parse
from tuner.errors import BadTemplate, BadUsage
from tuner.render.artefacts import render
from tuner.render.engine_files import index_template
from tuner.render.templates import Templates
from tuner.render.tree import Tree

ROOT = Path(__file__).parents[2]
NODE: dict[str, object] = {"node.heap": "4g", "node.indices.memory.index_buffer_size": "30%"}
EXAMPLE = ROOT / "examples/templates"
CONF = "rsyslog.conf.j2"
EXTENDED = '{% extends "shipped/rsyslog.conf.j2" %}\n'


def site(folder: Path, files: Mapping[str, str]) -> Templates:
    """Templates of a site, `files` under their names."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return Templates(folder)


def rendered(templates: Templates | None, changes: Mapping[str, object] = NODE) -> dict[str, str]:
    return {one.path: one.text for one in render(small(changes), templates)}


def mistake(folder: Path, text: str, name: str = CONF) -> str:
    """What is said of a site's template, the folder left out."""
    with pytest.raises(BadTemplate) as bad:
        rendered(site(folder, {name: text}))
    assert bad.value.exit_code == 78
    return str(bad.value).replace(f"{folder}/", "")


def test_a_block_is_filled_and_everything_else_stays(tmp_path: Path) -> None:
    statement = '\nmodule(load="imklog")\n'
    templates = site(
        tmp_path, {CONF: EXTENDED + "{% block site %}\n" + statement + "{% endblock %}"}
    )
    ours, shipped = rendered(templates), rendered(None)
    assert (
        ours["rsyslog.conf"].splitlines()[1:]
        == (shipped["rsyslog.conf"] + statement).splitlines()[1:]
    )
    assert parse(ours["rsyslog.conf"])[-1].parameters == {"load": "imklog"}
    assert {path for path in ours if ours[path] != shipped[path]} == {"rsyslog.conf"}


def test_elsewhere_its_files_write_the_same(tmp_path: Path) -> None:
    files = {
        CONF: EXTENDED + '{% block site %}{% include "own/more.txt" %}{% endblock %}',
        "own/more.txt": 'module(load="imklog")\n',
        "own/other.j2": "of nothing",
    }
    here = site(tmp_path / "here", files)
    assert here.files == {name: files[name] for name in (CONF, "own/more.txt")}
    assert rendered(site(tmp_path / "there", here.files)) == rendered(here)


def test_the_hash_says_which_templates_of_the_site_a_file_is_made_of(tmp_path: Path) -> None:
    def first(number: int, files: Mapping[str, str]) -> str:
        folder = tmp_path / str(number)
        return rendered(site(folder, files))["rsyslog.conf"].splitlines()[0]

    shipped = rendered(None)["rsyslog.conf"].splitlines()[0]
    plain = {CONF: EXTENDED}
    assert first(1, plain) == first(2, plain) != shipped
    queue = (ROOT / "templates/macros/queue.j2").read_text(encoding="utf-8")
    assert first(3, {**plain, "macros/queue.j2": queue}) not in {first(1, plain), shipped}
    assert first(4, {"heap.options.j2": "# Rendered by rsyslog-tune\n"}) == shipped


def test_the_template_of_an_index_is_the_sites_too(tmp_path: Path) -> None:
    text = (
        '{"index_patterns": {{ index.patterns | tojson }}, "version": 3, "_meta": "rsyslog-tune"}'
    )
    templates = site(tmp_path, {"index-template.json.j2": text})
    profile = small({})
    body = index_template(profile, profile.measured, templates)
    assert body == {"index_patterns": ["syslog"], "version": 3, "_meta": "rsyslog-tune"}
    assert json.loads(rendered(templates)["index-template.json"]) == body


def test_the_example_adds_a_header_a_statement_and_a_version() -> None:
    ours, shipped = rendered(Templates(EXAMPLE)), rendered(None)
    lines = ours["rsyslog.conf"].splitlines()
    assert lines[2].startswith("# Owned by the logging team; changes to profile small")
    added = [line for line in lines if line not in shipped["rsyslog.conf"].splitlines()]
    assert added == [
        lines[0],
        lines[2],
        "# A mark every 5 minutes, so that silence means that something is wrong.",
        'module(load="immark" interval="300" use.syslogCall="off" ruleset="small")',
    ]
    body, before = (json.loads(one["index-template.json"]) for one in (ours, shipped))
    assert body.pop("version") == 20261101
    assert body.pop("_meta").keys() == {*before.pop("_meta"), "owner"}
    assert body == before
    assert rendered(Templates(EXAMPLE)) == ours


@pytest.mark.live
@pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed")
def test_rsyslogd_accepts_the_example(tmp_path: Path) -> None:
    Tree(render(at_hand(), Templates(EXAMPLE)), tmp_path).write()
    assert verdict(tmp_path / "rsyslog.conf") == ""


@pytest.mark.parametrize(
    "text",
    [
        "{{ conf.name }}",
        "{{ 'plain' }}",
        "{{ 5 }}",
        "{{ none }}",
        "{{ (conf.name | rs) ~ conf.name }}",
        "{{ (conf.name | rs) + conf.name }}",
        "{{ (conf.name | rs).replace('s', 'x') }}",
        "{% set text %}{{ conf.name | rs }}{% endset %}{{ text }}",
        "{% call conf.name.format() %}{% endcall %}",
        "{{ conf.name | parameters }}",
        "{{ conf.name | indented }}",
        "{{ lipsum() }}",
    ],
)
def test_what_did_not_come_through_the_quoter_stops_the_rendering(
    text: str, tmp_path: Path
) -> None:
    said = mistake(tmp_path, f"# Rendered by rsyslog-tune\n{text}\n")
    assert re.match(r"rsyslog\.conf\.j2:2: ", said), said
    assert "quoter" in said or "with a block" in said


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{% if %}", "rsyslog.conf.j2:1: Expected an expression"),
        ("\n{{ conf.nmae | rs }}", "rsyslog.conf.j2:2: .* has no attribute 'nmae'"),
        ("\n{{ nothing | rs }}", "rsyslog.conf.j2:2: 'nothing' is undefined"),
        ("{{ conf.name | safe }}", "rsyslog.conf.j2:1: No filter named 'safe'"),
        ("{{ conf.name | default('x') | rs }}", "No filter named 'default'"),
        ("{{ conf.__class__ | rs }}", "rsyslog.conf.j2:1: access to attribute '__class__'"),
        ('{% include "other.j2" %}', "rsyslog.conf.j2:1: there is no template other.j2"),
        ('{% include "../x.j2" %}', "rsyslog.conf.j2:1: there is no template ../x.j2"),
        ('{% extends "rsyslog.conf.j2" %}', "it never ends: the shipped one is shipped/"),
        ('module(load="x")', "rsyslog.conf would not say 'Rendered by rsyslog-tune'"),
        ("{{ 1 // 0 }}", "rsyslog.conf.j2:1: "),
    ],
)
def test_a_mistake_is_named_with_file_and_line(text: str, reason: str, tmp_path: Path) -> None:
    assert re.search(reason, mistake(tmp_path, text))


def test_json_that_is_none_is_a_mistake(tmp_path: Path) -> None:
    said = mistake(tmp_path, '{"a": 1,}', "live-settings.json.j2")
    assert said.startswith("live-settings.json.j2: what it writes is not JSON: ")
    assert "not a JSON object" in mistake(tmp_path, "[]", "live-settings.json.j2")


def test_a_template_that_is_not_text_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / CONF).write_bytes(b"\xff\xfe")
    with pytest.raises(BadTemplate, match=r"rsyslog\.conf\.j2"):
        rendered(Templates(tmp_path))


def test_a_folder_that_is_missing_or_stands_for_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match="is not a folder"):
        Templates(tmp_path / "missing")
    (tmp_path / "rsyslog.j2").write_text("", encoding="utf-8")
    with pytest.raises(BadUsage, match="has the name of a shipped template"):
        Templates(tmp_path)


@pytest.mark.full
def test_shipped_templates_are_compiled_once_and_again_when_that_was_damaged(
    tmp_path: Path,
) -> None:
    """Beside them, as Python keeps modules: here below a folder of the test's own."""
    expected = rendered(None, {})["rsyslog.conf"]
    program = (
        "from tests.profile.examples import at_hand, small\n"
        "from tuner.render.artefacts import render\n"
        "print(next(one.text for one in render(small({})) if one.path == 'rsyslog.conf'), end='')"
    )

    def output(**variables: str) -> str:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), **variables}
        return subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip

    def kept() -> list[Path]:
        return [path for path in tmp_path.rglob("templates/**/*.pyc") if path.is_file()]

    assert output(PYTHONDONTWRITEBYTECODE="1") == expected
    assert not kept()
    assert output(PYTHONDONTWRITEBYTECODE="") == expected
    sound = {path: path.read_bytes() for path in kept()}
    assert sound
    for damaged in (lambda all_: all_[:-9], lambda all_: all_[:30], lambda _: b""):
        for path, content in sound.items():
            path.write_bytes(damaged(content))
        assert output(PYTHONDONTWRITEBYTECODE="") == expected
        assert {path: len(path.read_bytes()) for path in sound} == {
            path: len(content) for path, content in sound.items()
        }
