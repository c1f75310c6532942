"""`rsyslog-tune render`, `validate` and `diff` with the options that name folders."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.profile.test_base import CONF
from tests.profile.test_base import loaded as base_profile
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
    ours = '{"_meta": {"managed_by": "rsyslog-tune"}}'
    (tmp_path / "index-template.json").write_text(ours, encoding="utf-8")
    policy = '{"policy": {"_meta": {"managed_by": "rsyslog-tune"}}}'
    (tmp_path / "lifecycle-policy.json").write_text(policy, encoding="utf-8")
    assert states(*folder) == {
        "heap.options": "unchanged",
        "index-template.json": "changed",
        "lifecycle-policy.json": "removed",
        "live-settings.json": "unchanged",
        "rendered.sha256": "unchanged",
        "rsyslog.conf": "unchanged",
    }


def test_files_to_be_removed_count_among_those_that_are_compared(tmp_path: Path) -> None:
    folder = ("-o", str(tmp_path))
    states(*folder)
    for path in tmp_path.rglob("*.*"):
        if path.is_file() and "Rendered by rsyslog-tune" in path.read_text("utf-8"):
            path.write_text("# Rendered by rsyslog-tune, another one\n", encoding="utf-8")
    (tmp_path / "elasticsearch.yml").write_text("# Rendered by rsyslog-tune\n", encoding="utf-8")
    stale = RUN.invoke(app, ["render", PROFILE, *folder, "--check"])
    assert isinstance(stale.exception, DifferencesFound)
    assert "4 of 6 files differ" in str(stale.exception)


def test_the_base_of_a_profile_and_files_of_others_are_not_overwritten(tmp_path: Path) -> None:
    profile = str(base_profile(tmp_path, 'changes: {"action[es].queue.size": 5000}\n').path)
    base, out = tmp_path / "rsyslog.conf", tmp_path / "out"
    before = base.read_bytes()
    refused = RUN.invoke(app, ["render", profile, "-o", str(tmp_path)])
    assert isinstance(refused.exception, Refused)
    assert "belongs to the base of the profile" in str(refused.exception)
    assert base.read_bytes() == before
    out.mkdir()
    (out / "rsyslog.conf").write_text("# somebody else wrote this\n", encoding="utf-8")
    for more in ([], ["--check"], ["--diff"]):
        refused = RUN.invoke(app, ["render", profile, "-o", str(out), *more])
        assert isinstance(refused.exception, Refused), more
        assert "was not rendered by rsyslog-tune" in str(refused.exception)
        assert ("-# somebody else wrote this" in refused.stdout) == (more == ["--diff"])
    assert (out / "rsyslog.conf").read_text("utf-8") == "# somebody else wrote this\n"
    (out / "rsyslog.conf").unlink()
    for _ in range(2):
        assert RUN.invoke(app, ["render", profile, "-o", str(out)]).exit_code == 0
    assert RUN.invoke(app, ["render", profile, "-o", str(out), "--check"]).exit_code == 0


def test_a_base_that_was_rendered_is_not_removed_from_the_folder_of_its_role(
    tmp_path: Path,
) -> None:
    profile = str(base_profile(tmp_path, conf=f"# Rendered by rsyslog-tune\n{CONF}").path)
    role = ["render", profile, "--format", "ansible", "-o", str(tmp_path)]
    for more in ([], ["--check"], ["--diff"]):
        assert RUN.invoke(app, [*role, *more]).exit_code == 0
    assert (tmp_path / "rsyslog.conf").exists()


def test_a_program_gets_the_files_and_what_became_of_them(tmp_path: Path) -> None:
    arguments = ["render", PROFILE, "-o", str(tmp_path), "--output", "json"]
    shown = json.loads(RUN.invoke(app, arguments).stdout)
    assert (shown["schema"], shown["kind"]) == (1, "render")
    assert set(shown["files"]) == set(shown["status"])
    assert set(shown["status"].values()) == {"new"}


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    file = tmp_path / "rsyslog.conf"
    file.write_text("mine\n", encoding="utf-8")
    with pytest.raises(BadUsage, match=f"{file} is a file: name a folder"):
        RUN.invoke(app, ["render", PROFILE, "-o", str(file)], catch_exceptions=False)
    assert file.read_text("utf-8") == "mine\n"


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
    for wrong in ([PROFILE], ["-", "-"]):
        assert isinstance(RUN.invoke(app, ["diff", *wrong]).exception, BadUsage)


def test_two_configurations_are_compared_whatever_their_names(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "collector" / "rsyslog.conf").read_text(encoding="utf-8")
    old, new = tmp_path / "old.conf", tmp_path / "new.conf"
    old.write_text(text, encoding="utf-8")
    new.write_text(text.replace('dequeueBatchSize="300"', 'dequeueBatchSize="500"'), "utf-8")
    shown = RUN.invoke(app, ["diff", str(old), str(new)]).stdout.splitlines()
    assert shown[:2] == ["--- a/new.conf", "+++ b/new.conf"]
    changed = [line for line in shown[2:] if line[0] in "-+"]
    assert [line[0] for line in changed] == ["-", "+"]
    assert 'dequeueBatchSize="500"' in changed[1]


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
        "rendered.sha256": "unchanged",
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


HOSTS = """\
hosts:
  one:
    address: ssh://root@10.0.0.11
    profile: prod.yaml
    changes: {"inputs[0].address": 10.0.0.11}
  two:
    address: ssh://root@10.0.0.12
    profile: prod.yaml
    changes: {"inputs[0].address": 10.0.0.12, name: second}
  elsewhere: {address: "ssh://root@10.0.0.13", profile: other.yaml}
  es1: {address: "ssh://root@10.0.0.21", role: engine}
