"""The command `import`, as somebody meets it who has an rsyslog.conf."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tuner.cli.commands import app
from tuner.engine.installed import FieldUses
from tuner.errors import BadUsage, JobFailed, NotReadable, Refused
from tuner.lint.load import load_profile
from tuner.modules.field import Use
from tuner.script.configuration import configuration

RUN = CliRunner()
CONF = (
    'module(load="imtcp") input(type="imtcp" port="10514")\n'
    'action(type="omelasticsearch" bulkmode="on" uid="u" pwd="geheim")\n'
)


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "my site.conf"
    path.write_text(CONF, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path.mkdir(), "it is a folder: only regular files are read"),
        (lambda path: path.write_bytes(b"\x7fELF\0\0"), "it is a binary file"),
        (lambda path: path.write_bytes(b"#\n" * (5 << 19)), "it is larger than 4 MiB"),
        (lambda path: None, "No such file or directory"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(
    make: Callable[[Path], object], why: str, tmp_path: Path
) -> None:
    path = tmp_path / "rsyslog.conf"
    make(path)
    done = RUN.invoke(app, ["import", str(path)])
    assert isinstance(done.exception, NotReadable)
    assert str(done.exception) == f"{path} cannot be read: {why}"
    assert done.stdout == ""


BASE = 'module(load="imtcp")\ninput(type="imtcp" port="10514")\ninclude(file="{}")\n'
ENGINE = 'action(type="omelasticsearch" name="es" bulkmode="on" queue.size="2000")\n'


@pytest.fixture
def running(tmp_path: Path) -> Path:
    """A configuration with a drop-in."""
    (tmp_path / "etc/rsyslog.d").mkdir(parents=True)
    (tmp_path / "etc/rsyslog.d/50-es.conf").write_text(ENGINE, encoding="utf-8")
    path = tmp_path / "etc/rsyslog.conf"
    path.write_text(BASE.format("rsyslog.d/*.conf"), encoding="utf-8")
    return path


def test_a_profile_stands_on_top_of_what_runs_and_renders_it_byte_for_byte(
    running: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site").mkdir()
    done = RUN.invoke(app, ["import", "etc/rsyslog.conf", "-o", "site/prod.yaml"])
    assert (done.exit_code, done.stdout) == (0, "site/prod.yaml\n"), done.stderr
    assert "etc/rsyslog.conf stays as it is.\nA search can change these parameters" in done.stderr
    assert "  etc/rsyslog.d/50-es.conf:1:1: action[es]: " in done.stderr
    shown = RUN.invoke(app, ["import", "etc/rsyslog.conf", "--output", "json"])
    tunable = json.loads(shown.stdout)["tunable"]
    assert [one["address"] for one in tunable] == ["main_queue", "action[es]"]
    # Places are those of the file as it was named, from this folder.
    assert "\netc/rsyslog.d/50-es.conf:1:1: warning: " in done.stderr
    profile = load_profile(Path("site/prod.yaml")).profile
    assert profile.base is not None
    assert (profile.name, profile.base.rsyslog) == ("prod", "../etc/rsyslog.conf")
    assert RUN.invoke(app, ["render", "site/prod.yaml", "-o", "out"]).exit_code == 0
    for name in ("rsyslog.conf", "rsyslog.d/50-es.conf"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "etc" / name).read_bytes()
    again = RUN.invoke(app, ["import", "etc/rsyslog.conf", "-o", "site/prod.yaml"])
    assert isinstance(again.exception, Refused)


def test_without_an_engine_action_it_is_said_that_nothing_can_be_measured(tmp_path: Path) -> None:
    path = tmp_path / "rsyslog.conf"
    path.write_text(BASE.format("none/*") + "*.* /var/log/all\n", encoding="utf-8")
    done = RUN.invoke(app, ["import", str(path)])
    assert done.exit_code == 0, done.exception
    assert f'base: {{rsyslog: "{path}"}}\n' in done.stdout
    assert "search has nothing to measure" in done.stderr


def test_the_files_of_a_host_are_kept_beside_the_profile_as_they_lie_there(
    running: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    drop_in = running.parent / "rsyslog.d/50-es.conf"
    drop_in.write_text(ENGINE.replace('name="es"', 'name="es" pwd="geheim"'), encoding="utf-8")
    running.write_text(BASE.format(f"{drop_in.parent}/*.conf"), encoding="utf-8")
    asked = ["import", str(running), "--host", "local://"]
    unnamed = RUN.invoke(app, asked)
    assert isinstance(unnamed.exception, BadUsage)
    assert "name the profile, -o PROFILE" in str(unnamed.exception)
    done = RUN.invoke(app, [*asked, "-o", "prod.yaml"])
    assert done.exit_code == 0, done.exception
    kept = tmp_path / f"prod.files{drop_in}"
    assert kept.read_bytes() == drop_in.read_bytes()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert f"prod.files{drop_in} holds a password or a key: only you may read it" in done.stderr
    assert "geheim" not in done.output + (tmp_path / "prod.yaml").read_text(encoding="utf-8")
    drop_in.unlink()
    profile = load_profile(tmp_path / "prod.yaml").profile
    assert [one.name for one in profile.indexed] == ["es"], "read from what was kept"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["rsyslog.yaml"], "rsyslog.yaml is rsyslog's own YAML: name the profile, -o PROFILE"),
        ([], "name the configuration, such as /etc/rsyslog.conf, or a --host"),
    ],
)
def test_what_no_profile_can_stand_on_is_refused(words: list[str], why: str) -> None:
    done = RUN.invoke(app, ["import", *words])
    assert isinstance(done.exception, BadUsage)
    assert why in str(done.exception)


def rsyslogd_of(release: str, folder: Path) -> str:
    """A program that says to be that rsyslogd."""
    path = folder / "rsyslogd"
    path.write_text(f"#!/bin/sh\necho 'rsyslogd  {release}.0 (aka 2026.12)'\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [((), "8.2512"), (("--release", "8.2404"), "8.2404")],
    ids=["of the rsyslogd here", "as asked"],
)
def test_the_release_is_that_of_the_rsyslogd_there(
    conf: Path,
    tmp_path: Path,
    asked: tuple[str, ...],
    wanted: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RSYSLOG_TUNE_RSYSLOGD", "")
    here = ("--rsyslogd", rsyslogd_of("8.2512", tmp_path))
    done = RUN.invoke(app, ["import", str(conf), *here, *asked])
    assert done.exit_code == 0
    assert f'release: {{rsyslog: "{wanted}", elasticsearch: "8.19"}}' in done.stdout
    assert ("that of the rsyslogd here" in done.stderr) is (asked == ())


def refusing(folder: Path, condition: str) -> str:
    """A program that says to be rsyslogd, and rejects the file "$3" where a condition holds."""
    path = folder / "rsyslogd"
    path.write_text(
        "#!/bin/sh\n[ \"$1\" = -v ] && echo 'rsyslogd  8.2302.0 (aka 2023.02)' && exit\n"
        f"if {condition}; then echo 'rsyslogd: not this pwd=\"geheim\"' >&2; exit 1; fi\n",
        encoding="utf-8",
    )
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(("more", "asked"), [("", True), ('include(file="/no/*.conf")\n', False)])
def test_rsyslogd_reads_the_bytes_that_a_change_makes_of_a_file_that_stands_alone(
    more: str, asked: bool, conf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RSYSLOG_TUNE_RSYSLOGD", "")
    conf.write_text(f"# of ours\n{CONF}{more}", encoding="utf-8")
    profile = tmp_path / "site.yaml"
    profile.write_text(
        f"name: site\nbase: {{rsyslog: {conf.name}}}\nchanges: {{main_queue.size: 4711}}\n", "utf-8"
    )
    changed = 'grep -q "of ours" "$3" && grep -q 4711 "$3"'
    done = RUN.invoke(app, ["validate", str(profile), "--rsyslogd", refusing(tmp_path, changed)])
    assert "rsyslogd -N1" in done.output
    assert ("not this" in done.output) is asked, done.output


def test_what_rsyslogd_says_of_the_configuration_itself_is_said(
    conf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RSYSLOG_TUNE_RSYSLOGD", "")
    there = ("--rsyslogd", refusing(tmp_path, "true"))
    done = RUN.invoke(app, ["import", str(conf), *there])
    assert done.exit_code == 0
    assert f'rsyslogd -N1 rejects {conf}: not this pwd="***"\n' in done.stderr
    shown = RUN.invoke(app, ["import", str(conf), "--output", "json", *there])
    data = json.loads(shown.stdout)
    assert (data["schema"], data["rsyslogd"]["accepted"]) == (2, False)


@pytest.mark.parametrize(
    "code",
    [
        'module(load="/tmp/own.so")',
        "$ModLo\\\n  ad /tmp/own.so",
        'module(load /* it */ =\n"/tmp/own.so")',
        'module(load="\\057tmp\\057own.so")',
    ],
    ids=["plain", "in two lines", "with a comment", "escaped"],
)
def test_no_code_of_a_configuration_is_run_to_ask_rsyslogd(
    code: str, conf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RSYSLOG_TUNE_RSYSLOGD", "")
    conf.write_text(f"{code}\n{CONF}", encoding="utf-8")
    done = RUN.invoke(app, ["import", str(conf), "--rsyslogd", refusing(tmp_path, "true")])
    assert f"-N1 was not asked about {conf}: the base loads modules by their paths" in done.stderr


def translating(folder: Path) -> str:
    """A program that says to be an rsyslogd that translates its own YAML."""
    path = folder / "rsyslogd"
    path.write_text(
        "#!/bin/sh\n[ \"$1\" = -v ] && echo 'rsyslogd  8.2604.0 (aka 2026.04)' && exit\n"
        f"[ \"$2\" = -F ] && printf '%s' '{CONF}' > \"$5\"\nexit 0\n",
        encoding="utf-8",
    )
    path.chmod(0o755)
    return str(path)


def test_a_profile_stands_on_what_rsyslogd_makes_of_its_own_yaml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RSYSLOG_TUNE_RSYSLOGD", "")
    native, profile = tmp_path / "rsyslog.yaml", tmp_path / "prod.yaml"
    native.write_text("inputs: []\n", encoding="utf-8")
    there = ("-o", str(profile), "--rsyslogd", translating(tmp_path))
    done = RUN.invoke(app, ["import", str(native), *there])
    assert done.exit_code == 0, done.exception
    script = tmp_path / "prod.conf"
    assert f"the profile stands on its translation, {script}" in done.stderr
    assert (script.read_text("utf-8"), script.stat().st_mode & 0o777) == (CONF, 0o600)
    assert "geheim" not in done.output + profile.read_text("utf-8")
    assert len(load_profile(profile).profile.indexed) == 1


def test_a_release_that_is_none_is_refused(conf: Path) -> None:
    refused = RUN.invoke(app, ["import", str(conf), "--release", "2512"]).exception
    assert isinstance(refused, BadUsage)
    assert str(refused) == "--release 2512: a release of rsyslog is written as 8.2512"


def test_what_a_host_includes_from_above_its_root_is_kept_and_read_below_the_profile(
    tmp_path: Path,
) -> None:
    """On the host .. of / is /; here it would lead to the files of this machine."""
    host, here = tmp_path / "host", tmp_path / "here"
    host.mkdir()
    here.mkdir()
    running, other = host / "rsyslog.conf", host / "other.conf"
    other.write_text('module(load="imtcp")\ninput(type="imtcp" port="10514")\n')
    above = "../" * 20
    running.write_text(
        f'include(file="{host}/{above}{str(other)[1:]}")\n'
        'action(type="omelasticsearch" name="es" server="127.0.0.1")\n'
    )
    asked = ["import", str(running), "--host", "local://", "-o", str(here / "p.yaml")]
    done = RUN.invoke(app, asked)
    assert done.exit_code == 0, done.output
    kept = here / "p.files" / str(other)[1:]
    assert kept.read_text() == other.read_text()
    other.unlink()
    running.unlink()
    assert load_profile(here / "p.yaml").profile.indexed


@pytest.mark.parametrize("head", ["", "# Ours.\n\n---\n", "%YAML 1.1\n---\r\n"])
def test_yaml_by_the_name_of_a_conf_is_called_that(head: str, tmp_path: Path) -> None:
    """And not read as lines of the old form, each an action."""
    path = tmp_path / "rsyslog.conf"
    path.write_text(f"{head}global:\n  workDirectory: /tmp\ninputs: []\n", encoding="utf-8")
    done = RUN.invoke(app, ["import", str(path)])
    assert isinstance(done.exception, NotReadable)
    assert f"{path} is YAML: rsyslogd reads that only from a file whose name ends" in str(
        done.exception
    )


@pytest.mark.parametrize(
    "first", ["auth.* /var/log/auth", ':msg, contains, "a:" stop', "*.info;mail.none:x", "!su"]
)
def test_lines_of_the_old_form_are_no_yaml(first: str, tmp_path: Path) -> None:
    path = tmp_path / "rsyslog.conf"
    path.write_text(f"# a: b\n\n{first}\nname: value\n", encoding="utf-8")
    assert not [one for one in configuration(path).refused if "is YAML" in one.message]


def test_what_an_engine_was_asked_is_kept_beside_the_profile(
    running: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = FieldUses(
        {"message": frozenset({Use.FULL_TEXT}), "n": frozenset({Use.RANGE}), "at": frozenset()},
        {"message": "text", "message.keyword": "keyword", "n": "long", "at": "geo_point"},
        datetime(2026, 11, 1, tzinfo=UTC),
    )
    seen: list[str] = []

    def field_uses(_client: object, pattern: str) -> FieldUses | None:
        seen.append(pattern)
        return None if pattern == "none" else asked

    monkeypatch.setattr("tuner.cli.first_profile.field_uses", field_uses)
    profile = tmp_path / "prod.yaml"
    command = ["import", str(running), "-o", str(profile), "--uses", "http://127.0.0.1:9"]
    done = RUN.invoke(app, command)
    assert done.exit_code == 0, done.output
    assert seen == ["system"]
    kept = (tmp_path / "prod.uses.yaml").read_text(encoding="utf-8")
    assert kept == (
        "# What was asked of the fields of system since 2026-11-01 00:00 UTC.\n"
        "message: {uses: [full_text]}\nn: {type: integer, uses: [range]}\n"
    )
    assert "uses: prod.uses.yaml" in profile.read_text(encoding="utf-8")
    base = load_profile(profile).profile.base
    assert base is not None
    assert base.kept.uses is not None
    done = RUN.invoke(
        app, [*command[:3], str(tmp_path / "o.yaml"), *command[4:], "--index", "none"]
    )
    assert isinstance(done.exception, JobFailed)
    assert "has no index none with fields" in str(done.exception)
    assert not (tmp_path / "o.yaml").exists()
    done = RUN.invoke(app, ["import", str(running), "--uses", "http://127.0.0.1:9"])
    assert isinstance(done.exception, BadUsage)
