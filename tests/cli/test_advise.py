"""The command `advise`, as a user meets it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.shipped import ROOT
from tuner.cli.commands import app
from tuner.errors import BadUsage, Refused
from tuner.lint.load import load_profile

RUN = CliRunner()
DEFAULT = ROOT / "profiles" / "default.yaml"
COLLECTOR = ROOT / "examples" / "collector" / "rsyslog.conf"
SIZED = ("--cores", "4", "--memory", "8g")


def test_each_change_has_reason_price_and_rule_and_none_is_measured() -> None:
    shown = RUN.invoke(app, ["advise", str(DEFAULT), *SIZED]).stdout
    assert "not measured (4 cores, 8.0 GiB, engine on" in " ".join(shown.split())
    changes = shown.count(" -> ")
    assert changes == 5
    for label in ("  why  ", "  takes  ", "  rule  "):
        assert shown.count(label) == changes, label
    assert "  price     searchable after 30s at most (was 5s)" in shown
    assert f"next: rsyslog-tune search {DEFAULT} --budget 30m" in shown
    assert next(line for line in shown.splitlines() if line.startswith("Advice")).endswith(")")


def test_as_json() -> None:
    result = RUN.invoke(app, ["advise", str(DEFAULT), *SIZED, "--output", "json"])
    data = json.loads(result.stdout)
    assert (data["schema"], data["kind"], data["measured"]) == (1, "advice", False)
    assert (data["cores"], data["memory_bytes"], data["engine"]) == (4, 8 * 1024**3, "local")
    assert {"path", "before", "after", "why", "price", "takes"} == set(data["changes"][0])
    assert data["next"].startswith("rsyslog-tune search ")


def test_a_copy_has_the_advice_and_the_profile_stays(tmp_path: Path) -> None:
    profile, copy = tmp_path / "prod.yaml", tmp_path / "sub" / "advised.yaml"
    copy.parent.mkdir()
    profile.write_text("extends: below.yaml\nname: prod\n", encoding="utf-8")
    (tmp_path / "below.yaml").write_bytes(DEFAULT.read_bytes())
    before = profile.read_bytes()
    shown = RUN.invoke(app, ["advise", str(profile), *SIZED, "--write", str(copy)]).stdout
    assert f"written: {copy}" in shown
    assert profile.read_bytes() == before
    queue = load_profile(copy).profile.measured.queue
    assert queue is not None
    assert (queue.dequeue_batch_size, queue.worker_threads, queue.size) == (5000, 4, 50_000)
    again = RUN.invoke(app, ["advise", str(copy), *SIZED]).stdout
    assert "Nothing to change: what fits" in again


def test_without_bulkmode_that_comes_first(tmp_path: Path) -> None:
    """Larger batches would change nothing."""
    conf = tmp_path / "rsyslog.conf"
    conf.write_text(
        'module(load="imtcp")\ninput(type="imtcp" port="514")\n'
        'action(type="omelasticsearch" server="es1" searchType="")\n', "utf-8"
    )  # fmt: skip
    shown = " ".join(RUN.invoke(app, ["advise", "--conf", str(conf), *SIZED]).stdout.split())
    assert 'Write bulkmode="on" first (RT409)' in shown
    assert "dequeueBatchSize" not in shown
    assert "Left to a search" not in shown


def test_what_is_written_with_a_main_queue_is_said(tmp_path: Path) -> None:
    """An object of its own has other defaults than none."""
    copy = tmp_path / "prod.yaml"
    advised = RUN.invoke(app, ["advise", "--conf", str(COLLECTOR), "--write", str(copy), *SIZED])
    said = " ".join(advised.stdout.split())
    kept = re.search(r"what holds now is written with it: (.*?)\.", said)
    assert kept is not None
    turned = re.findall(r"main_queue\.(\w+): \S+ -> (\S+)", said)
    written = re.findall(r"main_queue\.(\w+): (\S+)", copy.read_text(encoding="utf-8"))
    assert '  action[elasticsearch].timeout: "1m&filter_path=' in advised.stdout
    assert {" ".join(one) for one in written} == {
        *kept[1].split(", "), *(" ".join(one) for one in turned)
    }  # fmt: skip


def test_what_the_profile_keeps_from_a_search_is_not_said_to_be_there(tmp_path: Path) -> None:
    profile = tmp_path / "frozen.yaml"
    frozen = "search: {only: [main_queue.size]}"
    profile.write_text(f"extends: {DEFAULT}\nname: prod\n{frozen}\n", encoding="utf-8")
    shown = " ".join(RUN.invoke(app, ["advise", str(profile), *SIZED]).stdout.split())
    assert "Nothing to change in what search.only of the profile leaves open" in shown


def test_no_file_is_written_over(tmp_path: Path) -> None:
    there = tmp_path / "there.yaml"
    there.write_text("mine", encoding="utf-8")
    result = RUN.invoke(app, ["advise", str(DEFAULT), "--write", str(there)])
    assert isinstance(result.exception, Refused)
    assert there.read_text(encoding="utf-8") == "mine"


def test_snippets_beside_the_profile_keep_their_place(tmp_path: Path) -> None:
    profile = tmp_path / "prod.yaml"
    text = DEFAULT.read_text("utf-8") + "snippets: {end: [own.conf]}\n"
    profile.write_text(text, encoding="utf-8")
    (tmp_path / "own.conf").write_text("# mine\n", encoding="utf-8")
    (tmp_path / "sub").mkdir()
    elsewhere = RUN.invoke(app, ["advise", str(profile), "--write", str(tmp_path / "sub/a.yaml")])
    assert isinstance(elsewhere.exception, BadUsage)
    assert "own.conf stands beside the profile" in str(elsewhere.exception)
    beside = RUN.invoke(app, ["advise", str(profile), "--write", str(tmp_path / "a.yaml")])
    assert beside.exit_code == 0


@pytest.mark.parametrize("words", [[str(COLLECTOR)], ["--conf", str(COLLECTOR)]])
def test_of_a_configuration_parameters_alone_change(words: list[str], tmp_path: Path) -> None:
    copy = tmp_path / "on-top.yaml"
    shown = RUN.invoke(app, ["advise", *words, *SIZED, "--write", str(copy)]).stdout
    assert f"next: rsyslog-tune search --conf {COLLECTOR} --budget 30m" in shown
    on_top = load_profile(copy).profile
    assert on_top.base is not None
    changed = dict(on_top.changes)
    assert changed["action[elasticsearch].queue.dequeueBatchSize"] == 5000
    assert changed["action[elasticsearch].queue.timeoutEnqueue"] == 86_400_000
    assert "action[elasticsearch].queue.workerThreads" not in changed


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--conf", str(COLLECTOR), str(DEFAULT)], "in place of a profile"),
        (["--memory", "8"], "--memory 8 is not a size: use 512m or 16g"),
    ],
)
def test_usage(words: list[str], says: str) -> None:
    result = RUN.invoke(app, ["advise", *words, *([] if "--conf" in words else [str(DEFAULT)])])
    assert isinstance(result.exception, BadUsage)
    assert says in str(result.exception)