"""


def on_hosts(
    folder: Path, text: str = HOSTS, *more: str, shipped: str = PROFILE, and_: str = ""
) -> Result:
    """A shipped profile and what it has beside, rendered for an inventory into a folder."""
    profile, inventory = folder / "prod.yaml", folder / "hosts.yaml"
    profile.write_text(Path(shipped).read_text(encoding="utf-8") + and_, encoding="utf-8")
    inventory.write_text(text, encoding="utf-8")
    inventory.chmod(0o644)
    where = ["--inventory", str(inventory), "-o", str(folder / "out")]
    return RUN.invoke(app, ["render", str(profile), *where, *more])


def test_each_host_that_runs_a_profile_gets_it_with_its_own_changes(tmp_path: Path) -> None:
    assert on_hosts(tmp_path).exit_code == 0
    out = tmp_path / "out"
    written = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert {path for path in written if "rsyslog" in path} == {
        "hosts/one/rsyslog.conf",
        "hosts/two/rsyslog.conf",
    }
    assert "index-template.json" in written
    one, two = (
        (out / "hosts" / name / "rsyslog.conf").read_text(encoding="utf-8")
        for name in ("one", "two")
    )
    assert 'address="10.0.0.11"' in one
    assert 'address="10.0.0.12"' in two
    assert 'ruleset(name="default")' in one
    assert 'ruleset(name="second")' in two
    assert on_hosts(tmp_path, HOSTS, "--check").exit_code == 0


def test_a_host_that_left_the_inventory_leaves_no_file(tmp_path: Path) -> None:
    on_hosts(tmp_path)
    less = HOSTS.replace("  two:\n", "  two:\n    role: load\n")
    shown = on_hosts(tmp_path, less).stdout
    assert "removed    " in shown
    assert not (tmp_path / "out/hosts/two/rsyslog.conf").exists()
    assert (tmp_path / "out/hosts/one/rsyslog.conf").exists()


def test_a_host_that_left_leaves_no_fragment_either(tmp_path: Path) -> None:
    assert on_hosts(tmp_path, HOSTS, "--fragment").exit_code == 0
    (left,) = (tmp_path / "out/hosts/two").rglob("*.conf")
    shown = on_hosts(tmp_path, HOSTS.replace("  two:\n", "  two:\n    role: load\n"), "--fragment")
    assert "removed    " in shown.stdout
    assert not left.exists()


def test_every_port_of_lanes_and_each_file_beside_is_needed(tmp_path: Path) -> None:
    beside = """
lookup_tables: {owners: {file: /etc/owners.json}}
parse: {format: normalize, rulebase: /etc/own.rulebase}
"""
    lanes = "profiles/lanes.yaml"
    result = on_hosts(tmp_path, HOSTS, "--output", "json", shipped=lanes, and_=beside)
    needs = json.loads(result.stdout)["needs"]
    assert needs["one"]["ports"] == ["tcp:10514", "tcp:10515"]
    assert needs["one"]["files"] == ["/etc/owners.json", "/etc/own.rulebase"]


def test_what_each_host_needs_is_said(tmp_path: Path) -> None:
    shown = on_hosts(tmp_path).stdout.splitlines()
    assert "one needs packages: rsyslog, rsyslog-elasticsearch" in shown
    assert "two needs ports: tcp:10514" in shown
    needs = json.loads(on_hosts(tmp_path, HOSTS, "--output", "json").stdout)["needs"]
    assert needs["one"]["ports"] == ["tcp:10514"]
    assert set(needs) == {"one", "two"}


@pytest.mark.parametrize(
    ("changes", "kind", "reason"),
    [
        ('"inputs[0].port": 99999', BadUsage, "changes of one .*inputs.0..port must be at most"),
        ('"inputs[0].adress": 10.0.0.1', BadUsage, "changes of one .*adress"),
        ('"outputs[logs].index.name": own', Refused, "changes of one .*what the engine gets"),
        ("node.heap: 4g", Refused, "changes of one .*what the engine gets"),
    ],
)
def test_changes_that_a_host_cannot_have_are_refused(
    changes: str, kind: type[Exception], reason: str, tmp_path: Path
) -> None:
    refused = on_hosts(tmp_path, HOSTS.replace('"inputs[0].address": 10.0.0.11', changes))
    assert isinstance(refused.exception, kind)
    assert re.search(reason, str(refused.exception))
    assert not (tmp_path / "out").exists()
