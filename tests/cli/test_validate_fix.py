"""`validate --fix` repairs what loses events, in place, and touches nothing else."""

from __future__ import annotations

import difflib
import json
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.profile.examples import SMALL
from tuner.cli.commands import app
from tuner.errors import BadProfile, BadUsage
from tuner.lint.load import load_profile
from tuner.profile.edit import edit

ROOT = Path(__file__).parents[2]
P1 = ROOT / "examples" / "published" / "p1-production.yaml"
GIVES_UP = {"outputs[logs].action.resumeRetryCount": 0}


def fixed(path: Path, *more: str) -> Result:
    """What `validate --fix` does with that file."""
    return CliRunner().invoke(app, ["validate", "--fix", "--offline", str(path), *more])


def written(folder: Path, text: str) -> Path:
    """A profile in that folder."""
    path = folder / "p.yaml"
    path.write_text(text, encoding="utf-8", newline="")
    return path


def changed_lines(before: str, after: str) -> list[str]:
    """The lines that came or went."""
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line for line in lines if line.startswith(("+", "-"))]


def test_only_the_repairs_are_written_and_each_is_told(tmp_path: Path) -> None:
    before = P1.read_text(encoding="utf-8")
    path = written(tmp_path, before)
    done = fixed(path)
    assert done.exit_code == 0
    assert changed_lines(before, path.read_text(encoding="utf-8")) == [
        "+       timeoutEnqueue: 86400000",
        "+       timeoutShutdown: 10000",
    ]
    assert done.stdout.startswith(
        "repaired outputs[logs].queue.timeoutEnqueue: not set -> 86400000 (not for speed: without "
        "it events are lost when the action queue stays full for 2 s) [RT113]\n"
        "repaired outputs[logs].queue.timeoutShutdown: not set -> 10000 ("
    )
    assert [one.code for one in load_profile(path).warnings] == ["RT213"]


def test_a_profile_that_needs_no_repair_is_not_written(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL)
    inode = path.stat().st_ino
    done = fixed(path)
    assert done.stdout.startswith(f"nothing to repair in {path}\n")
    assert (path.read_text(encoding="utf-8"), path.stat().st_ino) == (SMALL, inode)


def test_an_error_of_lint_is_repaired_too(tmp_path: Path) -> None:
    discards: dict[str, object] = {"main_queue.discardSeverity": 7}
    path = written(tmp_path, edit(SMALL, discards))
    offered = CliRunner().invoke(app, ["validate", "--offline", str(path)])
    assert isinstance(offered.exception, BadProfile)
    assert "repairs 1 setting that loses events" in offered.stderr
    done = fixed(path)
    assert done.exit_code == 0
    assert path.read_text(encoding="utf-8") == edit(SMALL, dict.fromkeys(discards, 8))


def test_what_has_no_repair_stays_an_error(tmp_path: Path) -> None:
    path = written(tmp_path, edit(SMALL, {**GIVES_UP, "main_queue.size": 1400}))
    done = fixed(path)
    assert isinstance(done.exception, BadProfile)
    assert [one.code for one in done.exception.problems] == ["RT101"]
    assert "resumeRetryCount: -1" in path.read_text(encoding="utf-8")


def test_a_profile_that_breaks_the_schema_is_left_alone(tmp_path: Path) -> None:
    text = edit(SMALL, GIVES_UP).replace("name: small", "name: 1small")
    path = written(tmp_path, text)
    assert isinstance(fixed(path).exception, BadProfile)
    assert path.read_text(encoding="utf-8") == text


def test_as_json(tmp_path: Path) -> None:
    path = written(tmp_path, edit(SMALL, GIVES_UP))
    (one,) = json.loads(fixed(path, "--output", "json").stdout)["repaired"]
    assert one == {
        "path": "outputs[logs].action.resumeRetryCount",
        "before": 0,
        "after": -1,
        "why": "not for speed: without it events are lost as soon as the target is down",
        "code": "RT208",
    }
    assert json.loads(fixed(path, "--output", "json").stdout)["repaired"] == []


