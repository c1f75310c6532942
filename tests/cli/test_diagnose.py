"""`rsyslog-tune diagnose`: what it prints, and how it ends."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.diagnose.logged import LOGS, text_of
from tests.engine.answers import answering
from tests.profile.examples import SMALL
from tuner.cli.commands import app
from tuner.errors import BadProfile, BadUsage, DifferencesFound, JobFailed, Unreachable
from tuner.lint.load import load_profile

RUN = CliRunner(env={"COLUMNS": "80"})
FULL, HEALTHY = LOGS / "queue-full.log.gz", LOGS / "healthy.log.gz"


def run(*arguments: object, stdin: str | None = None) -> Result:
    return RUN.invoke(app, ["diagnose", *map(str, arguments)], input=stdin)


def test_a_healthy_log_ends_with_0() -> None:
    shown = run(HEALTHY)
    assert shown.exit_code == 0, shown.exception
    assert "Nothing wrong: carried" in shown.stdout
    assert "nothing discarded" in shown.stdout
    assert "█" in shown.stdout


def test_findings_end_with_2_and_say_what_was_lost_and_what_to_do() -> None:
    shown = run(FULL, "--conf", LOGS / "queue-full.conf")
    assert isinstance(shown.exception, DifferencesFound)
    assert str(shown.exception) == "2 findings"
    text = " ".join(shown.stdout.split())
    assert "1. queue full: events discarded: es queue (6,165 events lost; certain)" in text
    assert "action[es].queue.timeoutEnqueue:" in text
    assert "rsyslog-tune explain RT113" in text


@pytest.mark.parametrize(
    ("name", "fail_on", "ends"),
    [
        ("queue-full", "lost", 2), ("slow-engine", "lost", 0), ("slow-engine", "late", 2),
        ("rebinds", "late", 0), ("rebinds", "any", 2), ("healthy", "any", 0),
    ],
)  # fmt: skip
def test_what_it_fails_on_can_be_chosen(name: str, fail_on: str, ends: int) -> None:
    shown = run(LOGS / f"{name}.log.gz", "--fail-on", fail_on)
    code = 0 if shown.exception is None else getattr(shown.exception, "exit_code", 1)
    assert code == ends


def test_json_has_findings_and_the_course() -> None:
    shown = run(FULL, "--output", "json")
    made = json.loads(shown.stdout)
    assert (made["schema"], made["kind"]) == (1, "diagnosis")
    (host,) = made["hosts"]
    first = host["findings"][0]
    assert first["cause"] == "queue_full"
    assert (first["effect"], first["events"]) == ("lost", {"least": 6165, "most": 6165})
    assert first["way_out"]["code"] == "RT113"
    queues = {one["name"]: one for one in host["queues"]}
    assert queues["es queue"]["discarded"] == 6165
    assert len(queues["es queue"]["held"]) == len(host["times"])
    assert sum(host["inputs"][0]["events"]) == 9000


def test_rotated_files_are_one_log_whatever_their_order(tmp_path: Path) -> None:
    lines = text_of("queue-full").splitlines(keepends=True)
    (tmp_path / "stats.log").write_text("".join(lines[60:]), "utf-8")
    (tmp_path / "stats.log.1.gz").write_bytes(gzip.compress("".join(lines[:60]).encode()))
    both = run(tmp_path / "stats.log", tmp_path / "stats.log.1.gz", "--output", "json")
    whole = run(FULL, "--output", "json")
    assert json.loads(both.stdout)["hosts"] == json.loads(whole.stdout)["hosts"]


def test_stdin_is_read() -> None:
    shown = run("-", stdin=text_of("healthy"))
    assert shown.exit_code == 0, shown.exception


def test_lines_that_were_not_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "stats.log"
    lines = text_of("healthy").splitlines(keepends=True)
    path.write_text("".join([*lines[:30], "\x1b[31mnonsense\n", *lines[30:]]), "utf-8")
    shown = run(path)
    assert f"1 line not what impstats writes: {path}:31" in " ".join(shown.stdout.split()).replace(
        f"{path.parent}/ ", f"{path.parent}/"
    )
    assert "\x1b[31m" not in shown.stdout


def test_files_without_counters_end_with_1(tmp_path: Path) -> None:
    path = tmp_path / "syslog"
    path.write_text("Nov 25 17:00:01 web1 sshd[7]: Connection closed\n" * 3, "utf-8")
    for one in (path, tmp_path / "none", tmp_path):
        shown = run(one)
        assert isinstance(shown.exception, JobFailed), one
    assert "no counters of impstats" in str(run(path).exception)


def test_a_profile_names_the_settings_and_a_bad_one_ends_with_78(tmp_path: Path) -> None:
    profile = tmp_path / "prod.yaml"
    profile.write_text(SMALL, "utf-8")
    assert run(HEALTHY, "--profile", profile).exit_code == 0
    profile.write_text("inputs: 7\n", "utf-8")
    assert isinstance(run(HEALTHY, "--profile", profile).exception, BadProfile)
    both = run(HEALTHY, "--profile", profile, "--conf", LOGS / "healthy.conf")
    assert isinstance(both.exception, BadUsage)


def test_a_configuration_that_is_read_in_part_says_so(tmp_path: Path) -> None:
    conf = tmp_path / "rsyslog.conf"
    conf.write_text((LOGS / "queue-full.conf").read_text("utf-8") + "\nwhat(is this\n", "utf-8")
    shown = run(FULL, "--conf", conf)
    assert "not read:" in shown.stderr
    assert isinstance(shown.exception, DifferencesFound)


def test_what_came_in_becomes_a_workload(tmp_path: Path) -> None:
    profile = tmp_path / "prod.yaml"
    profile.write_text(f"# kept\n{SMALL}", "utf-8")
    shown = run(HEALTHY, "--write-workload", profile)
    assert shown.exit_code == 0, shown.exception
    workload = load_profile(profile).profile.workload
    assert profile.read_text("utf-8").startswith("# kept\n")
    # The flood was 2,000 events per second of 244 bytes and a line feed, over four connections.
    assert workload.rate != "max"
    assert 2000 <= workload.rate < 2300
    assert 240 <= workload.message_bytes.mean <= 250
    assert workload.connections == 4
    assert "2,0" in shown.stdout


def test_a_profile_that_takes_no_such_workload_is_left_alone(tmp_path: Path) -> None:
    profile = tmp_path / "prod.yaml"
    profile.write_text(f"{SMALL}workload: {{message_bytes: {{mean: 900, distribution: fixed, "
                       "min: 1}}}}\n", "utf-8")  # fmt: skip
    before = profile.read_bytes()
    assert isinstance(run(HEALTHY, "--write-workload", profile).exception, BadProfile)
    assert profile.read_bytes() == before


def test_a_page_is_written_beside_the_result(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    shown = run(FULL, "--page", target)
    assert isinstance(shown.exception, DifferencesFound)
    assert "6,165 events lost" in target.read_text("utf-8")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (HEALTHY, "--for", "5m"),
        (HEALTHY, "--inventory", "hosts.yaml"),
        ("--host", "local://", "impstats.log"),
        ("--host", "local://", "/a.log", "/b.log"),
        ("--host", "local://", "--for", "soon"),
        ("--elasticsearch", "http://127.0.0.1:9"),
        ("--index", "stats-*", HEALTHY),
        ("--elasticsearch", "http://127.0.0.1:9", "--index", "stats-*", HEALTHY),
        ("--elasticsearch", "http://127.0.0.1:9", "--index", "stats-*", "--host", "local://"),
    ],
    ids=str,
)
def test_what_contradicts_itself_is_refused(arguments: tuple[object, ...]) -> None:
    assert isinstance(run(*arguments).exception, BadUsage)


def test_an_index_is_read_where_one_is_named() -> None:
    """A recorded engine that holds two rounds; one page has them all."""
    hits = [
        {"_source": {"@timestamp": f"2026-11-26T00:00:{at}0Z", "origin": "core.queue",
                     "name": "main Q", "size": 3, "enqueued": at * 70, "discarded.full": at * 4}}
        for at in (1, 2, 3)
    ]  # fmt: skip
    page = {"hits": {"hits": hits}, "_scroll_id": "one"}
    one = {"hits": {"hits": hits[-1:]}}
    answers = [one, one, page]
    with answering({"/stats/_count": {"count": 3}, "/_search/scroll": {}}) as engine:
        engine.answers["/stats/_search"] = answers
        shown = run("--elasticsearch", engine.url, "--index", "stats", "--output", "json")
    assert isinstance(shown.exception, DifferencesFound)
    made = json.loads(shown.stdout)
    assert made["files"] == [f"{engine.url}/stats"]
    assert made["hosts"][0]["findings"][0]["events"] == {"least": 12, "most": 12}
    gone = run("--elasticsearch", engine.url, "--index", "stats")
    assert isinstance(gone.exception, Unreachable)