def test_layers_below_stay_as_they_are(tmp_path: Path) -> None:
    base = edit(SMALL, GIVES_UP)
    (tmp_path / "base.yaml").write_text(base, encoding="utf-8")
    path = written(tmp_path, "extends: base.yaml\nname: top\n")
    assert fixed(path).exit_code == 0
    assert (tmp_path / "base.yaml").read_text(encoding="utf-8") == base
    assert "resumeRetryCount: -1" in path.read_text(encoding="utf-8")


def test_a_link_permissions_and_line_ends_stay(tmp_path: Path) -> None:
    path = written(tmp_path, edit(SMALL, GIVES_UP).replace("\n", "\r\n"))
    path.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    assert fixed(link).exit_code == 0
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    raw = path.read_bytes()
    assert b"resumeRetryCount: -1" in raw
    assert raw.count(b"\n") == raw.count(b"\r\n")


def test_what_cannot_be_edited_is_refused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> str:
        raise BadUsage("line 8 of p.yaml cannot be edited in place")

    monkeypatch.setattr("tuner.lint.candidate.edit_leaf", refuse)
    text = edit(SMALL, GIVES_UP)
    path = written(tmp_path, text)
    refused = fixed(path).exception
    assert isinstance(refused, BadUsage)
    assert str(refused) == "nothing was repaired: line 8 of p.yaml cannot be edited in place"
    assert path.read_text(encoding="utf-8") == text


CONF = """\
# The collector of the east wing.\r
module(load="imtcp")\r
input(type="imtcp" port="10514")\r
include(file="rules.inc")\r
"""
RULES = """\
*.*  action(type="omelasticsearch" name="es" server="es1" bulkmode="on"   # caf\u00e9
            queue.type="LinkedList" queue.size="20000"
            action.resumeRetryCount="0")   # was -1 once
"""


def configuration_in(folder: Path, rules: str = RULES) -> Path:
    """A configuration that gives up at once, with its rules in a file in Latin-1 that it
    includes."""
    (folder / "rules.inc").write_bytes(rules.encode("latin-1"))
    path = folder / "rsyslog.conf"
    path.write_bytes(CONF.encode())
    return path


def test_parameters_of_a_configuration_are_repaired_where_they_stand(tmp_path: Path) -> None:
    path, rules = configuration_in(tmp_path), tmp_path / "rules.inc"
    rules.chmod(0o640)
    done = fixed(path)
    assert done.exit_code == 0, done.output
    assert path.read_bytes() == CONF.encode()
    assert stat.S_IMODE(rules.stat().st_mode) == 0o640
    assert "repaired action[es].action.resumeRetryCount: 0 -> -1 (not for speed" in done.stdout
    text = rules.read_bytes().decode("latin-1")
    assert 'action.resumeRetryCount="-1"' in text
    gone = [line for line in changed_lines(RULES, text) if line.startswith("-")]
    assert gone == ['-             action.resumeRetryCount="0")   # was -1 once']
    again = fixed(path)
    assert again.stdout.startswith(f"nothing to repair in {path}\n")
    assert rules.read_bytes() == text.encode("latin-1")


def test_of_a_link_in_a_configuration_it_is_said_where_it_leads(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    path, rules = configuration_in(tmp_path), tmp_path / "rules.inc"
    rules.rename(there / "real.inc")
    rules.symlink_to(there / "real.inc")
    done = fixed(path)
    assert done.exit_code == 0, done.output
    assert rules.is_symlink()
    assert f"{rules} leads to {there / 'real.inc'}: that file is repaired" in done.stderr
    assert b'resumeRetryCount="-1"' in (there / "real.inc").read_bytes()


def test_what_the_old_form_cannot_say_stays_a_warning(tmp_path: Path) -> None:
    path = configuration_in(tmp_path, RULES + "*.* @@elsewhere\n")
    assert fixed(path).exit_code == 0
    assert b"*.* @@elsewhere\n" in (tmp_path / "rules.inc").read_bytes()
